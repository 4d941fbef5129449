"""How long one account waits while another imports, verifies and exports all it may: `python -m studio.load.slow_work`.

    python -m studio.load.slow_work               30 calls of /convert, and 10 conversions of 2 s from the call to the
                                                 take, on a service of its own, beside 24 calls of another account that
                                                 are always under way: imports, checks and exports of voices
    python -m studio.load.slow_work --calls 10 --rounds 3    fewer of them
    python -m studio.load.slow_work --json        as JSON

Exit status 1 where the 95th percentile of /convert is over its bound.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import numpy as np
import psutil
import soundfile

from engine.errors import EngineError
from studio.client import Client, ServiceError
from studio.commands.demo import bundled_sample
from studio.load.fairness import SHORT_S, VOICE, converted_s, flac
from studio.load.trial_service import Chosen, TrialService, trial_service
from studio.settings.service import MEGABYTE

AT_ONCE = 24  # calls of the other account: as many uploads as it may have
P95_S = 2.0  # the bound
LIMITS: Chosen = {"submissions_per_minute": 1_000_000, "models_per_account": 1_000_000, "page": "off"}
_ANSWER_S = 600.0
_PAUSE_S = 0.5  # of whoever is measured, between two calls


@dataclass(frozen=True)
class SlowWork:
    """Seconds of the account that is measured: of the call, and of a conversion to its take; without and beside the
    other account. answered: the calls of that account, by kind. server_mb: memory of the server before and at the
    end; children_mb: of all that it started, at the end."""

    alone_call_p95_s: float
    alone_p95_s: float
    call_p50_s: float
    call_p95_s: float
    p50_s: float
    p95_s: float
    answered: dict[str, int]
    server_mb: tuple[int, int]
    children_mb: int

    @property
    def keeps_bounds(self) -> bool:
        """Whether /convert did not wait for the other account."""
        return self.call_p95_s < P95_S


def measure(service: TrialService, calls: int, rounds: int, at_once: int = AT_ONCE) -> SlowWork:
    """Call /convert `calls` times, and convert `rounds` recordings, alone and beside the other account's work."""
    sample, rate = soundfile.read(bundled_sample(), dtype="float32")
    short = flac(sample[: round(SHORT_S * rate)], rate)
    server = psutil.Process(service.process.pid)
    with Client(service.base_url, service.token("small")) as small:

        def figures() -> tuple[np.ndarray, np.ndarray]:
            called = [_called_s(small, short) for _ in range(calls)]
            return np.array(called), np.array([converted_s(small, short) for _ in range(rounds)])

        converted_s(small, short)  # warms the worker up
        before_mb = server.memory_info().rss // MEGABYTE
        alone_calls, alone = figures()
        with _at_work(service, service.token("large"), at_once) as answered:
            beside_calls, beside = figures()
            done, after_mb = dict(answered), server.memory_info().rss // MEGABYTE
            children_mb = sum(one.memory_info().rss for one in server.children(recursive=True)) // MEGABYTE
    lone = (_percentile(alone_calls, 95), _percentile(alone, 95))
    busy_calls, busy = ((_percentile(one, 50), _percentile(one, 95)) for one in (beside_calls, beside))
    return SlowWork(*lone, *busy_calls, *busy, done, (before_mb, after_mb), children_mb)


def _percentile(seconds: np.ndarray, part: int) -> float:
    return round(float(np.percentile(seconds, part)), 2)


@contextmanager
def _at_work(service: TrialService, token: str, at_once: int) -> Iterator[Counter[str]]:
    """Keep so many slow calls of an account under way; yields how many of each kind have been answered."""
    ended, answered = threading.Event(), Counter[str]()
    headers = {"Authorization": f"Bearer {token}"}
    package = httpx.get(
        f"{service.base_url}/models/{VOICE}/package", headers=headers, timeout=_ANSWER_S, trust_env=False
    ).content
    speech = bundled_sample().read_bytes()

    def work(client: httpx.Client, number: int) -> None:
        kinds: tuple[tuple[str, Callable[[], httpx.Response]], ...] = (
            ("imports", lambda: client.post("/models/import", files={"package": ("a.voice.zip", package)})),
            ("checks", lambda: client.post("/verify", files={"audio": ("a.flac", speech)})),
            ("exports", lambda: client.get(f"/models/{VOICE}/package")),
        )
        while not ended.is_set():
            name, ask = kinds[number % 3]
            answer = ask()
            answered[name if answer.is_success else f"{name}: {answer.status_code}"] += 1
            if answer.is_success and name == "imports":
                client.delete(f"/models/{answer.json()['model_id']}")

    with httpx.Client(base_url=service.base_url, headers=headers, timeout=_ANSWER_S, trust_env=False) as client:
        threads = [threading.Thread(target=work, args=(client, number)) for number in range(at_once)]
        for thread in threads:
            thread.start()
        try:
            yield answered
        finally:
            ended.set()
            for thread in threads:
                thread.join()


def _called_s(client: Client, recording: bytes) -> float:
    """Call /convert; return how long the answer took. The task is cancelled, which costs no time of the call's."""
    started = time.monotonic()
    task_id = client.convert(recording, VOICE)
    took_s = time.monotonic() - started
    with suppress(ServiceError):  # it is done already
        client.cancel(task_id)
    time.sleep(_PAUSE_S)
    return took_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder, trial_service(Path(folder) / "home", **LIMITS) as service:
            found = measure(service, given.calls, given.rounds)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(asdict(found), indent=2))
    else:
        print(
            f"/convert alone: p95 {found.alone_call_p95_s} s; beside {AT_ONCE} slow calls of another account: p50 "
            f"{found.call_p50_s} s, p95 {found.call_p95_s} s. A conversion of {SHORT_S:g} s alone: p95 "
            f"{found.alone_p95_s} s; beside them: p50 {found.p50_s} s, p95 {found.p95_s} s. Answered: "
            f"{found.answered}. The server: {found.server_mb[0]} MB before, {found.server_mb[1]} MB after; what it "
            f"started: {found.children_mb} MB."
        )
    return 0 if found.keeps_bounds else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
