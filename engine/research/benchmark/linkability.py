"""How far a verifier that has never met a conversion links conversions to the speaker who was converted.

As in the attack of VoicePrivacy by somebody who knows of no conversion (Tomashenko et al., 2024): each output beside
unconverted other recordings of its reader, and of the other readers. It is a lower bound: a verifier that was trained
on conversions links more.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.evaluation.scores import equal_error_rate
from engine.research.benchmark.judges import Embeddings

_OF_A_READER = re.compile(r"(\d+)-\d+-\d+")  # as LibriSpeech names recordings


@dataclass(frozen=True)
class Linked:
    """A recording made of a source in a voice, as the judges hear it."""

    source: str
    voice: str
    heard: Embeddings


def reader_of(source: str) -> str | None:
    """Return the reader of a recording that is named as LibriSpeech does; None for any other.

    >>> reader_of("1688-142285-0001.flac"), reader_of("speech-male.flac")
    ('1688', None)
    """
    found = _OF_A_READER.match(source)
    return found[1] if found else None


def equal_error_rates(made: Sequence[Linked], sources: Mapping[str, Embeddings]) -> tuple[float, float] | None:
    """Return the equal error rate of each judge, averaged over the voices; None unless a reader has several sources.

    0: every recording is linked to its reader; 0.5: none is more often than by chance.
    """
    of_voice: dict[str, list[Linked]] = defaultdict(list)
    for one in made:
        if reader_of(one.source) is not None:
            of_voice[one.voice].append(one)
    rates = [found for own in of_voice.values() if (found := _rates(own, sources)) is not None]
    if not rates:
        return None
    first, second = np.mean(rates, 0)
    return float(first), float(second)


def linkability_line(kinds: Mapping[str, Sequence[Linked]], sources: Mapping[str, Embeddings]) -> str:
    """Say how far each kind of recording is linked to its reader; nothing where no reader has several sources."""
    found = {name: equal_error_rates(made, sources) for name, made in kinds.items()}
    said = [f"{name} {rates[0]:.3f}, {rates[1]:.3f}" for name, rates in found.items() if rates]
    if not said:
        return ""
    readers = {reader_of(name) for name in sources} - {None}
    return (
        f"Linked to one of {len(readers)} readers by a verifier that was not trained on conversions, equal error rate "
        f"by resemblyzer, CAM++ (0: always, 0.5: by chance): {'; '.join(said)}"
    )


def _rates(made: Sequence[Linked], sources: Mapping[str, Embeddings]) -> list[float] | None:
    same: list[tuple[float, float]] = []
    others: list[tuple[float, float]] = []
    for one in made:
        for name, heard in sources.items():
            if name != one.source and (reader := reader_of(name)) is not None:
                alike = float(one.heard.first @ heard.first), float(one.heard.second @ heard.second)
                (same if reader == reader_of(one.source) else others).append(alike)
    if not same or not others:
        return None
    return [equal_error_rate(*([pair[judge] for pair in kind] for kind in (same, others))) for judge in (0, 1)]
