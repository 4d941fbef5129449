"""A training, as a worker does it, and the data report before it.

The training itself is the engine's, in a folder that no other worker has at the same time; it goes on from the last
checkpoint in there. The voice is published by one transaction, in which its row and the task's say so.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from engine.dataset import TRAINING_FOLDER, load_dataset
from engine.errors import Cancelled
from engine.training_history import read_history
from engine.training_plan import TrainingPlan
from studio.catalogue import find_model, report_made, training_begun, training_completed, training_reached
from studio.executors.job import SHORT_PATIENCE_S, Job, insist
from studio.workspaces import Workspace, dataset_workspace, kept_voice

_ALMOST = 1e-6  # what a fraction of all epochs may lack, by rounding, of a whole one
_SAVED_APART_S = 30.0  # of two checkpoints that are brought to a storage elsewhere


def examine(job: Job) -> None:
    """Examine the recordings of a voice, and end the task with the report in the voice's row."""
    from engine.data_report import examined

    with _workspace(job) as workspace:
        found = examined(load_dataset(workspace.folder), job.heart.report).as_json()
        workspace.save_report()
    job.publish({}, lambda connection: report_made(connection, job.task.account_id, _model_id(job), found))


def train(job: Job) -> None:
    """Train a voice, or go on with its training, and end the task with it."""
    from engine.training import train_dataset

    started = time.monotonic()
    account, model = job.task.account_id, _model_id(job)
    with _workspace(job) as workspace:
        plan = _plan(job.task.parameters, workspace.folder / TRAINING_FOLDER)
        course = _Course(job, workspace, plan)
        job.write_held(lambda connection: training_begun(connection, account, model))
        try:
            voice = train_dataset(load_dataset(workspace.folder), plan, course.report)
        except Cancelled:
            course.save()
            raise
        course.save()
        history = read_history(workspace.folder / TRAINING_FOLDER)
        voice = replace(voice, card=replace(voice.card, id=model))


class _Course:
    """How far the training is, told to those who wait for it and kept where another worker finds it."""

    def __init__(self, job: Job, workspace: Workspace, plan: TrainingPlan) -> None:
        from engine.training import CHECKPOINT_FILE

        self._job, self._workspace, self._plan = job, workspace, plan
        self._checkpoint = workspace.folder / TRAINING_FOLDER / CHECKPOINT_FILE
        self._epoch = self._written = 0
        job.heart.each_beat = self._write_epoch

    def report(self, fraction: float, message: str) -> None:
        """What the engine calls between two steps."""
        self._epoch = max(self._epoch, int(fraction * self._plan.epochs + _ALMOST))
        self._job.heart.report(fraction, message)
