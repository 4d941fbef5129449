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
    "Audio": "audio",
    "read_audio": "audio",
    "write_audio": "audio",
    "analyse": "analysis",
    "analyse_file": "analysis",
    "ConversionSettings": "conversion_settings",
    "convert": "conversion",
    "convert_file": "conversion",
    "edit_take": "rerendering",
    "edit_file": "rerendering",
    "Shift": "pitch_edit",
    "Smooth": "pitch_edit",
    "FixOctave": "pitch_edit",
    "Snap": "pitch_edit",
    "Draw": "pitch_edit",
    "load_voice": "voice",
    "list_voices": "card",
    "create_dataset": "dataset",
    "load_dataset": "dataset",
    "examine_recordings": "data_report",
    "analysed_clips": "clips",
    "TrainingPlan": "training_plan",
    "train": "training",
    "train_dataset": "training",
    "estimate_training": "training",
    "untrained_voice": "untrained",
    "read_history": "training_history",
    "export_voice": "package",
    "import_voice": "package",
    "blend_voices": "blend",
    "EngineError": "errors",
    "Cancelled": "errors",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute '{name}'")
    return getattr(import_module(f"engine.{_HOMES[name]}"), name)
