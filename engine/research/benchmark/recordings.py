"""What is measured: recordings to convert, and those of the voices that conversions are compared with."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.audio.containers import AUDIO_SUFFIXES
from engine.errors import AudioError, VoiceError
from engine.voices.voice import Voice

SAMPLES = Path(__file__).parents[2] / "samples"
TARGET_RECORDINGS = 12  # of each voice, evenly spaced through its folder


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is converted, what it is compared with, and how the figures are printed."""
    parser.add_argument(
        "--sources",
        type=Path,
        default=SAMPLES,
        metavar="DIR",
        help="recordings to convert (default: samples; those of our figures: see engine/MEASUREMENTS.md)",
    )
    parser.add_argument(
        "--targets", type=Path, metavar="DIR", help="corpus with recordings of the voices (default: their previews)"
    )
    parser.add_argument(
        "--voices", type=_voice, nargs="+", metavar="ID", help="ids or folders (default: all installed voices)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def _voice(text: str) -> str | Path:
    return Path(text) if os.sep in text else text


def find_recordings(folder: Path) -> list[Path]:
    """List the audio files directly in `folder`, by name. Raises AudioError if there is none."""
    if not folder.is_dir():
        raise AudioError(f"There is no folder {folder}.")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in AUDIO_SUFFIXES)
    if not paths:
        raise AudioError(f"There is no recording in {folder}.")
    return paths


def evenly_spaced(paths: Sequence[Path], count: int) -> list[Path]:
    """Choose at most `count` of `paths`, from the first to the last."""
    places = np.unique(np.linspace(0, len(paths) - 1, min(count, len(paths))).round().astype(int))
    return [paths[place] for place in places]


def target_recordings(voice: Voice, corpus: Path | None) -> list[Path]:
    """Choose recordings to compare a voice with: evenly spaced ones of its speaker in `corpus`, or its preview."""
    if corpus is None or not voice.card.corpus_speaker:
        if voice.preview is None:
            raise VoiceError(f"The voice {voice.card.id} has no preview to compare with; give --targets.")
        return [voice.preview]
    return evenly_spaced(find_recordings(corpus / voice.card.corpus_speaker), TARGET_RECORDINGS)


def others_of(voice: Voice, corpus: Path | None, targets: Sequence[Path]) -> list[Path]:
    """Return evenly spaced recordings of a voice's speaker in `corpus` that are not among `targets`."""
    if corpus is None or not voice.card.corpus_speaker:
        return []
    recordings = find_recordings(corpus / voice.card.corpus_speaker)
    return evenly_spaced([path for path in recordings if path not in targets], 2 * TARGET_RECORDINGS)


def turned(paths: Sequence[Path], number: int) -> list[Path]:
    """Begin with another of `paths` for each number, so that each source has a control with other words."""
    start = number % len(paths) if paths else 0
    return [*paths[start:], *paths[:start]]
