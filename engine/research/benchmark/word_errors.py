"""Word error rate where "6" and "six" are the same word: texts as a recogniser printed them, normalised, then compared.

    python ../shared/eval/words.py --sources SOURCES --outputs OUT | python -m engine.benchmark word-errors

Needs the packages jiwer and whisper-normalizer. OUT also holds a copy of each source as `SOURCE_FILE_NAME--source.wav`,
whose text is what the others are compared with. Texts are normalised as Whisper's own figures are (Radford et al.,
Robust Speech Recognition via Large-Scale Weak Supervision, 2022, appendix C): numerals, contractions and spellings.
"""

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.research.tables import table

SOURCE = "source"  # the "voice" of the sources themselves
_LINE = re.compile(r"[\d.]+ (?P<recording>\S+) (?P<voice>[^ :]+): ?(?P<text>.*)")


@dataclass
class WordErrors:
    """Wrong words (substituted, missing and inserted ones) out of those of the sources."""

    wrong: int = 0
    words: int = 0

    @property
    def rate(self) -> float:
        """The word error rate; 0 without words."""
        return self.wrong / self.words if self.words else 0.0


def word_errors(lines: Iterable[str], normalise: Callable[[str], str]) -> dict[str, WordErrors]:
    """Count the wrong words of each voice from lines `RATE RECORDING VOICE: TEXT`; other lines are passed over.

    Raises ValueError if the text of a recording's source is missing.
    """
    jiwer: Any = importlib.import_module("jiwer")
    texts = {
        (found["recording"], found["voice"]): normalise(found["text"])
        for found in map(_LINE.fullmatch, map(str.strip, lines))
        if found
    }
    errors: dict[str, WordErrors] = {}
    for (recording, voice), text in texts.items():
        if voice == SOURCE:
            continue
        if (source := texts.get((recording, SOURCE))) is None:
            raise ValueError(
                f"There is no text of {recording} itself: add it to the outputs as {recording}--{SOURCE}.wav."
            )
        found = jiwer.process_words(source, text or "-")
        counted = errors.setdefault(voice, WordErrors())
        counted.wrong += found.substitutions + found.deletions + found.insertions
        counted.words += len(source.split())
    return errors


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing: texts come on the standard input."""


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield a table of the word error rate of each voice."""
    normalise = importlib.import_module("whisper_normalizer.english").EnglishTextNormalizer()
    errors = word_errors(sys.stdin, normalise)
    yield table(["", "words wrong", "of words"], [[v, f"{e.rate:.3f}", str(e.words)] for v, e in errors.items()])
