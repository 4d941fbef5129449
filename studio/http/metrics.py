"""Metrics for Prometheus: calls counted in this process, tasks read from the database on request."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from engine.cores import usable_cores
from studio.executors.core_shares import CoreShares
from studio.store.database import Database
from studio.store.durations import LONGEST_S, durations_by_stage
from studio.store.tasks import counts, oldest_wait_s

CONTENT_TYPE = CONTENT_TYPE_LATEST
PREFIX = "timbre_studio_"
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)

Alive = Callable[[], Mapping[str, float]]  # numbers of the workers, by name


_OF_WORKERS = {
    "workers": "Running workers for conversions.",
    "long_workers": "Running workers for long conversions.",
    "report_workers": "Running workers for data reports.",
    "training_workers": "Running workers for trainings.",
    "analysis_workers": "Running workers for analyses of the page.",
    "nodes": "Nodes of the Ray cluster that run tasks.",
    "placed": "Tasks placed on the Ray cluster, running or waiting for resources.",
    "leads": "Whether this service's dispatcher leads: 0 or 1.",
    "restarts": "Workers that died and were replaced.",
    "watched": "Whether the workers are supervised: 0 or 1.",
}


class Metrics:
    """The counts of one server process."""

    def __init__(self, database: Database, alive: Alive, cores: CoreShares | None = None) -> None:
        """alive: returns numbers of the executor by name, such as {"workers": 2, "restarts": 0}. cores: how the
        processes of this machine share them, if they do."""
        self._registry = CollectorRegistry()
        self._calls = Counter(
            PREFIX + "http_calls", "Calls that were answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            PREFIX + "http_seconds", "How long answers took.", ("route",), buckets=_SECONDS, registry=self._registry
        )
        self._received = Counter(PREFIX + "http_received_bytes", "Bytes of bodies.", registry=self._registry)
        self._running = Gauge(PREFIX + "http_calls_running", "Calls being answered.", registry=self._registry)
        for read in (
            partial(_tasks, database),
            partial(_stages, database),
            partial(_workers, alive),
            partial(_cores, cores),
        ):
            self._registry.register(_Read(read))

    def note_call(self, method: str, route: str, status: int, took_s: float, received: int) -> None:
        """Count a call; route: the template of its path, never the path itself."""
        self._calls.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(took_s)
        self._received.inc(received)

    def text(self, running: int = 0) -> bytes:
        """Return all metrics in Prometheus' text format; running: calls in progress. Raises Unavailable."""
        self._running.set(running)
        return generate_latest(self._registry)


@dataclass(frozen=True)
class _Read(Collector):
    """Metrics that are read on request: listing their names must not query the database."""

    read: Callable[[], Iterable[Metric]]

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        return self.read()


def _tasks(database: Database) -> Iterator[Metric]:
    tasks = GaugeMetricFamily(PREFIX + "tasks", "Number of tasks.", labels=("kind", "state"))
    for (kind, state), number in counts(database).items():
        tasks.add_metric((kind, state), number)
    yield tasks
    waiting = oldest_wait_s(database)
    yield GaugeMetricFamily(PREFIX + "oldest_task_wait_seconds", "Waiting time of the oldest queued task.", waiting)


def _stages(database: Database) -> Iterator[Metric]:
    """Yield how long the stages of tasks took, since the installation was made, on all its machines."""
    took = HistogramMetricFamily(
        PREFIX + "task_stage_seconds", "How long stages of completed tasks took.", labels=("kind", "stage")
    )
    for (kind, stage), found in durations_by_stage(database).items():
        buckets = [("+Inf" if up_to_s == LONGEST_S else str(up_to_s), number) for up_to_s, number in found.buckets]
        took.add_metric((kind, stage), buckets, found.seconds)
    yield took


def _workers(alive: Alive) -> Iterator[Metric]:
    for name, number in alive().items():
        meaning = _OF_WORKERS.get(name, f"{name} of this server's workers.")
        yield GaugeMetricFamily(f"{PREFIX}executor_{name}", meaning, number)


def _cores(cores: CoreShares | None) -> Iterator[Metric]:
    yield GaugeMetricFamily(PREFIX + "cores", "Processor cores that this service may use.", usable_cores())
    if cores is None:
        return
    in_use = GaugeMetricFamily(
        PREFIX + "cores_in_use",
        "Cores given to what is at work, by kind; each has one at least, so they can be more than there are.",
        labels=("kind",),
    )
    for kind, shares in asdict(cores.division()).items():
        in_use.add_metric((kind,), sum(shares))
    yield in_use
