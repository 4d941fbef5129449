"""How long one account waits while another has a hundred conversions queued: `python -m studio.load.fairness`.

    python -m studio.load.fairness               20 conversions of 2 s in turn, on a service of its own, beside 100 of
                                                9 s of another account, which are kept queued, one of twenty minutes,
                                                and a data report on twenty minutes
    python -m studio.load.fairness --rounds 5    fewer of them
    python -m studio.load.fairness --json        as JSON

Exit status 1 where the 95th percentile is over its bound. Times go from sending the recording to the finished take.
"""

import argparse
import io
import json
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile

from engine.errors import EngineError
from studio.client import Client, ServiceError
from studio.commands.demo import bundled_sample
from studio.load.trial_service import Chosen, TrialService, trial_service

VOICE = "kathleen"
QUEUED, SHORT_S, LONG_S = 100, 2.0, 1200.0
_LOOK_S = 0.1
P95_S = 30.0  # the bound: first in, first out, it was the time of the whole queue
LIMITS: Chosen = {"submissions_per_minute": 1_000_000, "conversions_per_account": QUEUED}


@dataclass(frozen=True)
class Waits:
    """Seconds from sending a short recording to its take; alone_s: with nobody else there."""

    rounds: int
    queued: int
    alone_s: float
    p50_s: float
    p95_s: float
    longest_s: float

    @property
    def keeps_bounds(self) -> bool:
        """Whether the other account's work was not waited for."""
        return self.p95_s < P95_S


def measure(service: TrialService, rounds: int, queued: int = QUEUED, long_s: float = LONG_S) -> Waits:
    """Convert `rounds` short recordings of one account beside the work of another, of which `queued` always wait."""
    sample, rate = soundfile.read(bundled_sample(), dtype="float32")
    short = flac(sample[: round(SHORT_S * rate)], rate)
    long = flac(np.tile(sample[::3], 1 + int(long_s * rate / len(sample)))[: round(long_s * rate / 3)], rate // 3)
    token = service.token("large")
    with (
        Client(service.base_url, service.token("small")) as small,
        Client(service.base_url, token) as large,
        Client(service.base_url, token, retry_s=0.0) as feeding,
    ):
        converted_s(small, short)  # warms the worker up
        alone_s = converted_s(small, short)
        large.convert(long, VOICE)
        large.create_model(_zipped(long))
        for _ in range(queued - 1):
            large.convert(bundled_sample(), VOICE)
        with _kept_queued(feeding, bundled_sample()):
            took_s = sorted(converted_s(small, short) for _ in range(rounds))
    p50_s, p95_s = np.percentile(took_s, [50, 95])
    return Waits(rounds, queued, *(round(float(one), 2) for one in (alone_s, p50_s, p95_s, took_s[-1])))


@contextmanager
def _kept_queued(client: Client, recording: Path) -> Iterator[None]:
    """Keep as many conversions of an account queued or running as it may have."""
    ended = threading.Event()

    def fill() -> None:
        while not ended.is_set():
            try:
                client.convert(recording, VOICE)
            except ServiceError:
                ended.wait(_LOOK_S)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def converted_s(client: Client, recording: bytes) -> float:
    started = time.monotonic()
    task_id = client.convert(recording, VOICE)
    while client.check_task(task_id)["status"] == "in_progress":
        time.sleep(_LOOK_S)
    return time.monotonic() - started


def flac(samples: np.ndarray, rate: int) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="FLAC")
    return file.getvalue()


def _zipped(recording: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.json", '{"name": "Large"}')
        archive.writestr("audio/one.flac", recording)
    return file.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder, trial_service(Path(folder) / "home", **LIMITS) as service:
            waits = measure(service, given.rounds)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(asdict(waits), indent=2))
    else:
        print(
            f"{waits.rounds} conversions of {SHORT_S:g} s beside {waits.queued} of another account: "
            f"p50 {waits.p50_s} s, p95 {waits.p95_s} s, longest {waits.longest_s} s; alone {waits.alone_s} s"
        )
    return 0 if waits.keeps_bounds else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
