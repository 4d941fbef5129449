"""Files that hold more than their header says, and what follows their sound; each made in bytes, with known samples."""

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.audio.files import open_audio, read_audio
from engine.errors import AudioError
from tests.engine.audio.encoded import tone, with_ffmpeg, with_sndfile

RATE = 48_000
KINDS = ("wav", "rf64", "w64", "aiff", "caf", "au")
WHOLE = tone(30_000, RATE, 2)
TAG = b"TAG" + b"title".ljust(125, b"\0")
APE = b"APETAGEX" + struct.pack("<IIII8x", 2000, 32, 0, 0)


def content_of(kind: str, samples: np.ndarray = WHOLE, subtype: str = "PCM_16") -> bytes:
    return with_sndfile(samples, RATE, format=kind.upper(), subtype=subtype)


def states(kind: str, content: bytes, size: int) -> bytes:
    """The file with another size of its sound, in all fields that have it."""
    made = bytearray(content)
    if kind == "au":
        made[8:12] = struct.pack(">I", size)
    elif kind == "aiff":
        place = made.index(b"SSND")
        made[place + 4 : place + 8] = struct.pack(">I", size + 8)
        made[4:8] = struct.pack(">I", place + 8 + size)
        common = made.index(b"COMM")
        made[common + 10 : common + 14] = struct.pack(">I", size // 4)
    elif kind == "caf":
        place = made.index(b"data")
        made[place + 4 : place + 12] = struct.pack(">Q", size + 4)
    elif kind == "w64":
        place = made.index(b"data")
        made[place + 16 : place + 24] = struct.pack("<Q", size + 24)
        made[16:24] = struct.pack("<Q", place + 24 + size)
    elif kind == "rf64":
        place = made.index(b"ds64")
        made[place + 8 : place + 32] = struct.pack("<QQQ", made.index(b"data") + size, size, size // 4)
    else:
        place = made.index(b"data")
        made[place + 4 : place + 8] = struct.pack("<I", size)
        made[4:8] = struct.pack("<I", place + size)
    return bytes(made)


def chunk(kind: str, name: bytes, content: bytes) -> bytes:
    if kind == "w64":
        return name.lower() + bytes(12) + struct.pack("<Q", 24 + len(content)) + content
    form = {"caf": ">4sQ", "aiff": ">4sI"}.get(kind, "<4sI")
    return struct.pack(form, name, len(content)) + content


def put(folder: Path, content: bytes) -> Path:
    path = folder / "recording"
    path.write_bytes(content)
    return path


def plain(folder: Path, kind: str) -> np.ndarray:
    return read_audio(put(folder, content_of(kind))).samples


# ---- more than the header says ----


@pytest.mark.parametrize("stated", [4, 40_000, 119_996])
@pytest.mark.parametrize("kind", KINDS)
def test_read_audio_reads_all_of_a_file_that_is_longer_than_its_header(tmp_path: Path, kind: str, stated: int) -> None:
    expected = plain(tmp_path, kind)
    assert expected.shape == WHOLE.shape
    path = put(tmp_path, states(kind, content_of(kind), stated))
    with open_audio(path) as source:
        assert source.sample_count == 30_000
        assert source.notes == ('"recording" holds more sound than its header says. All of it is read.',)
        assert np.array_equal(np.concatenate(list(source.blocks()), 1), expected)


@pytest.mark.parametrize("name", [b"LIST", b"bext", b"JUNK", b"id3 ", b"zzzz"])
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_read_audio_takes_no_chunk_for_sound(tmp_path: Path, kind: str, name: bytes) -> None:
    expected = plain(tmp_path, kind)
    for content in (b"INFO" + bytes(range(100)) * 2, bytes(5000), b"<xml>" * 100):
        with open_audio(put(tmp_path, content_of(kind) + chunk(kind, name, content))) as source:
            assert not source.notes
            assert np.array_equal(np.concatenate(list(source.blocks()), 1), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "behind",
    [
        *(bytes(3), bytes(70_000), TAG, APE[:-32] + APE, b"ID3\x04\0\0\0\0\x0f\x76" + bytes(2038), TAG + bytes(4000)),
        *(b"\r\nwritten by a recorder of long ago, 1999\r\n" * 9, bytes(4096) + TAG),
    ],
    ids=["few zeros", "many zeros", "ID3v1", "APE", "ID3v2", "ID3v1 and zeros", "text", "zeros and ID3v1"],
)
def test_read_audio_takes_neither_tags_nor_padding_for_sound(tmp_path: Path, kind: str, behind: bytes) -> None:
    expected = plain(tmp_path, kind)
    with open_audio(put(tmp_path, content_of(kind) + behind)) as source:
        assert (source.sample_count, source.notes) == (30_000, ())
        assert np.array_equal(np.concatenate(list(source.blocks()), 1), expected)


@pytest.mark.parametrize("kind", ["wav", "rf64", "aiff", "w64"])
def test_read_audio_reads_a_longer_file_up_to_its_last_chunks_and_tags(tmp_path: Path, kind: str) -> None:
    expected = plain(tmp_path, kind)
    after = chunk(kind, b"LIST", b"INFO" + bytes(20)) + chunk(kind, b"bext", bytes(602))
    path = put(tmp_path, states(kind, content_of(kind), 40_000) + after + TAG)
    assert np.array_equal(read_audio(path).samples, expected)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_24", "FLOAT", "ULAW", "IMA_ADPCM", "MS_ADPCM", "GSM610"])
def test_read_audio_reads_a_longer_wav_of_any_encoding(tmp_path: Path, subtype: str) -> None:
    content = with_sndfile(WHOLE[:1], RATE, format="WAV", subtype=subtype)
    expected = read_audio(put(tmp_path, content)).samples
    place = content.index(b"data")
    size = int.from_bytes(content[place + 4 : place + 8], "little") // 4096 * 2048  # whole blocks
    path = put(tmp_path, content[: place + 4] + struct.pack("<I", size) + content[place + 8 :])
    found = read_audio(path).samples
    count = min(found.shape[1], expected.shape[1])  # a block more or less, since `fact` is as wrong as the size
    assert count >= 30_000 - 2048
    assert np.array_equal(found[:, :count], expected[:, :count])


@pytest.mark.parametrize("size", [0, 0xFFFF_FFFF, 0x7FFF_FFFF, 0x8000_0000])
def test_read_audio_reads_a_wav_whose_sizes_were_never_written(tmp_path: Path, size: int) -> None:
    expected = plain(tmp_path, "wav")
    content = states("wav", content_of("wav"), 0)  # the outer size of an empty file, as recorders begin with
    place = content.index(b"data")
    content = content[: place + 4] + struct.pack("<I", size) + content[place + 8 :]
    for after in (b"", chunk("wav", b"LIST", b"INFOISFT\4\0\0\0abcd"), TAG):
        with open_audio(put(tmp_path, content + after)) as source:
            assert not source.notes
            assert np.array_equal(np.concatenate(list(source.blocks()), 1), expected)


def test_read_audio_reads_sound_behind_silence_that_the_header_leaves_out(tmp_path: Path) -> None:
    samples = np.concatenate([WHOLE, np.zeros((2, 20_000), np.float32), WHOLE], 1)
    path = put(tmp_path, states("wav", content_of("wav", samples), 120_000))
    assert read_audio(path).sample_count == 80_000


def test_open_audio_reads_a_wav_whose_size_is_counted_modulo_4_gb(tmp_path: Path) -> None:
    path, frames = tmp_path / "long.wav", 1_200_000_000
    content = content_of("wav")
    place = content.index(b"data") + 8
    header = states("wav", content, 4 * frames - 2**32)[:place]
    with path.open("wb") as file:
        file.write(header + content[place:])
        file.seek(place + 4 * frames)  # sparse: takes no room
        file.write(chunk("wav", b"LIST", b"INFO" + bytes(20)))
    with open_audio(path) as source:
        assert source.sample_count == frames
        assert len(source.notes) == 1
    os.truncate(path, place + 4 * frames - 2**32 - 1)
    with pytest.raises(AudioError, match="incomplete"):
        open_audio(path)


# ---- padding and junk cost nothing ----


class Counted:
    """A file that counts the bytes read of it."""

    def __init__(self, file: Any, counts: list[int]) -> None:
        self._file, self._counts = file, counts

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._file.read(size)
        self._counts.append(len(content))
        return content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "Counted":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


COMPRESSED = (
    {"flac": content_of("flac"), "mp3": with_sndfile(WHOLE, RATE, format="MP3", subtype="MPEG_LAYER_III")}
    | {"ogg": with_sndfile(WHOLE, RATE, format="OGG", subtype="VORBIS")}
    | {"m4a": with_ffmpeg(WHOLE, RATE, "aac", "ipod")}
    | {"aac": with_ffmpeg(WHOLE, RATE, "aac", "adts"), "webm": with_ffmpeg(WHOLE, RATE, "libopus", "webm")}
    | {"mka": with_ffmpeg(WHOLE, RATE, "flac", "matroska"), "mts": with_ffmpeg(WHOLE, RATE, "aac", "mpegts")}
)


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("behind", [bytes(10), bytes(300_000), bytes(5000) + TAG], ids=["few", "many", "and a tag"])
def test_read_audio_reads_compressed_sound_before_zeros(tmp_path: Path, kind: str, behind: bytes) -> None:
    expected = read_audio(put(tmp_path, COMPRESSED[kind])).samples
    with open_audio(put(tmp_path, COMPRESSED[kind] + behind)) as source:
        stated = source.sample_count
        found = np.concatenate(list(source.blocks()), 1)
    assert np.array_equal(found, expected)
    assert stated in (None, expected.shape[1])


def test_read_audio_reads_an_ogg_and_a_webm_before_junk(tmp_path: Path) -> None:
    junk = np.random.default_rng(4).bytes(40_000)
    for kind in ("ogg", "mka", "flac", "m4a"):
        expected = read_audio(put(tmp_path, COMPRESSED[kind])).samples
        assert np.array_equal(read_audio(put(tmp_path, COMPRESSED[kind] + junk)).samples, expected), kind


EVERY = {kind: content_of(kind) for kind in KINDS} | COMPRESSED


@pytest.mark.parametrize("kind", EVERY)
def test_open_audio_reads_little_of_what_lies_behind_the_sound(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read of a file with 64 MB of zeros is counted, in our own look and in FFmpeg's, which has our file."""
    path = put(tmp_path, EVERY[kind])
    os.truncate(path, (64 << 20) + len(EVERY[kind]))  # sparse: takes no room
    counts: list[int] = []
    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, *how: Counted(opened(self, *how), counts) if self == path else opened(self, *how)
    )
    assert read_audio(path).sample_count >= 30_000
    assert len(EVERY[kind]) / 2 < sum(counts) < (3 << 20)


@pytest.mark.parametrize("kind", ["wav", "w64", "aiff", "caf", "flac", "mov", "ogg", "webm"])
def test_open_audio_refuses_endless_small_parts_by_name(tmp_path: Path, kind: str) -> None:
    plain_one = EVERY.get({"mov": "m4a"}.get(kind, kind), b"")
    small = (
        {"wav": chunk("wav", b"abcd", b""), "w64": chunk("w64", b"abcd", b"")}
        | {"aiff": chunk("aiff", b"abcd", b"")}
        | {"caf": chunk("caf", b"abcd", b""), "flac": b"\1\0\0\0", "mov": struct.pack(">I4s", 8, b"free")}
        | {"ogg": struct.pack("<4sBBqIIIB", b"OggS", 0, 0, -1, 7, 0, 0, 0)}
        | {"webm": b"\x1aE\xdf\xa3\x80\x18S\x80g\x01\xff\xff\xff\xff\xff\xff\xff"}
    )[kind]
    first = {"wav": 12, "w64": 40, "aiff": 12, "caf": 8, "flac": 42}.get(kind, 0)
    many = {"mov": 420_000, "ogg": 2_000_100, "webm": 0}.get(kind, 10_100)
    content = plain_one[:first] + small * many + plain_one[first:]
    if kind == "webm":
        content = small + b"\xec\x80" * 1_000_100
    with pytest.raises(AudioError, match="consists of too many small parts"):
        open_audio(put(tmp_path, content))
