"""What makes a recording a song on the Convert tab: what is mixed with it, and in which voices it is sung."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from engine.audio.containers import AUDIO_SUFFIXES
from engine.errors import SettingsError
from engine.songs.parts import KEEP, Part, read_parts, seconds_of
from engine.songs.separator_file import FETCH, PINNED
from engine.texts import joined, tr
from studio.actions.analyses import analysed_recording
from studio.actions.conversions.songs import SentFile, SongRequest
from studio.actions.fetched_models import Addition, separator
from studio.actions.voices.cards import voice_cards
from studio.errors import Invalid
from studio.page.convert.instrument import brought, part
from studio.page.convert.layout import Layout
from studio.page.convert.recording import Recording
from studio.page.convert.state import Chosen
from studio.page.parts import analyses
from studio.page.parts.browser_memory import remembered
from studio.page.parts.element import element, shown
from studio.page.parts.install import InstallOffer, InstallWords
from studio.page.parts.notice import inform, notice, show_error, silent
from studio.page.parts.page import InTurn, Page, Updates, Visit
from studio.page.parts.values import Given, Values
from studio.page.parts.watched_task import WatchedTask

_POLL_S = 0.5
NAMES = {"backing": tr("Backing"), "stem": tr("Second vocal")}  # of what is heard beside a vocal
_CHOSEN = "chosen"  # instead of a voice: the chosen one, as regions.js writes it
# in the browser: an answer of the server could come after Convert was pressed, and without the last choice
_VOICED = """() => {
  const { parts } = document.querySelector("timbre-instrument");
  return [parts, JSON.stringify({ parts }), JSON.stringify({ of: "parts", data: parts })];
}"""
_WITHOUT_BACKING = tr("Add a backing track, or tick “Full mix? Extract the vocal”.")
_SAID = {
    "backing": tr("A song: converted with its backing, in one take."),
    "separate": tr("A full mix: its vocal is extracted, converted and mixed again, in one take."),
    "parts": tr("Several voices: each sings its part, in one take."),
}
_IN_TURN: InTurn = {"concurrency_id": "song", "concurrency_limit": 1}


def lane_label(name: str) -> str:
    """Return what a lane beside the vocal is called: those after the second singer's by their numbers."""
    return NAMES.get(name) or tr("Vocal {number}", number=name.removeprefix("stem"))


class Song:
    """The part of the tab for a song. files: ids of analysed recordings by their lanes, which the browser remembers."""

    def __init__(self, page: Page, tab: gr.Tab, layout: Layout, recording: Recording) -> None:
        self.page, self.layout = page, layout
        self.files = remembered("convert-company", {})
        self.kept = remembered("convert-song-answers")  # what is typed, as the browser remembers it
        self.now = gr.State({})  # the same as they are by now: what the browser sends may be older
        self.owner = gr.State(None)  # id of the recording that they are for
        self.watching = WatchedTask(_POLL_S)
        with layout.add:
            self.buttons = {name: _file("+ " + label, name) for name, label in NAMES.items()}
        with layout.notices:
            self.says = notice("song-says")
            self.problem = notice("song-problem")
            self.part, self.drawn = part(), part()  # drawn: which voices sing which parts
            self.placed = part()  # the offset
            self.begun = part()  # says that what is added from now on is for the recording that is there
        with layout.song:
            self.separate = gr.Checkbox(
                label=tr("Full mix? Extract the vocal"),
                info=tr("The backing is what is left of the song."),
                elem_id="song-separate",
            )
            self.separator = InstallOffer(page, tab, self._separator, _separator_words(), "song-separator")
            self.separate.interactive = self.separator.is_installed
            self.rows = element("part-list", events=("voiced",), data={"parts": ""}, elem_id="song-parts")
            self.parts = gr.Textbox(elem_classes="carrier", max_length=4000)  # the same as text
            self.same_octave = gr.Checkbox(
                label=tr("Same octave for all voices"),
                info=tr("All parts move with the main voice. Off: each voice sings in the octave that suits it."),
                elem_id="song-same-octave",
            )
            self.stem_voice = gr.Dropdown(
                [(tr("Original voice"), KEEP)],
                label=tr("Voice of the second vocal"),
                value=KEEP,
                elem_id="song-stem-voice",
            )
            self.offset = gr.Textbox(
                label=tr("Offset"),
                placeholder=tr("Auto"),
                max_length=20,
                info=tr("Seconds by which the vocal begins later than the backing."),
                elem_id="song-offset",
            )
        self._wire(recording)
        page.on_seen(tab, self.offer, [self.stem_voice], [self.stem_voice])

    def _wire(self, recording: Recording) -> None:
        page, watched = self.page, [self.files, self.now, self.watching.timer]
        for name, button in self.buttons.items():
            put_in = partial(self.put_in, name)
            page.on(button.upload, put_in, [button, self.now], watched, notice=self.problem, **_IN_TURN)
        self.watching.wire(page, self.look, [self.files], [self.watching.timer, self.part], notice=self.problem)
        # an answer of the watch to how it was before may come last
        page.on(self.files.change, self.look, [self.files], [self.watching.timer, self.part], notice=self.problem)
        page.on_data(recording.instrument.removed, self.remove, [self.now], watched)
        for told in (recording.instrument.voiced, self.rows.voiced):
            told(
                None, None, [self.parts, self.rows, self.drawn], js=_VOICED, trigger_mode="multiple",
                api_visibility="private", show_progress="hidden",
            )  # fmt: skip
        page.on_data(recording.instrument.moved, self.move, [self.parts, self.stem_voice], [self.offset, self.kept])
        page.on(self.offset.change, self.place, [self.offset], [self.placed])
        chosen = recording.chosen
        page.on(chosen.change, self.begin, [chosen, self.owner], [self.owner, self.begun, *self.emptied])
        events = [self.files.change, self.separate.change, self.parts.change]
        page.on(partial(gr.on, events), self.show_plan, [self.files, self.separate, self.parts], [self.says])
        gr.on(
            [one.change for one in self.typed], None, self.typed, self.kept, js="(...typed) => [typed]",
            api_visibility="private", show_progress="hidden",
        )  # fmt: skip
        installed = self.separator.installed
        page.on(installed.change, self._allow_separation, [installed], [self.separate])

    def _allow_separation(self, visit: Visit, there: bool) -> Updates:
        return {self.separate: gr.Checkbox(interactive=there)}

    @property
    def typed(self) -> list[gr.Textbox | gr.Dropdown]:
        """The fields whose values are kept."""
        return [self.parts, self.stem_voice, self.offset]

    @property
    def inputs(self) -> set[Any]:
        """What `request` reads."""
        return {self.files, self.separate, self.same_octave, *self.typed}

    @property
    def outputs(self) -> list[Any]:
        """What changes when a song is taken up again."""
        return [self.watching.timer, self.now, self.drawn, self.rows, self.says, *self.typed]

    @property
    def emptied(self) -> list[Any]:
        """What changes when a song is left."""
        return [self.files, self.separate, self.kept, *self.outputs]

    def restore(self, visit: Visit, files: Mapping[str, str] | None, typed: Sequence[str] | None) -> Values:
        """Return updates that show what was here when this browser left."""
        before: Values = {self.now: dict(files or {}), **self.watching.begin(bool(files))}
        parts, voice = "", KEEP
        if not isinstance(typed, str | None) and len(typed) == len(self.typed):  # a string: as 0.22 kept it
            before |= dict(zip(self.typed, typed, strict=True)) | self._drawn(typed[0])
            parts, voice, _ = typed
        return before | self.offer(visit, voice) | self._said(files, False, parts)

    def put_in(self, name: str, visit: Visit, path: str | None, files: Mapping[str, str] | None) -> Updates:
        """Add a file to the song, or another one in its place."""
        if path is None:
            return None
        analyses.cancel(visit, (files or {}).get(name))
        return self._beside({**(files or {}), name: analyses.start(visit, path)})

    def remove(self, visit: Visit, asked: Mapping[str, Any], files: Mapping[str, str] | None) -> Updates:
        """Take a file out of the song again."""
        return self._beside({name: one for name, one in (files or {}).items() if name != asked["name"]})

    def _beside(self, files: Mapping[str, str]) -> Values:
        """Return updates that have these files beside the vocal, and look at them."""
        return {self.files: files, self.now: files, **self.watching.begin()}

    def begin(self, visit: Visit, chosen: Chosen | None, owner: str | None) -> Updates:
        """Leave a song with the recording it is of; what is there before any recording is for the first one."""
        now = chosen["id"] if chosen else owner
        begun: Values = {self.owner: now, self.begun: brought("song", chosen and now)}
        if owner is None or now == owner:
            return begun
        typed = ("", KEEP, "")
        left: Values = {self.separate: False, self.kept: typed, **dict(zip(self.typed, typed, strict=True))}
        return begun | self._beside({}) | self._drawn("") | left | self._said({}, False, "")

    def offer(self, visit: Visit, chosen: str | None) -> Values:
        """Return updates that offer the voices that there are to the second vocal."""
        voices = [(card.name, card.id) for card in visit.do(voice_cards, visit.base_url, visit.now_s)]
        value = chosen if chosen in [model for _, model in voices] else KEEP
        return {self.stem_voice: gr.Dropdown([(tr("Original voice"), KEEP), *voices], value=value)}

    def _drawn(self, parts: str) -> Values:
        return {self.drawn: brought("parts", parts), self.rows: shown({"parts": parts})}

    def move(self, visit: Visit, told: Mapping[str, float | None], *typed: str | None) -> Updates:
        """Take the offset to which the backing was dragged; the field for it may not be open."""
        offset_s = told["offset_s"]
        text = "" if offset_s is None else f"{offset_s:.3f}"
        return {self.offset: text, self.kept: [*typed, text]}

    def place(self, visit: Visit, text: str | None) -> Updates:
        """Show the backing at the offset that is typed."""
        with suppress(SettingsError):
            return {self.placed: brought("offset", _offset_s(text or ""))}
        return None

    def look(self, visit: Visit, files: Mapping[str, str] | None) -> Updates:
        """Show the files as lanes, once they are analysed."""
        lanes, trouble = [], []
        is_busy = False
        for name, analysis in (files or {}).items():
            view = analyses.find(visit, analysis)
            if view is None or view.state in ("failed", "cancelled"):
                why = view and view.error
                trouble.append(why or tr("{names}: its file is kept for a day. Add it again.", names=NAMES[name]))
                continue
            is_busy = is_busy or view.state in analyses.BUSY
            lanes.append({"name": name, "label": NAMES[name], "title": view.file_name, "url": view.audio_url})
        updates: Values = {**self.watching.begin(is_busy), self.part: brought("company", lanes)}
        return updates | ({self.problem: show_error(joined(" ", trouble))} if trouble else {})

    def show_plan(self, visit: Visit, files: Mapping[str, str] | None, separate: bool, parts: str | None) -> Updates:
        """Say what Convert will make of the recording, if more than its vocal in another voice."""
        return self._said(files, separate, parts)

    def _said(self, files: Mapping[str, str] | None, separate: bool, parts: str | None) -> Values:
        kind = "separate" if separate else "backing" if files else "parts" if (parts or "").strip() else None
        return {self.says: inform(_SAID[kind]) if kind else silent()}

    @contextmanager
    def request(self, visit: Visit, given: Given, model: str) -> Iterator[SongRequest | None]:
        """Yield what is to be made of the recording, if it is a song. Raises EngineError."""
        files, separate = given.read(self.files, dict[str, str]) or {}, given.flag(self.separate)
        parts = given.text(self.parts).strip()
        if not (files or parts or separate):
            yield None
            return
        if files and not separate and "backing" not in files:
            raise Invalid([("backing", _WITHOUT_BACKING)])
        with ExitStack() as stack:
            sent = {}
            for name, analysis in files.items():
                copy, file_name, _ = stack.enter_context(visit.do(analysed_recording, analysis))
                sent[name] = SentFile(copy, file_name)
            regions = _with_voice(read_parts(parts or model, model), model)
            of_stem = read_parts(given.text(self.stem_voice).strip() or KEEP)
            offset_s = _offset_s(given.text(self.offset)) if files else None
            yield SongRequest(regions, separate, sent.get("backing"), sent.get("stem"), of_stem, offset_s)

    def extract(self, visit: Visit) -> Values:
        """Return updates that take the recording as a full mix, or offer what that needs."""
        return {self.separate: self.separator.is_installed, self.layout.song: gr.Accordion(open=True)}

    def _separator(self) -> Addition:
        return separator(self.page.studio.settings)


def _separator_words() -> InstallWords:
    file = PINNED[0]
    return InstallWords(
        tr(
            "Extracting a vocal needs {name}: {megabytes} MB, licence {licence}, by {origin}. It is stored in the "
            "data folder.",
            name=file.name,
            megabytes=file.megabytes,
            licence=file.licence,
            origin=file.origin,
        ),
        tr("Vocals cannot be extracted here yet. The person who runs this studio can add that: {fetch}.", fetch=FETCH),
        tr("This demo cannot extract vocals: send the vocal and its backing, or run the studio yourself."),
    )


def _file(label: str, name: str) -> gr.UploadButton:
    with gr.Column(elem_id=f"song-{name}", scale=0, min_width=60):
        return gr.UploadButton(label, type="filepath", file_types=list(AUDIO_SUFFIXES), size="sm", min_width=60)


def _with_voice(parts: Sequence[Part], model: str) -> tuple[Part, ...]:
    """Return the parts with the voice that is chosen by now."""
    return tuple(replace(part, voice=model) if part.voice == _CHOSEN else part for part in parts)


def _offset_s(text: str) -> float | None:
    text = text.strip()
    if not text:
        return None
    return -seconds_of(text[1:]) if text.startswith("-") else seconds_of(text.removeprefix("+"))
