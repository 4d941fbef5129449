"""Where two pitches sound at once in one stem: a converter of one voice would blur them.

In each frame the pitch with the strongest harmonics is found, its harmonics are taken out of the spectrum, and what is
left is searched in the same way (iterative estimation and cancellation; Klapuri, ISMIR 2006). Two pitches count where
the second has enough of the first one's strength for a while.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import fft

from engine.audio.channels import fold
from engine.audio.files import open_audio
from engine.audio.resampling import Resampler
from engine.files import as_path
from engine.reprs import Brief
from engine.songs.parts import clock
from engine.texts import ntr, tr

_RATE, _WINDOW, _HOP = 16_000, 2048, 640  # 128 ms, every 40 ms
_PADDED = 4096
_LISTED = 3  # stretches in a sentence
_BLOCK_BINS, _BLOCKS = 24, 54  # in which the level around a bin is measured, up to 5 kHz
_BINS = _BLOCK_BINS * _BLOCKS + 1
_LOWEST_HERTZ, _HIGHEST_HERTZ, _STEPS_PER_SEMITONE = 75.0, 1000.0, 5
_HARMONICS = 12
_LOBE_BINS = 5  # on each side of a harmonic that its window's main lobe and its vibrato fill
_QUIET_DB = -40.0  # below the loudest frame so far
_SECOND_SHARE = 0.35  # of the first pitch's strength
_APART_SEMITONES = 1.5
_STEADY_SEMITONES = 0.6
_SHORTEST_FRAMES = 12  # half a second
_GAP_FRAMES = 6
_FRAMES_AT_ONCE = 256
_WORTH_SAYING = 0.15  # of the sounding time: single voices reach 0.11, a harmony at -6 dB 0.58


@dataclass(frozen=True, repr=False)
class TwoPitches(Brief):
    """Where two pitches sound at once.

    - stretches_s: where they begin and end, in seconds
    - share: of the sounding time, 0..1
    """

    stretches_s: list[tuple[float, float]]
    share: float

    @property
    def sentence(self) -> str:
        """What a user should know about it; empty if there are none."""
        if self.share < _WORTH_SAYING:
            return ""
        places = ", ".join(f"{clock(round(start))}-{clock(round(stop))}" for start, stop in self.stretches_s[:_LISTED])
        if (more := len(self.stretches_s) - _LISTED) > 0:
            places = ntr("{places} and {more} more place", "{places} and {more} more places", more=more, places=places)
        return tr(
            "Two pitches sound at once at {places}: give each voice a stem of its own, or they blur.", places=places
        )


def find_two_pitches(path: Path | str) -> TwoPitches:
    """Find where two pitches sound at once in a recording, as two singers would make them.

    Parameters
    ----------
    path : Path or str
        A file of any length, which is read block by block.

    Returns
    -------
    TwoPitches
        Its `sentence` is for the user.

    Raises
    ------
    AudioError
        If the file cannot be read.

    Examples
    --------
    >>> find_two_pitches("vocal.flac").sentence  # of one singer
    ''
    """
    path = as_path(path)
    shares, pitches, sounding = [], [], []
    loudest = 0.0
    for frames in _frames(path):
        spectrum = np.abs(fft.rfft(frames * np.hanning(_WINDOW).astype(np.float32), _PADDED, axis=1)[:, :_BINS])
        level = spectrum.max(axis=1)
        loudest = max(loudest, float(level.max(initial=0.0)))
        share, pitch = _second_pitch(spectrum)
        shares.append(share)
        pitches.append(pitch)
        sounding.append(level > loudest * 10.0 ** (_QUIET_DB / 20.0))
    is_loud = np.concatenate([np.zeros(0, bool), *sounding])
    pitch = np.concatenate([np.zeros(0), *pitches])
    # a voice moves from frame to frame by little; what is left of consonants and noise jumps
    steady = np.abs(np.diff(pitch, prepend=pitch[:1])) <= _STEADY_SEMITONES
    both = (np.concatenate([np.zeros(0), *shares]) > _SECOND_SHARE) & is_loud & steady
    stretches = _long_runs(both)
    covered = sum(stop - start for start, stop in stretches)
    covered_share = min(1.0, covered / max(1, int(is_loud.sum())))
    return TwoPitches([(start * _HOP / _RATE, stop * _HOP / _RATE) for start, stop in stretches], covered_share)


def _frames(path: Path) -> Iterator[np.ndarray]:
    """Yield frames (frames, _WINDOW), at most _FRAMES_AT_ONCE."""
    span = _WINDOW + (_FRAMES_AT_ONCE - 1) * _HOP
    with open_audio(path) as source:
        resampler = Resampler(source.rate, _RATE, 1)
        held = np.zeros(0, np.float32)
        for block in source.blocks():
            held = np.concatenate([held, resampler.push(fold(block, source.rate)[None])[0]])
            while len(held) >= span:
                yield np.lib.stride_tricks.sliding_window_view(held[:span], _WINDOW)[::_HOP]
                held = held[_FRAMES_AT_ONCE * _HOP :]
        held = np.concatenate([held, resampler.push(np.zeros((1, 0), np.float32), last=True)[0]])
        if len(held) >= _WINDOW:
            yield np.lib.stride_tricks.sliding_window_view(held, _WINDOW)[::_HOP]


def _second_pitch(spectrum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each frame of a spectrum (frames, bins) the strength of the second pitch against the first, and the
    second pitch in semitones, (frames,) each."""
    bank, candidates = _bank()
    flat = _peaks(spectrum) ** 0.5  # so that a strong fundamental does not outweigh a series of harmonics
    strength = flat @ bank
    first = strength.argmax(axis=1)
    bins = np.arange(spectrum.shape[1])
    spacing = candidates[first][:, None] * _PADDED / _RATE
    explained = np.abs(bins - np.maximum(1, np.round(bins / spacing)) * spacing) <= _LOBE_BINS
    left = np.where(explained, 0.0, flat) @ bank
    apart = 12 * np.abs(np.log2(candidates[None, :] / candidates[first][:, None]))
    left[apart < _APART_SEMITONES] = 0.0
    second = left.argmax(axis=1)
    share = left.max(axis=1) / np.maximum(strength[np.arange(len(first)), first], 1e-9)
    return share, 12 * np.log2(candidates[second] / _LOWEST_HERTZ)


def _peaks(spectrum: np.ndarray) -> np.ndarray:
    """Keep the local maxima that stand out of their surroundings; noise has few of them."""
    middle = spectrum[:, 1:-1]
    is_peak = (middle >= spectrum[:, :-2]) & (middle > spectrum[:, 2:])
    # the level around each bin, by the medians of blocks: a running median of all bins would cost most of the time
    blocks = np.median(spectrum[:, : _BLOCKS * _BLOCK_BINS].reshape(len(spectrum), _BLOCKS, _BLOCK_BINS), axis=2)
    around = np.repeat(blocks, _BLOCK_BINS, axis=1)
    stands_out = np.zeros(spectrum.shape, bool)
    stands_out[:, : around.shape[1]] = spectrum[:, : around.shape[1]] > 2.5 * around
    kept = np.zeros_like(spectrum)
    kept[:, 1:-1] = np.where(is_peak, middle, 0.0)
    kept[~stands_out | (spectrum < spectrum.max(axis=1, keepdims=True) * 10 ** (-30 / 20))] = 0.0
    return kept


@lru_cache(maxsize=1)
def _bank() -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each bin in each candidate's series of harmonics (bins, candidates), and their hertz."""
    count = round(12 * np.log2(_HIGHEST_HERTZ / _LOWEST_HERTZ) * _STEPS_PER_SEMITONE)
    candidates = _LOWEST_HERTZ * 2.0 ** (np.arange(count) / (12 * _STEPS_PER_SEMITONE))
    bins = np.arange(_BINS)[:, None]
    bank = np.zeros((len(bins), count), np.float32)
    for harmonic in range(1, _HARMONICS + 1):
        centre = candidates[None, :] * harmonic * _PADDED / _RATE
        lobe = np.clip(1.0 - np.abs(bins - centre) / 3.0, 0.0, None)
        bank += (lobe * harmonic**-0.5).astype(np.float32)
    return bank, candidates


def _long_runs(both: np.ndarray) -> list[tuple[int, int]]:
    """Return (start, stop) of the runs that last, short gaps bridged."""
    runs: list[tuple[int, int]] = []
    edges = np.flatnonzero(np.diff(np.concatenate([[0], both.astype(np.int8), [0]])))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if runs and start - runs[-1][1] <= _GAP_FRAMES:
            runs[-1] = (runs[-1][0], stop)
        else:
            runs.append((start, stop))
    return [(start, stop) for start, stop in runs if stop - start >= _SHORTEST_FRAMES]
