"""How long a training would take here, as a worker finds out: a few of its steps and one rendering are timed."""

from dataclasses import asdict, fields

from engine.datasets.dataset import load_dataset
from engine.training.plan import TrainingPlan
from studio.executors.job import Job
from studio.store.workspaces import dataset_workspace


def estimate(job: Job) -> None:
    """Time it, and end the task with the estimate of the engine. Raises what the engine and the studio raise.

    What is analysed on the way is kept with the recordings, so that the training begins sooner.
    """
    from engine.training.train import estimate_training, usable_clips

    model = job.model()
    asked = job.task.parameters.get("settings", {})
    plan = TrainingPlan(**{one.name: asked[one.name] for one in fields(TrainingPlan) if one.name in asked})
    with dataset_workspace(job.bench.storage, job.account, model, job.task.fence, training=False) as workspace:
        clips = usable_clips(load_dataset(workspace.folder), job.heart.report)
        job.heart.report(1.0, "timing a few steps")
        estimated = estimate_training(clips, plan, job.bench.device)
    job.publish(asdict(estimated))
