"""The course of a training as data for the elements of the Train tab: status, curves and sounds."""

from collections.abc import Sequence
from dataclasses import replace

from engine.texts import joined, ntr, numeral, tr
from engine.training.plan import MAY_CHANGE, TrainingPlan
from engine.units import rounded_duration
from engine.voices.card import UNTRAINED
from studio.actions.trainings.auditions import Audition
from studio.actions.trainings.estimates import seconds_left
from studio.actions.trainings.history import EpochLine
from studio.actions.trainings.training import TrainableVoice, TrainingView
from studio.page.parts.element_data import Chart, CurveLine, CurvesData, FactRow, PlayerData, Track
from studio.store.records.conversion import Settings

_MOST_POINTS = 300  # of a curve: no more fit on the page
_FIRST_EPOCHS = TrainingPlan().epochs  # proposed for a new voice, and on top for a trained one
_SCORES = (  # name in the history, what is said of it, format
    ("likeness", tr("likeness {score}"), ".3f"),
    ("content", tr("intelligibility {score}"), ".3f"),
    ("mel_distance", tr("difference in sound {score} (on unheard recordings)"), ".2f"),
    ("pitch_error_cents", tr("tuning error {score} cents (on unheard recordings)"), ".0f"),
)
_STATES = {
    "pending": UNTRAINED,
    "training": tr("in training"),
    "completed": tr("trained"),
    "failed": tr("training failed"),
}
_CHOICES = {
    "pending": tr("{name} (not trained)"),
    "training": tr("{name} (in training)"),
    "completed": tr("{name} (trained)"),
    "failed": tr("{name} (training failed)"),
}
_STOPPED = tr("{name} (stopped at epoch {epoch})")


def choice_of(voice: TrainableVoice) -> tuple[str, str]:
    """Return the label and the id of a trainable voice."""
    is_stopped = voice.state == "pending" and voice.epoch
    label = _STOPPED if is_stopped else _CHOICES[voice.state]
    return label.format(name=voice.name, epoch=voice.epoch), voice.id


def is_active(view: TrainingView) -> bool:
    """Whether the voice's training is queued or running."""
    return view.task is not None and view.task.state in ("queued", "running")


def is_timed(view: TrainingView) -> bool:
    """Whether a worker is estimating the training time."""
    return view.estimating is not None and view.estimating.state in ("queued", "running")


def proposed_epochs(view: TrainingView) -> int:
    """Return the total to propose: the one requested but not reached, or a further run."""
    asked = int(view.task.epochs if view.task else view.epochs)
    if asked > view.epoch and view.state != "completed":
        return asked
    return max(asked, int(view.epochs), int(view.epoch)) + _FIRST_EPOCHS


def start_label(view: TrainingView) -> str:
    """Return the label of the start button."""
    return tr("Continue from epoch {epoch}", epoch=view.epoch) if view.epoch else tr("Start training")


def given_settings(view: TrainingView, settings: Settings) -> dict[str, int | float | str]:
    """Return the settings to send: those that differ from the defaults or, after the start, those that may change."""
    default = TrainingPlan()
    return {
        name: value
        for name, value in settings.items()
        if (name in MAY_CHANGE if view.begun else value != getattr(default, name))
    }


def estimate_text(view: TrainingView, epochs: int, evaluate_epochs: int = 0) -> str:
    """Return the expected duration as a sentence."""
    if view.estimating and is_timed(view):
        return tr("Estimating training time …")
    seconds = seconds_left(view, epochs, evaluate_epochs)
    if seconds is None:
        why = view.estimating.error if view.estimating else None
        return why or tr("The training time is not known yet.")
    if epochs <= view.epoch:
        return ntr(
            "Already trained for {epoch} epoch. Set a higher number to continue.",
            "Already trained for {epoch} epochs. Set a higher number to continue.",
            epoch=view.epoch,
        )
    about = rounded_duration(seconds)
    if epoch := view.epoch:
        return tr(
            "About {about} from epoch {epoch} to {epochs} on this machine, less if training stops early.",
            about=about,
            epoch=epoch,
            epochs=epochs,
        )
    return ntr(
        "About {about} for {epochs} epoch on this machine, less if training stops early.",
        "About {about} for {epochs} epochs on this machine, less if training stops early.",
        epochs=epochs,
        about=about,
    )


def state_rows(view: TrainingView) -> list[FactRow]:
    """Return the status of the training as rows."""
    rows: list[FactRow] = [FactRow(label=tr("Status"), value=_state(view))]
    history = view.history
    if view.error:
        rows.append(FactRow(label=tr("Error"), value=view.error, state="bad"))
    if history is None:
        return rows
    rows.append(
        FactRow(label=tr("Epochs"), value=tr("{epoch} of {ceiling}", epoch=view.epoch, ceiling=history["ceiling"]))
    )
    if best := _best(view):
        value = tr(
            "epoch {epoch}, score {score} (higher is better)", epoch=best["epoch"], score=numeral(best["score"], ".3f")
        )
        rows.append(FactRow(label=tr("Best checkpoint"), value=value, state="good"))
    if view.chosen_epoch is not None:
        rows.append(
            FactRow(
                label=tr("In use"),
                value=tr("epoch {chosen_epoch}", chosen_epoch=view.chosen_epoch),
                note=tr("chosen by ear"),
            )
        )
    rows += [
        FactRow(label=tr("Epoch {epoch}", epoch=event["epoch"]), value=event["text"])
        for event in history["events"][-5:]
    ]
    return rows


def curves(view: TrainingView, chosen: int | None) -> CurvesData | None:
    """Return data of <timbre-curves>; None while there is nothing to draw."""
    history, evaluations = view.history, view.evaluations
    if history is None or not (history["epochs"] or evaluations):
        return None
    epochs = history["epochs"]
    best = _best(view)
    charts: list[Chart] = [
        Chart(
            title=tr("Quality on new recordings"),
            unit=tr("higher is better"),
            lines=[
                _line(tr("likeness"), "accent", evaluations, "likeness", marks=True),
                _line(tr("intelligibility"), "range", evaluations, "content", marks=True),
                _line(tr("score"), "good", evaluations, "score", marks=True),
            ],
        ),
        Chart(
            title=tr("Difference in sound from the voice"),
            unit=tr("lower is better"),
            lines=[
                _line(tr("training recordings"), "accent", epochs, "envelope"),
                _line(tr("unheard recordings"), "range", evaluations, "mel_distance", marks=True),
            ],
        ),
        Chart(
            title=tr("Training loss"),
            unit=tr("0 is best"),
            lines=[_line(tr("timbre"), "accent", epochs, "taken"), _line(tr("words"), "range", epochs, "kept")],
        ),
    ]
    shown: list[Chart] = [replace(chart, lines=[line for line in chart.lines if line.points]) for chart in charts]
    return CurvesData(
        epochs=max(view.epoch, history["ceiling"] if is_active(view) else 0, 1),
        kept=best["epoch"] if best else None,
        chosen=chosen,
        choices=[line["epoch"] for line in evaluations if line["sounds"]],
        charts=[chart for chart in shown if chart.lines],
    )


def sounds(view: TrainingView, part: str | None, chosen: int | None) -> PlayerData | None:
    """Return data of <timbre-player>: a part as recorded and at the compared checkpoints; None without any."""
    original = next((one for one in view.parts if one.name == part), None)
    lines = playable(view, part, chosen)
    if original is None or part is None or not lines:
        return None
    tracks: list[Track] = [Track(label=tr("Original"), url=original.url)]
    tracks += [
        Track(
            label=_name(line), url=line["sounds"][part], note=tr("score {score}", score=numeral(line["score"], ".3f"))
        )
        for line in lines
    ]
    epochs = [line["epoch"] for line in lines]
    first = epochs.index(heard) if (heard := audible_epoch(view, part, chosen)) is not None else 0
    return PlayerData(id=f"train-{view.id}-{part}", tracks=tracks, chosen=1 + first)


def audible_epoch(view: TrainingView, part: str | None, chosen: int | None) -> int | None:
    """Return the epoch of the checkpoint that is heard: the chosen, the best or the last one."""
    epochs = [line["epoch"] for line in playable(view, part, chosen)]
    best = _best(view)
    kept = best["epoch"] if best and best["epoch"] in epochs else epochs[-1] if epochs else None
    return chosen if chosen in epochs else kept


def epoch_in_use(view: TrainingView) -> int | None:
    """Return the epoch that the voice is: the one that was chosen, or the best of a completed training."""
    best = _best(view)
    if view.chosen_epoch is not None or best is None or view.state != "completed":
        return view.chosen_epoch
    return best["epoch"]


def score_rows(view: TrainingView, part: str | None, chosen: int | None) -> list[FactRow]:
    """Return the scores of the playable checkpoints as rows."""
    return [
        FactRow(
            label=_name(line),
            value=joined(
                tr(", "),
                (
                    said.format(score=numeral(value, form))
                    for score, said, form in _SCORES
                    if isinstance(value := line.get(score), int | float)
                ),
            ),
        )
        for line in playable(view, part, chosen)
    ]


def signature(view: TrainingView) -> list[str | int]:
    """Return a value that changes with the curves and sounds."""
    history = view.history
    counted = [len(history["epochs"]), len(history["evaluations"]), history["ceiling"]] if history else []
    return [view.id, view.state, *counted]


def _state(view: TrainingView) -> str:
    task = view.task
    if task is None or not is_active(view):
        stopped = view.state == "pending" and view.epoch > 0
        return tr("stopped, can be continued") if stopped else _STATES[view.state]
    if task.state == "running":
        return _STATES["training"]
    return tr("up next") if task.place == 1 else tr("queued, number {place} in line", place=task.place)


def _best(view: TrainingView) -> Audition | None:
    return next((line for line in view.evaluations if line["kept"]), None)


def playable(view: TrainingView, part: str | None, chosen: int | None) -> list[Audition]:
    """Return the playable evaluations to compare: the first, the best, the last and the chosen one."""
    playable = [line for line in view.evaluations if part in line["sounds"]]
    best = _best(view)
    wanted = {line["epoch"] for line in (*playable[:1], *playable[-1:])} | {chosen, best["epoch"] if best else None}
    return [line for line in playable if line["epoch"] in wanted]


def _name(line: Audition) -> str:
    name = tr("Epoch {epoch}", epoch=line["epoch"]) if line["epoch"] else tr("Before training")
    return tr("{name} (best)", name=name) if line["kept"] else name


def _line(
    label: str, colour: str, lines: Sequence[EpochLine] | Sequence[Audition], name: str, marks: bool = False
) -> CurveLine:
    points = [(line["epoch"], value) for line in lines if isinstance(value := line.get(name), int | float)]
    apart = -(-len(points) // _MOST_POINTS)
    return CurveLine(
        label=label, colour=colour, points=points if apart < 2 else [*points[::apart], *points[-1:]], marks=marks
    )
