"""What mean colours the speakers of a corpus have, and how far single sounds lie from them."""

from collections.abc import Sequence

import numpy as np

from engine.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, frame_loudness
from engine.mean_colour import KnownColours
from engine.pretraining.corpus import ClipEntry, Corpus

_RECORDINGS = 200  # of as many speakers, in which the spread of the sounds is measured


def measure_colours(corpus: Corpus, clips: Sequence[ClipEntry], seed: int) -> KnownColours:
    """Of these clips of the corpus: each speaker counts once, whose clips count by their length.

    `between` holds also how uncertain each speaker's own mean is, of some ten seconds or more.
    """
    by_speaker: dict[str, list[ClipEntry]] = {}
    for clip in clips:
        by_speaker.setdefault(clip.speaker, []).append(clip)
    means = np.stack([_mean(held) for held in by_speaker.values()])
    drawn = np.random.default_rng(seed).permutation(sorted(by_speaker))[:_RECORDINGS]
    within = np.mean([_spread(corpus, by_speaker[name][0]) for name in drawn], axis=0)
    between = np.cov(means.T) if len(means) > 1 else np.zeros((LOW_BANDS, LOW_BANDS))
    return KnownColours(means.mean(0), between, within)


def _mean(clips: Sequence[ClipEntry]) -> np.ndarray:
    means = np.array([clip.mean[:LOW_BANDS] for clip in clips])
    mean: np.ndarray = np.average(means, axis=0, weights=[clip.frames for clip in clips])
    return mean


def _spread(corpus: Corpus, clip: ClipEntry) -> np.ndarray:
    """Covariance of the frames of a clip that are not silent, (LOW_BANDS, LOW_BANDS)."""
    rows = slice(clip.first_frame, clip.first_frame + clip.frames)
    envelope = np.maximum(corpus.envelope[rows].astype(np.float32) - clip.nepers, SILENT)
    active = envelope[frame_loudness(envelope) > ACTIVE_NEPERS, :LOW_BANDS]
    return np.cov(active.T, bias=True) if len(active) else np.zeros((LOW_BANDS, LOW_BANDS))
