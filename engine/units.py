"""The time grid of the engine, and its units.

Frame i is centred on sample i * HOP of audio at SAMPLE_RATE: every 10 ms. Pitch on a linear axis is in
semitones by MIDI note number (A4 = 440 Hz = 69). Levels are in decibels of amplitude (20 log10).
"""

import math
import re
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from engine.errors import SettingsError
from engine.texts import ntr, tr

SAMPLE_RATE = 44_100  # hertz; everything the engine synthesizes
FRAME_RATE = 100  # frames per second
HOP, _remainder = divmod(SAMPLE_RATE, FRAME_RATE)  # samples per frame
if _remainder:
    raise AssertionError("the frame rate must divide the sample rate")

DECIBELS_PER_NEPER = 20.0 / math.log(10.0)

_A4_HERTZ = 440.0
_A4_NUMBER = 69
_LONG_S = 120.0  # from here on a duration is given in minutes
_SHORT_S = 90.0  # below this a rounded duration is given in seconds
NOTE_NAMES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")


def frame_count(sample_count: int) -> int:
    """Count the frames centred inside or at the end of `sample_count` samples at SAMPLE_RATE."""
    return sample_count // HOP + 1


@overload
def hertz_to_semitones(hertz: float) -> float: ...
@overload
def hertz_to_semitones(hertz: np.ndarray) -> np.ndarray: ...
def hertz_to_semitones(hertz: float | np.ndarray) -> float | np.ndarray:
    """Convert a frequency above zero to a fractional MIDI note number.

    >>> float(hertz_to_semitones(220.0))
    57.0
    """
    return _A4_NUMBER + 12.0 * np.log2(np.asarray(hertz) / _A4_HERTZ)


@overload
def semitones_to_hertz(semitones: float) -> float: ...
@overload
def semitones_to_hertz(semitones: np.ndarray) -> np.ndarray: ...
def semitones_to_hertz(semitones: float | np.ndarray) -> float | np.ndarray:
    """Convert a fractional MIDI note number to a frequency in hertz.

    >>> float(semitones_to_hertz(57.0))
    220.0
    """
    return _A4_HERTZ * 2.0 ** ((np.asarray(semitones) - _A4_NUMBER) / 12.0)


def hertz_to_mel(hertz: ArrayLike) -> np.ndarray:
    """Convert hertz to mel: 2595 log10(1 + f/700) (O'Shaughnessy, 1987)."""
    return 2595.0 * np.log10(1.0 + np.asarray(hertz) / 700.0)


def mel_to_hertz(mel: ArrayLike) -> np.ndarray:
    """Convert mel to hertz."""
    return 700.0 * (10.0 ** (np.asarray(mel) / 2595.0) - 1.0)


def note_name(semitones: float) -> str:
    """Name the note nearest to a MIDI number.

    Parameters
    ----------
    semitones : float
        MIDI note number; 69 is A4, 440 Hz.

    Returns
    -------
    str
        Such as C#4.

    Examples
    --------
    >>> note_name(57.2), note_name(61)
    ('A3', 'C#4')
    """
    number = math.floor(semitones + 0.5)
    return f"{NOTE_NAMES[number % 12]}{number // 12 - 1}"


def note_number(name: str) -> int:
    """Read the name of a note.

    Parameters
    ----------
    name : str
        Such as C#4, Bb3 or A-1.

    Returns
    -------
    int
        MIDI note number; 69 is A4, 440 Hz.

    Raises
    ------
    SettingsError
        For anything but the name of a note.

    Examples
    --------
    >>> note_number("A3"), note_number("Bb2")
    (57, 46)
    """
    match = re.fullmatch(r"([A-Ga-g])([#b]?)(-?\d)", name.strip())
    if not match:
        raise SettingsError(tr("'{name}' is not a note name; write it like A2, C#4 or Bb3.", name=name))
    letter, accidental, octave = match.groups()
    return NOTE_NAMES.index(letter.upper()) + {"#": 1, "b": -1, "": 0}[accidental] + 12 * (int(octave) + 1)


def decibels(amplitude: np.ndarray, floor_db: float = -120.0) -> np.ndarray:
    """Convert an amplitude to decibels, not below `floor_db`."""
    return np.maximum(20.0 * np.log10(np.maximum(amplitude, 1e-12)), floor_db)


def amplitude(level_db: np.ndarray) -> np.ndarray:
    """Convert a level in decibels to an amplitude."""
    return 10.0 ** (np.asarray(level_db) / 20.0)


def in_words(seconds: float) -> str:
    """Format a duration in seconds, or in minutes from two minutes on, rounded up so that no limit looks too low.

    >>> in_words(60), in_words(60.04), in_words(3600)
    ('60 seconds', '60.1 seconds', '60 minutes')
    """
    if seconds < _LONG_S:
        return ntr("{seconds} second", "{seconds} seconds", seconds=_rounded_up(seconds))
    return ntr("{seconds} minute", "{seconds} minutes", seconds=_rounded_up(seconds / 60))


def _rounded_up(number: float) -> str:
    return f"{math.ceil(round(10 * number, 3)) / 10:g}"


def rounded_duration(seconds: float) -> str:
    """Format a duration to the nearest second, or to the nearest minute from 90 seconds on.

    >>> rounded_duration(8.2), rounded_duration(180), rounded_duration(7500)
    ('8 s', '3 min', '2 h 5 min')
    """
    if seconds < _SHORT_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return tr("{minutes} min", minutes=minutes)
    hours, minutes = divmod(minutes, 60)
    return tr("{hours} h {minutes} min", hours=hours, minutes=minutes)


def clock(seconds: float) -> str:
    """Write a time as minutes and seconds.

    >>> clock(102.0), clock(3.25)
    ('1:42', '0:03.25')
    """
    minutes, rest = divmod(round(seconds, 2), 60.0)
    return f"{int(minutes)}:{rest:05.2f}".removesuffix(".00")
