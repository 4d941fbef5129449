"""Examine recordings and train voices in a worker, in a folder that it has locked, from the last checkpoint there."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from engine.datasets.dataset import Dataset, load_dataset
from engine.errors import Cancelled
from engine.texts import tr
from engine.training.plan import TrainingPlan
from studio.executors.heartbeat import changed_ns
from studio.executors.job import Job
from studio.executors.retries import SHORT_PATIENCE_S, retry
from studio.executors.songs import separator_of
from studio.executors.untrained import make_ahead
from studio.store.catalogue import clear_deleted, describe, report_completed
from studio.store.records.voices import EstimateAsked, Nothing, ReportAsked
from studio.store.trainings import StoredTraining, stored_training
from studio.store.workspaces import Workspace, alone_with_untrained, dataset_workspace

if TYPE_CHECKING:
    from engine.voices.voice import Voice

_ALMOST = 1e-6  # rounding tolerance for a whole epoch
_SAVED_APART_S = 30.0  # between checkpoints saved to a remote storage
_MARK = "saved"  # changes with each of these


def examine(job: Job) -> None:
    """Examine the recordings of a voice, without music if that is asked for, and make the untrained voice of them."""
    from engine.datasets.report import examined

    model = job.model()
    with (
        dataset_workspace(job.context.storage, model) as workspace,
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
    context, model = job.context, job.model()
    try:
        with stored_training(context.database, context.storage, job.account, model, job.task) as stored:
            course = _Course(job, stored, *stored.continued())
            _publish(job, stored, course.trained(), course.epoch)
    except Exception:
        with job.tolerate("deleted_voice_not_removed"):
            clear_deleted(context.database, context.storage, job.account, model)
        raise


def _publish(job: Job, stored: StoredTraining, voice: "Voice", epoch: int) -> None:
    """Store the voice under its final id, and update its row and the task's in one transaction."""
    # the profile may have changed since the training, or its best checkpoint, began
    voice = replace(voice, card=replace(job.model().stated_on(voice.card), id=stored.model.id))
    if job.heartbeat.is_cancelled:
        raise Cancelled
    voice_key = retry(lambda: stored.keep(voice), SHORT_PATIENCE_S)
    job.publish(voice.card.training, lambda rows: stored.complete(rows, voice.card, voice_key, epoch))
    with job.tolerate("older_voices_kept"):  # costs only disk space
        stored.drop_older(voice_key)


class _Course:
    """A training on its way: reported, and saved so that another worker can continue. epoch: which it has reached."""

    def __init__(self, job: Job, stored: StoredTraining, plan: TrainingPlan, epoch: int) -> None:
        from engine.training.checkpoint import CHECKPOINT_FILE

        self._job, self._stored, self._plan = job, stored, plan
        self.epoch = self._written = epoch
        self._is_copy = stored.workspace.is_copy
        self._checkpoint, self._mark = stored.folder / CHECKPOINT_FILE, job.folder / _MARK
        self._saved_at, self._saved = time.monotonic(), changed_ns(self._checkpoint)
        job.heartbeat.watch(self._mark if self._is_copy else self._checkpoint)
        job.heartbeat.each_beat = self._write_new_epoch

    def trained(self) -> "Voice":
        """Return the trained voice; what was learned until a cancellation is saved."""
        from engine.training.train import train_dataset

        stored, device = self._stored, self._job.context.device
        stored.begin(self.epoch)
        try:
            voice = train_dataset(load_dataset(stored.workspace.folder), self._plan, self.report, device)
        except Cancelled:
            self._save_if_possible()
            raise
        self._save()
        self.epoch = stored.last_epoch()
        return voice

    def report(self, fraction: float, message: str) -> None:
        """Report progress between two steps, when all files are consistent, and keep to the share of cores that there
        is now. Raises as a heartbeat does."""
        self._job.context.keep_to_share()
        self.epoch = max(self.epoch, int(fraction * self._plan.epochs + _ALMOST))
        if self._is_copy and time.monotonic() - self._saved_at > _SAVED_APART_S:
            self._save_if_possible()
        self._job.heartbeat.report(fraction, message)

    def _save(self) -> None:
        """Save the latest checkpoint to a remote storage, if it is new."""
        state = changed_ns(self._checkpoint)
        try:
            if self._is_copy and state != self._saved:
                retry(lambda: self._stored.save(self.epoch), SHORT_PATIENCE_S)
                self._saved = state
                self._mark.write_text(str(state))
        finally:
            self._saved_at = time.monotonic()

    def _save_if_possible(self) -> None:
        with self._job.tolerate("checkpoint_not_saved"):  # the training goes on unsaved
            self._save()

    def _write_new_epoch(self) -> None:
        """Record the epoch, in the heartbeat's thread."""
        if (epoch := self.epoch) > self._written:
            self._stored.reached(epoch)
            self._written = epoch


def estimate(job: Job) -> None:
    """Complete the task with the engine's estimate. Raises what the engine and the studio raise.

    Features analysed for it are stored with the recordings, so the training starts sooner.
    """
    from engine.training.train import estimate_training, usable_clips

    model = job.model()
    plan = TrainingPlan.known(job.task.asked_as(EstimateAsked).settings)
    with dataset_workspace(job.context.storage, model) as workspace:
        clips = usable_clips(load_dataset(workspace.folder), job.heartbeat.report)
        job.heartbeat.report(1.0, tr("timing a few steps"))
        estimated = estimate_training(clips, plan, job.context.device)
    job.publish(estimated)
