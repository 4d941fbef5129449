"""Words that conversions lose, as Whisper base counts them, against its text of the source; "6" and "six" are one word.

    python -m engine.benchmark --parts quality --sources SOURCES --keep OUT
    python -m engine.benchmark word-errors --sources SOURCES/1688*.flac SOURCES/p225*.flac --outputs OUT

OUT holds SOURCE_FILE_NAME--VOICE.wav, as `--keep` writes it. Needs the packages faster-whisper, jiwer and
whisper-normalizer; the model is fetched once, or lies in a folder in CTranslate2's format (`--model`). Texts are
normalised as Whisper's own figures are (Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision,
2022, appendix C): numerals, contractions and spellings. Give spoken sources alone: sung words are not understood even
as they are.
"""

import argparse
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.research.tables import table

SOURCE = "source"  # the "voice" of the sources themselves
Texts = Mapping[tuple[str, str], str]  # of a recording in a voice, as the recogniser printed it


@dataclass
class WordErrors:
    """Wrong words (substituted, missing and inserted ones) out of those of the sources."""

    wrong: int = 0
    words: int = 0

    @property
    def rate(self) -> float:
        """The word error rate; 0 without words."""
        return self.wrong / self.words if self.words else 0.0


def word_errors(texts: Texts, normalise: Callable[[str], str]) -> dict[str, WordErrors]:
    """Count the wrong words of each voice, against the texts of the recordings' sources."""
    jiwer: Any = importlib.import_module("jiwer")
    errors: dict[str, WordErrors] = {}
    for (recording, voice), text in texts.items():
        if voice == SOURCE:
            continue
        source = normalise(texts[recording, SOURCE])
        found = jiwer.process_words(source, normalise(text) or "-")
        counted = errors.setdefault(voice, WordErrors())
        counted.wrong += found.substitutions + found.deletions + found.insertions
        counted.words += len(source.split())
    return errors


def recognised(sources: list[Path], outputs: Path, recognise: Callable[[Path], str]) -> dict[tuple[str, str], str]:
    """Return the texts of the sources and of their conversions in `outputs`. Raises EngineError if there are none."""
    texts: dict[tuple[str, str], str] = {}
    for source in sources:
        made = sorted(outputs.glob(f"{source.name}--*.wav"))
        if not made:
            raise EngineError(f"{outputs} holds no {source.name}--VOICE.wav: make it with --keep.")
        texts[source.name, SOURCE] = recognise(source)
        for path in made:
            texts[source.name, path.stem.rpartition("--")[2]] = recognise(path)
    return texts


def whisper(model: str) -> Callable[[Path], str]:
    """Load Whisper, which then returns the text of a recording. Raises EngineError without faster-whisper."""
    try:
        loaded = importlib.import_module("faster_whisper").WhisperModel(model, device="cpu", compute_type="float32")
    except ImportError as cause:
        raise EngineError("faster-whisper is missing: pip install faster-whisper") from cause

    def recognise(path: Path) -> str:
        segments, _ = loaded.transcribe(
            str(path), beam_size=1, language="en", condition_on_previous_text=False, without_timestamps=True,
            temperature=0.0,
        )  # fmt: skip
        return " ".join(segment.text.strip() for segment in segments)

    return recognise


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--sources", type=Path, nargs="+", required=True, metavar="FILE", help="spoken recordings")
    parser.add_argument("--outputs", type=Path, required=True, metavar="DIR", help="their conversions")
    parser.add_argument("--model", default="base", help="a size of Whisper, or a folder with one (default: base)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield a table of the word error rate of each voice."""
    normalise = importlib.import_module("whisper_normalizer.english").EnglishTextNormalizer()
    errors = word_errors(recognised(options.sources, options.outputs, whisper(options.model)), normalise)
    yield table(["", "words wrong", "of words"], [[v, f"{e.rate:.3f}", str(e.words)] for v, e in errors.items()])
