"""Trainings: started, shown, queued and forgotten."""

from dataclasses import dataclass

from sqlalchemy import Connection

from engine.datasets.dataset import TRAINING_FOLDER
from engine.errors import EngineError, SettingsError
from engine.settings import from_values, refuse_unknown
from engine.texts import tr
from engine.training.history import Estimate
from engine.training.plan import TrainingPlan
from studio.actions.submission import Work, queue_task
from studio.actions.tasks import TaskView, task_views, task_views_of, with_places
from studio.actions.trainings.auditions import Auditions, auditions_of
from studio.actions.trainings.checkpoints import stored_card
from studio.actions.trainings.history import HistoryLines, timed_training, training_history
from studio.errors import WrongState
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import (
    COMPLETED,
    FAILED,
    TRAINING,
    TRAININGS,
    Model,
    all_models,
    find_model,
    locked_model,
    take_failure_report,
    training_begun,
    training_forgotten,
)
from studio.store.idempotency import Idempotency, run_idempotently
from studio.store.idempotent_answers import Answer
from studio.store.kinds import ESTIMATE
from studio.store.kinds import TRAINING as TRAINING_KIND
from studio.store.records.codec import Record
from studio.store.records.conversion import Settings
from studio.store.records.voices import Training
from studio.store.studio import Cost, Studio, costs
from studio.store.task_filter import TaskFilter
from studio.store.tasks import ACTIVE, Task, latest, latest_in, waiting_and_running
from studio.store.workspaces import refuse_in_training

_MOST_SHOWN = 200  # trainings in the queue


@dataclass(frozen=True, kw_only=True)
class TrainableVoice(Record):
    """A voice that has recordings here."""

    id: str
    name: str
    state: str
    epoch: int
    epochs: int


@dataclass(frozen=True, kw_only=True)
class TrainingView(TrainableVoice, Auditions):
    """All that is known about a voice's training.

    task: its latest; chosen_epoch: the checkpoint that was chosen by hand, or None for the best one; estimating: the
    task that makes an estimate.
    """

    error: str | None
    chosen_epoch: int | None
    begun: bool
    task: TaskView | None
    timed: Estimate | None
    estimating: TaskView | None
    history: HistoryLines | None


# ---- views


def trainable_view(studio: Studio, account: Account) -> list[TrainableVoice]:
    """Return the voices that have recordings here, by name."""
    return [
        TrainableVoice(id=one.id, name=one.name, state=one.state, epoch=one.epoch, epochs=one.epochs)
        for one in all_models(studio.database, account)
        if one.dataset_key is not None
    ]


def training_view(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> TrainingView:
    """Return all that is known about a voice's training. Raises NotFound, and WrongState if it has no recordings."""
    model = trainable_voice(studio, account, model_id)
    history = training_history(studio, model)
    task, estimating = (latest(studio.database, account.id, model_id, kind) for kind in (TRAINING_KIND, ESTIMATE))
    if estimating is not None and estimating.created_at < model.created_at:  # belongs to an earlier voice with this id
        estimating = None
    if task is not None and task.created_at < model.created_at:
        task = None
    tasks = [one for one in (task, estimating) if one is not None]
    shown = {one.kind: one for one in with_places(studio, task_views_of(studio, account, tasks, base_url, now_s))}
    return TrainingView(
        id=model.id,
        name=model.name,
        state=model.state,
        error=model.error,
        epoch=model.epoch,
        epochs=model.epochs,
        chosen_epoch=_chosen_epoch(studio, model),
        begun=history is not None,
        task=shown.get(TRAINING_KIND),
        timed=timed_training(history, estimating),
        estimating=shown.get(ESTIMATE),
        history=history,
        **vars(auditions_of(studio, model, history, base_url, now_s)),
    )


def queue_view(studio: Studio, account: Account, base_url: str, now_s: float) -> list[TaskView]:
    """Return the account's active trainings in the order they run, queued ones with a place."""
    found = [
        task
        for state in ACTIVE
        for task in task_views(
            studio, account, base_url, now_s, wanted=TaskFilter(state, TRAINING_KIND), limit=_MOST_SHOWN
        ).tasks
    ]
    views = with_places(studio, found)
    return sorted(views, key=lambda task: (task.state != "running", task.place or 0, task.created_at))


# ---- start and stop


@costs(Cost.START)
def train_model(
    studio: Studio,
    account: Account,
    model_id: str,
    epochs: int,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
    settings: Settings | None = None,
) -> Answer:
    """Train a voice until it has `epochs` epochs in total; return its status as in the published interface.

    settings: other fields of TrainingPlan; those left out keep the values of the training so far. During training, and
    when the voice already has that many epochs, nothing starts and the call reports progress. A failed or stopped
    training is reported once; the next call, or one for another total, continues from the last checkpoint. Raises
    NotFound, WrongState for a voice without recordings here, SettingsError, TooMany.
    """
    plan = allowed_plan(studio, epochs, settings or {})
    found = find_model(studio.database, account, model_id)
    if found.is_demo or found.dataset_key is None:
        text = tr(
            "The voice '{model_id}' was imported without its recordings and cannot be trained.", model_id=model_id
        )
        if found.is_demo:
            text = tr("The voice '{model_id}' is a demo voice and cannot be trained.", model_id=model_id)
        raise WrongState(text, "no_recordings")

    def act(connection: Connection) -> Answer:
        # concurrent calls wait here, and then see the result of the first
        waiting_and_running(connection, account.id, TRAINING_KIND)
        model = locked_model(connection, account.id, model_id)  # its training may have ended meanwhile
        failure_is_new = take_failure_report(connection, account.id, model_id)
        before = latest_in(connection, account.id, model_id, TRAINING_KIND)
        status = _status(model, before, epochs, failure_is_new)
        if status is None:
            queue_task(studio, connection, account.id, Work(TRAINING_KIND, plan, model_id, request_id=request_id))
            training_begun(connection, account.id, model_id, model.epoch if model.must_be_trained_again else None)
            status = TRAINING
        return {"status": status, "model_id": model_id, "current_epoch": model.epoch}

    answer, _ = run_idempotently(studio, account, idempotency, act)
    studio.wake()
    return answer


def allowed_plan(studio: Studio, epochs: int, settings: Settings | None = None) -> Training:
    """Return a training that is asked for, as `checked_plan`. Raises SettingsError for more epochs than allowed too."""
    plan, most = checked_plan(epochs, settings or {}), studio.service.epochs_at_most
    if epochs > most:
        raise SettingsError(tr("epochs must be at most {most} here, not {epochs}.", most=most, epochs=epochs))
    return plan


def checked_plan(epochs: int, settings: Settings) -> Training:
    """Return a training that is asked for. Raises SettingsError for a setting that is unknown or out of range."""
    refuse_unknown(TrainingPlan, settings)
    from_values(TrainingPlan, {**settings, "epochs": epochs})
    return Training(epochs, {name: value for name, value in settings.items() if name != "epochs"})


def _status(model: Model, before: Task | None, epochs: int, failure_is_new: bool) -> str | None:
    """Return the status of the training requested before; None if one is to be started."""
    if before is not None and before.state in ACTIVE:
        return TRAINING
    if model.state == COMPLETED and epochs <= model.epochs:
        return COMPLETED
    if before is None or before.asked_as(Training).epochs != epochs or not failure_is_new:
        return None
    # a client that polls for progress must not restart a training that was stopped
    return FAILED if model.state == FAILED or before.state == "cancelled" else None


def start_training(
    studio: Studio, account: Account, model_id: str, epochs: int, settings: Settings | None = None
) -> Answer:
    """Train a voice, or continue its training, as `train_model`; after a failure it starts again at once, since the
    page has shown the failure."""
    answer = train_model(studio, account, model_id, epochs, settings=settings)
    if answer["status"] == FAILED:
        answer = train_model(studio, account, model_id, epochs, settings=settings)
    return answer


def forget_training(studio: Studio, account: Account, model_id: str) -> None:
    """Delete all progress of a training, so that the next one starts over; recordings and voice stay.

    Raises NotFound, and WrongState during training.
    """
    model = trainable_voice(studio, account, model_id)
    with studio.storage.deleting() as take_away, studio.database.write() as connection:
        locked_model(connection, account.id, model_id)  # a training that starts now waits here
        task = latest_in(connection, account.id, model_id, TRAINING_KIND)
        if task is not None and task.state in ACTIVE:
            raise WrongState(tr("This voice is being trained: stop the training first."), "model_busy")
        home = studio.storage.folder(model.dataset_key or "")
        if home is not None and home.is_dir():
            refuse_in_training(home)  # the command line has no task
        training_forgotten(connection, account.id, model_id)
        take_away(f"{model.dataset_key}/{TRAINING_FOLDER}")
        take_away(f"{account_prefix(account)}{TRAININGS}/{model_id}")


# ---- shared


def trainable_voice(studio: Studio, account: Account, model_id: str) -> Model:
    model = find_model(studio.database, account, model_id)
    if model.dataset_key is None:
        raise WrongState(
            tr("The voice '{name}' has no recordings here and cannot be trained.", name=model.name), "no_recordings"
        )
    return model


def _chosen_epoch(studio: Studio, model: Model) -> int | None:
    try:
        card = stored_card(studio, model)
    except EngineError:  # it is being replaced
        return None
    return card.training.get("best_epoch") if card is not None and card.training.get("chosen") else None
