"""Players for recordings in a notebook: lossless, at the original level."""

import html
from collections.abc import Mapping
from pathlib import Path

import ipywidgets

from engine.audio.files import Audio, audio_of

Playable = Audio | Path


def player(sound: Playable, label: str = "") -> ipywidgets.Widget:
    """Make a player for a recording in memory or a file, with a label above it."""
    control = ipywidgets.Audio(value=_as_flac(sound), format="flac", autoplay=False, loop=False)
    return ipywidgets.VBox([ipywidgets.HTML(f"<b>{html.escape(label)}</b>"), control])


def players(sounds: Mapping[str, Playable]) -> ipywidgets.Widget:
    """Make a player for each recording, side by side as far as space allows."""
    wrapped = ipywidgets.Layout(flex_flow="row wrap", grid_gap="0.3em 1.2em")
    return ipywidgets.Box([player(sound, label) for label, sound in sounds.items()], layout=wrapped)


def _as_flac(sound: Playable) -> bytes:
    if isinstance(sound, Path) and sound.suffix.lower() == ".flac":
        return sound.read_bytes()
    return audio_of(sound).as_flac()
