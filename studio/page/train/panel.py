"""The components of the Train tab and their updates for the chosen voice and the queue."""

import math
from collections.abc import Sequence

import gradio as gr
from gradio.blocks import Block

from engine.texts import joined, tr
from engine.training.plan import MAY_CHANGE, TrainingPlan
from studio.actions.trainings.estimates import start_estimate
from studio.actions.trainings.training import TrainableVoice, TrainingView, queue_view, trainable_view, training_view
from studio.page.history.rows import row_of
from studio.page.parts.controls import controls, settings_of
from studio.page.parts.element import element, shown
from studio.page.parts.markup import markup
from studio.page.parts.notice import notice
from studio.page.parts.page import Visit
from studio.page.parts.values import Given, Values
from studio.page.parts.watched_task import WatchedTask
from studio.page.train.course import (
    audible_epoch,
    choice_of,
    curves,
    epoch_in_use,
    estimate_text,
    is_active,
    is_timed,
    proposed_epochs,
    score_rows,
    signature,
    sounds,
    start_label,
    state_rows,
)
from studio.page.train.use_epoch import offered, use_button

NO_VOICES = tr("No voices to train yet. Make one on the Create tab.")
CHOOSE = tr("Choose a voice first.")
_QUESTION = tr("Delete the training progress? The recordings and the current voice are kept.")
_NOTHING_WAITS = tr(
    "No training is running. You can queue several voices: they are trained one after the other. Curves and sound "
    "samples appear here after the first minutes."
)
_POLL_S = 1.0
_SETTINGS = ("patience", "evaluate_epochs", "batch", "learning_rate", "foreign", "seed")
_WIDTH, _HEIGHT, _STEP = 1000, 400, 10  # of the drawing, in its own units
_LINES = (  # class, colour, name, where it begins and ends (0..1 of the height), and how soon it gets there
    ("likeness", "accent", tr("likeness"), 0.15, 0.86, 0.22),
    ("words", "range", tr("intelligibility"), 0.55, 0.95, 0.12),
)
_GRID = 5


def preview() -> str:
    """Return what is shown before there are curves, as HTML: how a voice will come to be like its recordings."""
    grid = "".join(
        f'<line x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}"/>' for y in range(0, _HEIGHT + 1, _HEIGHT // (_GRID - 1))
    )
    lines = "".join(
        f'<path class="{name}" d="M{_points(begin, end, soon)}"/>' for name, _, _, begin, end, soon in _LINES
    )
    legend = joined("", (f'<span style="--of: var(--{colour})">' + said + "</span>" for _, colour, said, *_ in _LINES))
    return (
        '<p class="legend"><b>'
        + tr("An example")
        + "</b>"
        + legend
        + f'</p><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" '
        f'aria-hidden="true" focusable="false">{grid}{lines}</svg>'
    )


def _points(begin: float, end: float, soon: float) -> str:
    """Return the points of a value that nears its end, more slowly the nearer it is."""
    values = ((x, end - (end - begin) * math.exp(-x / _WIDTH / soon)) for x in range(0, _WIDTH + 1, _STEP))
    return "L".join(f"{x} {_HEIGHT * (1 - value):.1f}" for x, value in values)


class Panel:
    """The components. made: controls of TrainingPlan by field; drawn: signature of the curves and sounds on display,
    which are not sent again; chosen: the epoch chosen for listening."""

    def __init__(self) -> None:
        with gr.Row(equal_height=False, elem_id="train"):
            with gr.Column(scale=4, min_width=260):
                self._lay_out_controls()
            with gr.Column(scale=8, min_width=360):
                self.queue = element("tasks", events=("asked",), elem_id="train-queue")
                self.course = element("curves", events=("chosen",), elem_id="train-curves")
                gr.HTML(preview(), elem_id="train-preview")
            with gr.Column(scale=5, min_width=280, elem_id="train-audition"):
                self._lay_out_audition()
        self.training = WatchedTask(_POLL_S)
        self.drawn, self.chosen = gr.State([]), gr.State(None)

    def _lay_out_controls(self) -> None:
        self.voice = gr.Dropdown([], label=tr("Voice"), info=tr("Voices created here from recordings."))
        self.state = element("facts", elem_id="train-state")
        self.made = controls(TrainingPlan, ["epochs"])
        self.estimate = gr.HTML(elem_id="train-estimate")
        with gr.Row():
            self.convert = gr.Button(tr("Convert with this voice"), variant="primary", visible=False)
            self.start = gr.Button(tr("Start training"), variant="primary", interactive=False)
            self.stop = gr.Button(tr("Stop"), variant="stop", visible=False)
            self.create = gr.Button(tr("Create a voice"), variant="primary", visible=False)
        self.notice = notice("train-notice")
        with gr.Accordion(tr("More settings"), open=False):
            self.made |= controls(TrainingPlan, _SETTINGS)
            self.measure = gr.Button(tr("Estimate time with these settings"), size="sm")
            self.afresh = gr.Button(tr("Start over …"), size="sm", visible=False)
            with gr.Group(visible=False) as self.question:
                gr.HTML("<p>" + _QUESTION + "</p>")
                with gr.Row():
                    self.forget = gr.Button(tr("Delete progress"), variant="stop", size="sm")
                    self.keep = gr.Button(tr("Cancel"), size="sm")

    def _lay_out_audition(self) -> None:
        self.part = gr.Dropdown([], label=tr("Listen to"), visible=False, filterable=False)
        self.player = element("player", events=("chosen",), elem_id="train-player")
        self.use = use_button("train-use")
        self.scores = element("facts", elem_id="train-scores")

    @property
    def asked(self) -> set[Block]:
        """The inputs of the events."""
        return {self.voice, self.part, self.drawn, self.chosen, *self.made.values()}

    @property
    def seen(self) -> list[Block]:
        """The components changed by `show`."""
        return [
            *(self.voice, self.state, self.estimate, self.convert, self.start, self.stop, self.create, self.afresh),
            *(self.queue, self.course, self.part, *self.audition, self.training.timer, self.drawn),
        ]

    @property
    def audition(self) -> list[Block]:
        """The components changed by `heard`."""
        return [self.player, self.use, self.scores]

    @property
    def all(self) -> list[Block]:
        """The components changed by `choose`."""
        return [*self.seen, self.chosen, *self.made.values()]

    @property
    def fixed(self) -> list[Block]:
        """The controls that are locked once a training has begun."""
        return [control for name, control in self.made.items() if name not in MAY_CHANGE]

    def values(self, given: Given) -> tuple[int, dict[str, int | float | str]]:
        """Return the epochs and the other settings."""
        settings = settings_of(self.made, {**given, **{one: given[one] or 0 for one in self.made.values()}})
        return int(settings.pop("epochs")), settings

    def view(self, visit: Visit, model: str | None) -> TrainingView | None:
        """Return everything known of a voice's training; None for a missing or untrainable voice."""
        if model not in [one.id for one in visit.do(trainable_view)]:
            return None
        return visit.do(training_view, str(model), visit.base_url, visit.now_s)

    def show(self, visit: Visit, given: Given, again: bool = False) -> Values:
        """Update what is shown; curves and sounds only where they have changed, or with `again`."""
        voices = visit.do(trainable_view)
        view = self.view(visit, given.read(self.voice, str))
        waiting = visit.do(queue_view, visit.base_url, visit.now_s)
        nothing = "" if view is not None and curves(view, None) else _NOTHING_WAITS
        now = {
            self.queue: shown({"tasks": [row_of(task) for task in waiting], "empty": nothing}),
            **self.training.begin(bool(waiting) or (view is not None and is_timed(view))),
        }
        listed = self._listed(voices, view)  # not at every tick: the list may be open
        if view is None:
            return now | listed | self._nothing(bool(voices))
        busy = is_active(view)
        is_done = view.state == "completed" and not busy
        now |= {
            self.create: gr.Button(visible=False),
            self.state: shown({"rows": state_rows(view)}),
            self.estimate: self.estimated(given, view),
            self.convert: gr.Button(visible=is_done),
            self.start: gr.Button(
                start_label(view), interactive=not busy, variant="secondary" if is_done else "primary", visible=True
            ),
            self.stop: gr.Button(visible=busy),
            self.afresh: gr.Button(visible=view.begun and not busy),
        }
        if signature(view) == given[self.drawn] and not again:
            return now
        return now | listed | self._drawing(view, given)

    def come_back(self, visit: Visit, given: Given) -> Values:
        """As `show`, with voices made or deleted in another window meanwhile."""
        listed = self._listed(visit.do(trainable_view), self.view(visit, given.read(self.voice, str)))
        return listed | self.show(visit, given)

    def estimated(self, given: Given, view: TrainingView) -> str:
        """Return the expected duration as HTML; nothing while training."""
        epochs, settings = self.values(given)
        text = "" if is_active(view) else estimate_text(view, epochs, int(settings["evaluate_epochs"]))
        return f"<p>{markup(text)}</p>"

    def choose(self, visit: Visit, given: Given, model: str | None) -> Values:
        """Show another voice with a proposed number of epochs; start timing a new one."""
        view = self.view(visit, model)
        given = Given({**given, self.voice: model, self.chosen: None})
        if view is None:
            return self.show(visit, given, again=True)
        if not (view.begun or view.timed or view.estimating or is_active(view)):
            visit.do(start_estimate, view.id)
        given |= {self.made["epochs"]: min(proposed_epochs(view), visit.studio.service.epochs_at_most)}
        return self.restore(visit, given, view)

    def restore(self, visit: Visit, given: Given, view: TrainingView) -> Values:
        """Show the given voice and settings."""
        fixed = self.fixed if view.begun else []
        return {
            self.chosen: given[self.chosen],
            **{one: gr.update(value=given[one], interactive=one not in fixed) for one in self.made.values()},
            **self.show(visit, given, again=True),
        }

    def sounds_of(self, view: TrainingView | None, part: str | None, chosen: int | None) -> Values:
        """Show the sounds of one part and the scores of their checkpoints."""
        data = sounds(view, part, chosen) if view else None
        rows = score_rows(view, part, chosen) if view else []
        return {self.player: shown(data), self.scores: shown({"rows": rows}), self.use: self.offer(view, part, chosen)}

    def offer(self, view: TrainingView | None, part: str | None, chosen: int | None) -> gr.Button:
        """Return the button that makes the checkpoint that is heard the voice."""
        if view is None or not view.evaluations:
            return gr.Button(visible=False)
        return offered(view.evaluations, audible_epoch(view, part, chosen), epoch_in_use(view), is_active(view))

    def _listed(self, voices: Sequence[TrainableVoice], view: TrainingView | None) -> Values:
        choices = [choice_of(one) for one in voices]
        return {self.voice: gr.Dropdown(choices=choices, value=view.id if view else None)}

    def _drawing(self, view: TrainingView, given: Given) -> Values:
        parts = [(one.label, one.name) for one in view.parts] if view.evaluations else []
        names = [name for _, name in parts]
        asked, chosen = given.read(self.part, str), given.read(self.chosen, int)
        part = asked if asked in names else names[0] if names else None
        return {
            self.course: shown(curves(view, chosen)),
            self.part: gr.Dropdown(choices=parts, value=part, visible=bool(parts)),
            **self.sounds_of(view, part, chosen),
            self.drawn: signature(view),
        }

    def _nothing(self, can_choose: bool) -> Values:
        return {
            self.state: shown({"rows": [], "otherwise": CHOOSE if can_choose else NO_VOICES}),
            self.estimate: "",
            self.convert: gr.Button(visible=False),
            self.start: gr.Button(tr("Start training"), interactive=False, variant="primary", visible=can_choose),
            self.create: gr.Button(visible=not can_choose),
            self.stop: gr.Button(visible=False),
            self.afresh: gr.Button(visible=False),
            self.course: shown(None),
            self.part: gr.Dropdown(visible=False),
            **self.sounds_of(None, None, None),
            self.drawn: [],
        }
