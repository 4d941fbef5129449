"""What a task costs beside the conversion itself, through each executor: `python -m studio.load.throughput`.

    python -m studio.load.throughput                 the engine itself, then a service with 1 and 2 workers on SQLite
    python -m studio.load.throughput --database-url postgresql://... --storage-url 's3://...'
                                                also a Ray cluster of 1 and 2 nodes on this machine, with these; the
                                                database should be empty
    python -m studio.load.throughput --json          as JSON

All convert the same recording with one thread each, a warm voice, and the same scores of the take, in one run, so that
what differs is the way to the worker and back. Services and clusters are begun for it on loopback, and ended.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from engine.audio.files import read_audio
from engine.errors import EngineError
from studio.client import Client
from studio.commands.demo import bundled_sample
from studio.executors.process import environment_of
from studio.load.trial_service import TrialService, trial_service
from studio.store.tasks import ACTIVE

VOICE, ENGINE = "kathleen", "the engine itself"
CONVERSIONS = 40
_POLL_S = 0.02
_CALL_OFF_S = 600.0
_SERVICE: dict[str, str | int | float] = {"submissions_per_minute": 1_000_000, "conversions_per_account": 10_000}
_SERVICE |= {"threads": 1, "page": "off"}
_ALONE = "--engine-alone"


@dataclass(frozen=True)
class Way:
    """How conversions were done; seconds: from the first that was asked for to the last that was done."""

    name: str
    workers: int
    conversions: int
    seconds: float

    @property
    def worker_seconds(self) -> float:
        """Of one conversion: what it kept a worker for."""
        return self.seconds * self.workers / self.conversions


@dataclass(frozen=True)
class Throughput:
    """The same recording by all ways; for each number of workers the engine itself is among them."""

    audio_s: float
    ways: list[Way]

    def overhead_ms(self, way: Way) -> float:
        """What a task costs more than the engine itself in as many processes, in milliseconds of a worker."""
        [engine] = [one for one in self.ways if one.name == ENGINE and one.workers == way.workers]
        return 1000 * (way.worker_seconds - engine.worker_seconds)


def time_engine(conversions: int, voice_id: str) -> float:
    """Seconds of a conversion by the engine in this process, once it is warm, with the scores that a worker gives."""
    from engine.conversion.convert import convert_file
    from engine.conversion.settings import ConversionSettings
    from engine.evaluation.performance import score_performance
    from engine.voices.voice import load_voice

    source, voice = bundled_sample(), load_voice(voice_id)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "take.wav"

        def convert() -> None:
            done = convert_file(source, [target], voice, ConversionSettings(transpose="auto"))
            score_performance(source, target, done.transpose)

        convert()
        begin_s = time.perf_counter()
        for _ in range(conversions):
            convert()
        return (time.perf_counter() - begin_s) / conversions


def measure_engine(processes: int, conversions: int) -> Way:
    """The engine itself, in so many processes of one thread side by side. Raises EngineError."""
    share = max(1, conversions // processes)
    command = [sys.executable, "-m", "studio.load.throughput", _ALONE, str(share), "--voice", VOICE]
    running = [
        subprocess.Popen(command, env=environment_of(1), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    answers = [(process.communicate(), process.returncode) for process in running]
    for (_, said), status in answers:
        if status:
            raise EngineError(f"The engine could not be measured: {said.strip()[-500:]}")
    each_s = sum(float(json.loads(printed)) for (printed, _), _ in answers) / processes
    return Way(ENGINE, processes, share * processes, each_s * share)


def measure_service(service: TrialService, recording: Path, name: str, workers: int, conversions: int) -> Way:
    """A service whose workers are warmed up first. Raises EngineError where a conversion fails."""
    with Client(service.base_url, service.token("throughput")) as client:
        _wait(client, [client.convert(recording, VOICE, transpose="auto") for _ in range(4 * workers)])
        begin_s = time.perf_counter()
        _wait(client, [client.convert(recording, VOICE, transpose="auto") for _ in range(conversions)])
        return Way(name, workers, conversions, time.perf_counter() - begin_s)


def measure(
    conversions: int, workers: Sequence[int], cluster_places: dict[str, str], say: Callable[[str], None]
) -> Throughput:
    """All ways; cluster_places: database_url and storage_url for Ray, which is left out where there are none."""
    recording = bundled_sample()
    ways = []
    for number in workers:
        say(f"the engine itself, {number} at a time ...")
        ways.append(measure_engine(number, conversions))
    with tempfile.TemporaryDirectory(prefix="studio-throughput-") as folder:
        for number in workers:
            say(f"a service with {number} ...")
            settings = _SERVICE | {"conversion_workers": number}
            with trial_service(Path(folder) / f"local-{number}", **settings) as service:
                ways.append(measure_service(service, recording, "local workers", number, conversions))
        for number in workers if cluster_places else ():
            say(f"a Ray cluster of {number} ...")
            with _ray_service(Path(folder) / f"ray-{number}", number, cluster_places) as service:
                ways.append(measure_service(service, recording, "Ray", number, conversions))
    return Throughput(read_audio(recording).duration_s, ways)


@contextmanager
def _ray_service(folder: Path, nodes: int, places: dict[str, str]) -> Iterator[TrialService]:
    from studio.load.trial_cluster import trial_cluster  # of the extras "development" and "ray"

    folder.mkdir()
    with trial_cluster(folder / "cluster", nodes=nodes) as cluster:
        settings = _SERVICE | places | {"executor": "ray", "ray_address": cluster.address}
        before = os.environ.get("RAY_AUTH_TOKEN_PATH")
        os.environ["RAY_AUTH_TOKEN_PATH"] = cluster.environment["RAY_AUTH_TOKEN_PATH"]  # for the service to join
        try:
            with trial_service(folder / "service", **settings) as service:
                yield service
        finally:
            os.environ.pop("RAY_AUTH_TOKEN_PATH")
            if before is not None:
                os.environ["RAY_AUTH_TOKEN_PATH"] = before


def _wait(client: Client, tasks: Sequence[str]) -> None:
    deadline = time.monotonic() + _CALL_OFF_S
    for task in tasks:
        while (found := client.task(task))["state"] in ACTIVE:
            if time.monotonic() > deadline:
                raise EngineError("The conversions took too long.")
            time.sleep(_POLL_S)
        if found["state"] != "completed":
            raise EngineError(f"A conversion did not succeed: {found.get('error')}")


# ---- the command


def as_table(found: Throughput) -> Table:
    """The figures for eyes."""
    table = Table("", "workers", "conversions", "a minute", "worker s each", "more than the engine")
    for way in found.ways:
        table.add_row(
            way.name,
            f"{way.workers}",
            f"{way.conversions}",
            f"{60 * way.conversions / way.seconds:.0f}",
            f"{way.worker_seconds:.3f}",
            "" if way.name == ENGINE else f"{found.overhead_ms(way):.0f} ms",
        )
    return table


def as_json(found: Throughput) -> str:
    """The figures for programs."""
    ways = [
        asdict(way) | {"worker_seconds": way.worker_seconds, "overhead_ms": found.overhead_ms(way)}
        for way in found.ways
    ]
    return json.dumps({"audio_s": found.audio_s, "ways": ways}, indent=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = _parser().parse_args(arguments)
    if options.engine_alone:
        print(json.dumps(time_engine(options.engine_alone, options.voice)))
        return 0
    given = {"database_url": options.database_url, "storage_url": options.storage_url}
    if any(given.values()) and not all(given.values()):
        print("Ray needs both --database-url and --storage-url.", file=sys.stderr)
        return 2
    places = given if all(given.values()) else {}
    try:
        found = measure(options.conversions, options.workers, places, Console(stderr=True).print)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(as_json(found))
    else:
        Console().print(as_table(found))
        print(f"Each conversion: {found.audio_s:.1f} s of audio, one thread.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m studio.load.throughput", description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--conversions", type=int, default=CONVERSIONS)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--database-url", help="PostgreSQL, for Ray")
    parser.add_argument("--storage-url", help="S3, for Ray")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(_ALONE, type=int, metavar="N", help="only N conversions by the engine, in this process")
    parser.add_argument("--voice", default=VOICE, help="whose, of those")
    return parser


if __name__ == "__main__":
    sys.exit(main())
