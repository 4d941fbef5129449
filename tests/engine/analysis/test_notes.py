import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.notes import CHROMATIC, SCALES, Note, find_notes, measure_histogram, nearest_notes, notes_as_midi
from engine.analysis.pitch import Pitch
from engine.units import FRAME_RATE, semitones_to_hertz

LOUD_DB, SILENT_DB = -20.0, -100.0


def performance(*parts: tuple[float | None, float]) -> tuple[Pitch, np.ndarray]:
    """Pitch and loudness of (semitones or None, seconds) after one another."""
    semitones = np.concatenate([np.full(round(seconds * FRAME_RATE), note or 60.0) for note, seconds in parts])
    sung = np.concatenate([np.full(round(seconds * FRAME_RATE), note is not None) for note, seconds in parts])
    pitch = Pitch(semitones_to_hertz(semitones).astype(np.float32), np.where(sung, 0.95, 0.0).astype(np.float32))
    return pitch, np.where(sung, LOUD_DB, SILENT_DB).astype(np.float32)


def with_vibrato(pitch: Pitch, semitones: float, hertz: float = 5.5) -> Pitch:
    return pitch.transposed(semitones * np.sin(2 * np.pi * hertz * np.arange(len(pitch)) / FRAME_RATE))


def test_find_notes_transcribes_a_melody():
    melody = [(57.0, 0.5), (59.0, 0.4), (None, 0.3), (60.0, 1.0)]
    notes = find_notes(*performance(*melody))
    assert [note.midi for note in notes] == [57, 59, 60]
    places = [place for note in notes for place in (note.start_s, note.end_s)]
    assert places == pytest.approx([0, 0.5, 0.5, 0.9, 1.2, 2.2], abs=0.06)
    assert all(abs(note.cents) < 1 for note in notes[2:])


def test_find_notes_reads_vibrato_as_one_note():
    pitch, loudness_db = performance((64.0, 2.0))
    (note,) = find_notes(with_vibrato(pitch, 0.7), loudness_db)
    assert (note.midi, note.seconds) == (64, pytest.approx(2.0, abs=0.05))
    assert note.cents == pytest.approx(0.0, abs=12)


def test_find_notes_reports_the_deviation_in_cents():
    (note,) = find_notes(*performance((60.3, 1.0)))
    assert (note.midi, note.cents) == (60, pytest.approx(30.0, abs=0.5))


def test_find_notes_splits_a_repeated_note():
    pitch, loudness_db = performance((60.0, 1.0))
    loudness_db[45:50] -= 20.0
    assert [note.midi for note in find_notes(pitch, loudness_db)] == [60, 60]


def test_find_notes_bridges_a_short_unvoiced_gap():
    pitch, loudness_db = performance((60.0, 1.0))
    voicing = pitch.voicing.copy()
    voicing[50:53] = 0.0
    assert len(find_notes(Pitch(pitch.hertz, voicing), loudness_db)) == 1


def test_find_notes_ignores_the_reverb_after_a_voice():
    pitch, loudness_db = performance((60.0, 1.0), (55.0, 0.5))
    loudness_db[100:] = LOUD_DB - 50.0
    assert [note.midi for note in find_notes(pitch, loudness_db)] == [60]


def test_find_notes_and_measure_histogram_find_nothing_in_silence():
    assert find_notes(*performance((None, 1.0))) == []
    assert not measure_histogram(*performance((None, 1.0))).any()


def test_find_notes_refuses_curves_of_different_lengths():
    pitch, loudness_db = performance((60.0, 1.0))
    with pytest.raises(ValueError, match="frames"):
        find_notes(pitch, loudness_db[1:])


def test_measure_histogram_counts_seconds_per_semitone():
    seconds = measure_histogram(*performance((57.0, 2.0), (None, 1.0), (59.4, 1.5)))
    assert (seconds[57], seconds[59], seconds.sum()) == (2.0, 1.5, 3.5)


def test_measure_histogram_ignores_a_short_octave_leap():
    seconds = measure_histogram(*performance((57.0, 1.0), (69.0, 0.05), (57.0, 1.0)))
    assert seconds[69] == 0


sung = st.lists(st.tuples(st.one_of(st.none(), st.floats(40, 80)), st.floats(0.02, 0.8)), min_size=1, max_size=8)


@given(parts=sung, vibrato=st.floats(0, 1))
@settings(max_examples=60)
def test_find_notes_returns_ordered_notes_within_the_recording(parts, vibrato):
    pitch, loudness_db = performance(*parts)
    notes = find_notes(with_vibrato(pitch, vibrato), loudness_db)
    places = [place for note in notes for place in (note.start_s, note.end_s)]
    assert places == sorted(places)
    assert all(0 <= place <= len(pitch) / FRAME_RATE for place in places)
    assert all(note.seconds >= 0.08 and -50 <= note.cents <= 50 for note in notes)


# ---- MIDI


def read_midi(data: bytes) -> list[tuple[float, bool | str, int]]:
    """(seconds, whether it begins or a marker's text, note) of a file of one track, read by the standard."""
    assert data[:4] == b"MThd"
    assert data[4:8] == b"\x00\x00\x00\x06"
    kind, tracks, division = (int.from_bytes(data[at : at + 2], "big") for at in (8, 10, 12))
    assert (kind, tracks) == (0, 1)
    assert data[14:18] == b"MTrk"
    body = data[22:]
    assert len(body) == int.from_bytes(data[18:22], "big")
    at, tick, events, beat_s = 0, 0, [], 0.5
    while True:
        wait = 0
        while True:
            byte, at = body[at], at + 1
            wait = wait << 7 | byte & 0x7F
            if not byte & 0x80:
                break
        tick += wait
        status = body[at]
        if status == 0xFF:
            kind, size = body[at + 1 : at + 3]
            content, at = body[at + 3 : at + 3 + size], at + 3 + size
            if kind == 0x51:
                beat_s = int.from_bytes(content, "big") / 1e6
            elif kind == 0x06:
                events.append((tick / division * beat_s, content.decode(), 0))
            else:
                assert (kind, body[at:]) == (0x2F, b"")
                return events
            continue
        assert status in (0x80, 0x90)
        events.append((tick / division * beat_s, status == 0x90, body[at + 1]))
        at += 3


def test_notes_as_midi_writes_every_note():
    notes = [Note(0.5, 1.0, 60, 12.0), Note(1.0, 1.25, 62, 0.0), Note(100.0, 300.0, 40, -3.0)]
    short = [(0.5, True, 60), (1.0, False, 60), (1.0, True, 62), (1.25, False, 62)]
    assert read_midi(notes_as_midi(notes)) == [*short, (100.0, True, 40), (300.0, False, 40)]


def test_notes_as_midi_keeps_times_with_a_tempo_and_markers():
    written = notes_as_midi([Note(1.0, 2.0, 60, 0.0)], 96.0, [(1.0, "phrase 1"), (2.0, "Größe")])
    events = [(pytest.approx(1.0), "phrase 1", 0), (pytest.approx(1.0), True, 60)]
    events += [(pytest.approx(2.0), "Größe", 0), (pytest.approx(2.0), False, 60)]
    assert read_midi(written) == events


def test_notes_as_midi_writes_a_valid_file_without_notes():
    assert read_midi(notes_as_midi([])) == []


def test_scales_hold_the_standard_notes():
    assert SCALES["C major"] == (0, 2, 4, 5, 7, 9, 11)
    assert SCALES["A minor"] == SCALES["C major"]
    assert SCALES["F# minor"] == SCALES["A major"] == (1, 2, 4, 6, 8, 9, 11)
    assert SCALES[CHROMATIC] == tuple(range(12))
    assert len(SCALES) == 25


@pytest.mark.parametrize(
    ("semitones", "scale", "note"),
    [(60.4, CHROMATIC, 60), (60.6, CHROMATIC, 61), (60.6, "C major", 60), (61.2, "C major", 62), (66.0, "C minor", 65)],
)
def test_nearest_notes_returns_the_nearest_note_of_the_scale(semitones, scale, note):
    assert nearest_notes(np.array([semitones]), scale) == pytest.approx([note])


@given(st.sampled_from(sorted(SCALES)), st.floats(20.0, 110.0))
def test_nearest_notes_finds_the_closest_scale_note_at_every_pitch(scale, semitones):
    [note] = nearest_notes(np.array([semitones]), scale)
    assert note % 12 in SCALES[scale]
    others = [other for other in range(140) if other % 12 in SCALES[scale]]
    assert abs(note - semitones) <= min(abs(other - semitones) for other in others) + 1e-9
