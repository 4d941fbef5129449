"""Checkpoints: everything needed to resume training exactly where it stopped, written atomically."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from engine.errors import TrainingError
from engine.files import UNFINISHED, replacing
from engine.texts import tr
from engine.training.history import TRAINING_FORMAT

CHECKPOINT_FILE = "checkpoint.pt"  # in the folder of a training


def save_checkpoint(path: Path, state: dict[str, object]) -> None:
    """Write `state` (tensors, numbers, strings, lists, dicts of them) to `path` atomically.

    The previous checkpoint is kept. The file does not depend on the device of the tensors.
    """
    for left_over in path.parent.glob(f".{path.name}.*{UNFINISHED}"):  # by a killed process
        left_over.unlink()
    with replacing(path, durable=True) as unfinished:
        torch.save(on_processor(state), unfinished)
        if path.exists():
            os.replace(path, previous(path))


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """Load the state at `path`, or the previous one if that is damaged; None if there is no checkpoint."""
    damaged = None
    for candidate in (path, previous(path)):
        if not candidate.exists():
            continue
        try:
            return torch.load(candidate, map_location="cpu", weights_only=True)
        except Exception as cause:  # noqa: BLE001 - torch raises many kinds for a file that was cut off
            damaged = cause
    if damaged is not None:
        raise TrainingError(
            tr("{path} and the checkpoint before it are damaged. Start the training from scratch.", path=path.name)
        ) from damaged
    return None


def plan_begun_with(folder: Path) -> Mapping[str, object] | None:
    """Return the settings that the training in a folder started with; None if there is none to go on with."""
    state = load_checkpoint(folder / CHECKPOINT_FILE)
    return None if state is None or state.get("format") != TRAINING_FORMAT else state["plan"]


def on_processor(state: object) -> object:
    """Return the state with all tensors on the CPU."""
    if isinstance(state, torch.Tensor):
        return state.cpu()
    if isinstance(state, dict):
        return {name: on_processor(value) for name, value in state.items()}
    return [on_processor(value) for value in state] if isinstance(state, list) else state


def previous(path: Path) -> Path:
    """Return the path of the checkpoint before the one at `path`."""
    return path.with_name(path.name + ".previous")
