"""Timbre Studio's engine: the same performance in another voice.

The names below are loaded when they are first used, so importing the package does no work.
"""

import os
from importlib import import_module
from typing import Any

# Read once, when torch's threads come up: they sleep while they wait for each other. By default they spin, and beside
# another program that keeps a core busy that was seen to take ten times as long. What the user has set is kept.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_HOMES = {
    "Audio": "audio.files",
    "read_audio": "audio.files",
    "write_audio": "audio.files",
    "analyse": "analysis.recording",
    "analyse_file": "analysis.recording",
    "ConversionSettings": "conversion.settings",
    "convert": "conversion.convert",
    "convert_file": "conversion.convert",
    "edit_take": "conversion.rerendering",
    "edit_file": "conversion.rerendering",
    "Shift": "conversion.pitch_edits",
    "Smooth": "conversion.pitch_edits",
    "FixOctave": "conversion.pitch_edits",
    "Snap": "conversion.pitch_edits",
    "Draw": "conversion.pitch_edits",
    "load_voice": "voices.voice",
    "list_voices": "voices.card",
    "create_dataset": "datasets.dataset",
    "load_dataset": "datasets.dataset",
    "examine_recordings": "datasets.report",
    "analysed_clips": "features.clips",
    "TrainingPlan": "training.plan",
    "train": "training.train",
    "train_dataset": "training.train",
    "estimate_training": "training.train",
    "untrained_voice": "training.untrained",
    "read_history": "training.history",
    "export_voice": "voices.package",
    "import_voice": "voices.package",
    "blend_voices": "voices.blend",
    "EngineError": "errors",
    "Cancelled": "errors",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute '{name}'")
    return getattr(import_module(f"engine.{_HOMES[name]}"), name)
