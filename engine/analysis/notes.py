"""Notes: transcribe a pitch curve, and measure how long each semitone is sung."""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.analysis.style import find_onsets
from engine.analysis.vocal_range import believable
from engine.filters import closed, moving_median
from engine.units import FRAME_RATE, NOTE_NAMES

SEMITONES = 128  # MIDI note numbers
_AUDIBLE_DB = 40.0  # below the loudest frames; anything quieter is not a note
_SHORTEST_FRAMES = 8
_BRIDGED_FRAMES = 4  # a note continues across unvoiced gaps up to this length
_MEDIAN_FRAMES = 7
_NEW_NOTE = 6.0  # cost of a new note: as much as this many semitones for one frame
_FURTHEST = 2.0  # semitones; greater distances cost no more
_ATTACK_DB = 9.0  # a rise by this much starts the same note again
_TICKS_PER_BEAT, _TEMPO_BPM, _VELOCITY = 480, 120.0, 80  # of MIDI files

CHROMATIC = "chromatic"
_MAJOR = (0, 2, 4, 5, 7, 9, 11)
_MINOR = (0, 2, 3, 5, 7, 8, 10)
# the notes of each scale as MIDI numbers modulo 12
SCALES: dict[str, tuple[int, ...]] = {CHROMATIC: tuple(range(12))} | {
    f"{name} {mode}": tuple(sorted((key + step) % 12 for step in steps))
    for mode, steps in (("major", _MAJOR), ("minor", _MINOR))
    for key, name in enumerate(NOTE_NAMES)
}


@dataclass(frozen=True)
class Note:
    """A sustained note.

    - start_s, end_s: where it begins and ends, in seconds
    - midi: MIDI note number
    - cents: median deviation of the voice from it, -50..50
    """

    start_s: float
    end_s: float
    midi: int
    cents: float

    @property
    def seconds(self) -> float:
        """Duration in seconds: a whole number of frames, without rounding errors."""
        return round(self.end_s - self.start_s, 6)


def find_notes(pitch: Pitch, loudness_db: np.ndarray) -> list[Note]:
    """Find the notes of a recording, none shorter than 80 ms; vibrato and glides are not notes.

    Parameters
    ----------
    pitch : Pitch
        Of the recording, (frames,).
    loudness_db : float (frames,)
        In dB of full scale, as in an Analysis.

    Returns
    -------
    list of Note
        In order of time.

    Examples
    --------
    >>> from engine import analyse
    >>> analysis = analyse("vocal.flac")
    >>> notes = find_notes(analysis.pitch, analysis.loudness_db)
    >>> all(note.end_s > note.start_s for note in notes)
    True
    """
    sung = closed(audible(pitch, loudness_db), _BRIDGED_FRAMES + 1)
    semitones = pitch.semitones.astype(np.float64)
    onsets, rises_db = find_onsets(loudness_db)
    attacks = onsets[rises_db > _ATTACK_DB]
    found = []
    for start, stop in true_runs(sung).tolist():
        curve = moving_median(semitones[start:stop], _MEDIAN_FRAMES)
        for place in _sustained(curve):
            for first, last in _sung_again(place, attacks - start):
                if last - first >= _SHORTEST_FRAMES:
                    found.append(_note(curve[first:last], start + first))
    return found


def measure_histogram(pitch: Pitch, loudness_db: np.ndarray) -> np.ndarray:
    """Measure how many seconds each semitone is sung or spoken, float64 (SEMITONES,) by MIDI number."""
    voiced = pitch.semitones[audible(pitch, loudness_db)].astype(np.float64)
    voiced = np.round(voiced[believable(voiced)] if len(voiced) else voiced).astype(int)
    return np.bincount(np.clip(voiced, 0, SEMITONES - 1), minlength=SEMITONES) / FRAME_RATE


def notes_as_midi(
    notes: Sequence[Note], tempo_bpm: float = _TEMPO_BPM, markers: Sequence[tuple[float, str]] = ()
) -> bytes:
    """Write notes as a standard MIDI file with one track.

    tempo_bpm: of the file, so that the notes lie on the bars of a song with this tempo; their times stay the same.
    markers: (seconds, text), which sequencers show in their marker track.

    >>> notes_as_midi([Note(0.0, 0.5, 69, 0.0)])[:4]
    b'MThd'
    """
    ticks_per_s = _TICKS_PER_BEAT * tempo_bpm / 60
    events: list[tuple[int, int, bytes]] = [
        (round(start_s * ticks_per_s), 0, b"\xff\x06" + _variable_length(len(text.encode())) + text.encode())
        for start_s, text in markers
    ]
    events += [(round(note.end_s * ticks_per_s), 1, bytes((0x80, note.midi, _VELOCITY))) for note in notes]
    events += [(round(note.start_s * ticks_per_s), 2, bytes((0x90, note.midi, _VELOCITY))) for note in notes]
    track = bytearray(b"\x00\xff\x51\x03" + round(60e6 / tempo_bpm).to_bytes(3, "big"))
    now = 0
    for tick, _, message in sorted(events):  # at equal times, note-offs come before note-ons
        track += _variable_length(tick - now) + message
        now = tick
    track += b"\x00\xff\x2f\x00"
    head = struct.pack(">4sLHHH", b"MThd", 6, 0, 1, _TICKS_PER_BEAT)
    return head + struct.pack(">4sL", b"MTrk", len(track)) + bytes(track)


def _variable_length(number: int) -> bytes:
    """Encode a MIDI variable-length quantity: seven bits per byte, highest first, all but the last with bit 8 set."""
    parts = [number & 0x7F]
    while number := number >> 7:
        parts.append(number & 0x7F | 0x80)
    return bytes(reversed(parts))


def audible(pitch: Pitch, loudness_db: np.ndarray) -> np.ndarray:
    """Return where there is a voice rather than only its reverberation, bool (frames,)."""
    if loudness_db.shape != (len(pitch),):
        raise ValueError(f"{len(pitch)} frames of pitch, but loudness of shape {loudness_db.shape}")
    if not pitch.voiced.any():
        return pitch.voiced
    return pitch.voiced & (loudness_db > np.percentile(loudness_db[pitch.voiced], 95) - _AUDIBLE_DB)


def _note(semitones: np.ndarray, start: int) -> Note:
    middle = float(np.median(semitones))
    midi = min(max(round(middle), 0), SEMITONES - 1)
    return Note(start / FRAME_RATE, (start + len(semitones)) / FRAME_RATE, midi, 100.0 * (middle - midi))


def _sustained(semitones: np.ndarray) -> list[tuple[int, int]]:
    """Return where a curve (frames,) stays on one note: (start, stop) frames, stop excluded.

    The step function closest to the curve, where each new note costs as much as _NEW_NOTE semitones for one frame, so
    that vibrato does not split a note. Found as the shortest path through all notes (Viterbi).
    """
    notes = np.arange(math.floor(semitones.min()), math.ceil(semitones.max()) + 1)
    away = np.minimum(np.abs(semitones[:, None] - notes), _FURTHEST)
    total = away[0].copy()
    best = np.zeros(len(away), int)  # the best note up to the previous frame
    is_new = np.zeros(away.shape, bool)
    for frame in range(1, len(away)):
        best[frame] = total.argmin()
        changed = total[best[frame]] + _NEW_NOTE
        is_new[frame] = changed < total
        total = np.where(is_new[frame], changed, total) + away[frame]
    places, note, last = [], int(total.argmin()), len(away)
    for frame in range(len(away) - 1, 0, -1):
        if is_new[frame, note]:
            places.append((frame, last))
            note, last = int(best[frame]), frame
    return [(0, last), *reversed(places)]


def _sung_again(place: tuple[int, int], attacks: np.ndarray) -> Iterator[tuple[int, int]]:
    """Split a sustained note where it is sung again."""
    start, stop = place
    for attack in attacks[(attacks > start) & (attacks < stop)].tolist():
        if min(attack - start, stop - attack) >= _SHORTEST_FRAMES:
            yield start, attack
            start = attack
    yield start, stop


def nearest_notes(semitones: np.ndarray, scale: str = CHROMATIC) -> np.ndarray:
    """Return the note of a scale nearest to each MIDI number, same shape."""
    if scale == CHROMATIC:
        return np.round(semitones)
    notes = np.flatnonzero(np.isin(np.arange(-12, 140) % 12, SCALES[scale])) - 12.0
    above = np.searchsorted(notes, semitones).clip(1, len(notes) - 1)
    nearer_above = notes[above] - semitones < semitones - notes[above - 1]
    return np.where(nearer_above, notes[above], notes[above - 1])
