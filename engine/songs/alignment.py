"""Where a vocal lies in its backing, and whether the backing already holds it.

Two recordings that share a sound are aligned by generalized cross-correlation with phase transform (GCC-PHAT; Knapp
and Carter, 1976): coarsely at 4 kHz within a minute, then to the sample around it. The peak counts only if no other
place comes near it, as it does in periodic sounds and noise, and if both halves of the vocal have it, unlike two clicks
that happen to be alike. A vocal and a true instrumental share nothing, so nothing is found; then equal lengths mean an
equal beginning, and otherwise the offset is asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np
import scipy

from engine.audio.channels import fold
from engine.audio.files import open_audio
from engine.audio.resampling import Resampler
from engine.audio.streams import Reader, at_engine_rate
from engine.errors import AudioError, SettingsError
from engine.texts import ntr, numeral, tr
from engine.units import SAMPLE_RATE, in_words

LARGEST_OFFSET_S = 60.0  # that is searched
LARGEST_GIVEN_S = 600.0
HELD_DB = -12.0  # a vocal at this level or more in a backing is taken for the vocal, not for a trace of it
_SAME_LENGTH_S = 0.1  # what encoders add to a file
_SEARCHED_S = 300.0  # of each recording
_COARSE_RATE = 4_000
_FINE_S = 10.0  # the loudest stretch of the vocal, compared at the full rate
_FINE_AROUND_S = 0.02
# Of 198 pairs that share a phrase and 192 that share nothing or repeat themselves, the former reach 2.0 and 4.1, the
# latter 1.5, or where they reach more, 1.0.
_DISTINCT = 1.7  # times the next highest peak
_DISTINCT_FROM_LENGTHS = 3.0  # where equal lengths say that both begin together
_HALF = 2.5  # standard deviations of the peak in each half of the vocal
_ONE_PEAK_S = 0.02  # around a peak, which is its own
_FADE_S = 0.1  # where a recording is cut, all its frequencies begin at once, as they do in any other
_LEAST_OVERLAP_S = 0.5
_WEAK = 0.5  # of the mean strength: weaker frequencies keep their weight, which noise would fill otherwise
_SILENT = 1e-4  # -80 dB


@dataclass(frozen=True)
class Alignment:
    """The position of a vocal in its backing.

    - offset_s: seconds by which the vocal begins later than the backing; negative if earlier
    - reason: how that was found, for the user
    - trace_db: the level of the vocal in the backing; None if there is no trace of it
    """

    offset_s: float
    reason: str
    trace_db: float | None = None

    @property
    def samples(self) -> int:
        """The offset in samples at SAMPLE_RATE."""
        return round(self.offset_s * SAMPLE_RATE)


def check_offset(given_s: object) -> float:
    """Return an offset that was given, in seconds.

    Raises
    ------
    SettingsError
        If it is no number, or longer than ten minutes.
    """
    if isinstance(given_s, Real) and abs(number := float(given_s)) <= LARGEST_GIVEN_S:  # NumPy's numbers are real, too
        return number
    raise SettingsError(
        ntr(
            "The offset must be from -{largest_given_s} to {largest_given_s} second.",
            "The offset must be from -{largest_given_s} to {largest_given_s} seconds.",
            largest_given_s=numeral(LARGEST_GIVEN_S, "g"),
        )
    )


def align(vocal: Path | str, backing: Path | str, given_s: float | None = None, may_hold: bool = False) -> Alignment:
    """Find the position of a vocal in its backing.

    Parameters
    ----------
    vocal, backing : Path or str
        The files.
    given_s : float, optional
        The offset in seconds where the user knows it.
    may_hold : bool
        Whether `backing` may hold the vocal, as where `vocal` is a whole song.

    Returns
    -------
    Alignment
        Where the vocal begins, and how that was found.

    Raises
    ------
    AudioError
        If a file cannot be read, the vocal is silent, or the backing already contains it.
    SettingsError
        If the offset cannot be found, or is longer than ten minutes.

    Examples
    --------
    >>> align("vocal.flac", "vocal.flac", may_hold=True)
    Alignment(offset_s=0.0, reason='found by correlation', trace_db=...)
    """
    vocal, backing = Path(vocal), Path(backing)
    if given_s is not None:
        check_offset(given_s)
    sung, played = _coarse(vocal), _coarse(backing)
    if sung.peak < _SILENT:
        raise AudioError(tr('"{name}" is silent: there is no vocal to convert.', name=vocal.name))
    equal = abs(sung.seconds - played.seconds) <= _SAME_LENGTH_S
    lag = shared_lag(sung.samples, played.samples, _COARSE_RATE)
    moved = equal and abs(lag.samples) > _SAME_LENGTH_S * _COARSE_RATE
    sure = lag.is_sure and (not moved or lag.distinctness > _DISTINCT_FROM_LENGTHS)
    trace_db, offset_s = None, 0.0
    if sure:
        offset_s, gain = _fine(vocal, backing, lag.samples / _COARSE_RATE)
        trace_db = 20.0 * float(np.log10(max(gain, 1e-6)))
        if trace_db >= HELD_DB and not may_hold:
            raise AudioError(
                tr(
                    '"{name}" already holds the vocal ({trace_db} dB): give the instrumental alone, or give the whole '
                    "song and separate it.",
                    name=backing.name,
                    trace_db=numeral(trace_db, "+.0f"),
                )
            )
    if given_s is not None:
        return Alignment(given_s, tr("as given"), trace_db)
    if sure:
        return Alignment(offset_s, tr("found by correlation"), trace_db)
    if equal:
        return Alignment(0.0, tr("both are equally long"))
    raise SettingsError(
        tr(
            "The vocal lasts {vocal_length}, the backing {backing_length}, and nothing in them shows for sure where "
            "the vocal begins: set the offset (--offset) in seconds, 0 if both begin together.",
            vocal_length=in_words(sung.seconds),
            backing_length=in_words(played.seconds),
        )
    )


@dataclass(frozen=True)
class Lag:
    """By how many samples one recording lies later in another, where they are most alike.

    distinctness: how many times higher the peak is than any other. halves: the standard deviations by which it stands
    out in the first and in the second half of the sound, the lower of both.
    """

    samples: int
    distinctness: float
    halves: float

    @property
    def is_sure(self) -> bool:
        """Whether both recordings share a sound there, and nowhere else."""
        return self.distinctness > _DISTINCT and self.halves > _HALF


def shared_lag(one: np.ndarray, other: np.ndarray, rate: int, most_s: float = LARGEST_OFFSET_S) -> Lag:
    """Find where mono `one` lies in mono `other`, at most so far away and where they overlap for half a second or half
    of the shorter one."""
    one, other = _faded(one, rate), _faded(other, rate)
    size = scipy.fft.next_fast_len(len(one) + len(other), real=True)
    sung, played = scipy.fft.rfft(one, size), scipy.fft.rfft(other, size)
    strength = np.abs(sung * played)
    played /= np.maximum(strength, _WEAK * strength.mean() + 1e-12)
    least, most = min(len(one), len(other), round(2 * _LEAST_OVERLAP_S * rate)) // 2, round(most_s * rate)
    lags = np.arange(max(-most, least - len(one)), min(most, len(other) - least) + 1)
    whole = scipy.fft.irfft(played * np.conj(sung), size)[lags]
    peak = int(np.argmax(np.abs(whole)))
    elsewhere = np.abs(lags - lags[peak]) > _ONE_PEAK_S * rate
    if not elsewhere.any() or not whole[elsewhere].any():
        return Lag(int(lags[peak]), 0.0, 0.0)
    first = one.copy()
    first[_middle(one, lags[peak], len(other)) :] = 0.0
    early = scipy.fft.irfft(played * np.conj(scipy.fft.rfft(first, size)), size)[lags]
    halves = [half[peak] / half[elsewhere].std() * np.sign(whole[peak]) for half in (early, whole - early)]
    return Lag(int(lags[peak]), float(abs(whole[peak]) / np.abs(whole[elsewhere]).max()), float(min(halves)))


def _faded(samples: np.ndarray, rate: int) -> np.ndarray:
    """Fade both ends."""
    count = min(round(_FADE_S * rate), len(samples) // 4)
    rise = 0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / max(count, 1))
    return samples * np.concatenate([rise, np.ones(len(samples) - 2 * count), rise[::-1]])


def _middle(samples: np.ndarray, lag: int, length: int) -> int:
    """Return where half of the energy is past, of what lies within another recording of this length at this lag."""
    start, stop = max(0, -lag), min(len(samples), length - lag)
    energy = np.cumsum(np.square(samples[start:stop]))
    return start + int(np.searchsorted(energy, energy[-1] / 2.0))


@dataclass(frozen=True)
class _Coarse:
    samples: np.ndarray
    seconds: float  # of the whole file, and its peak
    peak: float


def _coarse(path: Path) -> _Coarse:
    """Read the beginning of a file, mono at a low rate, and its length."""
    with open_audio(path) as source:
        resampler, pieces, counted, peak = Resampler(source.rate, _COARSE_RATE, 1), [], 0, 0.0
        for block in source.blocks(source.rate):
            if counted < _SEARCHED_S * source.rate:
                pieces.append(resampler.push(fold(block, source.rate)[None])[0])
            counted += block.shape[1]
            peak = max(peak, float(np.abs(block).max(initial=0.0)))
        pieces.append(resampler.push(np.zeros((1, 0), np.float32), last=True)[0])
        return _Coarse(np.concatenate(pieces), counted / source.rate, peak)


def _fine(vocal: Path, backing: Path, offset_s: float) -> tuple[float, float]:
    """Return the offset to the sample, and the gain of the vocal in the backing."""
    coarse = round(offset_s * SAMPLE_RATE)
    start = _loudest(vocal, max(0, -coarse))
    around, length = round(_FINE_AROUND_S * SAMPLE_RATE), round(_FINE_S * SAMPLE_RATE)
    sung = _stretch(vocal, start, length)
    first = max(0, start + coarse - around)
    played = _stretch(backing, first, length + 2 * around)
    found = shared_lag(sung, played, SAMPLE_RATE, 2 * _FINE_AROUND_S).samples
    heard = played[max(0, found) :][: len(sung)]
    part = sung[max(0, -found) :][: len(heard)]
    heard = heard[: len(part)]
    gain = abs(float(heard @ part)) / max(float(part @ part), 1e-12)
    return (first + found - start) / SAMPLE_RATE, gain


def _loudest(path: Path, earliest: int) -> int:
    """Return where the loudest stretch begins, not before `earliest`."""
    length = round(_FINE_S * SAMPLE_RATE)
    best, power = earliest, -1.0
    for start, piece in _pieces(path, length):
        found = float(piece @ piece)
        if start >= earliest and found > power:
            best, power = start, found
        if start > _SEARCHED_S * SAMPLE_RATE:
            break
    return best


def _pieces(path: Path, length: int) -> Iterator[tuple[int, np.ndarray]]:
    with open_audio(path) as source:
        reader = Reader(at_engine_rate(source), source.channels)
        while (piece := reader.read(length)).shape[1]:
            yield reader.position - piece.shape[1], fold(piece)


def _stretch(path: Path, start: int, length: int) -> np.ndarray:
    with open_audio(path) as source:
        reader = Reader(at_engine_rate(source), source.channels)
        reader.skip_to(start)
        return fold(reader.read(length))
