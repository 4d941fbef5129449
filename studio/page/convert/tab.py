"""The Convert tab: a recording in, the same performance in another voice out."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gradio as gr

from engine.errors import EngineError
from engine.texts import joined, tr
from studio.actions.conversions.conversion import ConversionRequest, convert_recording, look_at_recording
from studio.errors import Invalid
from studio.page.convert.auditions import Auditions
from studio.page.convert.batch import Batch
from studio.page.convert.comp import Comp
from studio.page.convert.effects_preview import preview_effects
from studio.page.convert.fit import Fit
from studio.page.convert.harmonies import Harmonies
from studio.page.convert.instrument import part
from studio.page.convert.layout import Layout
from studio.page.convert.presets import Presets
from studio.page.convert.recording import IN_TURN, Recording
from studio.page.convert.result import Result
from studio.page.convert.settings import Settings, plain
from studio.page.convert.song import Song
from studio.page.convert.state import Analysed, Chosen, Now, Source
from studio.page.convert.takes import view_of
from studio.page.convert.voice import GONE, Voice
from studio.page.convert.welcome import welcomed
from studio.page.parts.notice import notice, show_error, show_problems, silent, warn
from studio.page.parts.page import Page, Updates, Visit, Wish
from studio.page.parts.values import Given, Values

_NO_RECORDING = tr(
    "Add a recording first: drop a file, record one, or try a sample. "
    "If a file is still uploading, wait until it is done."
)
_STILL_MEANT_S = 2.0  # after Convert was pressed: nobody looks for a file and drops it as fast as that
_CLIPPED = tr("This recording is clipped: the level was too high. Record it again more softly, if you can.")


class Warnings:
    """The sentences below the recording; a dry vocal has none. to_song: opens the recording as a whole song."""

    def __init__(self, page: Page, layout: Layout, recording: Recording) -> None:
        self.recording = recording
        with layout.notices, gr.Row(elem_id="convert-warnings", visible=False) as self.row:
            self.warning = notice("convert-warning")
            self.to_song = gr.Button(
                tr("Open as a song"), size="sm", scale=0, min_width=150, visible=False, elem_id="convert-to-song"
            )
        page.on(recording.analysed.change, self.show, [recording.analysed], [self.row, self.warning, self.to_song])

    def show(self, visit: Visit, analysed: Analysed | None) -> Updates:
        """Show what is wrong with the recording, or nothing."""
        summary = analysed.summary if analysed else None
        sentences = [summary.warning, _CLIPPED if summary.clipped_runs else None] if summary else []
        text = joined(" ", filter(None, sentences))
        return {
            self.row: gr.Row(visible=bool(text)),
            self.warning: warn(text) if text else silent(),
            self.to_song: gr.Button(visible=summary is not None and summary.is_mix),
        }


class ConvertTab:
    """Layout, events and their wiring; to be made inside `tab`."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self.alone = alone = gr.State(True)  # whether one recording is converted, and not several
        self.pressed_s = gr.State(None)  # when Convert was pressed before there was a recording
        layout = Layout()
        self.input = layout.input
        self.recording = Recording(page, layout)
        with layout.stage:
            self.welcome = part()
        self.batch = Batch(page, layout)
        self.song = Song(page, tab, layout, self.recording)
        with layout.voice:
            self.voice = Voice(page, tab, self.recording, alone)
        self.fit = fit = Fit(page, layout, self.recording, alone, self.voice)
        self.settings = Settings(page, layout, self.recording, alone, fit)
        with layout.more:
            presets = Presets(page, tab)
        presets.wire(self.settings)
        self.warnings = Warnings(page, layout, self.recording)
        with layout.go:
            self.start = gr.Button(tr("Convert"), variant="primary", size="lg", elem_id="convert-start")
        with layout.said:
            self.problem = notice("convert-problem")
        self.result = Result(page, tab, layout, self.recording, self.settings.effects.in_download)
        Harmonies(page, layout, self.recording, self.voice, self.result)
        Auditions(page, self.recording, self.voice, self.settings, self.problem)
        preview_effects(page, self.settings.effects, self.result.takes, self.recording.instrument)
        Comp(page, layout.scores, self.result.now, self.result.takes.edited, self.recording.instrument)
        self.batch.wire(self.voice, self.settings)
        self._wire(page)
        # each tab of the input has its button in the bar
        self.buttons = {"one": self.start, "several": self.batch.start}
        shift = [alone, fit.auto, fit.transpose, fit.put_aside]
        with layout.add:
            several = gr.Button(tr("Batch"), size="sm", scale=0, min_width=60, elem_id="convert-several")
        for button, choice in ((several, "several"), (self.batch.back, "one")):
            page.on(button.click, partial(self.show, choice), [], [self.input])
        for choice in (layout.one, layout.several):
            page.on(
                choice.select,
                self.turn_to(str(choice.id)),
                shift,
                [*self.buttons.values(), *shift, self.result.ended],
                notice=self.problem,
            )

    def _wire(self, page: Page) -> None:
        recording, voice, settings, result = self.recording, self.voice, self.settings, self.result
        inputs = {recording.chosen, voice.chosen, result.kept, self.fit.found, *settings.controls, *self.song.inputs}
        outputs = [self.pressed_s, *result.watched, *voice.outputs]
        page.on(self.start.click, self.press, inputs, outputs, notice=self.problem, **IN_TURN)
        filled = [self.input, self.alone, *recording.outputs, *voice.outputs, *settings.controls, *result.watched]
        takes, pitch = result.takes, result.takes.pitch
        shown = [result.now, result.kept]
        page.on_data(voice.cards.again, result.convert_again, shown, result.watched, notice=takes.problem)
        page.on(recording.chosen.change, pitch.make_way, [recording.chosen, pitch.known])
        page.on(
            recording.chosen.change, self.come_round, {self.pressed_s, *inputs}, outputs, notice=self.problem, **IN_TURN
        )
        song, batch = self.song, self.batch
        page.on(self.warnings.to_song.click, song.extract, [], [song.separate, song.layout.song])
        self._wish = wish = page.wishes["convert"]
        page.on(wish.change, self.wished, {wish, *inputs}, filled, notice=self.problem, **IN_TURN)
        kept = [settings.kept, recording.kept, voice.chosen, result.kept, batch.rows, song.files, song.kept]
        restored = [*filled, *self.batch.outputs, *self.song.outputs, self.welcome, recording.part]
        page.on(page.blocks.load, self.come_back, kept, restored)

    def turn_to(self, choice: str) -> Callable[..., Updates]:
        """Return what is done when a tab of the input is turned to."""

        def turn(visit: Visit, was_one: bool, *shift: Any) -> Updates:
            is_one = choice == "one"
            seen: Values = {one: gr.Button(visible=name == choice) for name, one in self.buttons.items()}
            seen[self.result.ended] = silent()
            return seen | {self.alone: is_one} | (self.fit.exchange(*shift) if is_one != was_one else {})

        return turn

    def press(self, visit: Visit, given: Given) -> Updates:
        if not given[self.recording.chosen]:
            return {self.problem: show_error(_NO_RECORDING), self.pressed_s: visit.now_s}
        return self.convert(visit, given)

    def come_round(self, visit: Visit, given: Given) -> Updates:
        """Take back the complaint that there is no recording, and convert if it was only on its way."""
        if not given[self.recording.chosen]:
            return None
        pressed_s = given.read(self.pressed_s, float)
        calm: Values = {self.problem: silent(), self.pressed_s: None}
        if pressed_s is None or visit.now_s - pressed_s > _STILL_MEANT_S:
            return calm
        return {**calm, **(self.convert(visit, given) or {})}

    def convert(self, visit: Visit, given: Given) -> Updates:
        chosen, model = given.read(self.recording.chosen, Chosen), given.read(self.voice.chosen, str)
        if chosen is None:
            raise Invalid([("recording", _NO_RECORDING)])
        if not model:
            raise Invalid([("voice", tr("Choose a voice first."))])
        if others := self.voice.without(visit, model):
            return others | {self.problem: show_error(GONE)}
        with self.song.request(visit, given, model) as song:
            request = ConversionRequest(
                model,
                {**self.settings.asked(given), **(self._of_song(given) if song else {})},
                self.settings.preset_of(given),
                effects=self.settings.effects_of(given),
                song=song,
            )
            stretch = self.recording.stretch_of(chosen)
            task_id = visit.do(convert_recording, chosen["id"], request, stretch)
        source = Source(chosen["id"], chosen["start_s"], chosen["stop_s"])
        begun = self.result.begun(visit, task_id, source, given.read(self.result.kept, list[Now]))
        return {self.voice.is_open: False, **begun}  # an analysis that ends later marks no other voice

    def _of_song(self, given: Given) -> dict[str, int | float | str]:
        """Return the settings that a song has of its own."""
        is_one = given.flag(self.song.same_octave) and given.flag(self.fit.auto)
        return {"takes": 1, **({"transpose": plain(given.number(self.fit.found))} if is_one else {})}

    def show(self, choice: str, visit: Visit) -> Updates:
        return {self.input: gr.Tabs(selected=choice)}

    def wished(self, visit: Visit, given: Given) -> Updates:
        """Take what another tab sent here: a voice, a recording, or a conversion with all its settings.

        Converts at once if that is wished and there is a recording.
        """
        updates: Values = {}
        wish, kept = given.read(self._wish, Wish), given.read(self.result.kept, list[Now])
        if not wish:
            return updates
        if model := wish.get("voice"):
            updates |= self.voice.choose(visit, model)
        if wish.get("recording") or wish.get("task"):
            updates |= {self.input: gr.Tabs(selected="one"), self.alone: True}
        if analysis := wish.get("recording"):
            updates |= self.recording.take(analysis)
        if task_id := wish.get("task"):
            view = view_of(visit, task_id)
            updates |= self.voice.choose(visit, view.model)
            updates |= self.settings.fill(view.preset, view.asked_settings, view.effects)
            taken = visit.do(look_at_recording, task_id)
            updates |= self.recording.take(taken, settled=True)
            updates |= self.result.begun(visit, task_id, Source(taken), kept)
        if wish.get("start") and given[self.recording.chosen]:
            updates |= {self.input: gr.Tabs(selected="one"), self.alone: True}
            try:
                updates |= self.convert(visit, Given({**given, self.voice.chosen: wish["voice"]})) or {}
            except EngineError as error:
                updates[self.problem] = show_problems(error)
        return updates

    def come_back(self, visit: Visit, *kept: Any) -> Updates:
        """Restore what this browser had here when it left."""
        settings, recording, model, results, rows, files, typed = kept
        there = self.recording.restore(visit, recording)
        is_there = self.recording.chosen in there  # a recording is kept for a day
        return (
            self.settings.restore(settings, recording)
            | there
            | self.voice.choose(visit, model)
            | self.result.restore(results, recording if is_there else None)
            | self.batch.restore(rows)
            | self.song.restore(visit, files, typed)
            | {self.welcome: welcomed(visit, has_recording=is_there)}
        )
