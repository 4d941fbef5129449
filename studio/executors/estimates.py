"""Estimate the duration of a training in a worker, by timing a few steps and one rendering."""

from engine.datasets.dataset import load_dataset
from engine.texts import tr
from studio.executors.job import Job
from studio.executors.trainings import plan_of
from studio.store.records.voices import EstimateAsked
from studio.store.workspaces import dataset_workspace


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
