"""How long a third account waits while two import the heaviest models: `python -m studio.load.heavy_imports`.

    python -m studio.load.heavy_imports             each kind of slow call of a third account, three times, on a service
                                                   of its own: checks, imports, exports, and /v1 with a file
    python -m studio.load.heavy_imports --rounds 1 --json    fewer, as JSON

Exit status 1 where one of them took longer than its bound. The models ask for minutes of work, and are stopped by the
limits of the process in which they run; each account sends another as soon as one is refused.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from engine.errors import EngineError
from engine.research.onnx_trials import hostile, model_with, work
from studio.load.payloads import sample
from studio.load.trial_service import Chosen, TrialService, trial_service

VOICE = "kathleen"
ACCOUNTS = 2
BOUND_S = 10.0
LIMITS: Chosen = {"submissions_per_minute": 1_000_000, "models_per_account": 1_000_000, "page": "off"}
_ANSWER_S = 600.0
_BEGIN_S = 8.0  # until both have begun


@cache
def heavy_model() -> bytes:
    """A small ONNX file that multiplies large matrices a thousand times as soon as it is tried."""
    with tempfile.TemporaryDirectory() as folder:
        return model_with(Path(folder) / "heavy.onnx", hostile(work, 1)).read_bytes()


def client_of(service: TrialService, account: str) -> httpx.Client:
    """A client of an account, that waits as long as it takes."""
    headers = {"Authorization": f"Bearer {service.token(account)}"}
    return httpx.Client(base_url=service.base_url, headers=headers, timeout=_ANSWER_S, trust_env=False)


@contextmanager
def heavy_imports(service: TrialService, accounts: int = ACCOUNTS) -> Iterator[Counter[str]]:
    """Keep an import of the heaviest model of each of some accounts under way; yields the answers by status."""
    ended, answered = threading.Event(), Counter[str]()

    def work_on(client: httpx.Client) -> None:
        while not ended.is_set():
            with suppress(httpx.TransportError):  # it is closed below
                files = {"package": ("heavy.onnx", heavy_model())}
                answered[str(client.post("/models/import", files=files).status_code)] += 1

    heavy_model()
    clients = [client_of(service, f"heavy-{number}") for number in range(accounts)]
    threads = [threading.Thread(target=work_on, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(_BEGIN_S if accounts else 0.0)
    try:
        yield answered
    finally:
        ended.set()
        for client in clients:
            client.close()  # what is under way is refused by the limits, in its own time


def slow_calls(client: httpx.Client) -> Mapping[str, Callable[[], httpx.Response]]:
    """The calls that action processes answer."""
    package = client.get(f"/models/{VOICE}/package").content
    speech, voice = {"audio": ("a.flac", sample())}, {"package": ("a.voice.zip", package)}
    spoken: dict[str, Any] = {"file": ("a.flac", sample()), "model": (None, "timbre"), "voice": (None, VOICE)}
    return {
        "check": lambda: client.post("/verify", files=speech),
        "export": lambda: client.get(f"/models/{VOICE}/package"),
        "import": lambda: client.post("/models/import", files=voice),
        "/v1": lambda: client.post("/v1/audio/conversions", files=spoken),
    }


def measure(service: TrialService, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each kind of call of a third account: the first alone, then beside the imports of two."""
    with client_of(service, "third") as third:
        calls = slow_calls(third)
        took = {name: [_taken_s(name, call)] for name, call in calls.items()}
        with heavy_imports(service):
            for _ in range(rounds):
                for name, call in calls.items():
                    took[name].append(_taken_s(name, call))
    return took


def _taken_s(name: str, call: Callable[[], httpx.Response]) -> float:
    begun_s = time.monotonic()
    answer = call()
    if not answer.is_success:
        raise EngineError(f"{name}: {answer.status_code} {answer.text[:300]}")
    return round(time.monotonic() - begun_s, 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder, trial_service(Path(folder) / "home", **LIMITS) as service:
            found = measure(service, given.rounds)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    worst = {name: max(one[1:]) for name, one in found.items()}
    if given.json:
        print(json.dumps({"seconds": found, "longest": worst, "bound": BOUND_S}, indent=2))
    else:
        for name, (alone, *beside) in found.items():
            print(f"{name}: {alone} s alone; beside the imports {', '.join(map(str, beside))} s")
    return 0 if max(worst.values()) <= BOUND_S else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
