"""Attack a service of its own for an hour, and see whether its memory stays as it is: `python -m studio.load.hostile`.

    python -m studio.load.hostile --minutes 60    all attacks in turn, again and again: imports, new voices, checks,
                                                 songs, effects, takes, teaching, projects, links, what belongs to
                                                 another account; many and stalled calls at a time; live socket; MCP;
                                                 receivers of callbacks that never answer, calls beyond those that may
                                                 wait, revoked tokens, bodies that nobody reads, a locked database;
                                                 slow calls of a third account beside the heaviest imports of two;
                                                 what a program in a model could do here
    python -m studio.load.hostile --minutes 3 --every 1    for a look

Prints every few minutes the resident memory of the server and of all it started, the answers by status, the tracebacks
in the log, and whether the server has loaded torch or ONNX Runtime; in the end the first and the last memory, and the
slope of the second half. Exit status 1 where anything was wrong, or the slope is over its bound.
"""

import argparse
import re
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import psutil

from engine.errors import EngineError
from engine.rvc.sandbox_limits import limits_here
from studio.load.attacks import VOICE, Attack, Belongings, attacks, belongings, client_of, of_another
from studio.load.attacks_on_promises import promise_attacks
from studio.load.attacks_on_sockets import assistant, live_attacks
from studio.load.heavy_imports import BOUND_S, heavy_imports, slow_calls
from studio.load.payloads import sample
from studio.load.trial_service import Chosen, TrialService, trial_service

LIMITS: Chosen = {
    **dict.fromkeys(("submissions_per_minute", "models_per_account", "conversions_per_account"), 1_000_000),
    "callbacks": "any",  # those of this test go to this machine
    "page_sessions": 20,  # so that the memory of all there may be is reached in the first round
}
MOST_MB_PER_HOUR = 40.0  # of the slope: what SQLite and Python keep back and forth
MANY = 24  # calls at a time, as many uploads as an account may have
_SHOWN = 20  # of what was wrong
_TRACEBACK = "Traceback (most recent call last)"
_LOADED = re.compile(r"/(libtorch_cpu|onnxruntime)\b[^/\n]*", re.IGNORECASE)
_STALLED = b'--x\r\nContent-Disposition: form-data; name="%s"; filename="a.zip"\r\n\r\nPK'
_FORMS = {"/models/import": b"package", "/models/create": b"training_audio_files"}
_FORMS |= {"/verify": b"audio", "/convert": b"audio"}


@dataclass(frozen=True)
class Look:
    """Minutes from the start; resident MB of the server, and of all it started; what is not right."""

    minutes: float
    server_mb: float
    children_mb: float
    children: int
    tracebacks: int
    loaded: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"loaded {', '.join(self.loaded)}" if self.loaded else "neither torch nor ONNX Runtime loaded"
        return (
            f"{self.minutes:5.1f} min: server {self.server_mb:.0f} MB, {self.children} children "
            f"{self.children_mb:.0f} MB, {self.tracebacks} tracebacks, {what}"
        )


@dataclass
class Course:
    """What was answered, what was wrong, and how the memory went."""

    looks: list[Look] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    rounds: int = 0

    def note(self, kind: str, wrong: str) -> None:
        """Count an attack, and keep what was wrong with its answer."""
        self.answers[kind] += 1
        if wrong:
            self.wrong.append(wrong)

    @property
    def mb_per_hour(self) -> float:
        """Slope of the server's memory in the second half, after caches are filled; 0 with fewer than three looks."""
        half = [one for one in self.looks if one.minutes >= self.looks[-1].minutes / 2]
        if len(half) < 3:
            return 0.0
        return float(np.polyfit([one.minutes / 60 for one in half], [one.server_mb for one in half], 1)[0])

    @property
    def keeps_bounds(self) -> bool:
        """Whether nothing was wrong, and the memory of the server stayed as it was."""
        clean = not any(one.tracebacks or one.loaded for one in self.looks)
        return clean and not self.wrong and self.mb_per_hour < MOST_MB_PER_HOUR

    def __str__(self) -> str:
        first, last = self.looks[0], self.looks[-1]
        lines = [
            f"First {first}\nLast  {last}",
            f"{self.rounds} rounds; slope of the second half: {self.mb_per_hour:+.1f} MB an hour.",
            f"Answers: {dict(sorted(self.answers.items()))}",
            *self.wrong[:_SHOWN],
        ]
        return "\n".join(lines)


def look(service: TrialService, started_s: float) -> Look:
    """Look at the processes and the log of a service."""
    server = psutil.Process(service.process.pid)
    children = []
    for one in server.children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            children.append(one.memory_info().rss / 1e6)
    logs = [service.log, service.log.with_name(f"{service.home.name}.mcp.log")]
    said = "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs if log.exists())
    minutes, rss_mb = (time.monotonic() - started_s) / 60, server.memory_info().rss / 1e6
    maps = Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
    return Look(minutes, rss_mb, sum(children), len(children), said.count(_TRACEBACK), loaded(maps))


def loaded(maps: str) -> tuple[str, ...]:
    """Return the libraries of networks that are mapped into a process.

    >>> loaded("7f00-7f10 r-xp 0 00:00 1   /x/torch/lib/libtorch_cpu.so")
    ('libtorch_cpu.so',)
    """
    return tuple(sorted({found[0].strip("/") for found in _LOADED.finditer(maps)}))


def attack(service: TrialService, course: Course, until_s: float, every_s: float) -> None:
    """Attack until a time of the monotonic clock; look at the service every so often, and say so."""
    mine, theirs = service.token("large"), service.token("small")
    has = belongings(service, mine, theirs)
    started_s = time.monotonic()
    next_s = started_s

    def look_around() -> None:
        nonlocal next_s
        if time.monotonic() >= next_s:
            next_s = time.monotonic() + every_s
            course.looks.append(look(service, started_s))
            print(course.looks[-1], dict(sorted(course.answers.items())), course.wrong[-1:], flush=True)

    with client_of(service, mine) as client, client_of(service, theirs) as other, assistant(service) as helper:
        package = client.get(f"/models/{VOICE}/package").content
        every = [*attacks(package), *of_another(has.their_model)]
        while time.monotonic() < until_s:
            for kind, wrong in one_round(service, client, other, every, has):
                course.note(kind, wrong)
                look_around()
                if time.monotonic() >= until_s:
                    break
            promises = promise_attacks(service, "large", client, other, has)
            for wrong in (*live_attacks(service), *helper.attacks(), *promises):
                course.note("conversation", wrong)
                look_around()
            course.rounds += 1
        course.looks.append(look(service, started_s))


def one_round(
    service: TrialService, client: httpx.Client, other: httpx.Client, every: Sequence[Attack], has: Belongings
) -> Iterator[tuple[str, str]]:
    """Make all attacks, one by one and many at a time; yields the status of each, and what was wrong."""
    before = seen(other, has)
    for one in every:
        answer = one.carried_out(client, has)
        yield str(answer.status_code), one.wrong(answer)
    with stalled(service, client), ThreadPoolExecutor(MANY) as pool:
        slow = [one for one in every if one.surface in ("imports", "new voices", "verify", "teach", "songs")][::3]
        asked = [pool.submit(one.carried_out, client, has) for one in slow]
        called = other.post("/convert", files={"audio": ("a.flac", sample())}, data={"model": VOICE})
        yield "another's call", "" if called.is_success else f"another account's /convert: {called.text[:300]}"
        for one, answered in zip(slow, asked, strict=True):
            yield str(answered.result().status_code), one.wrong(answered.result())
    yield from beside_heavy_imports(service)
    yield "a program in a model", "" if limits_here().confine else f"it could do more than it may: {limits_here()}"
    yield "another's belongings", "" if seen(other, has) == before else "another account's belongings have changed"
    for account in (client, other):
        tidy(account)


def beside_heavy_imports(service: TrialService) -> Iterator[tuple[str, str]]:
    """Make the slow calls of a third account while two import the heaviest models there may be."""
    with client_of(service, service.token("third")) as third:
        calls = slow_calls(third)
        with heavy_imports(service):
            for name, call in calls.items():
                begun_s = time.monotonic()
                answer = call()
                took_s = time.monotonic() - begun_s
                said = f"{name} beside heavy imports: {answer.status_code} after {took_s:.0f} s"
                yield "beside heavy imports", "" if answer.is_success and took_s <= BOUND_S else said
                if name == "import" and answer.is_success:
                    third.delete(f"/models/{answer.json()['model_id']}")


def seen(other: httpx.Client, has: Belongings) -> list[object]:
    """What the other account sees of its own, without what changes by itself."""
    task, model = (other.get(path).json() for path in (f"/tasks/{has.their_task}", f"/models/{has.their_model}"))
    project = other.get(f"/projects/{has.their_project}").json()
    of_task = (task["state"], task["settings"], task["scores"], len(task["output_audio_urls"]))
    return [*of_task, model, project["name"], project["changed_at"]]


def tidy(client: httpx.Client) -> None:
    """Cancel what was accepted."""
    for task in client.get("/tasks?state=queued&limit=200").json()["tasks"]:
        client.delete(f"/tasks/{task['id']}")


@contextmanager
def stalled(service: TrialService, client: httpx.Client, each: int = 2) -> Iterator[None]:
    """Hold calls of an account whose bodies do not go on."""
    address = httpx.URL(service.base_url)
    with ExitStack() as stack:
        for path, name in [*_FORMS.items()] * each:
            held = stack.enter_context(socket.create_connection((address.host, address.port)))
            head = f"POST {path} HTTP/1.1\r\nHost: {address.netloc.decode()}"
            whose = f"Authorization: {client.headers['authorization']}"
            kind = "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 99000\r\n\r\n"
            held.sendall(f"{head}\r\n{whose}\r\n{kind}".encode() + _STALLED % name)
        yield


def main(arguments: Iterable[str] | None = None) -> int:
    """Attack and report; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=3.0, help="minutes between two looks")
    given = parser.parse_args(None if arguments is None else list(arguments))
    course = Course()
    try:
        with tempfile.TemporaryDirectory() as folder, trial_service(Path(folder) / "home", **LIMITS) as service:
            attack(service, course, time.monotonic() + 60 * given.minutes, 60 * given.every)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    print(course)
    return 0 if course.keeps_bounds else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
