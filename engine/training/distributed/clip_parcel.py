"""Clips as bytes, for those on other machines who learn from the same: numbers in the format of safetensors, so that
whoever opens a parcel runs nothing that is in it. Which files they came from is left out, since those are not there."""

from collections.abc import Sequence

import numpy as np
from safetensors.numpy import load, save

from engine.analysis.envelope import Level
from engine.analysis.pitch import Pitch
from engine.features.clips import Clip, arrays_of


def packed(clips: Sequence[Clip]) -> bytes:
    """The parcel, about 630 bytes for each frame."""
    arrays: dict[str, np.ndarray] = {}
    for number, clip in enumerate(clips):
        own = arrays_of(clip) | {"nepers": np.array([clip.level.nepers]), "bands": np.array([clip.bands])}
        arrays |= {f"{number}.{name}": value for name, value in own.items()}
    return save(arrays)


def unpacked(parcel: bytes) -> list[Clip]:
    """The clips in a parcel, in their order."""
    arrays = load(parcel)

    def clip(number: int) -> Clip:
        own = {name: arrays[f"{number}.{name}"] for name in ("envelope", "hertz", "voicing", "loudness_db", "content")}
        level = Level(float(arrays[f"{number}.nepers"][0]))
        bands = int(arrays[f"{number}.bands"][0])
        pitch = Pitch(own["hertz"], own["voicing"])
        return Clip(own["envelope"], pitch, own["loudness_db"], level, bands, own["content"])

    return [clip(number) for number in range(sum(name.endswith(".bands") for name in arrays))]
