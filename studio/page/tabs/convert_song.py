"""Songs on the Convert tab: a whole song, or a vocal with its backing, in one or several voices, mixed again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from engine.audio.containers import AUDIO_SUFFIXES
from engine.songs.parts import KEEP, read_parts, seconds_of
from engine.songs.separator_file import FETCH, PINNED
from studio.actions.analyses import taken_recording
from studio.actions.conversions import ConversionRequest, start_conversion
from studio.actions.fetched_models import Addition, separator
from studio.actions.songs import LANES, SentFile, SongRequest, mix_again
from studio.actions.tasks import cancel_task
from studio.actions.uploads import take_upload, workplace
from studio.errors import Invalid, NotFound
from studio.page.parts.element import element, shown
from studio.page.parts.install import InstallOffer, InstallWords
from studio.page.parts.memory import remembered
from studio.page.parts.notice import inform, notice, show_error, silent, warn
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.tabs import analyses
from studio.page.tabs.analyses import BUSY
from studio.page.tabs.convert_layout import Layout
from studio.page.tabs.convert_scores import heading, progress_line
from studio.page.tabs.convert_settings import Settings
from studio.page.tabs.convert_takes import view_of
from studio.page.tabs.convert_voice import GONE, Voice

_POLL_S = 0.5
_NAMES = {"vocal": "Vocal", "backing": "Backing", "stem": "Second singer"}
_ABOUT = (
    "Drop a vocal and its backing, or a full mix. The new vocal goes back into the mix at the same level and position."
)


class Song:
    """The part of the tab for a song. task: the song that is shown, which the browser remembers."""

    def __init__(self, page: Page, layout: Layout) -> None:
        self.page = page
        self.task = remembered("convert-song")
        self.kept = remembered("convert-song-answers")  # what is typed, as the browser remembers it
        self.recording = gr.State(None)  # the id of an analysed recording that is the song where no file is given
        self.timer = gr.Timer(_POLL_S, active=False)
        with layout.song:
            gr.Markdown(_ABOUT)
            with gr.Row():
                self.lead = _file("Vocal or full mix", "song-lead")
                self.backing = _file("Backing (instrumental)", "song-backing")
                self.stem = _file("Second singer (optional)", "song-stem")
            self.source = notice("song-source")
            self.separate = gr.Checkbox(
                label="This is a full mix: extract the vocal", info="The backing is what is left of the song.",
                elem_id="song-separate",
            )  # fmt: skip
            self.separator = InstallOffer(
                page, layout.whole_song, self._separator, _separator_words(), "song-separator"
            )
            self.separate.interactive = self.separator.is_installed
            with gr.Row():
                self.parts = gr.Textbox(
                    label="Voice changes", placeholder="1:42 koguchi, 2:10 keep", max_length=4000,
                    info="The chosen voice until then; keep leaves a stretch as it is.", elem_id="song-parts",
                )  # fmt: skip
                self.stem_voice = gr.Textbox(
                    label="Voice of the second singer", value=KEEP, max_length=4000,
                    info="An id of Voices; keep leaves it as it is.", elem_id="song-stem-voice",
                )  # fmt: skip
                self.offset = gr.Textbox(
                    label="Offset", placeholder="Auto", max_length=20,
                    info="Seconds by which the vocal begins later than the backing.", elem_id="song-offset",
                )  # fmt: skip
            self.problem = notice("song-problem")
            with gr.Row(visible=False) as self.going:
                self.progress = gr.HTML(elem_id="song-bar")
                self.cancel = gr.Button("Cancel", size="sm", scale=0, min_width=90)
            self.title = gr.HTML(elem_id="song-title")
            self.mixer = element("mixer", events=("export",), elem_id="song-mixer")
        with layout.go:
            self.start = gr.Button("Convert song", variant="primary", size="lg", visible=False, elem_id="song-start")

    def wire(self, voice: Voice, settings: Settings) -> None:
        """Wire all events, once voice and settings are there."""
        self.voice, self.settings = voice, settings
        given = {
            self.lead, self.recording, self.backing, self.stem, self.separate, self.parts, self.stem_voice,
            self.offset, voice.chosen, *settings.controls,
        }  # fmt: skip
        page, watched = self.page, [self.timer, self.going, self.progress, self.title, self.mixer]
        page.on(self.start.click, self.convert, given, [self.task, self.timer, *voice.outputs], notice=self.problem)
        page.on(self.timer.tick, self.watch, [self.task], [*watched, self.problem])
        page.on(self.lead.upload, self.put_away, [], [self.recording, self.source])
        others = partial(gr.on, [file.change for file in (self.lead, self.backing, self.stem)])
        page.on(others, self.begin_anew, [self.task], [self.task, self.title, self.mixer, self.problem])
        answers = partial(gr.on, [one.change for one in (self.separate, self.parts, self.stem_voice, self.offset)])
        page.on(answers, lambda visit: {self.problem: silent()}, [], [self.problem])
        gr.on(
            [one.change for one in self.typed], None, self.typed, self.kept, js="(...typed) => typed",
            api_visibility="private", show_progress="hidden",
        )  # fmt: skip
        page.on(
            self.separator.installed.change, lambda visit, there: {self.separate: gr.Checkbox(interactive=there)},
            [self.separator.installed], [self.separate],
        )  # fmt: skip
        page.on(self.cancel.click, self.stop, [self.task], [self.timer], notice=self.problem)
        page.on_data(self.mixer.export, self.export, [self.task], [self.mixer], notice=self.problem)

    @property
    def outputs(self) -> list[Any]:
        """What changes when a song is taken up again."""
        return [self.timer, *self.typed]

    @property
    def typed(self) -> list[gr.Textbox]:
        """The fields that are typed into."""
        return [self.parts, self.stem_voice, self.offset]

    def restore(self, task_id: str | None, typed: Sequence[str] | None) -> dict[Any, Any]:
        """Return updates that show what was here when this browser left, but for the files."""
        before = dict(zip(self.typed, typed, strict=True)) if typed and len(typed) == len(self.typed) else {}
        return {**before, **({self.timer: gr.Timer(active=True)} if task_id else {})}

    @property
    def taken(self) -> list[Any]:
        """What changes when a recording of the tab is taken as a song."""
        return [self.recording, self.lead, self.separate, self.source]

    def take(self, visit: Visit, recording: str) -> dict[Any, Any]:
        """Return updates that take an analysed recording as a whole song, until a file is given."""
        name = analyses.view(visit, recording)["file_name"]
        return {
            self.recording: recording, self.lead: gr.File(value=None),
            self.separate: gr.Checkbox(value=self.separator.is_installed),
            self.source: inform(f"The song is {name}: add another file to use that instead."),
        }  # fmt: skip

    def begin_anew(self, visit: Visit, task_id: str | None) -> Updates:
        """Show nothing of an earlier song beside other files; one that is still converted goes on."""
        with suppress(NotFound):
            if task_id and view_of(visit, task_id)["state"] in BUSY:
                return {self.problem: silent()}
        return self._no_song() | {self.task: None, self.problem: silent()}

    def put_away(self, visit: Visit) -> Updates:
        """Forget the recording, since a file is given."""
        return {self.recording: None, self.source: silent()}

    @contextmanager
    def _lead(self, visit: Visit, given: dict[Any, Any], place: Path) -> Iterator[SentFile]:
        """Yield the vocal or the song, which may be moved. Raises NotFound if it is gone."""
        if given[self.lead]:
            yield _sent(visit, given[self.lead], place / "lead")
            return
        with taken_recording(visit.studio, visit.account, given[self.recording]) as (copy, file_name, _):
            yield SentFile(copy, file_name)

    def convert(self, visit: Visit, given: dict[Any, Any]) -> Updates:
        model = given[self.voice.chosen]
        if not given[self.lead] and not given[self.recording]:
            raise Invalid([("song", "Add a vocal or a song first.")])
        if not model:
            raise Invalid([("voice", "Choose a voice first.")])
        if others := self.voice.without(visit, model):
            return others | {self.problem: show_error(GONE)}
        if not given[self.separate] and not given[self.backing]:
            text = "Add a backing track, or tick “This is a full mix”."
            raise Invalid([("backing", text)])
        settings = self.settings.asked(given) | {"takes": 1}
        with workplace(visit.studio) as place, self._lead(visit, given, place) as lead:
            names = {"backing": given[self.backing], "stem": given[self.stem]}
            sent = {name: _sent(visit, file, place / name) for name, file in names.items() if file}
            song = SongRequest(
                read_parts(given[self.parts].strip() or model, model), bool(given[self.separate]), sent.get("backing"),
                sent.get("stem"), read_parts(given[self.stem_voice].strip() or KEEP), _offset_s(given[self.offset]),
            )  # fmt: skip
            request = ConversionRequest(model, settings, self.settings.preset_of(given), untrained=True, song=song)
            task_id = start_conversion(visit.studio, visit.account, lead.path, lead.name, request)
        return {self.task: task_id, self.timer: gr.Timer(active=True)}

    def _no_song(self) -> dict[Any, Any]:
        return {self.title: "", self.mixer: shown(None)}

    def watch(self, visit: Visit, task_id: str | None) -> Updates:
        if not task_id:
            return {self.timer: gr.Timer(active=False)}
        over = {self.timer: gr.Timer(active=False), self.going: gr.Row(visible=False)}
        try:
            view = view_of(visit, task_id)
        except NotFound:
            return over | self._no_song()
        if view["state"] in BUSY:
            bar = progress_bar(view["progress"], progress_line(view))
            return {self.going: gr.Row(visible=True), self.progress: bar} | self._no_song()
        if view["state"] == "completed" and view["lanes"]:
            said = " ".join(filter(None, [view["warning"], *view["notes"]]))
            shows = warn if view["warning"] else inform
            told = shows(said) if said else silent()
            return over | {self.title: heading(view), self.mixer: shown(_mixer(view)), self.problem: told}
        text = view["error"] or view["note"] or "The song was cancelled."
        return over | {self.problem: show_error(text) if view["error"] else inform(text)} | self._no_song()

    def stop(self, visit: Visit, task_id: str | None) -> Updates:
        if task_id:
            cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        return {self.timer: gr.Timer(active=True)}

    def export(self, visit: Visit, asked: dict[str, Any], task_id: str | None) -> Updates:
        """Mix again with the faders as they stand, and hand out the file."""
        made = visit.apart(
            mix_again, visit.account, task_id or "", asked.get("faders"), str(asked.get("format")), visit.base_url,
            visit.now_s,
        )  # fmt: skip
        return {self.mixer: shown(_mixer(view_of(visit, task_id or "")) | {"made": made})}

    def _separator(self) -> Addition:
        return separator(self.page.studio.settings)


def _separator_words() -> InstallWords:
    file = PINNED[0]
    return InstallWords(
        f"Extracting a vocal needs {file.name}: {file.megabytes} MB, licence {file.licence}, by {file.origin}. "
        "It is stored in the data folder.",
        f"Vocals cannot be extracted here yet. Whoever runs this studio can add that: {FETCH}.",
        "This demo cannot extract vocals: send the vocal and its backing, or run the studio yourself.",
    )


def _sent(visit: Visit, file: str, copy: Path) -> SentFile:
    return SentFile(take_upload(visit.studio, Path(file), copy), Path(file).name)


def _file(label: str, name: str) -> gr.File:
    return gr.File(label=label, type="filepath", file_types=list(AUDIO_SUFFIXES), height=120, elem_id=name)


def _offset_s(text: str | None) -> float | None:
    text = (text or "").strip()
    if not text:
        return None
    return -seconds_of(text[1:]) if text.startswith("-") else seconds_of(text.removeprefix("+"))


def _mixer(view: dict[str, Any]) -> dict[str, Any]:
    """Return a finished song as data of <timbre-mixer>."""
    lanes = [
        {"name": name, "label": _NAMES[name], "url": view["lanes"][name]} for name in LANES if name in view["lanes"]
    ]
    return {"id": view["id"], "lanes": lanes}
