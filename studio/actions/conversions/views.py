"""One view of a conversion: its record with links to its files, of which page, service and exports show parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import Field, WithJsonSchema

from engine.texts import tr
from studio.errors import NotFound
from studio.store.records.codec import Maybe, Record, Undocumented, Url, left_out, shown_as
from studio.store.records.conversion import ChosenTake, Conversion, Rendered, Scores, Settings
from studio.store.studio import Studio
from studio.store.take_labels import TakeLabel, label_of
from studio.store.tasks import Task

_LANES: Final = ("vocal", "backing", "stem", "mix")
_OBJECTS = shown_as(list[object] | None)
LINK = "http://127.0.0.1:7860/files/tasks/8f14e45fceea167a5a36dedd/1/take-1.wav?expires=1790000000&signature=0a1b2c"
DELETED = tr("Its recording and its takes have been deleted.")


@dataclass(frozen=True)
class TakeView:
    """A take of a conversion. number: 1 for the first; key, dry_key: of its file, and of that without its effects;
    scores: empty if it has none."""

    number: int
    key: str
    dry_key: str
    scores: Scores
    label: TakeLabel


@dataclass(frozen=True, kw_only=True)
class OutputSettings(Record):
    """The settings of a conversion."""

    model: Annotated[str | None, shown_as(str), Field(examples=["kathleen"])]
    # the call takes whole numbers; conversions of the page may have others
    transpose: Annotated[
        int | float,
        WithJsonSchema({"type": "integer"}),
        Field(examples=[0], description="Semitones, positive up; with `auto` or `best`, the number chosen."),
    ]
    vocal_style: Annotated[
        str, shown_as(Literal["melodic", "rhythmic", "spoken"]), Field(description="Measured from the recording.")
    ]


@dataclass(frozen=True, kw_only=True)
class CompletedConversion(Record):
    """A completed conversion."""

    status: Literal["completed"]
    input_audio_url: Annotated[Url | None, shown_as(Url), Field(examples=[LINK])]
    output_audio_urls: Annotated[list[Url], Field(examples=[[LINK]])]
    output_settings: Annotated[OutputSettings | None, shown_as(OutputSettings)]
    vocal: Maybe[Annotated[Url | None, Field(description="Of a song: its vocal as converted. Left out otherwise.")]] = (
        field(default_factory=left_out)
    )
    backing: Maybe[Annotated[Url | None, Field(description="Of a song: what its vocal is mixed with.")]] = field(
        default_factory=left_out
    )
    stem: Maybe[Annotated[Url | None, Field(description="Of a song with a second singer.")]] = field(
        default_factory=left_out
    )
    mix: Maybe[
        Annotated[Url | None, Field(description="Of a song: the finished track, also in `output_audio_urls`.")]
    ] = field(default_factory=left_out)


@dataclass(frozen=True, kw_only=True)
class UnfinishedConversion(Record):
    """A conversion without results."""

    status: Literal["in_progress", "failed"]


@dataclass(frozen=True, kw_only=True)
class TaskFacts(Record):
    """What tasks of some kinds show beside what all have: conversions, those of songs, teachings and trainings.

    note: of a conversion whose files have been deleted; place: in the queue, 1 for the next.
    """

    epochs: Maybe[Undocumented[int]] = field(default_factory=left_out)
    project: Maybe[Undocumented[str | None]] = field(default_factory=left_out)
    start_s: Maybe[Undocumented[float]] = field(default_factory=left_out)
    file_name: Maybe[Undocumented[str]] = field(default_factory=left_out)
    preset: Maybe[Undocumented[str]] = field(default_factory=left_out)
    effects: Maybe[Undocumented[str | Mapping[str, int | float]]] = field(default_factory=left_out)
    settings: Maybe[Undocumented[Mapping[str, object]]] = field(default_factory=left_out)
    edit_of: Maybe[Annotated[str | None, Field(description="The conversion whose take was edited")]] = field(
        default_factory=left_out
    )
    edit_count: Maybe[Annotated[int | None, Field(description="The number of pitch edits.")]] = field(
        default_factory=left_out
    )
    comp: Maybe[
        Annotated[list[ChosenTake] | None, _OBJECTS, Field(description="Of a comp, the task and take of each phrase.")]
    ] = field(default_factory=left_out)
    phrase_starts_s: Maybe[
        Annotated[list[float] | None, Field(description="Where each phrase of the recording begins.")]
    ] = field(default_factory=left_out)
    take_labels: Maybe[Annotated[list[TakeLabel], _OBJECTS, Field(description="Name and star of each take.")]] = field(
        default_factory=left_out
    )
    untrained: Maybe[
        Annotated[bool | None, Field(description="For a conversion: whether the voice was untrained.")]
    ] = field(default_factory=left_out)
    warning: Maybe[Annotated[str | None, Field(description="What you should know of the recording and its notes.")]] = (
        field(default_factory=left_out)
    )
    name: Maybe[
        Annotated[
            str | None, Field(description="Of a teaching: of the new voice, whose id is `model_id` once it is there.")
        ]
    ] = field(default_factory=left_out)
    model_id: Maybe[str | None] = field(default_factory=left_out)
    unsigned: Maybe[
        Annotated[str | None, Field(description="Why the takes carry no content credentials; null if they do.")]
    ] = field(default_factory=left_out)
    scores: Maybe[Annotated[list[Scores], _OBJECTS, Field(description="For each take of a conversion.")]] = field(
        default_factory=left_out
    )
    output_settings: Maybe[Undocumented[OutputSettings | None]] = field(default_factory=left_out)
    cost_minutes: Maybe[Annotated[float | None, Field(description="For a conversion: minutes x channels x takes.")]] = (
        field(default_factory=left_out)
    )
    input_audio_url: Maybe[Url | None] = field(default_factory=left_out)
    output_audio_urls: Maybe[Annotated[list[Url], shown_as(list[Url] | None)]] = field(default_factory=left_out)
    notes: Maybe[
        Annotated[list[str] | None, Field(description="Of a song: what was noticed, such as two pitches at once.")]
    ] = field(default_factory=left_out)
    vocal: Maybe[Annotated[Url | None, Field(description="Of a song; so are `backing`, `stem` and `mix`.")]] = field(
        default_factory=left_out
    )
    backing: Maybe[Url | None] = field(default_factory=left_out)
    stem: Maybe[Url | None] = field(default_factory=left_out)
    mix: Maybe[Url | None] = field(default_factory=left_out)
    note: Maybe[Undocumented[str]] = field(default_factory=left_out)
    place: Maybe[Undocumented[int | None]] = field(default_factory=left_out)


@dataclass(frozen=True)
class ConversionView:
    """A conversion as all show it. base_url, now_s: of the links to its files, which end some time."""

    studio: Studio
    task: Task
    base_url: str
    now_s: float

    @cached_property
    def asked(self) -> Conversion:
        """What was asked."""
        return self.task.asked_as(Conversion)

    @cached_property
    def rendered(self) -> Rendered:
        """What was rendered; empty before it is completed."""
        return self.task.result_as(Rendered)

    @property
    def has_files(self) -> bool:
        """Whether its recording and its takes have not been deleted."""
        return self.task.outputs_deleted_at is None

    @property
    def settings(self) -> Settings:
        """All settings once it is completed, those that were given before."""
        return self.rendered.settings or self.asked.settings

    @property
    def untrained(self) -> bool:
        """See `was_untrained`."""
        return was_untrained(self.task)

    @property
    def takes(self) -> list[TakeView]:
        """The takes in their order."""
        return takes_of(self.task)

    @property
    def input_url(self) -> str:
        """The link to the recording."""
        return self.link(self.asked.input_key)

    @property
    def lanes(self) -> dict[str, str]:
        """Links to the lanes of a finished song and to its mix, by name; empty for other conversions."""
        rendered = self.rendered
        if not rendered.lanes or not self.has_files:
            return {}
        keys = {**rendered.lanes, "mix": rendered.outputs[0]}
        return {name: self.link(key) for name, key in keys.items()}

    def link(self, key: str) -> str:
        """Return a link to a file of it."""
        return self.studio.link(key, self.base_url, self.now_s)

    def published(self) -> CompletedConversion:
        """Return what the published interface shows of a completed one."""
        shown = {
            one.name: getattr(self._facts, one.name) for one in fields(CompletedConversion) if one.name != "status"
        }
        return CompletedConversion(status="completed", **shown)

    def in_full(self) -> TaskFacts:
        """Return what the service shows of it beside what all tasks have."""
        if self.has_files:
            return self._facts
        return replace(self._facts, input_audio_url=None, output_audio_urls=[], note=DELETED)

    @cached_property
    def _facts(self) -> TaskFacts:
        asked, rendered, found = self.asked, self.rendered, self.rendered.output_settings
        notes = {} if rendered.notes is None else {"notes": list(rendered.notes)}
        lanes = {name: url for name, url in self.lanes.items() if name in _LANES}
        return TaskFacts(
            project=self.task.recording,
            start_s=asked.start_s,
            file_name=asked.file_name,
            preset=asked.preset,
            effects=asked.effects,
            settings=self.settings,
            edit_of=asked.edit.of if asked.edit else None,
            edit_count=len(asked.edit.edits) if asked.edit else 0,
            comp=choice_of(self.task),
            phrase_starts_s=list(rendered.phrase_starts_s),
            take_labels=[take.label for take in self.takes],
            untrained=self.untrained,
            warning=rendered.warning,
            unsigned=rendered.unsigned,
            scores=list(rendered.scores),
            output_settings=None if found is None else OutputSettings(**vars(found)),
            cost_minutes=round(self.task.cost / 60, 3),
            input_audio_url=self.input_url,
            output_audio_urls=[self.link(key) for key in rendered.outputs],
            **notes,  # type: ignore[arg-type]
            **lanes,  # type: ignore[arg-type]
        )


def was_untrained(task: Task) -> bool:
    """Return whether a conversion used an untrained voice, or will unless the voice is trained by then."""
    used = task.result_as(Rendered).untrained
    return task.asked_as(Conversion).untrained if used is None else used


def takes_of(task: Task) -> list[TakeView]:
    """Return the takes of a conversion in their order."""
    rendered = task.result_as(Rendered)
    keys, scores = zip(rendered.outputs, rendered.dry or rendered.outputs, strict=True), rendered.scores
    return [
        TakeView(number, key, dry_key, scores[number - 1] if number <= len(scores) else {}, label_of(task, number))
        for number, (key, dry_key) in enumerate(keys, 1)
    ]


def key_of_take(task: Task, take: int, dry: bool = False) -> str:
    """Return the storage key of a take, 1 for the first; dry: without its effects. Raises NotFound."""
    takes = takes_of(task)
    if not 1 <= take <= len(takes):
        raise NotFound(tr("There is no such take."), "take_not_found")
    return takes[take - 1].dry_key if dry else takes[take - 1].key


def choice_of(task: Task) -> list[ChosenTake] | None:
    """Return the take of each phrase of a comp; None for another conversion."""
    comp = task.asked_as(Conversion).comp
    return None if comp is None else list(comp.choice)
