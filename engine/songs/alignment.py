"""Where a vocal lies in its backing, and whether the backing already holds it.

Two recordings that share a sound are aligned by generalized cross-correlation with phase transform (GCC-PHAT; Knapp
and Carter, 1976): coarsely at 4 kHz within a minute, then to the sample around it. A vocal and a true instrumental
share nothing, so nothing is found; then equal lengths mean an equal beginning, and otherwise the offset is asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from engine.audio.channels import fold
from engine.audio.files import Resampler, open_audio
from engine.audio.streams import Reader, at_engine_rate
from engine.errors import AudioError, SettingsError
from engine.units import SAMPLE_RATE, in_words

LARGEST_OFFSET_S = 60.0  # that is searched
LARGEST_GIVEN_S = 600.0
HELD_DB = -12.0  # a vocal at this level or more in a backing is taken for the vocal, not for a trace of it
_SAME_LENGTH_S = 0.1  # what encoders add to a file
_SEARCHED_S = 300.0  # of each recording
_COARSE_RATE = 4_000
_FINE_S = 10.0  # the loudest stretch of the vocal, compared at the full rate
_FINE_AROUND_S = 0.02
_CLEAR = 12.0  # standard deviations by which a peak stands out; noise alone reaches 5 to 6
_WEAK = 0.1  # of the mean strength: weaker frequencies keep their weight, which noise would fill otherwise
_SILENT = 1e-4  # -80 dB


@dataclass(frozen=True)
class Alignment:
    """offset_s: how much later than the backing the vocal begins. reason: how that was found, for the user.

    trace_db: the level at which the backing holds the vocal, None if nothing of it is there.
    """

    offset_s: float
    reason: str
    trace_db: float | None = None

    @property
    def samples(self) -> int:
        """The offset in samples at SAMPLE_RATE."""
        return round(self.offset_s * SAMPLE_RATE)


def align(vocal: Path, backing: Path, given_s: float | None = None, may_hold: bool = False) -> Alignment:
    """Find where a vocal lies in its backing.

    given_s: the offset where the user knows it. may_hold: whether `backing` may hold the vocal, as where `vocal` is a
    whole song. Raises AudioError if a file cannot be read, if the vocal is silent, or if the backing already holds
    it; SettingsError if the offset cannot be found, or is longer than ten minutes.

    >>> align(Path("vocal.flac"), Path("vocal.flac"), may_hold=True)
    Alignment(offset_s=0.0, reason='found by correlation', trace_db=...)
    """
    if given_s is not None and not abs(given_s) <= LARGEST_GIVEN_S:
        raise SettingsError(f"The offset must be from -{LARGEST_GIVEN_S:g} to {LARGEST_GIVEN_S:g} seconds.")
    sung, played = _coarse(vocal), _coarse(backing)
    if sung.peak < _SILENT:
        raise AudioError(f'"{vocal.name}" is silent: there is no vocal to convert.')
    lag, clear = shared_lag(sung.samples, played.samples, round(LARGEST_OFFSET_S * _COARSE_RATE))
    trace_db, offset_s = None, 0.0
    if clear:
        offset_s, gain = _fine(vocal, backing, lag / _COARSE_RATE)
        trace_db = 20.0 * float(np.log10(max(gain, 1e-6)))
        if trace_db >= HELD_DB and not may_hold:
            raise AudioError(
                f'"{backing.name}" already holds the vocal ({trace_db:+.0f} dB): give the instrumental alone, '
                "or give the whole song and separate it."
            )
    if given_s is not None:
        return Alignment(given_s, "as given", trace_db)
    if clear:
        return Alignment(offset_s, "found by correlation", trace_db)
    if abs(sung.seconds - played.seconds) <= _SAME_LENGTH_S:
        return Alignment(0.0, "both are equally long")
    raise SettingsError(
        f"The vocal lasts {in_words(sung.seconds)}, the backing {in_words(played.seconds)}, and nothing in them shows "
        "where the vocal begins: give its offset in seconds (0 if both begin together)."
    )


def shared_lag(one: np.ndarray, other: np.ndarray, most: int) -> tuple[int, bool]:
    """Return by how many samples mono `one` lies later in `other`, at most `most`, and whether both clearly share a
    sound."""
    size = scipy.fft.next_fast_len(len(one) + len(other), real=True)
    crossed = scipy.fft.rfft(other, size) * np.conj(scipy.fft.rfft(one, size))
    strength = np.abs(crossed)
    correlation = scipy.fft.irfft(crossed / np.maximum(strength, _WEAK * strength.mean() + 1e-12), size)
    most = min(most, size // 2 - 1)
    near = np.concatenate([correlation[size - most :], correlation[: most + 1]])
    peak = int(np.argmax(np.abs(near)))
    return peak - most, bool(np.abs(near[peak]) > _CLEAR * near.std() > 0.0)


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
        return _Coarse(np.concatenate(pieces), counted / source.rate, peak)


def _fine(vocal: Path, backing: Path, offset_s: float) -> tuple[float, float]:
    """Return the offset to the sample, and the gain of the vocal in the backing."""
    coarse = round(offset_s * SAMPLE_RATE)
    start = _loudest(vocal, max(0, -coarse))
    around, length = round(_FINE_AROUND_S * SAMPLE_RATE), round(_FINE_S * SAMPLE_RATE)
    sung = _stretch(vocal, start, length)
    first = max(0, start + coarse - around)
    played = _stretch(backing, first, length + 2 * around)
    found, _ = shared_lag(sung, played, 2 * around)
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
