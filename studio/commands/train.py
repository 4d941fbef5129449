"""`train`: train a voice on its recordings."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import Cancelled
from engine.texts import ntr, numeral, tr
from engine.units import rounded_duration
from studio.commands.arguments import Threads, compute_on
from studio.commands.failures import in_one_sentence
from studio.commands.known_voices import complete_voice, refuse_unknown_voice
from studio.commands.plot_files import write_figure
from studio.commands.progress import progress_bar
from studio.commands.wording import say, show
from studio.errors import WrongState
from studio.settings.options import DeviceOption, option, read_settings

if TYPE_CHECKING:  # the engine and the database take a moment to load
    from engine.training.plan import TrainingPlan
    from studio.store.studio import Studio


@in_one_sentence
def train(
    voice: Annotated[
        str, typer.Argument(metavar="VOICE", autocompletion=complete_voice, help=tr("The id that `create` printed."))
    ],
    only_estimate: Annotated[
        bool, option(None, tr("Only estimate how long a training takes here, from the beginning."), "--estimate")
    ] = False,
    afresh: Annotated[
        bool, option(None, tr("Discard the training so far and start again; the finished voice stays."), "--afresh")
    ] = False,
    as_json: Annotated[bool, option(None, tr("Print the estimate as JSON."), "--json")] = False,
    device: DeviceOption = "auto",
    threads: Threads = None,
    **given: str | None,
) -> None:
    """Train a voice, or continue its training; prints its id. Ctrl-C stops it without losing work."""
    refuse_unknown_voice(voice)
    from engine.training.plan import TrainingPlan
    from studio.actions.trainings.training import forget_training, start_training
    from studio.commands.in_process import carry_out, local_studio

    plan = read_settings(TrainingPlan(), given)
    chosen = {name: getattr(plan, name) for name, text in given.items() if text is not None and name != "epochs"}
    with local_studio(threads=threads) as studio:
        if only_estimate:
            _print_estimate(studio, voice, plan, device, as_json)
            return
        _claim_for_this_process(studio, voice)
        if afresh:
            forget_training(studio, studio.local, voice)
        try:
            carry_out(
                studio,
                lambda here: start_training(here, here.local, voice, plan.epochs, chosen),
                device,
                time_left=False,  # the engine's message has a better estimate
            )
        except (Cancelled, KeyboardInterrupt) as stop:
            raise Cancelled(tr("Stopped; continue with timbre-studio train {voice}.", voice=voice)) from stop
        _print_course(studio, voice)
    typer.echo(voice)


def _claim_for_this_process(studio: "Studio", voice: str) -> None:
    """Withdraw a queued training of the voice. Raises WrongState if one is running."""
    from studio.commands.in_process import withdraw
    from studio.executors.recovery import dead_owners, recover
    from studio.store.tasks import ACTIVE, latest

    recover(studio.database, studio.service.attempts, dead_owners(studio.database))  # a server may not be running
    before = latest(studio.database, studio.local.id, voice, "training")
    if before is not None and before.state == "queued":
        withdraw(studio, before)
        before = latest(studio.database, studio.local.id, voice, "training")
    if before is not None and before.state in ACTIVE:
        text = tr(
            "The voice '{voice}' is already being trained: wait until it has finished, or cancel it in the history.",
            voice=voice,
        )
        raise WrongState(text, "model_busy")


def _print_estimate(studio: "Studio", voice: str, plan: "TrainingPlan", device: str, as_json: bool) -> None:
    from engine.datasets.dataset import load_dataset
    from engine.training.train import estimate_training, usable_clips
    from studio.store.catalogue import find_model
    from studio.store.workspaces import dataset_workspace

    compute_on(studio.service.threads)
    model = find_model(studio.database, studio.local, voice)
    with dataset_workspace(studio.storage, model) as workspace, progress_bar() as report:
        clips = usable_clips(load_dataset(workspace.folder), report)
        report(1.0, tr("timing a few steps"))
        estimate = estimate_training(clips, plan, device)
    if as_json:
        typer.echo(json.dumps({"epochs": plan.epochs, **asdict(estimate)}, indent=2))
        return
    show(
        ntr(
            "{total_s} for {epochs} epoch: {epoch_s} s for each epoch, {evaluation_s} s for each evaluation.",
            "{total_s} for {epochs} epochs: {epoch_s} s for each epoch, {evaluation_s} s for each evaluation.",
            epochs=plan.epochs,
            total_s=rounded_duration(estimate.total_s),
            epoch_s=numeral(estimate.epoch_s, ".1f"),
            evaluation_s=numeral(estimate.evaluation_s, ".1f"),
        )
    )


def _print_course(studio: "Studio", voice: str) -> None:
    """Print the training's events and the epoch kept; plot the curves beside the training if it is a folder."""
    from engine.datasets.dataset import TRAINING_FOLDER
    from engine.plots.training import plot_learning_curves
    from engine.training.history import CURVES_FILE, history_from_json
    from studio.actions.trainings.history import training_history
    from studio.store.catalogue import find_model

    model = find_model(studio.database, studio.local, voice)
    record = training_history(studio, model)
    history = history_from_json(record) if record else None
    if history is None or history.best is None:
        return
    for event in history.events:
        say(tr("epoch {epoch}: {text}", epoch=event.epoch, text=event.text))
    best = history.best
    say(
        ntr(
            "Trained for {epochs} epoch; kept: epoch {best}, likeness {likeness}, pitch error {cents} cents.",
            "Trained for {epochs} epochs; kept: epoch {best}, likeness {likeness}, pitch error {cents} cents.",
            epochs=history.epoch,
            best=best["epoch"],
            likeness=numeral(best["likeness"], ".3f"),
            cents=numeral(best["pitch_error_cents"], ".0f"),
        )
    )
    folder = studio.storage.folder(f"{model.dataset_key}/{TRAINING_FOLDER}")
    if folder is not None:
        write_figure(plot_learning_curves(history), folder / CURVES_FILE)
        say(tr("Learning curves and audio examples: {folder}", folder=folder))
