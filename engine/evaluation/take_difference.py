"""Difference between takes of one conversion: spectrum, pitch and loudness.

The difference in spectrum is mel-cepstral distortion (Kubichek, 1993), which ignores loudness: 0 dB is the same
spectrum; 4 to 8 dB is typical between converted and real speech.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from engine.analysis.envelope import ACTIVE_NEPERS, BANDS, frame_loudness
from engine.analysis.pitch import Pitch
from engine.audio.files import Audio
from engine.errors import AudioError
from engine.evaluation.scores import known_means
from engine.features.clips import analyse_clip
from engine.texts import tr
from engine.units import DECIBELS_PER_NEPER, hertz_to_semitones

CEPSTRUM = 24  # compared coefficients, without the first (loudness)


@dataclass(frozen=True)
class TakeDifference:
    """Means over the frames where both takes are active, for pitch voiced; None if there are none."""

    colour_db: float | None  # mel-cepstral distortion
    pitch_cents: float | None  # mean distance
    loudness_db: float | None  # mean distance


@dataclass(frozen=True)
class _AnalysedTake:
    pitch: Pitch
    envelope: np.ndarray  # (frames, BANDS), relative to the level
    loudness: np.ndarray  # (frames,) nepers
    active: np.ndarray  # bool (frames,)


def pairwise_difference(takes: Sequence[Audio]) -> TakeDifference:
    """Average the difference over all pairs of takes of one conversion. Raises AudioError for fewer than two.

    >>> from engine import ConversionSettings, convert, load_voice, read_audio
    >>> conversion = convert(read_audio("vocal.flac"), load_voice("kathleen"), ConversionSettings(takes=2))
    >>> pairwise_difference([take.audio for take in conversion.takes]).pitch_cents > 1
    True
    """
    if len(takes) < 2:
        raise AudioError(tr("Comparing takes needs at least two of them."))
    analysed = [_analyse(take) for take in takes]
    return mean_difference([_difference(one, other) for one, other in combinations(analysed, 2)])


def mean_difference(differences: Sequence[TakeDifference]) -> TakeDifference:
    """Average each measure over the differences that have it."""
    return TakeDifference(**known_means(TakeDifference, differences))


def mel_cepstral_distortion(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Compute the distortion in dB for each frame of two log envelopes in nepers (frames, BANDS), float64 (frames,).

    A difference in overall level does not count; of the rest, the root mean square over the bands in 24 cepstral
    coefficients.
    """
    place = (np.arange(BANDS) + 0.5) / BANDS
    cosines = np.cos(np.pi * np.arange(1, CEPSTRUM + 1)[:, None] * place) / BANDS
    # of log power, which is twice log amplitude
    apart = 2.0 * (one.astype(np.float64) - other) @ cosines.T
    distortion: np.ndarray = 10.0 / np.log(10.0) * np.sqrt(2.0 * (apart**2).sum(1))
    return distortion


def _analyse(take: Audio) -> _AnalysedTake:
    clip = analyse_clip(take, augmentations=0)
    loudness = frame_loudness(clip.envelope.astype(np.float32))  # relative to the level
    return _AnalysedTake(clip.pitch, clip.envelope, loudness + clip.level.nepers, loudness > ACTIVE_NEPERS)


def _difference(one: _AnalysedTake, other: _AnalysedTake) -> TakeDifference:
    frames = min(len(one.active), len(other.active))
    active = one.active[:frames] & other.active[:frames]
    voiced = active & one.pitch.voiced[:frames] & other.pitch.voiced[:frames]
    semitones = [hertz_to_semitones(analysed.pitch.hertz[:frames][voiced]) for analysed in (one, other)]
    colour = mel_cepstral_distortion(one.envelope[:frames][active], other.envelope[:frames][active])
    loudness = one.loudness[:frames][active] - other.loudness[:frames][active]
    return TakeDifference(
        colour_db=_mean(colour),
        pitch_cents=_mean(100.0 * np.abs(semitones[0] - semitones[1])),
        loudness_db=_mean(DECIBELS_PER_NEPER * np.abs(loudness)),
    )


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None
