"""Notes: a pitch curve as a singer would write it down, and how long each semitone is sung."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_closing, median_filter, uniform_filter1d

from engine.frames import FRAME_RATE
from engine.pitch import Pitch
from engine.style import find_onsets

SEMITONES = 128  # as MIDI numbers them
_AUDIBLE_DB = 40.0  # below the loudest frames; quieter is no note
_SHORTEST_FRAMES = 8
_BRIDGED_FRAMES = 4  # unvoiced for no longer than this, a note goes on
_VIBRATO_FRAMES = 19  # one period of a slow vibrato
_MEDIAN_FRAMES = 7
_LEAVING_SEMITONES = 0.6  # from a note's middle, for _LEAVING_FRAMES, and it is another note
_LEAVING_FRAMES = 6
_ATTACK_DB = 9.0  # rises by this, the same note is sung again


@dataclass(frozen=True)
class Note:
    """A note that is held: its MIDI number, and how far from it the voice is on average."""

    start_s: float
    end_s: float
    midi: int
    cents: float  # -50..50

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def find_notes(pitch: Pitch, loudness_db: np.ndarray) -> list[Note]:
    """The notes of a recording in the order of time, none shorter than 80 ms; vibrato and glides are no notes.

    loudness_db: (frames,) as measure_loudness gives it, as long as `pitch`.
    """
    sung = binary_closing(audible(pitch, loudness_db), np.ones(_BRIDGED_FRAMES + 1))
    semitones = pitch.semitones.astype(np.float64)
    onsets, rises_db = find_onsets(loudness_db)
    attacks = set(onsets[rises_db > _ATTACK_DB].tolist())
    found = []
    for start, stop in _runs(sung):
        curve = _steady(semitones[start:stop])
        for first, last in _held(curve, {frame - start for frame in attacks}):
            if last - first >= _SHORTEST_FRAMES:
                middle = float(np.median(curve[first:last]))
                midi = min(max(round(middle), 0), SEMITONES - 1)
                begin, end = (start + first) / FRAME_RATE, (start + last) / FRAME_RATE
                found.append(Note(begin, end, midi, 100.0 * (middle - midi)))
    return found


def measure_histogram(pitch: Pitch, loudness_db: np.ndarray) -> np.ndarray:
    """Seconds that each semitone is sung or spoken, float64 (SEMITONES,) by MIDI number."""
    heard = np.round(pitch.semitones[audible(pitch, loudness_db)]).astype(int)
    return np.bincount(np.clip(heard, 0, SEMITONES - 1), minlength=SEMITONES) / FRAME_RATE


def audible(pitch: Pitch, loudness_db: np.ndarray) -> np.ndarray:
    """bool (frames,): where there is a voice, and it is not just the room after it."""
    if loudness_db.shape != (len(pitch),):
        raise ValueError(f"{len(pitch)} frames of pitch, but loudness of shape {loudness_db.shape}")
    if not pitch.voiced.any():
        return pitch.voiced
    return pitch.voiced & (loudness_db > np.percentile(loudness_db[pitch.voiced], 95) - _AUDIBLE_DB)


def _runs(true: np.ndarray) -> Iterator[tuple[int, int]]:
    """First and last frame (the last not included) of each stretch that is true."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], true, [False])).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _steady(semitones: np.ndarray) -> np.ndarray:
    """The curve with its vibrato and single wrong frames smoothed away."""
    window = min(_VIBRATO_FRAMES, len(semitones))
    return uniform_filter1d(median_filter(semitones, _MEDIAN_FRAMES, mode="nearest"), window, mode="nearest")


def _held(curve: np.ndarray, attacks: set[int]) -> Sequence[tuple[int, int]]:
    """Where a curve stays on one note: (first, last) frames, the last not included."""
    notes, start, away = [], 0, 0
    for frame in range(1, len(curve)):
        middle = np.median(curve[start : max(frame - away, start + 1)][-2 * FRAME_RATE :])
        away = away + 1 if abs(curve[frame] - middle) > _LEAVING_SEMITONES else 0
        if away >= _LEAVING_FRAMES or (frame in attacks and frame - start >= _SHORTEST_FRAMES):
            stop = frame - away + 1 if away >= _LEAVING_FRAMES else frame
            notes.append((start, stop))
            start, away = stop, 0
    return [*notes, (start, len(curve))]
