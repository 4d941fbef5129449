"""A blind listening test of two conversions, as a page that needs no network: A and B, X of the singer, answers as CSV.

Which of A and B is which, and the order, are drawn by chance; the page knows them, and its CSV says them. The sounds
lie beside it under names that tell nothing.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.audio.files import Audio, write_audio

PAGE = "index.html"
_TEMPLATE = Path(__file__).with_suffix(".html")
_LONGEST_S = 12.0


@dataclass(frozen=True)
class Compared:
    """Two conversions of a source, by name, and a recording of the singer that neither was made of."""

    name: str
    source: Audio
    conversions: Mapping[str, Audio]
    singer: Audio


def write_listening_page(folder: Path, compared: Sequence[Compared], seed: int) -> Path:
    """Write the page and its sounds, the loudest 12 s of longer sources, and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(seed)
    trials = []
    for number, place in enumerate(chance.permutation(len(compared)), 1):
        one = compared[place]
        names = [str(name) for name in chance.permutation(list(one.conversions))]
        begin_s = _loudest_s(one.source)
        both = [_cut(one.conversions[name], begin_s) for name in names]
        heard = [*both, _cut(one.singer, 0.0), _cut(one.source, begin_s)]
        for letter, sound in zip("abxs", heard, strict=True):
            write_audio(folder / f"{number:02d}-{letter}.flac", _as_loud_as(sound, both[0]))  # the louder one would win
        trials.append({"source": one.name, "a": names[0], "b": names[1], "sounds": f"{number:02d}"})
    hidden = base64.b64encode(json.dumps({"seed": seed, "trials": trials}).encode()).decode()
    page = folder / PAGE
    page.write_text(_TEMPLATE.read_text(encoding="utf-8").replace("__TRIALS__", hidden), encoding="utf-8")
    return page


def _loudest_s(audio: Audio) -> float:
    """Return where the loudest stretch begins that a listener is given."""
    length = round(_LONGEST_S * audio.rate)
    if audio.sample_count <= length:
        return 0.0
    power = np.concatenate([[0.0], np.cumsum(np.square(audio.mono(), dtype=np.float64))])
    return int((power[length:] - power[:-length]).argmax()) / audio.rate


def _cut(audio: Audio, begin_s: float) -> Audio:
    """Return 12 s of a recording, mono."""
    begin = round(begin_s * audio.rate)
    return Audio(audio.mono()[None, begin : begin + round(_LONGEST_S * audio.rate)], audio.rate)


def _as_loud_as(audio: Audio, other: Audio) -> Audio:
    own, wanted = (max(float(np.square(one.samples).mean()), 1e-12) for one in (audio, other))
    gain = min(np.sqrt(wanted / own), 1.0 / max(float(np.abs(audio.samples).max()), 1e-6))
    return Audio(audio.samples * np.float32(gain), audio.rate)
