"""One view of a conversion: its record with links to its files, of which page, service and exports show parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NotRequired

from typing_extensions import TypedDict

from engine.texts import tr
from studio.errors import NotFound
from studio.store.records.conversion import Conversion, Rendered, Scores, Settings
from studio.store.studio import Studio
from studio.store.take_labels import TakeLabel, label_of
from studio.store.tasks import Task

_LANES: Final = ("vocal", "backing", "stem", "mix")
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


class PublishedSettings(TypedDict):
    """The settings that a conversion was rendered with, as published."""

    model: str | None
    transpose: int | float
    vocal_style: str


class Links(TypedDict):
    """Links to the files of a conversion; vocal, backing, stem, mix: of a song."""

    input_audio_url: str | None
    output_audio_urls: list[str]
    vocal: NotRequired[str]
    backing: NotRequired[str]
    stem: NotRequired[str]
    mix: NotRequired[str]


class Published(Links):
    """A completed conversion as the published interface shows it."""

    status: str
    output_settings: PublishedSettings | None


class Unfinished(TypedDict):
    """A conversion without results, as the published interface shows it: in progress, or failed."""

    status: str


class TakeOf(TypedDict):
    """A take of a task, 1 for the first."""

    task: str
    take: int


class LabelledTake(TypedDict):
    """The name and the star of a take."""

    name: str
    starred: bool


class ConversionFacts(Links):
    """What a conversion shows beside what all tasks have. note: only once its files have been deleted; notes: only of
    a song."""

    project: str | None
    start_s: float
    file_name: str
    preset: str
    effects: str | Mapping[str, int | float]
    settings: Settings
    edit_of: str | None
    edit_count: int
    comp: list[TakeOf] | None
    phrase_starts_s: list[float]
    take_labels: list[LabelledTake]
    untrained: bool
    warning: str | None
    unsigned: str | None
    scores: list[Scores]
    output_settings: PublishedSettings | None
    cost_minutes: float
    notes: NotRequired[list[str]]
    note: NotRequired[str]


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

    def published(self) -> Published:
        """Return what the published interface shows of a completed one."""
        links = self._links()
        return {
            "status": "completed",
            "input_audio_url": links["input_audio_url"],
            "output_audio_urls": links["output_audio_urls"],
            "output_settings": self._output_settings,  # so far as published, in this order; then the lanes of a song
            **links,
        }

    def in_full(self) -> ConversionFacts:
        """Return what the service shows of it beside what all tasks have."""
        asked, rendered = self.asked, self.rendered
        facts: ConversionFacts = {
            "project": self.task.recording,
            "start_s": asked.start_s,
            "file_name": asked.file_name,
            "preset": asked.preset,
            "effects": asked.effects,
            "settings": self.settings,
            "edit_of": asked.edit.of if asked.edit else None,
            "edit_count": len(asked.edit.edits) if asked.edit else 0,
            "comp": choice_of(self.task),
            "phrase_starts_s": list(rendered.phrase_starts_s),
            "take_labels": [{"name": take.label.name, "starred": take.label.starred} for take in self.takes],
            "untrained": self.untrained,
            "warning": rendered.warning,
            "unsigned": rendered.unsigned,
            "scores": list(rendered.scores),
            "output_settings": self._output_settings,
            "cost_minutes": round(self.task.cost / 60, 3),
            "input_audio_url": None,
            "output_audio_urls": [],
        }
        if rendered.notes is not None:
            facts["notes"] = list(rendered.notes)
        if not self.has_files:
            return {**facts, "note": DELETED}
        return {**facts, **self._links()}

    @property
    def _output_settings(self) -> PublishedSettings | None:
        found = self.rendered.output_settings
        if found is None:
            return None
        return {"model": found.model, "transpose": found.transpose, "vocal_style": found.vocal_style}

    def _links(self) -> Links:
        links: Links = {
            "input_audio_url": self.input_url,
            "output_audio_urls": [self.link(key) for key in self.rendered.outputs],
        }
        lanes = self.lanes
        for name in _LANES:
            if name in lanes:
                links[name] = lanes[name]
        return links


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


def choice_of(task: Task) -> list[TakeOf] | None:
    """Return the take of each phrase of a comp; None for another conversion."""
    comp = task.asked_as(Conversion).comp
    return None if comp is None else [{"task": one.task, "take": one.take} for one in comp.choice]
