"""The offer to make a checkpoint the voice, wherever its sounds are heard."""

from collections.abc import Sequence

import gradio as gr

from engine.texts import tr
from studio.actions.trainings.auditions import Audition
from studio.actions.trainings.checkpoints import choose_checkpoint
from studio.errors import Invalid
from studio.page.parts.page import Visit

_NONE_CHOSEN = tr("Choose a checkpoint to use it")


def use_button(elem_id: str) -> gr.Button:
    """Make the button, with nothing to offer yet."""
    return gr.Button(_NONE_CHOSEN, interactive=False, elem_id=elem_id)


def offered(
    evaluations: Sequence[Audition], epoch: int | None, in_use: int | None, is_training: bool = False
) -> gr.Button:
    """Return the button for the checkpoint that is heard. in_use: the epoch of the voice."""
    line = next((one for one in evaluations if one["epoch"] == epoch), None)
    can_be = line is not None and epoch != in_use and line["complete"] and not is_training
    if line is None:
        label = _NONE_CHOSEN
    elif epoch == in_use:
        label = tr("Epoch {epoch} is in use", epoch=epoch)
    elif not line["complete"]:
        label = tr("Epoch {epoch} was kept only as sound", epoch=epoch)
    elif is_training:
        label = tr("Stop the training to use epoch {epoch}", epoch=epoch)
    else:
        label = tr("Use epoch {epoch}", epoch=epoch)
    return gr.Button(label, interactive=can_be, visible=True)


def use_epoch(visit: Visit, model: str | None, epoch: int | None) -> str:
    """Make the voice use a checkpoint; return a sentence about it. Raises as `choose_checkpoint` does."""
    if model is None or epoch is None:
        raise Invalid([("epoch", tr("Choose a checkpoint first."))])
    visit.do(choose_checkpoint, model, epoch)
    return tr("The voice now uses epoch {epoch}. Further training still continues from the last epoch.", epoch=epoch)
