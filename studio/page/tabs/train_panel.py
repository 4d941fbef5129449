"""What the Train tab shows of the voice that is chosen in it, and of what is in the queue."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from engine.training.plan import MAY_CHANGE
from studio.actions.trainings import queue_view, start_estimate, trainable_view, training_view
from studio.page.parts.controls import settings_of
from studio.page.parts.element import shown
from studio.page.parts.page import Visit
from studio.page.tabs.history_rows import row_of
from studio.page.tabs.train_course import (
    choice_of,
    curves,
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

Given = Mapping[Any, Any]  # values by component
NO_VOICES = "There is nothing to train yet: make a voice of recordings on the Create tab first."
CHOOSE = "Choose a voice first."
_NOTHING_WAITS = (
    "Nothing is being trained. Several voices can be started: they are trained one after the other. Curves and sounds "
    "of a voice are shown here, from its first minutes on."
)


@dataclass(frozen=True)
class Panel:
    """The components. made: the controls of TrainingPlan; drawn: a state with what is drawn already, so that it is
    not sent again; chosen: one with the epoch that was chosen to be heard."""

    voice: gr.Dropdown
    state: gr.HTML
    estimate: gr.HTML
    start: gr.Button
    stop: gr.Button
    afresh: gr.Button
    queue: gr.HTML
    course: gr.HTML
    part: gr.Dropdown
    player: gr.HTML
    scores: gr.HTML
    timer: gr.Timer
    drawn: gr.State
    chosen: gr.State
    made: Mapping[str, Any]

    @property
    def asked(self) -> set[Any]:
        """What the events need to be given."""
        return {self.voice, self.part, self.drawn, self.chosen, *self.made.values()}

    @property
    def seen(self) -> list[Any]:
        """What `show` changes."""
        return [
            self.voice, self.state, self.estimate, self.start, self.stop, self.afresh, self.queue, self.course,
            self.part, self.player, self.scores, self.timer, self.drawn,
        ]  # fmt: skip

    @property
    def all(self) -> list[Any]:
        """What `choose` changes."""
        return [*self.seen, self.chosen, *self.made.values()]

    @property
    def fixed(self) -> list[Any]:
        """The controls of what cannot change once a training has begun."""
        return [control for name, control in self.made.items() if name not in MAY_CHANGE]

    def values(self, given: Given) -> tuple[int, dict[str, Any]]:
        """The epochs that are asked for, and the other settings."""
        settings = settings_of(self.made, {**given, **{one: given[one] or 0 for one in self.made.values()}})
        return int(settings.pop("epochs")), settings

    def view(self, visit: Visit, model: str | None) -> dict[str, Any] | None:
        """All that is known of a voice's training; None for one that is not there, or cannot be trained."""
        if model not in [one["id"] for one in trainable_view(visit.studio, visit.account)]:
            return None
        return training_view(visit.studio, visit.account, str(model), visit.base_url, visit.now_s)

    def show(self, visit: Visit, given: Given, again: bool = False) -> dict[Any, Any]:
        """What there is to see; curves and sounds only where there is something new in them, or `again`."""
        voices = trainable_view(visit.studio, visit.account)
        view = self.view(visit, given[self.voice])
        waiting = queue_view(visit.studio, visit.account, visit.base_url, visit.now_s)
        rows = [row_of(task) for task in waiting]
        now = {
            self.queue: gr.HTML(value=shown({"tasks": rows, "empty": _NOTHING_WAITS})),
            self.timer: gr.Timer(active=bool(waiting) or (view is not None and is_timed(view))),
        }
        listed = self._listed(voices, view)  # not at every look: somebody may just be choosing
        if view is None:
            return now | listed | self._nothing(NO_VOICES if not voices else CHOOSE)
        busy = is_active(view)
        now |= {
            self.state: gr.HTML(value=shown({"rows": state_rows(view)})),
            self.estimate: self.estimated(given, view),
            self.start: gr.Button(start_label(view), interactive=not busy),
            self.stop: gr.Button(visible=busy),
            self.afresh: gr.Button(visible=view["begun"] and not busy),
        }
        if signature(view) == given[self.drawn] and not again:
            return now
        return now | listed | self._drawing(view, given)

    def come_back(self, visit: Visit, given: Given) -> dict[Any, Any]:
        """What there is to see for somebody who was in another window, where voices may have been made or deleted."""
        listed = self._listed(trainable_view(visit.studio, visit.account), self.view(visit, given[self.voice]))
        return listed | self.show(visit, given)

    def _listed(self, voices: Sequence[Mapping[str, Any]], view: Mapping[str, Any] | None) -> dict[Any, Any]:
        choices = [choice_of(one) for one in voices]
        return {self.voice: gr.Dropdown(choices=choices, value=view["id"] if view else None)}

    def estimated(self, given: Given, view: Mapping[str, Any]) -> Any:
        """How long it takes, while that is a question."""
        epochs, settings = self.values(given)
        text = "" if is_active(view) else estimate_text(view, epochs, settings["evaluate_epochs"])
        return gr.HTML(value=f"<p>{html.escape(text)}</p>")

    def choose(self, visit: Visit, given: Given, model: str | None) -> dict[Any, Any]:
        """Another voice: its own number of epochs is proposed, and it is measured how long a new one takes."""
        view = self.view(visit, model)
        given = {**given, self.voice: model, self.chosen: None}
        if view is None:
            return self.show(visit, given, again=True)
        if not (view["begun"] or view["timed"] or view["estimating"] or is_active(view)):
            start_estimate(visit.studio, visit.account, view["id"])
        given |= {self.made["epochs"]: min(proposed_epochs(view), visit.studio.service.epochs_at_most)}
        return self.restore(visit, given, view)

    def restore(self, visit: Visit, given: Given, view: Mapping[str, Any]) -> dict[Any, Any]:
        """The voice and the settings that are given."""
        fixed = self.fixed if view["begun"] else []
        return {
            self.chosen: given[self.chosen],
            **{one: gr.update(value=given[one], interactive=one not in fixed) for one in self.made.values()},
            **self.show(visit, given, again=True),
        }

    def _drawing(self, view: Mapping[str, Any], given: Given) -> dict[Any, Any]:
        parts = [(one["label"], one["name"]) for one in view["parts"]] if view["evaluations"] else []
        names = [name for _, name in parts]
        heard = given[self.part] if given[self.part] in names else names[0] if names else None
        return {
            self.course: gr.HTML(value=shown(curves(view, given[self.chosen]))),
            self.part: gr.Dropdown(choices=parts, value=heard, visible=bool(parts)),
            **self.heard(view, heard, given[self.chosen]),
            self.drawn: signature(view),
        }

    def heard(self, view: Mapping[str, Any] | None, part: str | None, chosen: int | None) -> dict[Any, Any]:
        """The sounds of one part, and the scores of the moments they are from."""
        data = sounds(view, part, chosen) if view else None
        rows = score_rows(view, part, chosen) if view else []
        return {self.player: gr.HTML(value=shown(data)), self.scores: gr.HTML(value=shown({"rows": rows}))}

    def _nothing(self, why: str) -> dict[Any, Any]:
        return {
            self.state: gr.HTML(value=shown({"rows": [], "otherwise": why})),
            self.estimate: gr.HTML(value=""),
            self.start: gr.Button("Start training", interactive=False),
            self.stop: gr.Button(visible=False),
            self.afresh: gr.Button(visible=False),
            self.course: gr.HTML(value=""),
            self.part: gr.Dropdown(visible=False),
            **self.heard(None, None, None),
            self.drawn: [],
        }
