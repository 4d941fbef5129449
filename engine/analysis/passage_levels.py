"""Bring the passages of a recording to one level, for detectors whose confidence depends on it.

A passage is what lies within 1.4 s: its level is that of its loudest moment, so that the end of a note is not raised
against its beginning, and its gain moves slowly. It depends on samples nearby alone, so that a moment gets the same
gain whichever window it falls in. What is far softer than the loudest passage is the room and its hum, and stays so.
"""

import numpy as np
import scipy

from engine.units import FRAME_RATE, amplitude, decibels

LEVEL_DB = -12.0  # of the loudest moment of each passage, root mean square
LARGEST_GAIN_DB = 60.0  # what is softer than 72 dB below full scale is no voice
_VOICE_DB, _ROOM_DB = 42.0, 47.0  # below the loudest passage: a voice down to the first, the room from the second on
_LOUDEST_WITHIN_S, _GLIDE_S = 1.0, 0.4  # on each side
PASSAGE_S = _LOUDEST_WITHIN_S + _GLIDE_S  # on each side, that decides on a moment
_LOWEST_HERTZ, _HIGHEST_HERTZ = 60.0, 4000.0  # where a voice is: rumble and hiss say nothing of its level
_MOMENT_FRAMES = 4
_FORGOTTEN_DB = 0.2  # a second, of the loudest passage of a stream
_USUAL_DB = -20.0  # of the loudest passage, at the beginning of a stream
SILENT_DB = -120.0


def level_passages(samples: np.ndarray, rate: int) -> np.ndarray:
    """Return mono samples (samples,) with every passage at LEVEL_DB, float32; silence stays silence.

    >>> soft = 0.001 * np.sin(np.arange(16_000) / 10)
    >>> bool(np.abs(level_passages(soft, 16_000)[4_000:-4_000]).max() > 0.3)
    True
    """
    passages_db = _passages_db(samples, rate)
    return _levelled(samples, rate, passages_db, passages_db.max(initial=SILENT_DB))


def raised(samples: np.ndarray, gain_db: float) -> np.ndarray:
    """Return samples louder by a gain, float32."""
    return (samples * amplitude(np.array(gain_db))).astype(np.float32)


class PassageLeveller:
    """`level_passages` for a stream, in which the loudest passage is that of the samples so far."""

    def __init__(self, rate: int) -> None:
        self._rate, self._hop = rate, rate // FRAME_RATE
        self._around = (_frames(PASSAGE_S) + 10) * self._hop  # and the filter of the band
        self._held = np.zeros(0, np.float32)
        self._before = 0  # samples at the beginning of the held ones that are levelled already
        self._loudest_db = SILENT_DB

    def push(self, samples: np.ndarray, last: bool = False) -> np.ndarray:
        """Take the next samples (samples,) and return those whose passages are known; with the last ones all."""
        self._held = np.concatenate([self._held, samples])
        stop = len(self._held) if last else (len(self._held) - self._around) // self._hop * self._hop
        if stop <= self._before:
            return np.zeros(0, np.float32)
        passages_db = _passages_db(self._held, self._rate)
        self._loudest_db = max(self._loudest_db, passages_db.max())
        levelled = _levelled(self._held, self._rate, passages_db, self._loudest_db)[self._before : stop]
        first = max(0, stop - self._around) // self._hop * self._hop
        self._held, self._before = self._held[first:], stop - first
        return levelled


class RunningGain:
    """The gain of the newest moment of a stream, by what precedes it."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._moments_db = np.full(_frames(PASSAGE_S), SILENT_DB)
        self._loudest_db = _USUAL_DB

    def db(self, samples: np.ndarray, new: int) -> float:
        """Return the gain for samples (samples,) of which the last `new` have not been given before."""
        count = max(1, new * FRAME_RATE // self._rate)
        moments_db = _moments_db(samples, self._rate)[-count:]
        self._moments_db = np.concatenate([self._moments_db, moments_db])[count:]
        passage_db = float(self._moments_db.max())
        self._loudest_db = max(passage_db, self._loudest_db - _FORGOTTEN_DB * count / FRAME_RATE)
        return float(_gain_db(np.array(passage_db), self._loudest_db))


def _gain_db(passages_db: np.ndarray, loudest_db: float) -> np.ndarray:
    """Return the gain of passages, the more of it the less they are softer than the loudest one."""
    full_db, least_db = (np.minimum(LEVEL_DB - level, LARGEST_GAIN_DB) for level in (passages_db, loudest_db))
    share = ((_ROOM_DB - (loudest_db - passages_db)) / (_ROOM_DB - _VOICE_DB)).clip(0.0, 1.0)
    gain_db: np.ndarray = least_db + share * (full_db - least_db)
    return gain_db


def _moments_db(samples: np.ndarray, rate: int) -> np.ndarray:
    """Return the level of each 40 ms in the band of voices, every 10 ms: float64 (frames,)."""
    highest = min(_HIGHEST_HERTZ, 0.45 * rate)
    band = scipy.signal.butter(2, (_LOWEST_HERTZ, highest), "bandpass", fs=rate, output="sos")
    hop = rate // FRAME_RATE
    voice = scipy.signal.sosfilt(band, samples)
    padded = np.pad(voice, (0, -len(voice) % hop))
    power = np.square(padded).reshape(-1, hop).mean(1)
    moments = scipy.ndimage.uniform_filter1d(power, _MOMENT_FRAMES, mode="nearest")
    return decibels(np.sqrt(moments.clip(0.0)))


def _passages_db(samples: np.ndarray, rate: int) -> np.ndarray:
    """Return the level of the passage around each 10 ms, float64 (frames,)."""
    frames = 2 * _frames(_LOUDEST_WITHIN_S) + 1
    return scipy.ndimage.maximum_filter1d(_moments_db(samples, rate), frames, mode="nearest")


def _levelled(samples: np.ndarray, rate: int, passages_db: np.ndarray, loudest_db: float) -> np.ndarray:
    gain_db = np.convolve(np.pad(_gain_db(passages_db, loudest_db), _frames(_GLIDE_S), "edge"), _glide(), "valid")
    place = np.arange(len(samples)) * (FRAME_RATE / rate) - 0.5  # a moment's centre is half a frame after its start
    return (samples * np.interp(place, np.arange(len(gain_db)), amplitude(gain_db))).astype(np.float32)


def _glide() -> np.ndarray:
    kernel = np.hanning(2 * _frames(_GLIDE_S) + 3)[1:-1]
    return kernel / kernel.sum()


def _frames(seconds: float) -> int:
    return round(seconds * FRAME_RATE)
