"""Players for recordings in a notebook: lossless, at the original level."""

import html
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np

from engine.audio.files import Audio, read_audio, write_audio

Playable = Audio | Path


def player(sound: Playable, label: str = "") -> Any:
    """Make a player for a recording in memory or a file, with a label above it."""
    control = ipywidgets.Audio(value=_as_flac(sound), format="flac", autoplay=False, loop=False)
    return ipywidgets.VBox([ipywidgets.HTML(f"<b>{html.escape(label)}</b>"), control])


def players(sounds: Mapping[str, Playable]) -> Any:
    """Make a player for each recording, side by side as far as space allows."""
    wrapped = ipywidgets.Layout(flex_flow="row wrap", grid_gap="0.3em 1.2em")
    return ipywidgets.Box([player(sound, label) for label, sound in sounds.items()], layout=wrapped)


def _as_flac(sound: Playable) -> bytes:
    """Encode the recording as FLAC, clipped at full scale as by any player."""
    if isinstance(sound, Path) and sound.suffix.lower() == ".flac":
        return sound.read_bytes()
    audio = read_audio(sound) if isinstance(sound, Path) else sound
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "sound.flac"
        write_audio(target, replace(audio, samples=np.clip(audio.samples, -1.0, 1.0)))
        return target.read_bytes()
