"""How the service bears many at once, measured on this machine: `python -m studio.load.service`.

    python -m studio.load.service                 both parts, as a table; exit status 1 where a bound is not kept
    python -m studio.load.service --part polling  200 clients look at a task once a second each, while 20 conversions of
                                                 3 s of audio wait or run: whenever one is done, another is started
    python -m studio.load.service --part polling --clients 100 --conversions 30 --audio 10 --seconds 120
                                                 the same with 30 conversions of 10 s: how many are done in this time
    python -m studio.load.service --part polling --imports 2      the same beside two accounts that import the heaviest
                                                 models there may be
    python -m studio.load.service --part uploads  20 recordings of 100 MB are sent at once; its memory is watched
    python -m studio.load.service --json          as JSON

It starts services of its own on loopback in a temporary folder, which needs room for the uploads (TMPDIR moves it).
All clients are one process, whose share of a processor is measured too: if it is busy, answers look late.
"""

import argparse
import asyncio
import io
import json
import math
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import soundfile
from rich.console import Console
from rich.table import Table

from engine.errors import EngineError
from studio.client import Client, ServiceError
from studio.commands.demo import bundled_sample
from studio.load.heavy_imports import heavy_imports
from studio.load.trial_service import Chosen, TrialService, trial_service
from studio.settings.service import MEGABYTE

VOICE = "kathleen"
POLL_S = 1.0  # of each client
ANSWER_S = 30.0  # a client that has waited so long counts as an error
CALL_OFF_S = 300.0  # for what must end: the uploads, and the conversion that warms the worker up
P95_MS, MEMORY_MB = 50.0, 600.0  # the bounds
SAMPLE_S = 0.02  # between two looks at the memory
BLOCK_BYTES = 1 << 16
LIMITS: Chosen = {"submissions_per_minute": 1_000_000}  # those of an account are not what is measured
RATE = 44_100


@dataclass(frozen=True)
class Load:
    """How much of everything. audio: seconds of each conversion. megabytes: of one upload, in millions of bytes, all of
    the request counted. imports: accounts that import the heaviest models there may be while others poll."""

    clients: int = 200
    conversions: int = 20
    audio: float = 3.0
    seconds: float = 30.0
    uploads: int = 20
    megabytes: int = 100
    imports: int = 0


@dataclass(frozen=True)
class Polling:
    """Looks at tasks while conversions run; times in milliseconds from sending to the whole answer.

    load_generator_share: of one processor, used by the clients themselves.
    """

    clients: int
    seconds: float
    answers: int
    errors: dict[str, int]
    p50_ms: float
    p95_ms: float
    p99_ms: float
    longest_ms: float
    conversions_done: int
    load_generator_share: float

    @property
    def keeps_bounds(self) -> bool:
        """Whether it was as fast as it must be, without an error."""
        return not self.errors and self.p95_ms < P95_MS


@dataclass(frozen=True)
class Uploads:
    """Large requests at once; answers: status, or kind of failure -> how many. Memory of the server's process."""

    uploads: int
    megabytes: int
    seconds: float
    answers: dict[str, int]
    memory_before_mb: float
    memory_peak_mb: float

    @property
    def keeps_bounds(self) -> bool:
        """Whether all were taken, in little memory."""
        return self.answers == {"200": self.uploads} and self.memory_peak_mb < MEMORY_MB


# ---- many clients that poll


@dataclass
class _Course:
    """What polling has come to so far.

    tasks: those in progress, of which each client looks at one. ended: tasks seen to have ended. free: their places in
    `tasks`, where new ones are to be started.
    """

    tasks: list[str]
    answers_s: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    done: int = 0
    ended: set[str] = field(default_factory=set)
    free: list[int] = field(default_factory=list)

    def note(self, place: int, task: str, outcome: str, taken_s: float) -> None:
        """One look at a task."""
        if outcome in ("in_progress", "completed"):
            self.answers_s.append(taken_s)
        else:
            self.errors[outcome] += 1
        if outcome in ("completed", "failed") and task not in self.ended:
            self.ended.add(task)
            self.free.append(place)
            self.done += outcome == "completed"


def measure_polling(service: TrialService, load: Load) -> Polling:
    """Poll for `load.seconds`. Raises EngineError where not even one conversion succeeds."""
    token, audio = service.token("load"), _spoken(load.audio)
    with Client(service.base_url, token) as client, tempfile.TemporaryDirectory() as folder:
        client.convert_and_wait(audio, VOICE, folder=folder, timeout_s=CALL_OFF_S)  # until then nothing is loaded
        course = _Course([client.convert(audio, VOICE) for _ in range(load.conversions)])
        with heavy_imports(service, load.imports):
            begin_s, used_s = time.perf_counter(), time.process_time()
            asyncio.run(_poll(service.base_url, token, load, course, client, audio))
            seconds = time.perf_counter() - begin_s
            share = (time.process_time() - used_s) / seconds
    times_ms = np.array(course.answers_s or [np.inf]) * 1000
    p50_ms, p95_ms, p99_ms = (float(value) for value in np.percentile(times_ms, (50, 95, 99)))
    return Polling(
        clients=load.clients,
        seconds=seconds,
        answers=len(course.answers_s),
        errors=dict(course.errors),
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        p99_ms=p99_ms,
        longest_ms=float(times_ms.max()),
        conversions_done=course.done,
        load_generator_share=share,
    )


async def _poll(base_url: str, token: str, load: Load, course: _Course, client: Client, audio: bytes) -> None:
    end_s = time.perf_counter() + load.seconds
    async with asyncio.TaskGroup() as group:
        group.create_task(_keep_busy(course, client, audio, end_s))
        for number in range(load.clients):
            start_s = number / load.clients * POLL_S  # they are no choir
            place = number % load.conversions
            group.create_task(_poll_as_one(base_url, token, course, place, start_s, end_s))


async def _keep_busy(course: _Course, client: Client, audio: bytes, end_s: float) -> None:
    """Start a conversion for each that has ended."""
    while time.perf_counter() < end_s:
        while course.free:
            try:
                task = await asyncio.to_thread(client.convert, audio, VOICE)
            except ServiceError as error:
                course.errors[f"convert: {error.code}"] += 1
                break
            course.tasks[course.free.pop()] = task
        await asyncio.sleep(SAMPLE_S)


async def _poll_as_one(base_url: str, token: str, course: _Course, place: int, start_s: float, end_s: float) -> None:
    """One client, with a connection of its own, that keeps to its own second however late an answer was."""
    headers = {"Authorization": f"Bearer {token}"}
    due_s = time.perf_counter() + start_s
    async with httpx.AsyncClient(
        base_url=base_url, headers=headers, timeout=ANSWER_S, verify=False, trust_env=False
    ) as http:
        while due_s < end_s:
            await asyncio.sleep(due_s - time.perf_counter())
            task, begin_s = course.tasks[place], time.perf_counter()
            outcome = await _look(http, task)
            now_s = time.perf_counter()
            course.note(place, task, outcome, now_s - begin_s)
            due_s += POLL_S * max(1, math.ceil((now_s - due_s) / POLL_S))


async def _look(http: httpx.AsyncClient, task: str) -> str:
    """The task's status, or what kind of error there was."""
    try:
        response = await http.get(f"/check-task/{task}")
        return str(response.json()["status"]) if response.status_code == httpx.codes.OK else str(response.status_code)
    except httpx.HTTPError as error:
        return type(error).__name__
    except (ValueError, KeyError):
        return "not understood"


def _spoken(seconds: float) -> bytes:
    """Some seconds of the recording that comes with the project, again and again, as a wav file."""
    samples, rate = soundfile.read(bundled_sample(), dtype="float32")
    file = io.BytesIO()
    soundfile.write(file, np.resize(samples, round(seconds * rate)), rate, format="WAV")
    return file.getvalue()


# ---- many large uploads


def measure_uploads(service: TrialService, load: Load) -> Uploads:
    """Send `load.uploads` recordings at once and watch the server's memory."""
    token = service.token("load")
    with _memory_of(service.process.pid) as memory:
        begin_s = time.perf_counter()
        answers = asyncio.run(_upload_all(service.base_url, token, load))
        seconds = time.perf_counter() - begin_s
    return Uploads(load.uploads, load.megabytes, seconds, dict(Counter(answers)), memory[0], max(memory))


async def _upload_all(base_url: str, token: str, load: Load) -> list[str]:
    uploads = (_upload(base_url, token, load.megabytes * MEGABYTE) for _ in range(load.uploads))
    return await asyncio.gather(*uploads)


async def _upload(base_url: str, token: str, size: int) -> str:
    """One recording that makes a request of `size` bytes; gives the status of the answer, or the kind of failure."""
    head, tail = _around_file("loadtest")
    header = _wave_header(size - len(head) - len(tail))
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "multipart/form-data; boundary=loadtest",
        "Content-Length": str(size),
    }

    async def body() -> AsyncIterator[bytes]:
        yield head + header
        left, block = size - len(head) - len(header) - len(tail), bytes(BLOCK_BYTES)
        while left:
            yield block[:left]
            left -= min(left, BLOCK_BYTES)
        yield tail

    try:
        async with httpx.AsyncClient(timeout=CALL_OFF_S, verify=False, trust_env=False) as http:
            response = await http.post(f"{base_url}/convert", content=body(), headers=headers)
            return str(response.status_code)
    except httpx.HTTPError as error:
        return type(error).__name__


def _around_file(boundary: str) -> tuple[bytes, bytes]:
    """What stands before and after the file in a form with the fields of a conversion."""
    field_part = f'--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{VOICE}\r\n'
    file_part = f'--{boundary}\r\nContent-Disposition: form-data; name="audio"; filename="long.wav"\r\n\r\n'
    return (field_part + file_part).encode(), f"\r\n--{boundary}--\r\n".encode()


def _wave_header(size: int) -> bytes:
    """The beginning of a wav file of `size` bytes in all, 16 bits, one channel."""
    file = io.BytesIO()
    soundfile.write(file, np.zeros(0, np.int16), RATE, format="WAV", subtype="PCM_16")
    header = bytearray(file.getvalue())
    header[4:8] = (size - 8).to_bytes(4, "little")
    header[-4:] = (size - len(header)).to_bytes(4, "little")
    return bytes(header)


@contextmanager
def _memory_of(process_id: int) -> Iterator[list[float]]:
    """The memory of a process in millions of bytes, at the beginning and again and again while this lasts."""
    import psutil  # of the extra "development"

    process, over = psutil.Process(process_id), threading.Event()
    seen = [process.memory_info().rss / MEGABYTE]

    def watch() -> None:
        with suppress(psutil.Error):  # it may end; its clients will tell
            while not over.wait(SAMPLE_S):
                seen.append(process.memory_info().rss / MEGABYTE)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


# ---- the command


def run_load(load: Load, part: str, say: Callable[[str], None]) -> tuple[Polling | None, Uploads | None]:
    """Measure one part or all, each on a service of its own. Raises EngineError."""
    polling = uploads = None
    with tempfile.TemporaryDirectory(prefix="studio-loadtest-") as folder:
        if part in ("all", "polling"):
            say("starting a service ...")
            with trial_service(Path(folder) / "polling", **LIMITS) as service:
                say(f"{load.clients} clients poll for {load.seconds:g} s ...")
                polling = measure_polling(service, load)
        if part in ("all", "uploads"):
            say("starting a service without workers ...")
            with trial_service(Path(folder) / "uploads", executor="none", **LIMITS) as service:
                say(f"{load.uploads} uploads of {load.megabytes} MB ...")
                uploads = measure_uploads(service, load)
    return polling, uploads


def as_json(polling: Polling | None, uploads: Uploads | None) -> str:
    """The figures, with the bounds they are to keep."""
    figures: dict[str, Any] = {"bounds": {"p95_ms": P95_MS, "memory_peak_mb": MEMORY_MB}}
    for name, part in (("polling", polling), ("uploads", uploads)):
        if part is not None:
            figures[name] = asdict(part) | {"keeps_bounds": part.keeps_bounds}
    return json.dumps(figures, indent=2)


def as_table(polling: Polling | None, uploads: Uploads | None) -> Table:
    """The figures for eyes."""
    table = Table("", "", show_header=False, show_edge=False, pad_edge=False)
    if polling is not None:
        table.add_row("clients, each once a second", f"{polling.clients}")
        table.add_row("answers in", f"{polling.answers} in {polling.seconds:.0f} s")
        table.add_row("errors", _counted(polling.errors))
        table.add_row(f"p50 / p95 (below {P95_MS:g}) / p99 / longest", _times(polling))
        table.add_row("conversions done meanwhile", f"{polling.conversions_done}")
        table.add_row("processor used by the clients", f"{polling.load_generator_share:.0%} of one")
    if uploads is not None:
        table.add_row("uploads at once", f"{uploads.uploads} of {uploads.megabytes} MB in {uploads.seconds:.1f} s")
        table.add_row("answers: status x how often", _counted(uploads.answers))
        table.add_row("server's memory before", f"{uploads.memory_before_mb:.0f} MB")
        table.add_row(f"server's memory at its peak (below {MEMORY_MB:g})", f"{uploads.memory_peak_mb:.0f} MB")
    return table


def _times(polling: Polling) -> str:
    return (
        " / ".join(f"{ms:.1f}" for ms in (polling.p50_ms, polling.p95_ms, polling.p99_ms, polling.longest_ms)) + " ms"
    )


def _counted(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name} x {number}" for name, number in numbers.items()) or "none"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say by the exit status whether the bounds are kept."""
    options = _parser().parse_args(arguments)
    load = Load(**{one.name: getattr(options, one.name) for one in fields(Load)})
    try:
        polling, uploads = run_load(load, options.part, Console(stderr=True).print)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(as_json(polling, uploads))
    else:
        Console().print(as_table(polling, uploads))
    return 0 if all(part.keeps_bounds for part in (polling, uploads) if part is not None) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m studio.load.service", description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=("all", "polling", "uploads"), default="all")
    parser.add_argument("--json", action="store_true", help="as JSON")
    for one in fields(Load):
        parser.add_argument(f"--{one.name}", type=type(one.default), default=one.default)
    return parser


if __name__ == "__main__":
    sys.exit(main())
