"""`train`: a voice of the recordings that were brought in."""

from typing import Annotated, Any

import typer

from engine.errors import Cancelled
from engine.units import rounded_duration
from studio.commands.failures import in_one_sentence
from studio.commands.figures import write_figure
from studio.commands.progress import progress_bar
from studio.settings.options import DeviceOption, read_settings


@in_one_sentence
def train(
    voice: Annotated[str, typer.Argument(metavar="VOICE", help="The id that `create` printed.")],
    only_estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say how long it would take here, from the beginning.")
    ] = False,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="Forget the training so far and begin again; the finished voice stays.")
    ] = False,
    device: DeviceOption = "auto",
    **given: str | None,
) -> None:
    """Train a voice, or go on with its training; prints its id. Ctrl-C stops it without loss."""
    from engine.training.plan import TrainingPlan
    from engine.training.train import train_dataset
    from studio.commands.library import Library
    from studio.settings.environment import load_settings
    from studio.store.workspaces import alone_in_training

    library = Library(load_settings())
    plan = read_settings(TrainingPlan(), given)
    dataset = library.dataset(voice)
    if only_estimate:
        _print_estimate(dataset, plan, device)
        return
    with alone_in_training(dataset.folder, wait_s=0.0):
        if afresh:
            library.forget_training(voice)
        try:
            with progress_bar(time_left=False) as report:  # the engine's own figure is better, and part of its message
                trained = train_dataset(dataset, plan, report, device)
        except (Cancelled, KeyboardInterrupt) as stop:
            raise Cancelled(f"Stopped; python -m studio train {voice} goes on from here.") from stop
        library.keep(trained, voice, trained.preview)
    _print_course(dataset.folder)
    typer.echo(voice)


def _print_estimate(dataset: Any, plan: Any, device: str) -> None:
    from engine.training.train import estimate_training, usable_clips

    with progress_bar() as report:
        clips = usable_clips(dataset, report)
        report(1.0, "timing a few steps")
        estimate = estimate_training(clips, plan, device)
    typer.echo(
        f"{rounded_duration(estimate.total_s)} for {plan.epochs} epochs: {estimate.epoch_s:.1f} s for each epoch, "
        f"{estimate.evaluation_s:.1f} s for each evaluation."
    )


def _print_course(folder: Any) -> None:
    """What happened, and which moment was kept."""
    from engine.datasets.dataset import TRAINING_FOLDER
    from engine.plots.training import plot_learning_curves
    from engine.training.history import CURVES_FILE, read_history

    history = read_history(folder / TRAINING_FOLDER)
    if history is None or history.best is None:
        return
    for event in history.events:
        typer.echo(f"epoch {event['epoch']}: {event['text']}", err=True)
    write_figure(plot_learning_curves(history), folder / TRAINING_FOLDER / CURVES_FILE)
    best = history.best
    epochs = "1 epoch" if history.epoch == 1 else f"{history.epoch} epochs"
    typer.echo(
        f"Trained for {epochs}; kept: epoch {best['epoch']}, likeness {best['likeness']:.3f}, "
        f"pitch error {best['pitch_error_cents']:.0f} cents. Its curves and sounds are in {folder / TRAINING_FOLDER}",
        err=True,
    )
