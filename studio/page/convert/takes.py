"""A finished conversion: its takes as lanes of the instrument, their pitch and scores, and what can follow."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import NotRequired

import gradio as gr
from gradio.blocks import Block
from typing_extensions import TypedDict

from engine.effects.settings import OFF, Effects
from engine.errors import EngineError
from engine.texts import joined, tr
from engine.voices.card import UNTRAINED
from studio.actions.account import preferences_of
from studio.actions.conversions.downloads import OfferedFile, offered, take_download
from studio.actions.conversions.songs import TakeInMix, mix_again
from studio.actions.conversions.takes import ResultView, ShownTake, result_view
from studio.actions.voices.cards import Avatar, avatar_of
from studio.errors import NotFound
from studio.page.convert.instrument import brought, part
from studio.page.convert.layout import Layout
from studio.page.convert.pitch import Pitch
from studio.page.convert.pitch_editor import PitchEditor
from studio.page.convert.song import lane_label
from studio.page.convert.state import Now
from studio.page.parts.element_data import ChosenTrack
from studio.page.parts.notice import notice, sentence_of, show_error
from studio.page.parts.page import LATEST, Page, Updates, Visit
from studio.page.parts.scores import heading, kept_brief, kept_note, labelled, scores_table, stands_out
from studio.page.parts.values import Values
from studio.store.records.codec import Absent, Record

_MOST_BESIDE = 4  # results that are heard beside this one
_MOST_LANES = 9  # as there are keys; of the result itself all
_UNCHOSEN = (tr("Previous results"), "")  # of these while none is shown: says what is offered


@dataclass(frozen=True, kw_only=True)
class TrackOf(Record):
    """What a track of the instrument is: a take of a task, maybe of a song, or without one the recording."""

    task: str | None
    take: int
    song: bool


@dataclass(frozen=True, kw_only=True)
class TakeLane(Record):
    """A take as a lane of the instrument. key: the same for the same take; song: whether it is the vocal of one;
    first_s: how much earlier than its recording it begins; file: what it is called as a file, without a suffix.
    """

    task: str
    take: int
    key: str
    label: str
    file: str
    names: Sequence[str]
    avatar: Avatar
    url: str
    song: bool
    first_s: float
    transpose: float
    note: str | None
    brief: str | None
    downloads: Sequence[OfferedFile]


@dataclass(frozen=True, kw_only=True)
class Beside(Record):
    """What is heard beside the vocal of a song."""

    name: str
    label: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Brought(Record):
    """What the instrument is given of takes. chosen: the index of a track."""

    id: str
    recording: str | None
    start_s: float
    before: str | None
    tracks: Sequence[TakeLane]
    company: Sequence[Beside]
    offset_s: Absent[float] = None
    chosen: Absent[int] = None


class AskedFile(TypedDict):
    """What the instrument tells: a track, the format to make of it, and how loud each lane is that is mixed with it."""

    index: int
    label: str
    faders: NotRequired[Mapping[str, object]]
    shift_s: NotRequired[float]


class Takes:
    """The part of the result that is shown once a conversion is done. now: the conversion that is shown.

    edited: the id of a conversion that came of editing the pitch; replaced: of the one whose place it takes.
    in_download: whether effects are in downloads.
    """

    def __init__(
        self, page: Page, layout: Layout, now: gr.State, instrument: gr.HTML, in_download: gr.Checkbox
    ) -> None:
        self.tracks, self.brought = gr.State([]), gr.State(None)  # brought: what the instrument was given last
        self.effects = gr.State(None)  # that the takes are heard with; None: their own
        self.part = part()
        self.problem = notice("convert-result-problem")
        with layout.result, gr.Row(visible=False, elem_id="convert-result") as self.whole:
            self.title = gr.HTML(elem_id="convert-title")
            self.earlier = gr.Dropdown(
                label=tr("Previous results"), show_label=False, container=False, visible=False, scale=0, min_width=260,
                elem_id="convert-earlier", elem_classes="names",
            )  # fmt: skip
        self.pitch = Pitch(page, now)
        self.edited, self.replaced = gr.State(None), gr.State(None)
        PitchEditor(page, instrument, self.pitch.wanted, self.edited, self.replaced)
        with layout.scores, gr.Accordion(tr("Scores"), open=False, visible=False) as self.fold:
            self.scores = gr.HTML(elem_id="convert-scores")
        downloaded = [self.part, self.brought]
        page.on_data(instrument.chosen, self.choose, [self.tracks], self.pitch.outputs, **LATEST)
        asked = [self.tracks, self.brought, self.effects, in_download]
        page.on_data(instrument.download, self.download, asked, downloaded, notice=self.problem)

    @property
    def outputs(self) -> list[Block]:
        """What changes when another conversion is shown."""
        return [
            *(self.whole, self.title, self.part, self.brought, self.effects, self.tracks, self.fold, self.scores),
            *(self.earlier, *self.pitch.outputs),
        ]

    def show(self, visit: Visit, view: ResultView, now: Now, kept: Sequence[Now]) -> Values:
        """Return updates that show a conversion, beside earlier ones of the same recording."""
        beside, preferred = _beside(visit, view, now, kept), preferences_of(visit.studio.database, visit.account).format
        best, takes = view.takes[0], _in_order(view)  # number, key and place of a take are one
        chosen = 1 + takes.index(best)
        lanes = lanes_of(view, beside, preferred)
        tracks: list[TrackOf] = [TrackOf(task=None, take=0, song=False)]
        tracks += [TrackOf(task=one.task, take=one.take, song=one.song) for one in lanes]
        data: Brought = Brought(
            id=view.id,
            recording=now["recording"],
            start_s=now["start_s"] or 0.0,
            before=view.input_url,
            chosen=chosen,
            offset_s=view.offset_s if view.lanes else None,
            tracks=lanes,
            company=[
                Beside(name=name, label=lane_label(name), url=url)
                for name, url in view.lanes.items()
                if name not in ("vocal", "mix")
            ],
        )
        labels = [(one["label"], one["task"]) for one in kept]
        return {
            self.whole: gr.Row(visible=True),
            self.fold: gr.Accordion(visible=True),
            self.title: heading(view),
            self.part: brought("takes", data),
            self.brought: data,
            self.effects: None,
            self.tracks: tracks,
            self.scores: scores_table(takes),
            self.earlier: gr.Dropdown(choices=labels, value=now["task"], visible=len(labels) > 1),
            **self.pitch.look(view, best.number),
        }

    def hide(self) -> Values:
        return {
            self.whole: gr.Row(visible=False),
            self.fold: gr.Accordion(visible=False),
            self.part: brought("takes", None),
        }

    def offer(self, kept: Sequence[Now]) -> Values:
        """Return updates that offer earlier results while none is shown."""
        labels = [(one["label"], one["task"]) for one in kept]
        offered = gr.Dropdown(choices=[_UNCHOSEN, *labels], value="", visible=bool(labels))
        return {self.whole: gr.Row(visible=True), self.earlier: offered}

    def make_way(self, kept: Sequence[Now]) -> Values:
        """Return updates that show no result, but still offer earlier ones."""
        hidden: Values = {self.title: "", self.part: brought("takes", None), self.pitch.wanted: None}
        return {self.fold: gr.Accordion(open=False, visible=False), **hidden, **self.offer(kept)}

    def choose(self, visit: Visit, chosen: ChosenTrack, tracks: list[TrackOf]) -> Updates:
        track = tracks[chosen["index"]] if chosen["index"] < len(tracks) else None
        if not track or track.task is None:
            return None
        return self.pitch.look(view_of(visit, track.task), track.take)

    def download(
        self, visit: Visit, asked: AskedFile, tracks: list[TrackOf], data: Brought, effects: Effects | None,
        is_wet: bool,
    ) -> Updates:  # fmt: skip
        """Make a take in a format. effects: that it is heard with; is_wet: whether they belong in the file."""
        index, kind = asked["index"], asked["label"]
        try:
            track = tracks[index]
            if track.song or "faders" in asked:
                made = visit.do(
                    mix_again, track.task or "", asked.get("faders"), kind, visit.base_url, visit.now_s,
                    TakeInMix(track.take, effects if is_wet else OFF, asked.get("shift_s", 0.0)),
                )  # fmt: skip
            else:
                made = visit.do(
                    take_download, track.task or "", track.take, kind, visit.base_url, visit.now_s,
                    effects if is_wet else OFF,
                )  # fmt: skip
        except EngineError as error:
            # with the same data again, so that the button can be pressed again
            return {self.part: brought("takes", data), self.problem: show_error(sentence_of(error))}
        lanes = without_links(data.tracks)
        offers = lanes[index - 1].downloads  # the first track is the recording
        link = OfferedFile(label=kind, url=made["url"], name=made["name"])
        lanes[index - 1] = replace(lanes[index - 1], downloads=[link if one.label == kind else one for one in offers])
        data = replace(data, tracks=lanes)
        return {self.part: brought("takes", data), self.brought: data}


def without_links(tracks: Sequence[TakeLane]) -> list[TakeLane]:
    """Return lanes whose files are to be made anew: those that there are may be of other faders, or other effects."""
    return [replace(one, downloads=[OfferedFile(label=offer.label) for offer in one.downloads]) for one in tracks]


def view_of(visit: Visit, task_id: str) -> ResultView:
    """Return a conversion as `result_view` gives it. Raises NotFound."""
    return visit.do(result_view, task_id, visit.base_url, visit.now_s)


def result_name(view: ResultView) -> str:
    """Return what a conversion is called: by its voice."""
    marks = {UNTRAINED: view.untrained, tr("edited"): view.edited, tr("comp"): view.is_comp}
    return joined(tr(", "), [str(view.voice), *(mark for mark, holds in marks.items() if holds)])


def _beside(visit: Visit, shown: ResultView, now: Now, kept: Sequence[Now]) -> list[ResultView]:
    """Return other results of the same recording, none of which sounds like another."""
    found: list[ResultView] = []
    heard = [_sound_of(shown)]
    if not now["recording"]:
        return found
    for one in kept:
        is_other = one["task"] != now["task"] and _source_of(one) == _source_of(now)
        if is_other and len(found) < _MOST_BESIDE:
            with suppress(NotFound):
                view = view_of(visit, one["task"])
                if view.takes and _sound_of(view) not in heard:
                    found.append(view)
                    heard.append(_sound_of(view))
    return found


def _sound_of(view: ResultView) -> object:
    """Return what is the same of two results only if they sound the same; names and stars make them different too."""
    takes = [(take.scores or view.id, take.name, take.starred) for take in view.takes]
    return view.model, view.transpose, view.settings, view.edited, view.is_comp, takes


def _source_of(now: Now) -> tuple[str | None, float | None, float | None]:
    return now["recording"], now["start_s"], now["stop_s"]


def lanes_of(view: ResultView, beside: Sequence[ResultView], preferred: str) -> list[TakeLane]:
    """Return the lanes of a result: its takes by their numbers, then the best of each other result beside it, and
    all takes of one that it is a comp or an edit of, as far as there are keys for them."""
    takes, best = _in_order(view), view.takes[0] if stands_out([take.mark for take in view.takes]) else None
    lanes = [
        _track(view, take, preferred, _named(view, take) if len(takes) > 1 else result_name(view), take is best)
        for take in takes
    ]
    for other in beside:
        heard = _in_order(other) if _is_source(other, view) else other.takes[:1]
        for take in heard[: max(0, _MOST_LANES - len(lanes))]:
            own = _named(other, take) if len(heard) > 1 else result_name(other)
            lanes.append(_track(other, take, preferred, own))
    return _numbered(lanes)


def _named(view: ResultView, take: ShownTake) -> str:
    """Return what one of several takes is called."""
    return tr("{other}, take {number}", other=result_name(view), number=take.number)


def _is_source(other: ResultView, view: ResultView) -> bool:
    """Whether a result may be what another one was made of."""
    return view.edited == other.id or (view.is_comp and view.model == other.model)


def _numbered(lanes: list[TakeLane]) -> list[TakeLane]:
    """Return the lanes, numbered from the second of the same label and key on."""
    counted: Counter[tuple[str, float]] = Counter()
    numbered = []
    for lane in lanes:
        same = (lane.label, lane.transpose)
        counted[same] += 1
        numbered.append(lane if counted[same] == 1 else replace(lane, label=lane.label + f" ({counted[same]})"))
    return numbered


def _in_order(view: ResultView) -> list[ShownTake]:
    """Return the takes of a conversion by their numbers."""
    return sorted(view.takes, key=lambda take: take.number)


def _track(view: ResultView, take: ShownTake, preferred: str, label: str, is_best: bool = False) -> TakeLane:
    key = view.transpose or 0.0
    return TakeLane(
        task=view.id,
        take=take.number,
        key=f"{view.id} {take.number}",
        label=labelled(label, take.name, take.starred),
        file=joined(" - ", (PurePath(view.file_name).stem, *filter(None, (label, take.name)))),
        names=[str(view.voice), take.name],
        avatar=avatar_of(str(view.voice)),
        url=view.lanes.get("vocal") or take.url,
        song=bool(view.lanes),
        first_s=max(0.0, view.offset_s),
        transpose=key,
        note=kept_note(take.mark, is_best, key),
        brief=kept_brief(take.mark, is_best, key),
        downloads=offered(preferred),
    )
