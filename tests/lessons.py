"""What the lessons show, made of the engine and the commands as they are: `python -m tests.lessons` writes it anew.

Sounds and pictures are of the bundled recordings and voices; the reference is made of the settings and the commands.
"""

import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from typer.core import TyperArgument, TyperOption
from typer.main import get_command

from engine import Audio, convert, load_voice, look_at, plot_recording, read_audio
from engine.audio.files import AudioWriter
from engine.audio.result_format import ResultFormat
from engine.conversion.settings import ConversionSettings
from engine.effects.settings import EffectSettings
from engine.live.settings import LiveSettings
from engine.plots.conversion import plot_conversion, plot_fit
from engine.research.demonstrations import measure_features, plot_speaker_probes, probe_speakers, take_apart
from engine.research.demonstrations.content_plots import plot_similar_moments
from engine.research.demonstrations.source_filter_plots import plot_source_filter_parts
from engine.training.plan import TrainingPlan
from studio.commands.cli import _WITH_SETTINGS, _completed, app
from studio.commands.examples import EXAMPLES
from studio.commands.parsing import named
from studio.learn.site import FOLDER
from studio.page.parts.controls import setting_title
from tests.python_reference import python_pages

SAMPLES = Path(__file__).parents[1] / "engine" / "samples"
PICTURES, SOUNDS, REFERENCE = FOLDER / "pictures", FOLDER / "sounds", FOLDER
VOICE = "goekhan"
_SUNG, _SPOKEN = ("singing", 0.0, 5.9), ("speech", 0.0, 5.3)  # a sample and what is heard of it, in seconds
_KBPS = 64
_DPI = 80
_COLOURS = 64
_HISS_DB = -38.0
# settings of ConversionSettings by the name of the sound
_CONVERTED: Mapping[str, tuple[tuple[str, float, float], str, dict[str, object]]] = {
    "sung": (_SUNG, VOICE, {}),
    "sung-kathleen": (_SUNG, "kathleen", {"transpose": 12.0}),
    "wrong-octave": (_SUNG, VOICE, {"transpose": 12.0}),
    "formants-down": (_SUNG, VOICE, {"formant_shift_semitones": -3.0}),
    "formants-up": (_SUNG, VOICE, {"formant_shift_semitones": 3.0}),
    "snapped": (_SUNG, VOICE, {"pitch_snap": 1.0, "pitch_smoothing_ms": 100.0}),
    "texture-0": (_SUNG, VOICE, {"texture": 0.0}),
    "texture-05": (_SUNG, VOICE, {"texture": 0.5}),
    "likeness-0": (_SUNG, VOICE, {"likeness": 0.0}),
    "third": (_SUNG, VOICE, {"harmony": "third_above"}),
    "double": (_SUNG, VOICE, {"harmony": "unison"}),
    "spoken": (_SPOKEN, "kathleen", {}),
    "retrieval-1": (_SPOKEN, "kathleen", {"retrieval": 1.0}),
    "accent-0": (_SPOKEN, "kathleen", {"accent": 0.0}),
    "accent-1": (_SPOKEN, "kathleen", {"accent": 1.0}),
    "consonants-0": (_SPOKEN, "kathleen", {"consonant_protection": 0.0}),
    "consonants-1": (_SPOKEN, "kathleen", {"consonant_protection": 1.0}),
}

_BESIDE_THE_LEAD = ("third", "double")  # which are heard with it alone


# ---- sounds


@cache
def recording(name: str, start_s: float, end_s: float) -> Audio:
    """Return a part of a sample."""
    audio = read_audio(SAMPLES / f"{name}.flac")
    return Audio(audio.samples[..., round(start_s * audio.rate) : round(end_s * audio.rate)], audio.rate)


@cache
def converted(name: str) -> Audio:
    """Return a sound that is a conversion."""
    (sample, start_s, end_s), voice, settings = _CONVERTED[name]
    return convert(recording(sample, start_s, end_s), voice, settings).takes[0].audio


def sounds() -> Iterator[tuple[str, Audio]]:
    """Yield the sounds by their names."""
    yield "singing", recording(*_SUNG)
    yield "speech", recording(*_SPOKEN)
    for name in _CONVERTED:
        if name not in _BESIDE_THE_LEAD:
            yield name, converted(name)
    yield "lead-and-third", mixed("sung", ("third", 0.5))
    yield "lead-and-doubles", mixed("sung", ("double", 0.5))
    noise = np.random.default_rng(0).standard_normal(recording(*_SUNG).samples.shape).astype(np.float32)
    hissing = Audio(recording(*_SUNG).samples + 10 ** (_HISS_DB / 20) * noise, recording(*_SUNG).rate)
    yield "hiss", convert(hissing, VOICE).takes[0].audio
    yield "hiss-reduced", convert(Audio(_denoised(hissing), hissing.rate), VOICE).takes[0].audio


def mixed(lead: str, *others: tuple[str, float]) -> Audio:
    """Return a lead with others beside it, each at its gain."""
    audio = converted(lead)
    below = sum(gain * converted(name).samples for name, gain in others)
    return Audio(0.7 * (audio.samples + below), audio.rate, audio.statement)


def _denoised(audio: Audio) -> np.ndarray:
    from engine.effects.processing import apply_effects

    return apply_effects(audio, {"denoise": 1.0}).samples


# ---- pictures


def pictures() -> Mapping[str, Callable[[], Figure]]:
    """Return what draws the pictures, by their names."""
    people = {
        "singer": "singing",
        "reader 1": "speech",
        "reader 2": "foreign/speech-low",
        "reader 3": "foreign/speech-high",
    }
    voice, speech = load_voice(VOICE), recording(*_SPOKEN)
    return {
        "recording": lambda: plot_recording(look_at(recording(*_SUNG), "singing"), scale="note"),
        "before-and-after": lambda: plot_conversion(
            look_at(recording(*_SUNG), "singing"), look_at(converted("sung"), voice.card.name), 0.0
        ),
        "range": lambda: plot_fit(look_at(recording(*_SUNG), "singing"), voice.card, 0.0),
        "speakers": lambda: plot_speaker_probes(
            probe_speakers({name: [SAMPLES / f"{file}.flac"] for name, file in people.items()})
        ),
        "words": lambda: plot_similar_moments(
            measure_features(speech), measure_features(converted("spoken")), end_s=3.0
        ),
        "source-and-filter": lambda: plot_source_filter_parts(take_apart(speech), end_s=2.0),
    }


# ---- reference


def settings_page() -> str:
    """Return the page of all settings of the sound."""
    parts = [
        *(("Of a conversion", ConversionSettings), ("Of effects", EffectSettings), ("Live", LiveSettings)),
        *(("Of a training", TrainingPlan), ("Of files", ResultFormat)),
    ]
    lines = ["# Settings of the sound", "", "What they sound like: [settings by ear](by-ear.md).", ""]
    for title, settings in parts:
        lines += [f"## {title}", "", "| on the page | name | from, to | default | |", "|---|---|---|---|---|"]
        lines += [_setting(one) for one in fields(settings) if one.metadata]
        lines.append("")
    return "\n".join(lines)


def _setting(one: Field[object]) -> str:
    ends = [f"{one.metadata[end]:,}" for end in ("minimum", "maximum") if end in one.metadata]
    values = ", ".join([*ends, *(str(word) for word in one.metadata["words"])])
    return f"| {setting_title(one.name)} | `{one.name}` | {values} | {one.default} | {one.metadata['meaning']} |"


def commands_page() -> str:
    """Return the page of all commands with their options."""
    lines = ["# Commands", ""]
    for first, found in get_command(app).commands.items():  # type: ignore[attr-defined]
        for name, command in named(_completed(first) if first in _WITH_SETTINGS else found, first):
            lines += [f"## {name}", "", " ".join(str(command.help or "").split()), "", "```"]
            lines += [*(f"timbre-studio {example}" for example in EXAMPLES[name]), "```", ""]
            options = [row for one in command.params if (row := _option(one))]
            lines += ["| | |", "|---|---|", *options, ""] if options else []
    return "\n".join(lines)


def _option(one: object) -> str:
    if isinstance(one, TyperArgument):
        return f"| `{(one.metavar or one.name or '').strip('{}')}` | {_cell(one.help)} |"
    if not isinstance(one, TyperOption) or one.name in ("help", "quiet") or one.hidden:
        return ""
    return f"| `{'`, `'.join(one.opts)}` | {_cell(one.help)} |"


def _cell(text: str | None) -> str:
    return " ".join(str(text or "").split()).replace("|", "\\|")


def reference() -> Mapping[str, str]:
    """Return the pages that are made of the code."""
    return {"settings.md": settings_page(), "commands.md": commands_page(), **python_pages()}


# ---- all of it


def write_sounds(folder: Path) -> None:
    """Write all sounds as small files."""
    for name, audio in sounds():
        with AudioWriter(folder / f"{name}.mp3", audio.rate, 1, audio.statement, mp3_kbps=_KBPS) as writer:
            writer.write(audio.samples)


def write_pictures(folder: Path) -> None:
    """Draw all pictures, with few colours."""
    for name, draw in pictures().items():
        drawn = io.BytesIO()
        draw().savefig(drawn, dpi=_DPI)
        with Image.open(drawn) as image:
            image.convert("RGB").quantize(_COLOURS, Image.Quantize.MEDIANCUT).save(
                folder / f"{name}.png", optimize=True
            )


def main() -> None:
    """Write everything into its place."""
    os.environ["TIMBRE_STUDIO_CREDENTIALS"] = "off"  # a tag says how they were made; whose keys would they be
    for name, text in reference().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    write_sounds(SOUNDS)
    write_pictures(PICTURES)


if __name__ == "__main__":
    main()
