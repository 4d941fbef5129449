"""A training, as a worker does it, and the data report before it.

The training itself is the engine's, in a folder that no other worker has at the same time; it goes on from the last
checkpoint in there. The voice is published by one transaction, in which its row and the task's say so.
"""

import time
from contextlib import AbstractContextManager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from engine.dataset import TRAINING_FOLDER, load_dataset
from engine.errors import Cancelled, SettingsError
from engine.training_history import read_history
from engine.training_plan import TrainingPlan
from studio.catalogue import (
    Model,
    find_model,
    report_made,
    training_begun,
    training_completed,
    training_reached,
)
from studio.errors import NotFound
from studio.executors.job import SHORT_PATIENCE_S, Job, insist
from studio.tables import models
from studio.workspaces import Workspace, dataset_workspace

_ALMOST = 1e-6  # what a fraction of all epochs may lack, by rounding, of a whole one
_SAVED_APART_S = 30.0  # of two checkpoints that are brought to a storage elsewhere


def examine(job: Job) -> None:
    """Examine the recordings of a voice, and end the task with the report in the voice's row."""
    from engine.data_report import examined

    model = _model(job)
    with _workspace(job, model) as workspace:
        found = examined(load_dataset(workspace.folder), job.heart.report)
    job.publish({}, lambda connection: report_made(connection, model.account_id, model.id, found.as_json()))


def train(job: Job) -> None:
    """Train a voice, or go on with its training, and end the task with it."""
    from engine.training import train_dataset

    started = time.monotonic()
    model = _model(job)
    with _workspace(job, model) as workspace:
        dataset = load_dataset(workspace.folder)
        plan = _plan(job.task.parameters, workspace.folder / TRAINING_FOLDER)
        job.write_held(lambda connection: training_begun(connection, model.account_id, model.id, plan.epochs))
        course = _Course(job, model, workspace, plan)
        try:
            voice = train_dataset(dataset, plan, course.report)
        except Cancelled:
            course.save()  # where another worker can go on from
            raise
        course.save()
        ...
