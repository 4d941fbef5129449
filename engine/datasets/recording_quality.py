"""Measure the quality of a recording of a voice: everything training would learn from it besides the voice.

The file is read once, block by block, for measures that need its samples (clipping, bandwidth); everything else comes
from the curves of its clip, which are analysed anyway. Memory use does not grow with the length.

    clipping       flat tops (engine/analysis/clipping.py)
    noise          the level of the voice relative to the level of the pauses
    reverberation  the fastest free decays in six bands (engine/analysis/reverberation.py)
    bandwidth      where the long-term spectrum drops sharply and does not recover
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import fft
from scipy.ndimage import binary_dilation, binary_erosion, uniform_filter1d

from engine.analysis.clipping import ClippingMeter
from engine.analysis.envelope import band_centres, band_widths
from engine.analysis.pitch import TRUSTED
from engine.analysis.reverberation import free_decays
from engine.audio.channels import fold
from engine.audio.streams import Source
from engine.features.clips import Clip
from engine.units import FRAME_RATE, decibels

AUDIBLE_DB = 35.0  # below the loud moments of the voice; quieter counts as silence
SILENT_DB = -100.0  # below full scale; quieter counts as silence in any case

_NEAR_VOICE_FRAMES = 30  # consonants and breaths are this close to voiced sound


_REST_GAP_FRAMES = 6  # a voice this close still reaches into a frame, directly or as an echo
_FEWEST_REST_FRAMES = 20
_REST_PERCENTILE = 20
_DIGITAL_SILENCE_DB = -96.0  # of 16 bits; lower levels mean nothing

_SPECTRUM_S = 0.0464
_BAND_HERTZ = 100.0
_LOWEST_CLIFF_HERTZ = 3000.0
_CLIFF_DB = 16.0
_VOICE_CLIFF_HERTZ = 5500.0  # below this a singer's own resonances end in a drop of 20 dB, ...
_DEEP_CLIFF_DB = 30.0  # ... so that of a recording must be deeper
_CLIFF_BANDS = 3  # on each side of the edge, and the width of the edge itself

_DECAY_EDGES_HERTZ = (300.0, 600.0, 1000.0, 1700.0, 2800.0, 4500.0, 7500.0)
_FEWEST_DECAYS = 6
_DECAY_PERCENTILE = 25


@dataclass(frozen=True)
class RecordingQuality:
    """Measures of one recording; None where they cannot be determined."""

    duration_s: float
    voiced_s: float
    usable_s: float  # audible voice without clipping, with the consonants and breaths around it
    level_db: float  # of the voice, below full scale
    peak_db: float
    clipped_share: float  # 0..1 of the audible frames
    clipped_runs: int  # flat tops
    snr_db: float | None  # voice over noise; None without pauses to measure it
    reverberation_s: float | None  # for a decay by 60 dB; None without pauses to measure it
    bandwidth_hertz: float
    silence_share: float  # 0..1


def measure_quality(recording: Source, clip: Clip) -> RecordingQuality:
    """Measure the quality of an unread recording; `clip` is its analysis. Raises AudioError."""
    sound = _listen(recording)
    frames = len(clip.pitch)
    audible = audible_frames(clip)
    clipped = np.zeros(frames, bool)
    clipped[np.minimum(np.rint(sound.clipping.times_s() * FRAME_RATE).astype(int), frames - 1)] = True
    voiced = clip.pitch.voiced & audible
    near_voice = binary_dilation(voiced, iterations=_NEAR_VOICE_FRAMES) if voiced.any() else voiced
    usable = audible & near_voice & ~binary_dilation(clipped)
    level_db = _mean_level_db(clip.loudness_db[voiced if voiced.any() else audible])
    count = int(audible.sum())
    return RecordingQuality(
        duration_s=sound.samples / recording.rate,
        voiced_s=float(voiced.sum()) / FRAME_RATE,
        usable_s=float(usable.sum()) / FRAME_RATE,
        level_db=level_db,
        peak_db=float(decibels(np.array(sound.peak))),
        clipped_share=float((clipped & audible).sum()) / count if count else 0.0,
        clipped_runs=sound.clipping.runs,
        snr_db=_signal_to_noise_db(clip, level_db) if voiced.any() else None,
        reverberation_s=_reverberation_s(clip) if voiced.any() else None,
        bandwidth_hertz=sound.bandwidth_hertz(),
        silence_share=1.0 - count / frames,
    )


def audible_frames(clip: Clip) -> np.ndarray:
    """Return the frames that are not silent relative to the loud parts of the voice, bool (frames,)."""
    voiced = clip.loudness_db[clip.pitch.voiced]
    loud_db = float(np.percentile(voiced if len(voiced) else clip.loudness_db, 95))
    return clip.loudness_db > max(loud_db - AUDIBLE_DB, SILENT_DB)


def _mean_level_db(loudness_db: np.ndarray) -> float:
    """Return the level of the mean power of frames."""
    if not len(loudness_db):
        return _DIGITAL_SILENCE_DB
    return float(10 * np.log10(np.mean(10 ** (loudness_db.astype(np.float64) / 10))))


def _signal_to_noise_db(clip: Clip, level_db: float) -> float | None:
    rest = binary_erosion(clip.pitch.voicing < TRUSTED, iterations=_REST_GAP_FRAMES, border_value=1)
    if rest.sum() < _FEWEST_REST_FRAMES:
        return None
    noise_db = float(np.percentile(clip.loudness_db[rest], _REST_PERCENTILE))
    return level_db - max(noise_db, _DIGITAL_SILENCE_DB)


# ---- reverberation ----


def _reverberation_s(clip: Clip) -> float | None:
    times_s = _decay_times_s(clip)
    return float(np.percentile(times_s, _DECAY_PERCENTILE)) if len(times_s) >= _FEWEST_DECAYS else None


def _decay_times_s(clip: Clip) -> np.ndarray:
    """Measure the seconds per 60 dB of every free decay in six bands, float64 (decays,)."""
    bands = np.searchsorted(_DECAY_EDGES_HERTZ, band_centres())
    found: list[float] = []
    for band in range(1, len(_DECAY_EDGES_HERTZ)):
        columns = bands == band
        power = np.exp(2 * clip.envelope[:, columns].astype(np.float32)) @ band_widths()[columns].astype(np.float32)
        found += free_decays(10 * np.log10(np.maximum(power, 1e-12)))
    return np.array(found)


# ---- samples ----


@dataclass
class _Sound:
    """Measure samples block by block."""

    rate: int
    samples: int = 0
    peak: float = 0.0
    power: np.ndarray | None = None
    spectra: int = 0
    rest: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))

    def __post_init__(self) -> None:
        self.clipping = ClippingMeter(self.rate)

    def add(self, block: np.ndarray) -> None:
        """Measure the next block, float32 (channels, n)."""
        self.peak = max(self.peak, float(np.abs(block).max(initial=0.0)))
        self.clipping.add(block)
        self._add_spectra(fold(block, self.rate))
        self.samples += block.shape[1]

    def _add_spectra(self, mono: np.ndarray) -> None:
        size = round(_SPECTRUM_S * self.rate)
        held = np.concatenate([self.rest, mono])
        whole = len(held) // size
        self.rest = held[whole * size :]
        if whole:
            self._add_windows(held[: whole * size].reshape(whole, size))

    def _add_windows(self, windows: np.ndarray) -> None:
        spectrum = fft.rfft(windows * np.hanning(windows.shape[1]).astype(np.float32), axis=1)
        power = (np.abs(spectrum) ** 2).sum(0, dtype=np.float64)
        self.power = power if self.power is None else self.power + power
        self.spectra += len(windows)

    def bandwidth_hertz(self) -> float:
        size = round(_SPECTRUM_S * self.rate)
        if self.power is None:  # shorter than one window
            self._add_windows(np.pad(self.rest, (0, size - len(self.rest)))[None])
        assert self.power is not None
        bands = (fft.rfftfreq(size, 1 / self.rate) / _BAND_HERTZ).astype(int)
        mean = np.bincount(bands, self.power) / np.bincount(bands)
        if not mean.any():
            return self.rate / 2
        return _find_cliff(10 * np.log10(np.maximum(mean, mean.max() * 1e-14))) or self.rate / 2


def _listen(recording: Source) -> _Sound:
    sound = _Sound(recording.rate)
    for block in recording.blocks():
        sound.add(block)
    return sound


def _find_cliff(level_db: np.ndarray) -> float | None:
    """Return the lowest frequency in hertz where the spectrum drops and never recovers; level_db: (bands,)."""
    smooth = uniform_filter1d(level_db, _CLIFF_BANDS, mode="nearest")
    highest_above = np.maximum.accumulate(smooth[::-1])[::-1]
    half = _CLIFF_BANDS
    for band in range(int(_LOWEST_CLIFF_HERTZ / _BAND_HERTZ), len(smooth) - half):
        least_db = _DEEP_CLIFF_DB if band * _BAND_HERTZ < _VOICE_CLIFF_HERTZ else _CLIFF_DB
        if smooth[band - half] - highest_above[band + half] >= least_db:
            edge = level_db[: band + half] > smooth[band - half] - _CLIFF_DB / 2
            return float((np.flatnonzero(edge)[-1] + 1) * _BAND_HERTZ)
    return None
