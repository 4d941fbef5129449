"""Examine recordings and train voices in a worker, in a folder that it has locked, from the last checkpoint there."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from engine.datasets.dataset import TRAINING_FOLDER, Dataset, load_dataset
from engine.errors import Cancelled
from engine.texts import tr
from engine.training.history import read_history
from engine.training.plan import TrainingPlan
from studio.errors import StudioError
from studio.executors.heartbeat import changed_ns
from studio.executors.job import Job
from studio.executors.retries import SHORT_PATIENCE_S, retry
from studio.executors.songs import separator_of
from studio.executors.untrained import make_ahead
from studio.store.catalogue import (
    Model,
    clear_deleted,
    describe,
    report_completed,
    training_begun,
    training_completed,
    training_reached,
)
from studio.store.records.voices import EstimateAsked, Nothing, ReportAsked, Training
from studio.store.voice_folders import drop_older_voices, keep_voice
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
            course = _Course(job, model, workspace)
            voice = course.trained()
            _publish(job, model, voice, course.epoch)
    except Exception:
        _clear_if_deleted(job, model)
        raise


def _publish(job: Job, model: Model, voice: "Voice", epoch: int) -> None:
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
        training_completed(connection, model, voice.card, voice_key, epoch, job.task.asked_as(Training).epochs)

    job.publish(voice.card.training, also)
    try:
        drop_older_voices(storage, account, model, voice_key)
    except StudioError as trouble:  # costs only disk space
        job.log.warning("older_voices_kept", reason=str(trouble))


class _Course:
    """A training on its way: reported, and saved so that another worker can continue. epoch: which it has reached."""

    def __init__(self, job: Job, model: Model, workspace: Workspace) -> None:
        from engine.training.checkpoint import CHECKPOINT_FILE, plan_begun_with

        self._job, self._model, self._workspace = job, model, workspace
        training = workspace.folder / TRAINING_FOLDER
        begun_with = plan_begun_with(training)
        self._plan = _plan(job, begun_with or {})
        self.epoch = self._written = 0 if begun_with is None else model.epoch
        self._checkpoint, self._mark = training / CHECKPOINT_FILE, job.folder / _MARK
        self._saved_at, self._saved = time.monotonic(), changed_ns(self._checkpoint)
        job.heartbeat.watch(self._mark if workspace.is_copy else self._checkpoint)
        job.heartbeat.each_beat = self._write_new_epoch

    def trained(self) -> "Voice":
        """Return the trained voice; what was learned until a cancellation is saved."""
        from engine.training.train import train_dataset

        job, model = self._job, self._model
        job.write_as_owner(lambda rows: training_begun(rows, model.account_id, model.id, self.epoch))
        try:
            voice = train_dataset(load_dataset(self._workspace.folder), self._plan, self.report, job.context.device)
        except Cancelled:
            self.save_if_possible()
            raise
        self.save()
        history = read_history(self._workspace.folder / TRAINING_FOLDER)
        assert history is not None  # it has just been written
        self.epoch = history.epoch
        return voice

    def report(self, fraction: float, message: str) -> None:
        """Report progress between two steps, when all files are consistent, and keep to the share of cores that there
        is now. Raises as a heartbeat does."""
        self._job.context.keep_to_share()
        self.epoch = max(self.epoch, int(fraction * self._plan.epochs + _ALMOST))
        if self._workspace.is_copy and time.monotonic() - self._saved_at > _SAVED_APART_S:
            self.save_if_possible()
        self._job.heartbeat.report(fraction, message)

    def save(self) -> None:
        """Save the latest checkpoint to a remote storage, if it is new."""
        state = changed_ns(self._checkpoint)
        if self._workspace.is_copy and state != self._saved:
            retry(lambda: self._workspace.save(self._write_epoch), SHORT_PATIENCE_S)
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

    def _write_new_epoch(self) -> None:
        """Record the epoch, in the heartbeat's thread."""
        if (epoch := self.epoch) > self._written:
            self._write_epoch()
            self._written = epoch

    def _write_epoch(self, training_key: str | None = None) -> None:
        self._job.write_as_owner(lambda rows: training_reached(rows, self._model, self.epoch, training_key))


def _plan(job: Job, begun_with: Mapping[str, object]) -> TrainingPlan:
    """Return the plan of a task, with fixed values taken from the existing training."""
    asked = job.task.asked_as(Training)
    plan = TrainingPlan.known({**asked.settings, "epochs": asked.epochs}).continuing(begun_with, asked.settings)
    if job.task.attempt > 1:  # the worker before was lost: attempts count from the last checkpoint
        return replace(plan, save_s=min(plan.save_s, _SAVED_AGAIN_S))
    return plan


def _clear_if_deleted(job: Job, model: Model) -> None:
    """If the voice was deleted meanwhile, delete what the training has stored since."""
    try:
        clear_deleted(job.context.database, job.context.storage, job.account, model)
    except StudioError as trouble:
        job.log.warning("deleted_voice_not_removed", reason=str(trouble))


def estimate(job: Job) -> None:
    """Complete the task with the engine's estimate. Raises what the engine and the studio raise.

    Features analysed for it are stored with the recordings, so the training starts sooner.
    """
    from engine.training.train import estimate_training, usable_clips

    model = job.model()
    plan = TrainingPlan.known(job.task.asked_as(EstimateAsked).settings)
    with dataset_workspace(job.context.storage, job.account, model, job.task.fence, training=False) as workspace:
        clips = usable_clips(load_dataset(workspace.folder), job.heartbeat.report)
        job.heartbeat.report(1.0, tr("timing a few steps"))
        estimated = estimate_training(clips, plan, job.context.device)
    job.publish(estimated)
