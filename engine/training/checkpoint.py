"""Checkpoints: everything a training needs to go on as if nothing had happened, written whole or not at all."""

import os
from pathlib import Path
from typing import Any

import torch

from engine.errors import TrainingError
from engine.files import UNFINISHED, replacing


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write `state` (tensors, numbers, strings, lists, dicts of them) to `path` in one step; the one before is kept.

    Whatever device the tensors are on, the file is the same.
    """
    for left_over in path.parent.glob(f".{path.name}.*{UNFINISHED}"):  # by a process that was killed
        left_over.unlink()
    with replacing(path, durable=True) as unfinished:
        torch.save(on_processor(state), unfinished)
        if path.exists():
            os.replace(path, previous(path))


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """The state saved at `path`, or the one before where that is damaged, or None where there is none."""
    damaged = None
    for candidate in (path, previous(path)):
        if not candidate.exists():
            continue
        try:
            return torch.load(candidate, map_location="cpu", weights_only=True)
        except Exception as cause:  # torch raises many kinds for a file that was cut off
            damaged = cause
    if damaged is not None:
        sentence = f"{path} and the checkpoint before it are damaged; begin the training afresh."
        raise TrainingError(sentence) from damaged
    return None


def on_processor(state: Any) -> Any:
    """The same state with all its tensors on the processor."""
    if isinstance(state, torch.Tensor):
        return state.cpu()
    if isinstance(state, dict):
        return {name: on_processor(value) for name, value in state.items()}
    return [on_processor(value) for value in state] if isinstance(state, list) else state


def previous(path: Path) -> Path:
    """Where the checkpoint before the one at `path` is kept."""
    return path.with_name(path.name + ".previous")
