"""Work on voices: trainings, their estimates, reports on recordings, blends and teachings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue, model_serializer, model_validator

from engine.datasets.left_out import LeftOut
from studio.store.records.codec import Absent, Record
from studio.store.records.conversion import Settings


@dataclass(frozen=True)
class Training(Record):
    """What is asked of a training. settings: other fields of TrainingPlan; those left out are as they were."""

    epochs: int
    settings: Settings = field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, values: JsonValue) -> JsonValue:
        if not isinstance(values, dict):
            return values
        others = {name: value for name, value in values.items() if name != "epochs"}
        return {name: value for name, value in values.items() if name == "epochs"} | {"settings": others}

    @model_serializer
    def _beside(self) -> dict[str, JsonValue]:
        return {**self.settings, "epochs": self.epochs}


Trained = Mapping[str, JsonValue]  # `training` of the voice's card


@dataclass(frozen=True)
class EstimateAsked(Record):
    """What is asked of an estimate: fields of TrainingPlan. The result is an engine Estimate."""

    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class ReportAsked(Record):
    """What is asked of a report. remove_music: from the recordings that have some, before they are examined again."""

    remove_music: Absent[bool] = None


@dataclass(frozen=True)
class Nothing(Record):
    """What is asked of a checkup, and what results of a report: the voice's row has it."""


@dataclass(frozen=True)
class Blend(Record):
    """What is asked of a blend: the ids of two voices, the share of the second, 0..1, and the name of the new one."""

    first: str
    second: str
    share: float
    name: str


@dataclass(frozen=True)
class Teaching(Record):
    """What is asked of a teaching. teacher: a voice's id; name: of the new one; epochs: of the training that follows, 0
    for none; sources: keys of recordings."""

    teacher: str
    name: str
    epochs: int
    sources: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class NewVoice(Record):
    """The voice that a blend or a teaching has made."""

    model_id: str
