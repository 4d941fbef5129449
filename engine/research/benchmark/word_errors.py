"""Words that conversions lose, as Whisper base counts them, against its text of the source; "6" and "six" are one word.

    python -m engine.benchmark --parts quality --sources SOURCES --keep OUT
    python -m engine.benchmark word-errors --sources SOURCES/1688*.flac SOURCES/p225*.flac --outputs OUT

OUT holds SOURCE_FILE_NAME--VOICE.wav and the transpositions, as `--keep` writes them. Needs the packages
faster-whisper, jiwer and whisper-normalizer; the model is fetched once, or lies in a folder in CTranslate2's format
(`--model`). Texts are normalised as Whisper's own figures are (Radford et al., Robust Speech Recognition via
Large-Scale Weak Supervision, 2022, appendix C): numerals, contractions and spellings. Give spoken sources alone: sung
words are not understood even as they are.

Whisper transcribes with time stamps, without which it sometimes ends at a pause and never reads the rest. Rows are each
voice, then all conversions together and by how far they were transposed, with 95 % of a bootstrap over the sources.
Outputs of which it reads fewer than half of the source's words are named, since what is lost there may be the judge's.
"""

import argparse
import importlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import EngineError
from engine.research.benchmark.opinions import Output, by_transposition, outputs_in
from engine.research.benchmark.quality import COPY
from engine.research.tables import table

_SHORT = 0.5  # of the source's words
_RESAMPLED = 2_000  # times, for the spread over the sources


@dataclass(frozen=True)
class WordErrors:
    """Wrong words of an output (substituted, missing and inserted ones), the words of its source, and those read."""

    wrong: int
    words: int
    read: int

    @property
    def is_short(self) -> bool:
        """Whether fewer than half of the source's words were read."""
        return self.read < _SHORT * self.words


def word_errors(source: str, text: str) -> WordErrors:
    """Count the wrong words of a text against that of its source, both normalised."""
    jiwer: Any = importlib.import_module("jiwer")
    words = len(source.split())
    if not words:
        return WordErrors(len(text.split()), 0, len(text.split()))
    found = jiwer.process_words(source, text or "-")
    wrong = found.substitutions + found.deletions + found.insertions
    return WordErrors(wrong, words, len(text.split()))


def rate(errors: Sequence[WordErrors]) -> float:
    """Return the word error rate over all words together; 0 without words."""
    words = sum(one.words for one in errors)
    return sum(one.wrong for one in errors) / words if words else 0.0


def spread(said: Sequence[tuple[Output, WordErrors]]) -> tuple[float, float]:
    """Return the bounds of 95 % of word error rates over sources drawn with replacement."""
    of_source: dict[str, list[WordErrors]] = defaultdict(list)
    for output, errors in said:
        of_source[output.source].append(errors)
    sums = np.array([[sum(one.wrong for one in of), sum(one.words for one in of)] for of in of_source.values()])
    drawn = sums[np.random.default_rng(0).integers(0, len(sums), (_RESAMPLED, len(sums)))].sum(1)
    low, high = np.quantile(drawn[:, 0] / np.maximum(drawn[:, 1], 1), (0.025, 0.975))
    return float(low), float(high)


def recognised(
    sources: Sequence[Path], outputs: Path, recognise: Callable[[Path], str]
) -> list[tuple[Output, WordErrors]]:
    """Judge the conversions of the sources in `outputs`; `recognise` returns normalised texts.

    Raises EngineError for a source without any.
    """
    made, judged = outputs_in(outputs), []
    for source in sources:
        own = [output for output in made if output.source == source.name]
        if not own:
            raise EngineError(f"{outputs} holds no {source.name}--VOICE.wav: make it with --keep.")
        text = recognise(source)
        judged += [(output, word_errors(text, recognise(output.path))) for output in own]
    return judged


def tables(judged: Sequence[tuple[Output, WordErrors]]) -> str:
    """Format the rates by voice and by transposition, and the names of short outputs."""
    groups: dict[str, list[tuple[Output, WordErrors]]] = defaultdict(list)
    for output, errors in judged:
        if output.voice != COPY:
            groups[output.voice].append((output, errors))
    groups |= by_transposition([(output, (output, errors)) for output, errors in judged])
    rows = [_row(name, group) for name, group in groups.items()]
    shown = table(["", "words wrong", "95 %", "of words", "outputs", "short"], rows)
    return "\n".join([shown, *short_outputs(judged)])


def short_outputs(judged: Sequence[tuple[Output, WordErrors]]) -> list[str]:
    """Return a line for each output of which fewer than half of its source's words were read, below a heading."""
    short = [f"{of.path.name}: {errors.read} of {errors.words} words" for of, errors in judged if errors.is_short]
    return ["", "Short:", *short] if short else []


def _row(name: str, group: Sequence[tuple[Output, WordErrors]]) -> list[str]:
    errors = [one for _, one in group]
    low, high = spread(group)
    short = sum(one.is_short for one in errors)
    words = sum(one.words for one in errors)
    return [name, f"{rate(errors):.3f}", f"{low:.3f} to {high:.3f}", str(words), str(len(errors)), str(short)]


def whisper(model: str) -> Callable[[Path], str]:
    """Load Whisper, which then returns the normalised text of a recording. Raises EngineError where anything of it is
    missing."""
    try:
        importlib.import_module("jiwer")  # which counts, once all are read
        package = importlib.import_module("faster_whisper")
        normalise = importlib.import_module("whisper_normalizer.english").EnglishTextNormalizer()
    except ImportError as cause:
        raise EngineError(
            f"A package is missing ({cause}): pip install faster-whisper whisper-normalizer jiwer"
        ) from cause
    try:
        loaded = package.WhisperModel(model, device="cpu", compute_type="float32")
    except (OSError, ValueError, RuntimeError) as cause:  # those of the hub, and of CTranslate2
        raise EngineError(
            f"The model {model} of Whisper cannot be loaded ({str(cause).splitlines()[0]}): go online once, or give a "
            "folder that holds it in CTranslate2's format."
        ) from cause

    def recognise(path: Path) -> str:
        alone = {"condition_on_previous_text": False, "without_timestamps": False, "temperature": 0.0}
        segments, _ = loaded.transcribe(str(path), beam_size=1, language="en", **alone)
        return str(normalise(" ".join(segment.text.strip() for segment in segments)))

    return recognise


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--sources", type=Path, nargs="+", required=True, metavar="FILE", help="spoken recordings")
    parser.add_argument("--outputs", type=Path, required=True, metavar="DIR", help="their conversions")
    parser.add_argument("--model", default="base", help="a size of Whisper, or a folder with one (default: base)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield the tables."""
    yield tables(recognised(options.sources, options.outputs, whisper(options.model)))
