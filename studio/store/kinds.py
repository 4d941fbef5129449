"""The kinds of tasks, and the lanes of workers that carry them out: one table each, from which all else is made.

A new kind is a row of KINDS, its records, and the function that carries it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.texts import tr
from engine.training.history import Estimate
from studio.store.records.analysis import Analysis, Explored
from studio.store.records.checkup import Checkup
from studio.store.records.conversion import Conversion, Rendered
from studio.store.records.voices import (
    Blend,
    EstimateAsked,
    NewVoice,
    Nothing,
    ReportAsked,
    Teaching,
    Trained,
    Training,
)

LONG_COST = 600.0  # seconds x channels x takes: a minute of work on one processor core, at most


@dataclass(frozen=True)
class Lane:
    """Workers of one kind, and how they are run.

    counted_as: their name among the counts of living workers. workers: the setting of the service that says how many
    there are; without one it is one. least: how many there are where that says 0. yields: they use the cores that
    others leave, which users wait for. loads: what each of their tasks needs, loaded at the start. niceness: first the
    server, then tasks whose user waits for a picture or a take, then longer work. idle_s: without a task for so long,
    workers end; 0: never. patience_s: a worker that goes on for longer after its task was cancelled is killed.
    """

    name: str
    counted_as: str
    workers: str
    loads: tuple[str, ...]
    niceness: int = 15
    idle_s: float = 60.0
    patience_s: float = 10.0
    needs_networks: bool = True
    least: int = 0
    yields: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of task.

    run: the function that carries it out; asked, result: the records in its row. title: of its rows in the history;
    what has none is shown in place. long_lane: for tasks that cost more than LONG_COST. urgent: short, and the user is
    waiting, so it comes before other tasks of the account. renders: it writes as much audio as it costs. stores: its
    files are of no use unless it is completed. resumes: it goes on where it was stopped. reads_dataset: it works on the
    recordings of a voice.
    """

    name: str
    lane: str
    run: str
    asked: type
    result: object
    title: str = ""
    long_lane: str = ""
    urgent: bool = False
    renders: bool = False
    stores: bool = False
    resumes: bool = False
    reads_dataset: bool = False

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues of the kind: of all, or also of what is long."""
        return (self.name, "long " + self.name) if self.long_lane else (self.name,)

    def queue_of(self, cost: float) -> str:
        """Return the queue of a task of this cost."""
        return self.queues[-1] if cost > LONG_COST else self.name


_CONVERTING = ("engine.conversion.convert", "engine.evaluation.performance")
_TRAINING, _EXPLORING = ("engine.training.train",), ("engine.analysis.exploration",)
LANES = {
    lane.name: lane
    for lane in (
        Lane("conversions", "workers", "conversion_workers", _CONVERTING, niceness=10, idle_s=0.0),
        Lane("long", "long_workers", "conversion_workers", _CONVERTING, least=1),
        Lane("reports", "report_workers", "", ("engine.datasets.report",)),
        # a training saves a checkpoint before it ends
        Lane("trainings", "training_workers", "training_workers", _TRAINING, patience_s=30.0, yields=True),
        Lane(
            "analyses",
            "analysis_workers",
            "analysis_workers",
            _EXPLORING,
            niceness=10,
            idle_s=300.0,
            needs_networks=False,
        ),
    )
}
CONVERSION, TRAINING, REPORT, BLEND = "conversion", "training", "report", "blend"
TEACHING, ESTIMATE, CHECKUP, ANALYSIS = "teaching", "estimate", "checkup", "analysis"
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            CONVERSION, "conversions", "studio.executors.conversions:convert", Conversion, Rendered,
            title=tr("Conversion"), long_lane="long", renders=True, stores=True,
        ),
        Kind(
            TRAINING, "trainings", "studio.executors.trainings:train", Training, Trained,
            title=tr("Training"), resumes=True, reads_dataset=True,
        ),
        Kind(
            REPORT, "reports", "studio.executors.trainings:examine", ReportAsked, Nothing,
            title=tr("Recording check"), reads_dataset=True,
        ),
        Kind(BLEND, "conversions", "studio.executors.blends:blend", Blend, NewVoice, title=tr("Blend")),
        Kind(
            TEACHING, "long", "studio.executors.teachings:teach", Teaching, NewVoice,
            title=tr("Teaching"), stores=True,
        ),
        Kind(
            ESTIMATE, "conversions", "studio.executors.trainings:estimate", EstimateAsked, Estimate,
            urgent=True, reads_dataset=True,
        ),
        Kind(CHECKUP, "conversions", "studio.executors.checkups:check_up", Nothing, Checkup, urgent=True),
        Kind(
            ANALYSIS, "analyses", "studio.executors.analyses:explore", Analysis, Explored,
            renders=True, stores=True,
        ),
    )
}  # fmt: skip
LISTED = tuple(kind.name for kind in KINDS.values() if kind.title)
UNLISTED = tuple(kind.name for kind in KINDS.values() if not kind.title)
QUEUES: Mapping[str, tuple[str, ...]] = {
    lane: tuple(
        queue
        for kind in KINDS.values()
        for queue, its_lane in zip(kind.queues, (kind.lane, kind.long_lane), strict=False)
        if its_lane == lane
    )
    for lane in LANES
}  # of each lane; a queue holds tasks of one kind
KIND_OF = {queue: kind for kind in KINDS.values() for queue in kind.queues}
LANE_OF = {queue: lane for lane, queues in QUEUES.items() for queue in queues}
