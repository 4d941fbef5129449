"""What encoders put before the sound: clicks lie where they were, to the sample, or a sentence says what may be."""

import struct
from pathlib import Path

import numpy as np
import pytest

from engine.audio.files import notes_of, open_audio, read_audio
from tests.engine.audio.encoded import remuxed, tone, with_ffmpeg, with_sndfile

RATE = 48_000
PLACES = (14_400, 32_160, 49_920, 67_680)
COUNT = 96_000


def clicks() -> np.ndarray:
    click = np.hanning(96) * np.sin(np.pi * np.arange(96) / 12)
    sound = np.zeros((1, COUNT), np.float32)
    for start in PLACES:
        sound[0, start : start + 96] += (0.8 * click).astype(np.float32)
    return sound


SOUND = clicks()
FRAGMENTED = {"movflags": "frag_keyframe+empty_moov"}


def with_itunes_note(content: bytes, priming: int, padding: int, count: int) -> bytes:
    """An M4A whose index lies at its end, with the comment of iTunes on what its encoder put around the sound."""

    def atom(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I4s", len(body) + 8, name) + body

    text = f" 00000000 {priming:08X} {padding:08X} {count:016X}" + 8 * " 00000000"
    parts = [(b"mean", b"com.apple.iTunes"), (b"name", b"iTunSMPB"), (b"data", b"\0\0\0\0" + text.encode())]
    flags = {b"data": b"\0\0\0\1"}
    note = atom(b"----", b"".join(atom(name, flags.get(name, bytes(4)) + body) for name, body in parts))
    made = bytearray(content)
    ilst = made.rindex(b"ilst") - 4
    end = ilst + struct.unpack_from(">I", made, ilst)[0]
    made[end:end] = note
    for name in (b"moov", b"udta", b"meta", b"ilst"):
        place = made.rindex(name) - 4
        struct.pack_into(">I", made, place, struct.unpack_from(">I", made, place)[0] + len(note))
    return bytes(made)


def of_nobody(content: bytes) -> bytes:
    """The file without the name of its encoder in its first packet."""
    assert b"Lavc" in content
    return content.replace(b"Lavc", b"Nobo")


def put(folder: Path, content: bytes) -> Path:
    path = folder / "clicks.m4a"
    path.write_bytes(content)
    return path


def lateness(samples: np.ndarray) -> int:
    """By how many samples the clicks lie late."""
    room = 2 * (samples.shape[1] + COUNT)
    spectra = np.fft.rfft(samples[0], room) * np.conj(np.fft.rfft(SOUND[0], room))
    place = int(np.argmax(np.fft.irfft(spectra)))
    return place if place < room // 2 else place - room


def aac(container: str = "ipod", **options: str) -> bytes:
    return with_ffmpeg(SOUND, RATE, "aac", container, **options)


WITHOUT = {"use_editlist": "0"}
TOLD = (
    {"edit list": aac(), "edit list of a MOV": aac("mov"), "Matroska": aac("matroska")}
    | {"FFmpeg's name": aac(**WITHOUT), "fragments": aac("mp4", **FRAGMENTED), "ADTS": aac("adts")}
    | {"fragments with an edit list": aac("mp4", movflags="frag_keyframe+empty_moov+delay_moov")}
    | {"CMAF": aac("mp4", movflags="cmaf"), "a transport stream": aac("mpegts")}
    | {"iTunes": with_itunes_note(of_nobody(aac(**WITHOUT)), 1024, 256, COUNT)}
    | {"iTunes and FFmpeg's name": with_itunes_note(aac(**WITHOUT), 1024, 256, COUNT)}
    | {"iTunes and an edit list": with_itunes_note(of_nobody(aac()), 1024, 256, COUNT)}
    | {"LAME": with_ffmpeg(SOUND, RATE, "libmp3lame", "mp3")}
    | {"LAME in MP4": with_ffmpeg(SOUND, RATE, "libmp3lame", "mp4")}
    | {"Opus": with_ffmpeg(SOUND, RATE, "libopus", "webm")}
    | {"Opus in MP4": with_ffmpeg(SOUND, RATE, "libopus", "mp4")}
    | {"Vorbis": with_sndfile(SOUND, RATE, format="OGG", subtype="VORBIS")}
)
EXACT = TOLD.keys() - {"Matroska", "ADTS", "a transport stream"}  # those that say where the sound ends, too


@pytest.mark.parametrize("name", TOLD)
def test_read_audio_leaves_out_what_an_encoder_put_before_the_sound(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, TOLD[name])
    with open_audio(path) as source:
        assert source.timing_note is None
    samples = read_audio(path).samples
    assert lateness(samples) == 0
    assert samples.shape[1] == COUNT if name in EXACT else 0 <= samples.shape[1] - COUNT < 1024


UNTOLD = {
    "no edit list": (of_nobody(aac(**WITHOUT)), 1024),
    "fragments": (of_nobody(aac("mp4", **FRAGMENTED)), 1024),
    "ADTS": (of_nobody(aac("adts")), 1024),
    "MP3": (with_ffmpeg(SOUND, RATE, "libmp3lame", "mp3", write_xing="0"), 1105),
    "MP3 in WAV": (with_ffmpeg(SOUND, RATE, "libmp3lame", "wav"), 1105),
}


@pytest.mark.parametrize("name", UNTOLD)
def test_notes_of_names_a_file_that_may_begin_late_where_time_matters(tmp_path: Path, name: str) -> None:
    content, late = UNTOLD[name]
    path = put(tmp_path, content)
    assert lateness(read_audio(path).samples) == late
    assert notes_of([path]) == []
    [note] = notes_of([path, path], is_timed=True)
    assert note.startswith('"clicks.m4a" does not say how much silence its encoder put before the sound')
    assert "20 to 50 ms late" in note


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "AIFF"])
def test_notes_of_says_nothing_of_a_file_without_an_encoders_delay(tmp_path: Path, kind: str) -> None:
    assert notes_of([put(tmp_path, with_sndfile(SOUND, RATE, format=kind))], is_timed=True) == []


def test_read_audio_keeps_an_aac_that_was_cut_out_of_another(tmp_path: Path) -> None:
    """Its first packet does not have the encoder's name, and holds sound."""
    content = aac("adts")
    second = content.index(b"\xff\xf1", 2)
    whole, cut = read_audio(put(tmp_path, content)).samples, read_audio(put(tmp_path, content[second:])).samples
    assert lateness(cut) == 0
    assert cut.shape == whole.shape


def test_read_audio_reads_a_false_comment_of_itunes_as_none(tmp_path: Path) -> None:
    content = with_itunes_note(of_nobody(aac(**WITHOUT)), 1024, 256, COUNT).replace(b"17700", b"zzzzz")
    assert lateness(read_audio(put(tmp_path, content)).samples) == 0
    assert read_audio(put(tmp_path, remuxed(aac(), "mov", "adts"))).sample_count >= tone(1, RATE).shape[1]
