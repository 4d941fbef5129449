"""The place in the session: time references, markers and track names of recordings in bytes, and of their results."""

import io
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile as sf
from hypothesis import given
from hypothesis import strategies as st

from engine.audio.files import Audio, AudioWriter, read_audio, write_audio
from engine.audio.result_files import write_result
from engine.audio.result_format import ResultFormat
from engine.audio.session_metadata import Marker, SessionPlace, append_place, place_of
from engine.audio.stems import Placing, cut_recording, write_stem
from engine.audio.written_formats import wav_header
from engine.conversion.comping import CompPart, comp_files
from engine.effects.processing import apply_effects_to_file
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.provenance.verification import verify
from engine.songs.mixing import Lane, mix_files
from tests.engine.audio.encoded import tone, with_sndfile

RATE = 48_000
REFERENCE = 48_000 * 3600 + 12_345
MADE = Statement("mia", "Mia", None, {}, None, "0.0")
SHEET = b"""<?xml version="1.0" encoding="UTF-8"?>
<BWFXML><IXML_VERSION>1.5</IXML_VERSION><PROJECT>Oper &amp; Lied</PROJECT><SCENE>12A</SCENE><TAKE>3</TAKE>
<FILE_UID>deleted</FILE_UID><SPEED><TIMECODE_RATE>25/1</TIMECODE_RATE><FILE_SAMPLE_RATE>48000</FILE_SAMPLE_RATE>
<TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_HI>0</TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_HI>
<TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_LO>172812345</TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_LO>
<TIMESTAMP_SAMPLE_RATE>48000</TIMESTAMP_SAMPLE_RATE></SPEED>
<TRACK_LIST><TRACK_COUNT>1</TRACK_COUNT><TRACK><CHANNEL_INDEX>1</CHANNEL_INDEX><INTERLEAVE_INDEX>1</INTERLEAVE_INDEX>
<NAME>Sopran \xc3\xa4</NAME></TRACK></TRACK_LIST></BWFXML>"""


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack("<4sI", name, len(content)) + content + bytes(len(content) % 2)


def bext(reference: int, version: int = 1) -> bytes:
    names = b"take 3".ljust(256, b"\0") + b"desk".ljust(32, b"\0") + bytes(32) + b"2026-01-01" + b"10:00:00"
    return chunk(b"bext", names + struct.pack("<QH", reference, version) + bytes(64 + 190) + b"A=PCM\r\n")


def cues(*markers: tuple[int, bytes, int]) -> bytes:
    points, texts = b"", b"adtl"
    for number, (place, label, length) in enumerate(markers, 1):
        points += struct.pack("<II4sIII", number, place, b"data", 0, 0, place)
        texts += chunk(b"labl", struct.pack("<I", number) + label + b"\0")
        if length:
            texts += chunk(b"ltxt", struct.pack("<II4s8x", number, length, b"rgn "))
    return chunk(b"cue ", struct.pack("<I", len(markers)) + points) + chunk(b"LIST", texts)


MARKERS = ((4_800, b"verse", 0), (48_000, b"r\xc3\xa9frain", 9_600), (95_000, b"out", 0))


def wav(before: bytes = b"", after: bytes = b"", kind: str = "WAV") -> bytes:
    content = with_sndfile(tone(2 * RATE, RATE), RATE, format=kind, subtype="PCM_24")
    form = content.index(b"fmt ")
    content = content[:form] + before + content[form:] + after
    return content if kind != "WAV" else content[:4] + struct.pack("<I", len(content) - 8) + content[8:]


def put(folder: Path, content: bytes, name: str = "take.wav") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


EVERYTHING = bext(REFERENCE) + cues(*MARKERS) + chunk(b"iXML", SHEET)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return put(tmp_path, wav(EVERYTHING))


def found(path: Path) -> SessionPlace:
    place = place_of(path)
    assert place is not None
    return place


# ---- read ----


@pytest.mark.parametrize("kind", ["WAV", "RF64"])
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("reference", [0, REFERENCE, 2**32 + 7])
def test_place_of_reads_the_time_reference_wherever_it_lies(
    tmp_path: Path, kind: str, behind: bool, reference: int
) -> None:
    content = bext(reference) + cues(*MARKERS)
    place = found(put(tmp_path, wav(b"" if behind else content, content if behind else b"", kind)))
    assert (place.rate, place.time_reference, place.description) == (RATE, reference, b"take 3")
    assert place.markers == tuple(Marker(at, label, length=length) for at, label, length in MARKERS)


def test_place_of_reads_what_lies_behind_sound_that_the_header_leaves_out(tmp_path: Path) -> None:
    content = bytearray(wav(after=EVERYTHING))
    data = content.index(b"data")
    content[data + 4 : data + 8] = struct.pack("<I", 3000)
    place = found(put(tmp_path, bytes(content)))
    assert (place.time_reference, len(place.markers)) == (REFERENCE, 3)


def test_place_of_reads_the_time_stamp_of_a_sheet_without_bext(tmp_path: Path) -> None:
    sheet = SHEET.replace(b"<TIMESTAMP_SAMPLE_RATE>48000", b"<TIMESTAMP_SAMPLE_RATE>96000")
    place = found(put(tmp_path, wav(chunk(b"iXML", sheet))))
    assert place.time_reference == (REFERENCE + 1) // 2


def test_place_of_reads_the_markers_of_an_aiff(tmp_path: Path) -> None:
    content = with_sndfile(tone(2 * RATE, RATE), RATE, format="AIFF")
    marks = struct.pack(">HhIB5shIB4sx", 2, 1, 4_800, 5, b"verse", 2, 48_000, 4, b"fine")
    content += struct.pack(">4sI", b"MARK", len(marks)) + marks
    assert found(put(tmp_path, content, "a.aiff")).markers == (Marker(4_800, b"verse"), Marker(48_000, b"fine"))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"no sound", wav(), wav(chunk(b"bext", b"short")), wav(chunk(b"cue ", b"\xff\xff\xff\xff"))),
        wav(chunk(b"iXML", b"<a")),
        wav(chunk(b"iXML", b'<!DOCTYPE a [<!ENTITY b "c">]><BWFXML><SCENE>&b;</SCENE></BWFXML>')),
        with_sndfile(tone(100, RATE), RATE, format="FLAC"),
    ],
)
def test_place_of_a_file_that_does_not_say_is_none(tmp_path: Path, content: bytes) -> None:
    assert place_of(put(tmp_path, content)) is None
    assert place_of(tmp_path / "nothing.wav") is None


@given(st.binary(max_size=200), st.sampled_from([b"bext", b"cue ", b"LIST", b"iXML"]), st.binary(max_size=100))
def test_place_of_reads_any_chunk_or_none(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: bytes, more: bytes
) -> None:
    chunks = cues(*MARKERS) + chunk(name, content) + chunk(b"LIST", b"adtl" + more)
    path = put(tmp_path_factory.getbasetemp(), wav(chunks), "any.wav")
    place = place_of(path)
    if place is not None:
        with AudioWriter(path, 44_100, 1, place=place) as writer:
            writer.write(tone(100, 44_100))


# ---- moved and scaled ----


@given(st.integers(0, 2**62), st.sampled_from([8_000, 44_100, 96_000]), st.sampled_from([44_100, 48_000, 192_000]))
def test_session_place_counts_at_another_rate_to_the_nearest_sample(reference: int, rate: int, other: int) -> None:
    moved = SessionPlace(rate, reference, (Marker(reference),)).at(other)
    assert moved.time_reference is not None
    assert abs(moved.time_reference * rate - reference * other) * 2 <= rate
    assert moved.markers[0].position == moved.time_reference


def test_session_place_of_a_part_has_the_markers_in_it() -> None:
    place = SessionPlace(RATE, 1000, (Marker(10), Marker(50), Marker(90)))
    assert place.from_sample(20, 40) == SessionPlace(RATE, 1020, (Marker(30),))
    assert place.from_sample(-100) == SessionPlace(RATE, 900, (Marker(110), Marker(150), Marker(190)))
    assert SessionPlace(RATE, 50).from_sample(-100).time_reference == 0


# ---- written ----


@pytest.mark.parametrize("rate", ["source", "44100"])
@pytest.mark.parametrize("bits", ["24", "16"])
def test_write_result_keeps_the_place_at_the_results_rate(
    tmp_path: Path, recording: Path, rate: str, bits: str
) -> None:
    write_result(recording, tmp_path / "result.wav", ResultFormat(rate, bits), recording)
    place = found(tmp_path / "result.wav")
    expected = found(recording).at(RATE if rate == "source" else 44_100)
    assert (place.time_reference, place.markers) == (expected.time_reference, expected.markers)
    assert (place.date, place.time) == (b"2026-01-01", b"10:00:00")
    if rate == "source":
        assert place.time_reference == REFERENCE
    else:
        assert place.markers[1] == Marker(44_100, b"r\xc3\xa9frain", length=8_820)
    assert read_audio(tmp_path / "result.wav").sample_count == 2 * place.rate


def test_a_result_has_a_sheet_whose_times_are_its_own(tmp_path: Path, recording: Path) -> None:
    write_result(recording, tmp_path / "result.wav", ResultFormat("44100"), recording)
    content = (tmp_path / "result.wav").read_bytes()
    place = content.index(b"iXML")
    size = int.from_bytes(content[place + 4 : place + 8], "little")
    root = ElementTree.fromstring(content[place + 8 : place + 8 + size])
    said = {one.tag: one.text for one in root.iter()}
    assert (said["PROJECT"], said["SCENE"], said["NAME"]) == ("Oper & Lied", "12A", "Sopran ä")
    assert (said["TRACK_COUNT"], said["TIMECODE_RATE"]) == ("1", "25/1")
    assert (said["FILE_SAMPLE_RATE"], said["TIMESTAMP_SAMPLE_RATE"]) == ("44100", "44100")
    assert said["TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_LO"] == str(found(tmp_path / "result.wav").time_reference)
    assert "FILE_UID" not in said


def test_cut_recording_moves_the_place(tmp_path: Path, recording: Path) -> None:
    cut_recording(recording, tmp_path / "cut.wav", 0.5, 1.5)
    place = found(tmp_path / "cut.wav")
    assert place.time_reference == REFERENCE + 24_000
    assert place.markers == (Marker(24_000, b"r\xc3\xa9frain", length=9_600),)
    cut_recording(tmp_path / "cut.wav", tmp_path / "again.wav", 0.25)
    assert found(tmp_path / "again.wav").time_reference == REFERENCE + 36_000


def test_write_stem_keeps_markers_where_they_sound(tmp_path: Path, recording: Path) -> None:
    write_stem(recording, tmp_path / "stem.wav", Placing(1.0, 4.0, 7.5))
    place = found(tmp_path / "stem.wav")
    assert place.time_reference == round(7.5 * RATE)
    assert [one.position for one in place.markers] == [52_800, 96_000, 143_000]


def test_a_mix_lies_where_its_vocal_does(tmp_path: Path, recording: Path) -> None:
    sf.write(tmp_path / "backing.wav", np.full((44_100, 1), 0.1), 44_100)
    vocal = found(recording).at(44_100)
    for offset in (22_050, -22_050):
        mix_files([Lane(recording, offset=offset), Lane(tmp_path / "backing.wav")], tmp_path / "mix.wav")
        place = found(tmp_path / "mix.wav")
        shift = max(0, offset)  # a vocal that begins first is where the mix begins
        assert place.time_reference == (vocal.time_reference or 0) - shift
        assert [one.position for one in place.markers] == [one.position + shift for one in vocal.markers]


def test_effects_and_comps_keep_the_place(tmp_path: Path, recording: Path) -> None:
    apply_effects_to_file(recording, tmp_path / "wet.wav", "clean")
    comp_files([recording, recording], [CompPart(0.0, 0), CompPart(1.0, 1)], tmp_path / "comp.wav")
    for name in ("wet.wav", "comp.wav"):
        assert found(tmp_path / name).time_reference == REFERENCE
        assert len(found(tmp_path / name).markers) == 3


def test_read_and_write_audio_keep_the_place(tmp_path: Path, recording: Path) -> None:
    audio = read_audio(recording)
    write_audio(tmp_path / "copy.wav", Audio(audio.samples, audio.rate, place=audio.place))
    assert found(tmp_path / "copy.wav").time_reference == REFERENCE
    write_audio(tmp_path / "copy.flac", audio)  # which has no room for it
    assert place_of(tmp_path / "copy.flac") is None


def test_a_signed_result_with_a_place_is_valid(tmp_path: Path, recording: Path) -> None:
    installation = Installation(tmp_path / "keys")
    reason = write_result(recording, tmp_path / "result.wav", ResultFormat(), recording, MADE, installation)
    assert reason is None
    assert verify(tmp_path / "result.wav", installation).state == "made_here"
    assert found(tmp_path / "result.wav").time_reference == REFERENCE
    with av.open(tmp_path / "result.wav") as file:
        assert file.metadata["time_reference"] == str(REFERENCE)
        assert "comment" in file.metadata
        assert sum(frame.samples for frame in file.decode(audio=0)) == 2 * RATE
    with sf.SoundFile(tmp_path / "result.wav") as file:
        assert (file.frames, file.samplerate) == (2 * RATE, RATE)


def test_a_wav_beyond_4_gb_keeps_its_place(tmp_path: Path) -> None:
    path, place = tmp_path / "long.wav", SessionPlace(RATE, REFERENCE, (Marker(1_500_000_000 // 2, b"late"),))
    frames, after = 1_500_000_000, place.marker_chunks()
    with path.open("wb") as file:
        file.write(wav_header(RATE, 1, 3 * frames, len(after), place.broadcast_chunk()))
        file.seek(3 * frames, io.SEEK_CUR)  # sparse: takes no room
        file.write(after)
    kept = found(path)
    assert (kept.time_reference, kept.markers) == (REFERENCE, place.markers)


def test_append_place_leaves_the_sound_as_it_is(tmp_path: Path, recording: Path) -> None:
    place = found(recording)
    for samples in (tone(101, RATE), tone(100, RATE)):
        sf.write(tmp_path / "a.wav", samples.T, RATE, subtype="PCM_U8")
        before = read_audio(tmp_path / "a.wav").samples
        append_place(tmp_path / "a.wav", place)
        assert found(tmp_path / "a.wav").time_reference == REFERENCE
        assert np.array_equal(read_audio(tmp_path / "a.wav").samples, before)
        with av.open(tmp_path / "a.wav") as file:
            assert file.metadata["time_reference"] == str(REFERENCE)
