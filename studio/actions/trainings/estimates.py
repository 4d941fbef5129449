"""Estimates of how long a training takes, measured on a worker or by the training itself."""

from studio.actions.submission import Work, queue_task
from studio.actions.trainings.training import TrainingView, checked_plan, trainable_voice
from studio.store.accounts import Account
from studio.store.catalogue import locked_model
from studio.store.kinds import ESTIMATE
from studio.store.records.conversion import Settings
from studio.store.records.voices import EstimateAsked
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, latest_in


def seconds_left(view: TrainingView, epochs: int, evaluate_epochs: int = 0) -> float | None:
    """Estimate how long a training still takes up to `epochs` if nothing ends it sooner; None if unknown.

    view: from `training_view`.
    """
    timed = view.timed
    if timed is None:
        return None
    done = min(view.epoch, epochs)
    return timed.seconds_of(epochs, evaluate_epochs) - (timed.seconds_of(done, evaluate_epochs) if done else 0.0)


def start_estimate(studio: Studio, account: Account, model_id: str, settings: Settings | None = None) -> str:
    """Measure how long an epoch and an evaluation take on a worker; return the task's id.

    An active estimate for the voice is reused. Raises NotFound, WrongState, SettingsError.
    """
    plan = checked_plan(1, settings or {})
    trainable_voice(studio, account, model_id)
    with studio.database.write() as connection:
        locked_model(connection, account.id, model_id)  # concurrent calls wait here
        before = latest_in(connection, account.id, model_id, ESTIMATE)
        if before is not None and before.state in ACTIVE:
            return before.id
        task_id = queue_task(studio, connection, account.id, Work(ESTIMATE, EstimateAsked(plan.settings), model_id))
    studio.wake()
    return task_id
