"""The checkpoints of a voice's training side by side, to hear and to choose the one the voice uses."""

from collections.abc import Sequence

import gradio as gr

from engine.texts import joined, numeral, tr
from studio.actions.trainings.auditions import Audition, Auditions, auditions_view
from studio.actions.trainings.training import training_view
from studio.actions.voices.cards import VoiceDetails, voice_details
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import ChosenEpoch, ChosenTrack, PlayerData, Track
from studio.page.parts.notice import notice, silent
from studio.page.parts.page import LATEST, Page, Updates, Visit
from studio.page.parts.values import Values
from studio.page.train.course import curves
from studio.page.train.use_epoch import offered, use_button

MOST = 9  # checkpoints side by side: one for each number key


class Checkpoints:
    """The comparison. heard: the epoch of the selected checkpoint, None for the original recording; epochs: those side
    by side. outputs: the components changed by `show`."""

    def __init__(self, page: Page, chosen: gr.BrowserState) -> None:
        with gr.Accordion(tr("Checkpoints"), open=False, visible=False, elem_id="voice-checkpoints") as self.place:
            self.course = element("curves", events=("chosen",), elem_id="voice-curves")
            self.part = gr.Dropdown([], label=tr("Listen to"), filterable=False)
            self.player = element("player", events=("chosen",), elem_id="voice-checkpoints-player")
            self.choose = use_button("voice-checkpoints-choose")
            self.said = said = notice("voice-checkpoints-notice")
        self.heard, self.epochs = gr.State(None), gr.State([])
        shown = [self.place, self.course, self.part, self.player, self.choose, said]
        self.outputs = outputs = [*shown, self.heard, self.epochs]
        page.on(self.part.input, self._other_part, [chosen, self.part, self.heard], outputs, notice=said)
        page.on_data(self.player.chosen, self._other_track, [chosen, self.epochs], outputs, notice=said, **LATEST)
        page.on_data(self.course.chosen, self._other_checkpoint, [chosen, self.part], outputs, notice=said, **LATEST)

    def show(self, visit: Visit, voice: VoiceDetails, part: str | None = None) -> Values:
        """Return updates that show the checkpoints of a voice, with the sounds of this part or the first."""
        none: Values = {
            self.place: gr.Accordion(visible=False),
            self.player: shown(None),
            self.heard: None,
            self.epochs: [],
        }
        if not voice.has_recordings:
            return none
        view = visit.do(training_view, voice.id, visit.base_url, visit.now_s)
        parts = {one.name: one.label for one in view.parts}
        if not parts or not view.evaluations:
            return none
        part = part if part is not None and part in parts else next(iter(parts))
        now = _epoch_in_use(voice)
        kept = next((line["epoch"] for line in view.evaluations if line["kept"]), None)
        return {
            self.place: gr.Accordion(visible=True),
            self.course: shown(curves(view, now)),
            self.part: gr.Dropdown([(label, name) for name, label in parts.items()], value=part),
            self.said: silent(),
            **self.offer_sounds(voice.id, view, part, kept if now is None else now, now),
        }

    def offer_sounds(self, model: str, view: Auditions, part: str, epoch: int | None, in_use: int | None) -> Values:
        """Return updates that offer the sounds of a part, with `epoch` selected. in_use: the epoch of the voice."""
        lines = side_by_side([line for line in view.evaluations if part in line["sounds"]], epoch)
        epochs = [line["epoch"] for line in lines]
        original = next(one for one in view.parts if one.name == part)
        tracks: list[Track] = [Track(label=tr("Original"), url=original.url)]
        tracks += [Track(label=_label(line), url=line["sounds"][part], note=_note(line, in_use)) for line in lines]
        place = 1 + epochs.index(epoch) if epoch in epochs else 0
        data: PlayerData = PlayerData(id=f"checkpoints-{model}-{part}", tracks=tracks, chosen=place)
        offer = offered(view.evaluations, epoch, in_use)
        return {self.player: shown(data), self.epochs: epochs, self.heard: epoch, self.choose: offer}

    def _look(self, visit: Visit, model: str) -> tuple[Auditions, int | None]:
        """Return the auditions, and the epoch in use."""
        heard = visit.do(auditions_view, model, visit.base_url, visit.now_s)
        voice = visit.do(voice_details, model, visit.base_url, visit.now_s)
        return heard, _epoch_in_use(voice)

    def _other_part(self, visit: Visit, model: str | None, name: str | None, epoch: int | None) -> Updates:
        if model is None or name is None:
            return None
        heard, in_use = self._look(visit, model)
        return self.offer_sounds(model, heard, name, epoch, in_use)

    def _other_track(self, visit: Visit, data: ChosenTrack, model: str | None, epochs: list[int]) -> Updates:
        if model is None:
            return None
        place = int(data["index"]) - 1
        epoch = epochs[place] if 0 <= place < len(epochs) else None
        heard, in_use = self._look(visit, model)
        return {self.heard: epoch, self.choose: offered(heard.evaluations, epoch, in_use)}

    def _other_checkpoint(self, visit: Visit, data: ChosenEpoch, model: str | None, name: str | None) -> Updates:
        return self._other_part(visit, model, name, data["epoch"])


def side_by_side(lines: Sequence[Audition], epoch: int | None) -> list[Audition]:
    """Spread at most MOST evaluations over the training; keep the first, last and best one and that of `epoch`."""
    wanted = {0, len(lines) - 1}
    wanted |= {place for place, line in enumerate(lines) if line["kept"] or line["epoch"] == epoch}
    spread = [round(number * (len(lines) - 1) / (MOST - 1)) for number in range(MOST)]
    for place in sorted(spread, key=lambda one: -min(abs(one - other) for other in wanted)):
        if len(wanted) < MOST:
            wanted.add(place)
    return [line for place, line in enumerate(lines) if place in wanted]


def _epoch_in_use(voice: VoiceDetails) -> int | None:
    epoch = voice.learned.get("best_epoch")
    return epoch if isinstance(epoch, int) else None


def _label(line: Audition) -> str:
    return tr("Epoch {epoch}", epoch=line["epoch"]) if line["epoch"] else tr("Before training")


def _note(line: Audition, in_use: int | None) -> str:
    more = [tr("best")] if line["kept"] else []
    more += [tr("in use")] if line["epoch"] == in_use else []
    return joined(tr(", "), [tr("score {score}", score=numeral(line["score"], ".3f")), *more])
