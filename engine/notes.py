"""Notes: a pitch curve as a singer would write it down, and how long each semitone is sung."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_closing, median_filter, uniform_filter1d

from engine.frames import FRAME_RATE
from engine.pitch import Pitch
from engine.style import find_onsets
from engine.voice_range import believable

SEMITONES = 128  # as MIDI numbers them
_AUDIBLE_DB = 40.0  # below the loudest frames; quieter is no note
_SHORTEST_FRAMES = 8
_BRIDGED_FRAMES = 4  # unvoiced for no longer than this, a note goes on
_VIBRATO_FRAMES = 19  # one period of a slow vibrato
_MEDIAN_FRAMES = 7
_LEAVING_SEMITONES = 0.6  # from a note's middle, for _LEAVING_FRAMES, and it is another note
_LEAVING_FRAMES = 6
_ATTACK_DB = 9.0  # rises by this, the same note is sung again
_TICKS_PER_S, _VELOCITY = 960, 80  # of MIDI files


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
    heard = pitch.semitones[audible(pitch, loudness_db)].astype(np.float64)
    heard = np.round(heard[believable(heard)] if len(heard) else heard).astype(int)
    return np.bincount(np.clip(heard, 0, SEMITONES - 1), minlength=SEMITONES) / FRAME_RATE


def notes_as_midi(notes: Sequence[Note]) -> bytes:
    """The notes as a standard MIDI file of one track, at 120 beats a minute: a second is two beats."""
    events = [(round(note.start_s * _TICKS_PER_S), True, note.midi) for note in notes]
    events += [(round(note.end_s * _TICKS_PER_S), False, note.midi) for note in notes]
    track, now = bytearray(), 0
    for tick, begins, midi in sorted(events):  # where one ends as the next begins, it ends first
        track += _variable_length(tick - now) + bytes((0x90 if begins else 0x80, midi, _VELOCITY))
        now = tick
    track += b"\x00\xff\x2f\x00"
    head = struct.pack(">4sLHHH", b"MThd", 6, 0, 1, _TICKS_PER_S // 2)
    return head + struct.pack(">4sL", b"MTrk", len(track)) + bytes(track)


def _variable_length(number: int) -> bytes:
    """As MIDI writes numbers: seven bits to a byte, the highest first, all but the last with the eighth bit."""
    parts = [number & 0x7F]
    while number := number >> 7:
        parts.append(number & 0x7F | 0x80)
    return bytes(reversed(parts))


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
