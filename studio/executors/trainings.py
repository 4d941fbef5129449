"""Examine recordings and train voices in a worker, in a folder that it has locked, from the last checkpoint there."""

import time
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Select, select

from engine.datasets.dataset import TRAINING_FOLDER, Dataset, load_dataset
from engine.errors import Cancelled
from engine.settings import from_values
from engine.texts import tr
from engine.training.history import TRAINING_FORMAT, TrainingHistory, read_history
from engine.training.plan import TrainingPlan
from studio.errors import NotFound, StudioError
from studio.executors.heartbeat import changed_ns
from studio.executors.job import Job
from studio.executors.retries import SHORT_PATIENCE_S, retry
from studio.executors.songs import separator_of
from studio.executors.untrained import make_ahead
from studio.store.accounts import account_prefix
from studio.store.catalogue import (
    DATASETS,
    TRAININGS,
    VOICES,
    Model,
    describe,
    report_completed,
    training_begun,
    training_completed,
    training_reached,
)
from studio.store.records.conversion import Settings
from studio.store.records.voices import EstimateAsked, Nothing, ReportAsked, Training
from studio.store.tables import models
from studio.store.voice_folders import drop_older_voices, keep_voice, untrained_prefix
from studio.store.workspaces import Workspace, alone_with_untrained, dataset_workspace

if TYPE_CHECKING:
    from engine.voices.voice import Voice

_ALMOST = 1e-6  # rounding tolerance for a whole epoch
_SAVED_APART_S = 30.0  # between checkpoints saved to a remote storage
_SAVED_AGAIN_S = 5.0  # between checkpoints after a lost worker
_MARK = "saved"  # changes with each of these


def examine(job: Job) -> None:
    """Examine the recordings of a voice, without music if that is asked for, and make the untrained voice of them."""
    from engine.datasets.report import examined

    model = job.model()
    with (
        dataset_workspace(job.context.storage, job.account, model, job.task.fence, training=False) as workspace,
        alone_with_untrained(workspace.folder, job.heartbeat.report),
    ):
        dataset = load_dataset(workspace.folder)
        if job.task.asked_as(ReportAsked).remove_music:
            dataset = _without_music(job, workspace, dataset)
        found = examined(dataset, job.heartbeat.report).as_json()
        workspace.save_report()
        if model.is_untrained:
            make_ahead(job, workspace)

    def also(connection: Connection) -> None:
        report_completed(connection, model.account_id, model.id, found)
        if dataset.profile.source != (model.card.source or ""):
            describe(connection, model.account_id, model.id, {**vars(model.card), "source": dataset.profile.source})

    job.publish(Nothing(), also)


def _without_music(job: Job, workspace: Workspace, dataset: Dataset) -> Dataset:
    """Return the data set with vocals in place of the recordings that have music; the storage has both then."""
    from engine.datasets.music_removal import remove_music
    from engine.datasets.report import examined

    report = job.heartbeat.report
    try:
        return remove_music(dataset, examined(dataset, report), separator_of(job), report)
    finally:
        workspace.save_recordings(dataset.recordings)


def train(job: Job) -> None:
    """Train a voice, or continue its training, and complete the task: fetch, train, publish."""
    model = job.model()
    try:
        with dataset_workspace(job.context.storage, job.account, model, job.task.fence) as workspace:
            plan, epoch = _fetched(job, model, workspace.folder / TRAINING_FOLDER)
            voice, history = _trained(job, replace(model, epoch=epoch), workspace, plan)
            _publish(job, model, voice, history)
    except Exception:
        _forget_if_deleted(job, model)
        raise


def _fetched(job: Job, model: Model, training: Path) -> tuple[TrainingPlan, int]:
    """Return the plan, and the epoch it continues from: 0 for a training begun by an earlier version."""
    from engine.training.checkpoint import load_checkpoint
    from engine.training.train import CHECKPOINT_FILE

    state = load_checkpoint(training / CHECKPOINT_FILE)
    begun_with = None if state is None or state.get("format") != TRAINING_FORMAT else state["plan"]
    plan = _plan(job.task.asked_as(Training), begun_with or {})
    if job.task.attempt > 1:  # the worker before was lost: attempts count from the last checkpoint
        plan = replace(plan, save_s=min(plan.save_s, _SAVED_AGAIN_S))
    return plan, 0 if begun_with is None else model.epoch


def _trained(job: Job, model: Model, workspace: Workspace, plan: TrainingPlan) -> "tuple[Voice, TrainingHistory]":
    """Return the trained voice, and the history. model: with the epoch that the training continues from."""
    from engine.training.train import train_dataset

    def begin(connection: Connection) -> None:
        training_begun(connection, model.account_id, model.id)
        training_reached(connection, model.account_id, model.id, model.epoch)

    job.write_as_owner(begin)
    course = _Course(job, model, workspace, plan)
    try:
        voice = train_dataset(load_dataset(workspace.folder), plan, course.report, job.context.device)
    except Cancelled:
        course.save_if_possible()
        raise
    course.save()
    history = read_history(workspace.folder / TRAINING_FOLDER)
    assert history is not None  # it has just been written
    return voice, history


def _publish(job: Job, model: Model, voice: "Voice", history: TrainingHistory) -> None:
    """Store the voice under its final id, and update its row and the task's in one transaction."""
    # the profile may have changed since the training, or its best checkpoint, began
    voice = replace(voice, card=replace(job.model().stated_on(voice.card), id=model.id))
    if job.heartbeat.is_cancelled:
        raise Cancelled
    storage, account = job.context.storage, job.account
    voice_key = retry(
        lambda: keep_voice(storage, account, model.id, job.task.fence, voice, voice.preview), SHORT_PATIENCE_S
    )

    def also(connection: Connection) -> None:
        _refuse_deleted(connection, model)
        epochs = job.task.asked_as(Training).epochs
        training_completed(connection, model.account_id, model.id, voice.card, voice_key, history.epoch, epochs)

    job.publish(voice.card.training, also)
    try:
        drop_older_voices(storage, account, model.id, voice_key)
        storage.delete_below(untrained_prefix(model))
    except StudioError as trouble:  # costs only disk space
        job.log.warning("older_voices_kept", reason=str(trouble))


class _Course:
    """The progress of a training: reported, and saved so that another worker can continue."""

    def __init__(self, job: Job, model: Model, workspace: Workspace, plan: TrainingPlan) -> None:
        from engine.training.train import CHECKPOINT_FILE

        self._job, self._model, self._workspace, self._epochs = job, model, workspace, plan.epochs
        self._checkpoint = workspace.folder / TRAINING_FOLDER / CHECKPOINT_FILE
        self._epoch = self._written = model.epoch
        self._saved_at, self._saved = time.monotonic(), changed_ns(self._checkpoint)
        self._mark = job.folder / _MARK
        job.heartbeat.watch(self._mark if workspace.is_copy else self._checkpoint)
        job.heartbeat.each_beat = self._write_epoch

    def report(self, fraction: float, message: str) -> None:
        """Report progress between two steps, when all files are consistent, and keep to the share of cores that there
        is now. Raises as a heartbeat does."""
        self._job.context.keep_to_share()
        self._epoch = max(self._epoch, int(fraction * self._epochs + _ALMOST))
        if self._workspace.is_copy and time.monotonic() - self._saved_at > _SAVED_APART_S:
            self.save_if_possible()
        self._job.heartbeat.report(fraction, message)

    def save(self) -> None:
        """Save the latest checkpoint to a remote storage, if it is new."""
        state = changed_ns(self._checkpoint)
        if self._workspace.is_copy and state != self._saved:
            retry(lambda: self._workspace.save(self._point), SHORT_PATIENCE_S)
            self._saved = state
            self._mark.write_text(str(state))
        self._saved_at = time.monotonic()

    def save_if_possible(self) -> None:
        """Save if the storage is reachable; otherwise the training continues unsaved."""
        try:
            self.save()
        except StudioError as trouble:
            self._saved_at = time.monotonic()
            self._job.log.warning("checkpoint_not_saved", reason=str(trouble))

    def _point(self, training_key: str) -> None:
        def point(connection: Connection) -> None:
            _refuse_deleted(connection, self._model)
            self._reached(connection, training_key)

        self._job.write_as_owner(point)

    def _write_epoch(self) -> None:
        """Record the epoch, in the heartbeat's thread."""
        epoch = self._epoch
        if epoch > self._written:
            self._job.write_as_owner(lambda connection: self._reached(connection, None))
            self._written = epoch

    def _reached(self, connection: Connection, training_key: str | None) -> None:
        training_reached(connection, self._model.account_id, self._model.id, self._epoch, training_key)


def plan_of(settings: Settings) -> TrainingPlan:
    """Return the plan of a task; what earlier versions had beside it is left out."""
    known = {one.name for one in fields(TrainingPlan)}
    return from_values(TrainingPlan, {name: value for name, value in settings.items() if name in known})


def _plan(asked: Training, begun_with: Settings) -> TrainingPlan:
    """Return the plan of a task, with fixed values taken from the existing training."""
    plan = plan_of({**asked.settings, "epochs": asked.epochs})
    kept = [name for name in plan.differences(begun_with) if name in begun_with and name not in asked.settings]
    return from_values(TrainingPlan, asdict(plan) | {name: begun_with[name] for name in kept})


def _refuse_deleted(connection: Connection, model: Model) -> None:
    """Raise NotFound for a voice deleted during training, so that it does not return or replace a namesake."""
    if connection.scalar(_row_of(model)) != model.created_at:
        raise NotFound(tr("The voice was deleted during its training."), "model_not_found")


def _forget_if_deleted(job: Job, model: Model) -> None:
    """If the voice was deleted meanwhile, delete what the training has stored since."""
    prefix = account_prefix(job.account)
    try:
        with job.context.database.write() as connection:
            if connection.scalar(_row_of(model)) is None:
                for kind in (VOICES, DATASETS, TRAININGS):
                    job.context.storage.delete_below(f"{prefix}{kind}/{model.id}")
    except StudioError as trouble:
        job.log.warning("deleted_voice_not_removed", reason=str(trouble))


def _row_of(model: Model) -> Select[float]:
    return select(models.c.created_at).where(models.c.account_id == model.account_id, models.c.id == model.id)


def estimate(job: Job) -> None:
    """Complete the task with the engine's estimate. Raises what the engine and the studio raise.

    Features analysed for it are stored with the recordings, so the training starts sooner.
    """
    from engine.training.train import estimate_training, usable_clips

    model = job.model()
    plan = plan_of(job.task.asked_as(EstimateAsked).settings)
    with dataset_workspace(job.context.storage, job.account, model, job.task.fence, training=False) as workspace:
        clips = usable_clips(load_dataset(workspace.folder), job.heartbeat.report)
        job.heartbeat.report(1.0, tr("timing a few steps"))
        estimated = estimate_training(clips, plan, job.context.device)
    job.publish(estimated)
