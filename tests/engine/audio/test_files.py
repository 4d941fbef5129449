"""Audio in and out: every format by known tones, streaming, limits, broken files, failing disks."""

import base64
import errno
import io
import os
import re
import struct
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import soundfile as sf
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.files import Audio, AudioWriter, audio_of, open_audio, read_audio, write_audio
from engine.audio.result_format import M4A_RATES
from engine.audio.written_formats import pcm24, wav_header
from engine.errors import AudioError, Cancelled
from engine.files import named
from engine.texts import Text

RATE = 44_100


def tone(count: int = 30_000, rate: int = RATE, channels: int = 1, hertz: float = 440.0) -> np.ndarray:
    """A half-scale sine, another phase in each channel: float32 (channels, count)."""
    phase = 2 * np.pi * hertz * np.arange(count) / rate
    return np.stack([0.5 * np.sin(phase + channel) for channel in range(channels)]).astype(np.float32)


def write_with_ffmpeg(path: Path, samples: np.ndarray, codec: str, rate: int = RATE, **options: str) -> Path:
    layout = {1: "mono", 2: "stereo"}[len(samples)]
    with av.open(str(path), "w", options=options) as container:
        stream: Any = container.add_stream(codec, rate=rate, layout=layout)
        stream.codec_context.open()
        size = stream.codec_context.frame_size or 1024
        for start in range(0, samples.shape[1], size):
            piece = np.ascontiguousarray(samples[:, start : start + size])
            frame = av.AudioFrame.from_ndarray(piece, format="fltp", layout=layout)
            frame.sample_rate, frame.pts = rate, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def write_file(folder: Path, kind: str, samples: np.ndarray | None = None, rate: int = RATE) -> Path:
    """A test file of any readable kind."""
    samples = tone() if samples is None else samples
    path = folder / f"song.{kind}"
    if kind in ("m4a", "aac"):
        return write_with_ffmpeg(path, samples, "aac", rate)
    if kind == "webm":
        return write_with_ffmpeg(path, samples, "libopus", 48_000)
    options = {"opus": {"format": "OGG", "subtype": "OPUS"}}.get(kind, {})
    sf.write(path, samples.T, 48_000 if kind == "opus" else rate, **options)
    return path


def refusal(path: Path) -> str:
    """The sentence with which reading `path` is refused."""
    with pytest.raises(AudioError) as caught:
        read_audio(path)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


# ---- reading ----


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_read_audio_reads_every_wav_subtype(tmp_path: Path, subtype: str) -> None:
    sf.write(tmp_path / "a.wav", tone(channels=2).T, RATE, subtype=subtype)
    audio = read_audio(tmp_path / "a.wav")
    assert (audio.channels, audio.sample_count, audio.rate) == (2, 30_000, RATE)
    assert audio.samples.dtype == np.float32
    assert np.abs(audio.samples - tone(channels=2)).max() < (0.01 if subtype == "PCM_U8" else 1e-4)


@pytest.mark.parametrize("kind", ["flac", "aiff", "mp3", "ogg", "m4a"])
def test_read_audio_keeps_length_and_timing_of_other_formats(tmp_path: Path, kind: str) -> None:
    samples = tone(50_001, channels=2)
    audio = read_audio(write_file(tmp_path, kind, samples))
    surplus = audio.sample_count - samples.shape[1]
    assert 0 <= surplus <= (RATE // 1000 if kind == "m4a" else 0)  # FFmpeg's MP4 headers count milliseconds
    assert np.abs(audio.samples[:, :50_001] - samples)[:, 5000:40_000].max() < 0.05


def test_read_audio_reads_opus_webm_and_bare_aac(tmp_path: Path) -> None:
    for kind in ("opus", "webm"):
        audio = read_audio(write_file(tmp_path, kind, tone(rate=48_000)))
        assert (audio.rate, audio.sample_count) == (48_000, 30_000)
    audio = read_audio(write_file(tmp_path, "aac"))
    assert 30_000 <= audio.sample_count <= 30_000 + 3 * 1024  # ADTS cannot tell its priming and padding


@pytest.mark.parametrize("live", [False, True])
def test_read_audio_refuses_a_truncated_webm(tmp_path: Path, live: bool) -> None:
    """Browsers record it live: its outer elements have no sizes. A cut one was taken for a shorter recording."""
    path = tmp_path / "song.webm"
    with av.open(str(path), "w", format="webm", options={"live": "1"} if live else {}) as container:
        stream = container.add_stream("libopus", rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(tone(96_000, rate=48_000), format="fltp", layout="mono")
        frame.sample_rate = 48_000
        container.mux([*stream.encode(frame), *stream.encode(None)])
    whole = path.read_bytes()
    assert read_audio(path).duration_s == pytest.approx(2.0, abs=0.05)
    for share in (0.3, 0.5, 0.9, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        assert "incomplete" in refusal(path)


def test_read_audio_scales_alac_integers(tmp_path: Path) -> None:
    samples = (tone() * 32767).astype(np.int16)
    with av.open(str(tmp_path / "a.m4a"), "w") as container:
        stream = container.add_stream("alac", rate=RATE, layout="mono", format="s16p")
        frame = av.AudioFrame.from_ndarray(samples[:, :4096], format="s16p", layout="mono")
        frame.sample_rate, frame.pts = RATE, 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert np.abs(read_audio(tmp_path / "a.m4a").samples - tone(4096)).max() < 1e-3


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (22_050, 3), (96_000, 6), (192_000, 8)])
def test_read_audio_keeps_rate_channels_and_length(tmp_path: Path, rate: int, channels: int) -> None:
    for kind in ("wav", "flac"):
        audio = read_audio(write_file(tmp_path, kind, tone(5000, rate, channels), rate))
        assert (audio.rate, audio.channels, audio.sample_count) == (rate, channels, 5000)


@pytest.mark.parametrize("kind", ["wav", "mp3", "ogg", "m4a"])
@settings(max_examples=8)
@given(size=st.integers(1, 70_000))
def test_open_audio_blocks_join_to_the_whole_recording(
    tmp_path_factory: pytest.TempPathFactory, kind: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"blocks.{kind}"
    if not path.exists():
        write_file(path.parent, kind, tone(channels=2)).rename(path)
    whole = read_audio(path).samples
    size = max(size, 20)
    with open_audio(path) as source:
        blocks = list(source.blocks(size))
    assert all(block.shape == (2, size) and block.dtype == np.float32 for block in blocks[:-1])
    assert np.array_equal(np.concatenate(blocks, axis=1), whole)


def test_read_audio_reads_an_mp3_without_length_header_to_its_end(tmp_path: Path) -> None:
    quiet, loud = tmp_path / "quiet.mp3", tmp_path / "loud.mp3"
    sf.write(quiet, tone(100_000).T, RATE, bitrate_mode="CONSTANT", compression_level=0.0)
    sf.write(loud, tone(100_000).T, RATE, bitrate_mode="CONSTANT", compression_level=0.9)
    bodies = [data[data.index(b"\xff\xfb", data.index(b"Info")) :] for data in (quiet.read_bytes(), loud.read_bytes())]
    (tmp_path / "joined.mp3").write_bytes(b"".join(bodies))
    assert read_audio(tmp_path / "joined.mp3").sample_count >= 200_000


def test_open_audio_reads_a_long_file_in_constant_memory(tmp_path: Path) -> None:
    write_file(tmp_path, "wav", np.zeros((1, 4_000_000), np.float32))
    tracemalloc.start()
    with open_audio(tmp_path / "song.wav") as source:
        assert source.duration_s == pytest.approx(4_000_000 / RATE)
        assert sum(block.shape[1] for block in source.blocks(10_000)) == 4_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000  # bytes; the whole is 16 MB


def test_read_audio_accepts_silence(tmp_path: Path) -> None:
    for kind in ("wav", "flac", "mp3", "ogg", "m4a"):
        assert not read_audio(write_file(tmp_path, kind, np.zeros((1, 20_000), np.float32))).samples.any()


# ---- files that are refused ----


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text.wav", b"These are my lyrics.\n" * 100),
        ("picture.mp3", b"\x89PNG\r\n\x1a\n" + bytes(200)),
        ("list.m4a", b"#EXTM3U\n/etc/hostname\n"),
        ("raw.raw", bytes(100)),
    ],
)
def test_read_audio_refuses_other_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert "not an audio file" in refusal(tmp_path / name)


def test_read_audio_refuses_what_is_no_file_or_empty(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    os.mkfifo(tmp_path / "pipe.wav")
    assert "does not exist" in refusal(tmp_path / "none.wav")
    assert "is a folder" in refusal(tmp_path)
    assert "is empty" in refusal(tmp_path / "empty.wav")
    assert "not a regular file" in refusal(tmp_path / "pipe.wav")
    assert "cannot be opened" in refusal(tmp_path / ("x" * 300 + ".wav"))


@pytest.mark.parametrize(
    "content",
    [None, b"", b"no audio", b"RIFF no more", *(one + bytes(99) for one in (b"fLaC", b"OggS", b"ID3", b"0000ftyp"))],
)
def test_read_audio_names_a_stored_file_as_its_owner_does(tmp_path: Path, content: bytes | None) -> None:
    """In the text and in the value of its template, which other languages fill in."""
    path = tmp_path / "stored.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AudioError) as refused:
        read_audio(named(path, "Ave Maria.wav"))
    text = str(refused.value)
    assert isinstance(text, Text)
    assert '"Ave Maria.wav"' in text
    assert "Ave Maria.wav" in text.values.values()
    assert "stored" not in text


@pytest.mark.parametrize("kind", ["wav", "aiff", "flac", "mp3", "ogg", "opus", "m4a"])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
def test_read_audio_refuses_a_truncated_file(tmp_path: Path, kind: str, part: float) -> None:
    path = write_file(tmp_path, kind, np.random.default_rng(0).normal(0, 0.1, (1, 60_000)).astype(np.float32))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    assert "incomplete" in refusal(path)


@pytest.mark.parametrize("kept", [12, 20, 36, 43])
def test_read_audio_refuses_a_wav_cut_inside_its_header(tmp_path: Path, kept: int) -> None:
    path = write_file(tmp_path, "wav")
    path.write_bytes(path.read_bytes()[:kept])
    assert "incomplete" in refusal(path)


def test_read_audio_refuses_a_truncated_m4a_with_its_index_first(tmp_path: Path) -> None:
    path = write_with_ffmpeg(tmp_path / "a.m4a", tone(100_000), "aac", movflags="faststart")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    assert "incomplete" in refusal(path)


@pytest.mark.parametrize("size", [0, 0x7FFF_F000, 0xFFFF_FFFF])
def test_read_audio_reads_a_piped_wav_without_sizes(tmp_path: Path, size: int) -> None:
    path = write_file(tmp_path, "wav")
    data = bytearray(path.read_bytes())
    data[4:8] = data[40:44] = struct.pack("<I", size)
    path.write_bytes(data)
    assert read_audio(path).sample_count == 30_000


def test_read_audio_accepts_a_wav_with_a_broken_trailing_chunk(tmp_path: Path) -> None:
    path = write_file(tmp_path, "wav")
    path.write_bytes(path.read_bytes() + b"LIST\x20\0\0\0cut")  # metadata after the sound may be broken
    assert read_audio(path).sample_count == 30_000


def test_read_audio_reads_rf64_and_refuses_a_truncated_one(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    sf.write(path, tone().T, RATE, format="RF64")
    assert read_audio(path).sample_count == 30_000
    path.write_bytes(path.read_bytes()[:-1000])
    assert "incomplete" in refusal(path)


def with_sample(value: float) -> np.ndarray:
    """A tone with one sample that is no sound, behind the first block."""
    samples = tone(200_000).astype(np.float64)
    samples[0, 150_000] = value
    return samples


UNFIT = [
    (tone(), 7_999, "PCM_16", "8000 to 192000"),
    (tone(), 192_001, "PCM_16", "8000 to 192000"),
    (tone(channels=9), RATE, "PCM_16", "9 channels"),
    (tone(0), RATE, "PCM_16", "0 samples"),
    *((with_sample(value), RATE, "FLOAT", "NaN") for value in (np.nan, np.inf, -np.inf)),
    (with_sample(1e25), RATE, "FLOAT", "holds samples of 1e+25, where full scale is 1"),
    (with_sample(-1e30), RATE, "FLOAT", "holds samples of 1e+30, where full scale is 1"),
    (with_sample(1e300), RATE, "DOUBLE", "infinity"),
]


@pytest.mark.parametrize(("samples", "rate", "subtype", "words"), UNFIT)
def test_read_audio_refuses_a_wav_that_holds_no_sound(tmp_path, samples, rate, subtype, words) -> None:
    sf.write(tmp_path / "a.wav", samples.T, rate, subtype=subtype)
    assert words in refusal(tmp_path / "a.wav")


def test_read_audio_refuses_an_aiff_without_samples(tmp_path: Path) -> None:
    assert "0 samples" in refusal(write_file(tmp_path, "aiff", tone(0)))


@pytest.mark.parametrize("value", [32_768.0, 2.0**31])
def test_read_audio_accepts_samples_of_integer_scale(tmp_path: Path, value: float) -> None:
    """Some programs write integers as floats, as they are."""
    sf.write(tmp_path / "a.wav", with_sample(value).T, RATE, subtype="FLOAT")
    assert read_audio(tmp_path / "a.wav").samples.max() == value


KINDS = ["wav", "flac", "mp3", "ogg", "opus", "aiff", "m4a", "aac", "webm"]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("healthy")
    return {kind: write_file(folder, kind, tone(6000)).read_bytes() for kind in KINDS}


@settings(max_examples=150)
@given(
    kind=st.sampled_from(KINDS),
    changes=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 255)), max_size=8),
    kept=st.one_of(st.none(), st.integers(0, 400)),
)
def test_read_audio_reads_or_refuses_any_header(
    healthy: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    changes: list[tuple[int, int]],
    kept: int | None,
) -> None:
    data = bytearray(healthy[kind])
    for place, value in changes:
        data[place] = value
    path = tmp_path_factory.getbasetemp() / f"fuzzed.{kind}"
    path.write_bytes(data[:kept])
    try:
        audio = read_audio(path)
    except AudioError:
        return
    assert np.isfinite(audio.samples).all()
    assert audio.sample_count > 0


# ---- writing ----


LOSSY = (".mp3", ".ogg", ".m4a")


@settings(max_examples=15)
@given(count=st.integers(1, 5000), channels=st.integers(1, 2), rate=st.sampled_from(M4A_RATES))
def test_write_audio_keeps_every_m4a_length(
    tmp_path_factory: pytest.TempPathFactory, count: int, channels: int, rate: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "length.m4a"
    write_audio(path, Audio(tone(count, rate, channels), rate))
    assert read_audio(path).samples.shape == (channels, count)


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".mp3", ".ogg", ".m4a", ".WAV"])
def test_write_audio_round_trips_through_read_audio_in_every_format(tmp_path: Path, suffix: str) -> None:
    samples = tone(200_001, channels=2)
    write_audio(tmp_path / f"a{suffix}", Audio(samples, RATE))
    audio = read_audio(tmp_path / f"a{suffix}")
    assert audio.samples.shape == samples.shape
    inside = slice(3000, -3000) if suffix in LOSSY else slice(None)
    assert np.abs(audio.samples - samples)[:, inside].max() < (0.03 if suffix in LOSSY else 1e-6)
    assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]


@settings(max_examples=20)
@given(count=st.integers(1, 3000), channels=st.integers(1, 8), rate=st.integers(8_000, 192_000))
def test_write_audio_writes_a_wav_of_any_shape_as_pcm_24(
    tmp_path_factory: pytest.TempPathFactory, count: int, channels: int, rate: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "shape.wav"
    write_audio(path, Audio(tone(count, rate, channels), rate))
    read, read_rate = sf.read(path, always_2d=True)
    assert read.shape == (count, channels)
    assert read_rate == rate
    assert (sf.info(path).format, sf.info(path).subtype) == ("WAV", "PCM_24")
    assert path.stat().st_size % 2 == 0


@pytest.mark.parametrize("suffix", [".wav", ".flac"])
def test_write_audio_clips_beyond_full_scale(tmp_path: Path, suffix: str) -> None:
    write_audio(tmp_path / f"a{suffix}", Audio(np.array([[2.0, -2.0, 1.0, -1.0, 1e30, 0.0]]), RATE))
    assert read_audio(tmp_path / f"a{suffix}").samples[0] == pytest.approx([1, -1, 1, -1, 1, 0], abs=1e-6)


def test_pcm24_encodes_clipped_little_endian_bytes() -> None:
    assert pcm24(np.array([[-1.0, 2**-23], [9.0, -(2**-23)]], np.float32)).hex() == "000080ffff7f010000ffffff"


def test_wav_header_of_a_file_beyond_4_gb_is_readable(tmp_path: Path) -> None:
    path, frames = tmp_path / "long.wav", 1_500_000_000
    with path.open("wb") as file:
        file.write(wav_header(RATE, 1, 3 * frames))
        file.truncate(80 + 3 * frames)  # sparse: takes no room
    with open_audio(path) as source:
        assert source.sample_count == frames
        assert not next(source.blocks(1000)).any()
    os.truncate(path, 80 + 3 * frames - 1)
    assert "incomplete" in refusal(path)


@pytest.mark.parametrize("error", [Cancelled, KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("suffix", [".wav", ".flac", ".mp3", ".ogg", ".m4a"])
def test_audio_writer_keeps_the_old_file_when_stopped(tmp_path: Path, suffix: str, error: type[BaseException]) -> None:
    (tmp_path / f"a{suffix}").write_bytes(b"old")

    def write_and_stop() -> None:
        with AudioWriter(tmp_path / f"a{suffix}", RATE, 1) as writer:
            writer.write(tone())
            raise error

    with pytest.raises(error):
        write_and_stop()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


class FullDisk(io.FileIO):
    """A file on a disk with room for 50,000 bytes."""

    def write(self, data: object) -> int:
        if self.tell() + len(bytes(data)) > 50_000:  # type: ignore[call-overload]
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".mp3", ".ogg", ".m4a"])
@pytest.mark.parametrize("count", [12_000, 2_000_000])
def test_write_audio_reports_a_full_disk_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, count: int
) -> None:
    if count == 12_000:
        monkeypatch.setattr(FullDisk, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    monkeypatch.setattr(Path, "open", lambda path, _mode: io.BufferedRandom(FullDisk(path, "x+")))
    noise = np.random.default_rng(0).normal(0, 0.2, (1, count)).astype(np.float32)
    with pytest.raises(AudioError, match="The disk is full"):
        write_audio(tmp_path / f"a{suffix}", Audio(noise, RATE))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "words"),
    [("none/a.wav", "does not exist"), ("file/a.wav", "does not exist"), ("folder.wav", "is a folder")],
)
def test_write_audio_refuses_an_unwritable_path(tmp_path: Path, place: str, words: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.wav").mkdir()
    with pytest.raises(AudioError, match=words):
        write_audio(tmp_path / place, Audio(tone(), RATE))


@pytest.mark.parametrize(("holder", "name", "number"), [(Path, "open", errno.EACCES), (os, "replace", errno.EROFS)])
def test_write_audio_leaves_no_file_where_the_system_refuses(tmp_path, monkeypatch, holder, name, number) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(holder, name, refuse)
    with pytest.raises(AudioError, match="is not writable"):
        write_audio(tmp_path / "a.flac", Audio(tone(), RATE))
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "samples", "rate", "words"),
    [
        ("a.wma", tone(), RATE, r"\.wav, \.flac, \.mp3, \.ogg"),
        ("a", tone(), RATE, "without a suffix"),
        ("a.mp3", tone(), 96_000, r"use \.wav"),
        ("a.mp3", tone(channels=3), RATE, r"use \.wav"),
        ("a.wav", tone(channels=9), RATE, "9 channels"),
        ("a.wav", tone(0), RATE, "0 samples"),
        ("a.wav", np.full((1, 9), np.nan), RATE, "NaN"),
        ("a.flac", tone(), 100_003, r"use \.wav"),
    ],
)
def test_write_audio_refuses_unsupported_formats_and_samples(tmp_path, name, samples, rate, words) -> None:
    with pytest.raises(AudioError, match=words):
        write_audio(tmp_path / name, Audio(samples, rate))
    assert not list(tmp_path.iterdir())


def test_audio_writer_refuses_a_block_of_other_channels(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="block must be"), AudioWriter(tmp_path / "a.wav", RATE, 2) as writer:
        writer.write(tone())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rate", [8_001, 65_535, 88_200, 100_010, 192_000])
def test_write_audio_writes_every_flac_rate(tmp_path: Path, rate: int) -> None:
    write_audio(tmp_path / "a.flac", Audio(tone(), rate))
    assert read_audio(tmp_path / "a.flac").rate == rate


# ---- Audio, resampling, cutting ----


def test_audio_reports_channels_duration_and_mono() -> None:
    audio = Audio(np.array([[0.5, 0.25], [0.5, 0.25]]), 2)
    assert (audio.channels, audio.sample_count, audio.duration_s) == (2, 2, 1.0)
    assert audio.samples.dtype == np.float32
    assert audio.mono().tolist() == [0.5, 0.25]


def test_audio_is_an_array_and_one_line_of_text() -> None:
    audio = Audio(tone(RATE, channels=2), RATE)
    assert np.asarray(audio) is audio.samples
    assert np.asarray(audio, np.float64).dtype == np.float64
    assert np.array(audio) is not audio.samples
    assert repr(audio) == "Audio(1.0 s, 2 channels, 44100 Hz)"


def test_audio_shows_as_a_player_of_exactly_its_samples(tmp_path: Path) -> None:
    shown = Audio(tone(2000), RATE)._repr_html_()
    assert shown is not None
    (encoded,) = re.findall(r'<audio controls [^>]*src="data:audio/flac;base64,([^"]+)"', shown)
    (tmp_path / "played.flac").write_bytes(base64.b64decode(encoded))
    played = read_audio(tmp_path / "played.flac")
    assert played.rate == RATE
    assert np.abs(played.samples - tone(2000)).max() < 2**-23


def test_audio_too_long_to_lie_in_a_notebook_shows_as_text() -> None:
    assert Audio(np.zeros((1, 601 * 8)), 8)._repr_html_() is None


@pytest.mark.parametrize("kind", [str, Path])
def test_audio_of_reads_a_file(tmp_path: Path, kind: type) -> None:
    write_audio(kind(tmp_path / "a.wav"), (tone()[0], RATE))
    assert np.abs(audio_of(kind(tmp_path / "a.wav")).samples - tone()).max() < 2**-23


@pytest.mark.parametrize("place", [0, 2])
def test_audio_of_reads_an_open_file_from_its_beginning(tmp_path: Path, place: int) -> None:
    write_audio(tmp_path / "a.flac", Audio(tone(), RATE))
    memory = io.BytesIO((tmp_path / "a.flac").read_bytes())
    memory.seek(0, place)  # at the end, as after writing it
    with (tmp_path / "a.flac").open("rb") as file:
        for opened in (memory, file):
            audio = audio_of(opened)
            assert audio.rate == RATE
            assert np.abs(audio.samples - tone()).max() < 2**-23


def test_audio_of_names_an_open_file_that_is_none() -> None:
    with pytest.raises(AudioError, match="BytesIO"):
        audio_of(io.BytesIO(b"no sound"))


def test_read_audio_reads_whatever_is_open_for_bytes(tmp_path: Path) -> None:
    write_audio(tmp_path / "a.flac", Audio(tone(), RATE))
    whole, content = read_audio(tmp_path / "a.flac"), (tmp_path / "a.flac").read_bytes()
    memory, spooled = io.BytesIO(content), tempfile.SpooledTemporaryFile()  # noqa: SIM115 - it is read once more
    spooled.write(content)  # as web servers keep uploads; its place is its end now
    with tempfile.NamedTemporaryFile() as temporary, (tmp_path / "a.flac").open("rb", buffering=0) as raw, spooled:
        temporary.write(content)
        for file in (memory, memory, spooled, temporary, raw):
            assert np.array_equal(read_audio(file).samples, whole.samples)
            assert np.array_equal(audio_of(file).samples, whole.samples)
    with pytest.raises(AudioError, match="open file cannot be read"):
        read_audio(spooled)
    for wrong in (io.StringIO("text"), b"bytes", 3, None):
        with pytest.raises(AudioError, match=f"not {type(wrong).__name__}"):
            read_audio(wrong)  # type: ignore[arg-type]


def test_audio_of_refuses_floats_that_were_integers() -> None:
    wrong = tone().astype(np.float64) * 32767
    with pytest.raises(AudioError, match="did you mean samples / 32768"):
        audio_of((wrong, RATE))
    assert audio_of(Audio(wrong, RATE)).samples.max() > 8  # what is made an Audio is meant


def test_audio_of_takes_a_pair_as_librosa_gives_it() -> None:
    audio = audio_of((tone()[0], RATE))
    assert (audio.channels, audio.sample_count, audio.rate) == (1, 30_000, RATE)
    assert audio_of(audio) is audio


@pytest.mark.parametrize("wrong", [tone(), None, 5, (tone(),), (RATE, tone())])
def test_audio_of_refuses_what_is_no_recording_in_a_sentence(wrong: Any) -> None:
    with pytest.raises(AudioError, match=r"^[A-Z].*\.$"):
        audio_of(wrong)
