"""Every container and encoding: length, level and pitch; time stamps, chains, padding, and what is refused."""

import struct
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.pitch import detect_pitch
from engine.audio.containers import mpeg_frame_length
from engine.audio.files import open_audio, read_audio
from engine.errors import AudioError
from tests.engine.audio.encoded import KINDS, Kind, tone, with_ffmpeg, with_sndfile

HERTZ = 220.0


def read(folder: Path, content: bytes, name: str = "recording") -> np.ndarray:
    path = folder / name
    path.write_bytes(content)
    return read_audio(path).samples


def refusal(folder: Path, content: bytes, name: str = "recording") -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(AudioError) as caught:
        read(folder, content, name)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def level_db(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(samples.astype(np.float64) ** 2) + 1e-20))


# ---- every container ----


def check(folder: Path, kind: Kind, channels: int, rate: int, count: int, gain_db: float) -> None:
    """Encode a tone, read it, and compare length, level and pitch."""
    samples = np.clip(10 ** (gain_db / 20) * tone(count, rate, channels, HERTZ), -1, 1)
    path = folder / "recording"
    path.write_bytes(kind.write(samples, rate))
    audio = read_audio(path)
    ratio = (kind.read_rate or rate) / rate
    assert (audio.rate, audio.channels) == (kind.read_rate or rate, channels)
    assert -kind.shorter <= audio.sample_count - round(count * ratio) <= kind.longer
    if kind.step is not None:
        assert np.abs(audio.samples[:, :count] - samples).max() <= kind.step
    inside = slice(audio.sample_count // 4, audio.sample_count // 4 * 3)
    expected_db = level_db(samples[0, count // 4 : count // 4 * 3])
    if kind.step is None and expected_db > kind.floor_db:
        assert level_db(audio.samples[0, inside]) == pytest.approx(expected_db, abs=kind.level_db)
    quantised_db = kind.floor_db if kind.step is None else 20 * np.log10(kind.step) + 20
    if expected_db > quantised_db:
        pitch = detect_pitch(audio.mono(), audio.rate)
        voiced = pitch.hertz[pitch.voiced]
        assert len(voiced) > len(pitch) / 2
        assert abs(1200 * np.log2(np.median(voiced) / HERTZ)) < 50


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    **dict(kind=st.sampled_from(KINDS), channels=st.integers(1, 8), rate=st.integers(0, 99)),
    **dict(milliseconds=st.integers(400, 900), gain_db=st.floats(-60, 12)),
)
def test_read_audio_keeps_length_level_and_pitch_of_any_recording(
    tmp_path_factory: pytest.TempPathFactory, kind: Kind, channels: int, rate: int, milliseconds: int, gain_db: float
) -> None:
    hertz = kind.rates[rate % len(kind.rates)]
    count = milliseconds * hertz // 1000 + 1
    check(tmp_path_factory.getbasetemp(), kind, min(channels, kind.channels), hertz, count, gain_db)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_read_audio_keeps_length_level_and_pitch_at_every_rate_and_gain(tmp_path: Path, kind: Kind) -> None:
    for channels in {1, 2, 5, 6, kind.channels} - set(range(kind.channels + 1, 9)):
        for rate in kind.rates:
            for gain_db in (-60.0, 12.0):
                check(tmp_path, kind, channels, rate, rate // 2 + 7, gain_db)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=6),
    kept=st.one_of(st.none(), st.integers(0, 600)),
)
def test_read_audio_reads_or_refuses_any_damaged_recording(
    tmp_path_factory: pytest.TempPathFactory, kind: Kind, changes: list[tuple[int, int]], kept: int | None
) -> None:
    content = bytearray(kind.write(tone(3000, kind.rates[0], 1), kind.rates[0]))
    for place, value in changes:
        content[min(place, len(content) - 1)] = value
    try:
        samples = read(tmp_path_factory.getbasetemp(), bytes(content[:kept]))
    except AudioError:
        return
    assert np.isfinite(samples).all()
    assert samples.shape[1] > 0


# ---- time stamps ----

TIMED = [
    *(("libopus", "webm"), ("libopus", "matroska"), ("flac", "matroska"), ("aac", "matroska"), ("aac", "ipod")),
    *(("alac", "mov"), ("flac", "mp4"), ("libopus", "mp4"), ("libopus", "ogg")),
]
RATE = 48_000
TICK = RATE // 1000  # of Matroska's time stamps, in samples


def with_gaps(codec: str, container: str, frames: int, moved: Callable[[int], int]) -> tuple[bytes, int, int]:
    """A tone whose frame n begins `moved(n)` samples later than it would; the samples, and those of a frame."""
    size = {"libopus": 960, "aac": 1024, "alac": 4096, "flac": 4608}[codec]
    starts = [size * number + moved(number) for number in range(frames)]
    return with_ffmpeg(tone(size * frames, RATE), RATE, codec, container, starts), size * frames, size


def longest_silence(samples: np.ndarray) -> tuple[int, int]:
    """Where the longest run of zeros begins, and its length."""
    edges = np.diff(np.concatenate([[0], (samples[0] == 0).astype(int), [0]]))
    begins, lengths = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    if not len(begins):
        return 0, 0
    longest = int(np.argmax(lengths))
    return int(begins[longest]), int(lengths[longest])


@pytest.mark.parametrize(("codec", "container"), TIMED)
def test_read_audio_fills_a_gap_in_the_time_stamps_with_silence(tmp_path: Path, codec: str, container: str) -> None:
    content, count, size = with_gaps(codec, container, 100, lambda number: RATE * (number >= 50))
    samples = read(tmp_path, content)
    assert abs(samples.shape[1] - count - RATE) <= TICK
    begin, length = longest_silence(samples)
    assert abs(begin - 50 * size) <= 2 * size if container == "ogg" else abs(begin - 50 * size) <= 1024
    assert abs(length - RATE) <= TICK


@pytest.mark.parametrize(("codec", "container"), TIMED)
def test_read_audio_begins_a_late_track_with_silence(tmp_path: Path, codec: str, container: str) -> None:
    content, count, _ = with_gaps(codec, container, 60, lambda number: RATE)
    samples = read(tmp_path, content)
    assert abs(samples.shape[1] - count - RATE) <= TICK
    begin, length = longest_silence(samples)
    assert begin == 0
    assert abs(length - RATE) <= 1024 + 3 * TICK  # with the priming of AAC


@pytest.mark.parametrize(("codec", "container"), TIMED)
@pytest.mark.parametrize("jitter", [0, 200])
def test_read_audio_ignores_jitter_of_time_stamps(tmp_path: Path, codec: str, container: str, jitter: int) -> None:
    content, count, _ = with_gaps(codec, container, 90, lambda number: (0, jitter, -jitter)[number % 3])
    samples = read(tmp_path, content)
    assert abs(samples.shape[1] - count) <= jitter  # of the end, which MP4 and Ogg state by the time stamps
    assert longest_silence(samples)[1] <= 2


def test_read_audio_fills_lost_packets_exactly(tmp_path: Path) -> None:
    """Three packets of 20 ms are lost, one here and two there."""
    content, count, _ = with_gaps("libopus", "webm", 200, lambda number: 960 * ((number >= 60) + 2 * (number >= 120)))
    assert read(tmp_path, content).shape[1] == count + 3 * 960


@pytest.mark.parametrize("container", ["webm", "ogg"])
def test_read_audio_refuses_a_gap_of_hours(tmp_path: Path, container: str) -> None:
    content, _, _ = with_gaps("libopus", container, 100, lambda number: 10 * 3600 * RATE * (number >= 50))
    assert "has a gap of 600 minutes in its time stamps" in refusal(tmp_path, content)


def test_read_audio_begins_an_ogg_cut_out_of_a_stream_with_its_sound(tmp_path: Path) -> None:
    content, count, _ = with_gaps("libopus", "ogg", 150, lambda number: 2 * 3600 * RATE)
    samples = read(tmp_path, content)
    assert samples.shape[1] == count


def test_open_audio_counts_the_samples_of_a_late_or_chained_recording(tmp_path: Path) -> None:
    late, count, _ = with_gaps("alac", "mov", 20, lambda number: RATE)
    part = ogg(10_000)
    for content, expected in ((late, count + RATE), (part * 3, 30_000)):
        (tmp_path / "a").write_bytes(content)
        with open_audio(tmp_path / "a") as source:
            assert source.sample_count == expected


# ---- chained Ogg ----


def ogg(count: int, rate: int = 44_100, channels: int = 1, subtype: str = "VORBIS", hertz: float = 220.0) -> bytes:
    return with_sndfile(tone(count, rate, channels, hertz), rate, format="OGG", subtype=subtype)


@pytest.mark.parametrize(("subtype", "rate"), [("VORBIS", 44_100), ("OPUS", 48_000)])
def test_read_audio_reads_all_links_of_a_chained_ogg(tmp_path: Path, subtype: str, rate: int) -> None:
    links = [ogg(88_200, rate, 1, subtype, 220.0), ogg(44_100, rate, 1, subtype, 330.0), ogg(2, rate, 1, subtype)]
    samples = read(tmp_path, b"".join(links))
    assert samples.shape == (1, 132_302)
    for begin, stop, hertz in ((0, 88_200, 220.0), (88_200, 132_300, 330.0)):
        pitch = detect_pitch(samples[0, begin:stop], rate)
        assert np.median(pitch.hertz[pitch.voiced]) == pytest.approx(hertz, rel=0.01)
    alone = [read(tmp_path, link) for link in links]
    assert np.array_equal(samples, np.concatenate(alone, axis=1))


def test_read_audio_reads_a_chain_of_ogg_flac_exactly(tmp_path: Path) -> None:
    part = tone(20_000, 44_100, 2)
    content = with_ffmpeg(part, 44_100, "flac", "ogg")
    assert np.abs(read(tmp_path, content + content) - np.concatenate([part, part], axis=1)).max() < 2.0**-15


def with_wrong_byte(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]


LINK, LONG = ogg(10_000), ogg(60_000)
CHANGES = "changes its sample rate or number of channels midway: export"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (LINK + ogg(10_000, 48_000), CHANGES),
        (LINK + ogg(10_000, channels=2), CHANGES),
        (LONG + LONG[:-100], "incomplete"),
        (with_wrong_byte(LONG, len(LONG) * 3 // 4), "incomplete"),
    ],
    ids=["another rate", "another number of channels", "a cut link", "a damaged page"],
)
def test_read_audio_refuses_a_chained_ogg_with(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refusal(tmp_path, content)


def test_read_audio_reads_an_ogg_whole_whose_last_page_states_a_wrong_end(tmp_path: Path) -> None:
    content = bytearray(ogg(60_000))
    page = content.rindex(b"OggS")
    for end in (100, 59_000):
        content[page + 6 : page + 14] = end.to_bytes(8, "little")
        content[page + 22 : page + 26] = bytes(4)
        checksum = 0  # of the page (RFC 3533)
        for byte in content[page:]:
            checksum ^= byte << 24
            for _ in range(8):
                checksum = (checksum << 1 ^ (0x04C1_1DB7 if checksum >> 31 else 0)) & 0xFFFF_FFFF
        content[page + 22 : page + 26] = checksum.to_bytes(4, "little")
        assert (read(tmp_path, bytes(content)).shape[1] == end) == (end == 59_000)
        assert read(tmp_path, bytes(content)).shape[1] >= 59_000


# ---- MPEG ----


def mp3(count: int = 30_000, **options: object) -> bytes:
    return with_sndfile(tone(count, 44_100), 44_100, format="MP3", **options)


@pytest.mark.parametrize(
    "before",
    [
        *(b"ID3\x03\0\0\0\0\0\x0a" + bytes(10), 2 * (b"ID3\x03\0\0\0\0\0\x0a" + bytes(10)), bytes(5000), b"junk" * 500),
        b"ID3\x03\0\0\0\0\0\x0a" + bytes(300),
    ],
    ids=["tag", "two tags", "zeros", "junk", "wrong tag"],
)
@pytest.mark.parametrize("after", [b"", b"TAG" + bytes(125), b"APETAGEX" + bytes(60) + b"TAG" + bytes(125)])
def test_read_audio_finds_an_mp3_among_tags_and_junk(tmp_path: Path, before: bytes, after: bytes) -> None:
    samples = read(tmp_path, before + mp3() + after)
    assert samples.shape == (1, 30_000)
    assert np.array_equal(samples, read(tmp_path, mp3()))


@pytest.mark.parametrize("after", [bytes(50_000), b"\xff" * 5000, b"LYRICSBEGIN" + b"la la " * 5000])
def test_read_audio_reads_an_mp3_before_junk(tmp_path: Path, after: bytes) -> None:
    """It was refused as shorter than its header says, since FFmpeg estimates its length then."""
    samples = read(tmp_path, mp3() + after)
    assert 30_000 <= samples.shape[1] <= 30_000 + 2 * 1152  # with the padding of the encoder
    assert np.array_equal(samples[:, :29_000], read(tmp_path, mp3())[:, :29_000])


def test_read_audio_refuses_an_mp3_with_junk_within_or_that_changes_its_rate(tmp_path: Path) -> None:
    whole, other = mp3(), with_sndfile(tone(30_000, 22_050), 22_050, format="MP3")
    assert "damaged" in refusal(tmp_path, whole[:4000] + bytes(5000) + whole[4000:])
    assert "changes its sample rate" in refusal(tmp_path, whole + other)


def test_read_audio_reads_a_variable_mp3_without_a_header_to_its_end(tmp_path: Path) -> None:
    """Its length is estimated by the rate of its beginning, which is soft here, so it seemed cut off."""
    loud = tone(100_000, 44_100) + 0.1 * np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    samples = np.concatenate([1e-4 * loud, loud], axis=1)
    content = with_sndfile(samples, 44_100, format="MP3", bitrate_mode="VARIABLE", compression_level=0.3)
    assert 200_000 <= read(tmp_path, content[mpeg_frame_length(content[:4]) :]).shape[1] <= 203_000


def test_read_audio_names_an_mp3_of_free_format(tmp_path: Path) -> None:
    content = bytearray(mp3(bitrate_mode="CONSTANT", compression_level=0.5))
    first = content.index(b"\xff\xfb")
    content[first + 2] &= 0x0F
    assert "is an MP3 of free format, which cannot be read: export it" in refusal(tmp_path, bytes(content))


# ---- WAV and its kin ----


def wav(count: int = 30_000, rate: int = 44_100, **options: object) -> bytes:
    return with_sndfile(tone(count, rate), rate, **({"format": "WAV", "subtype": "PCM_16"} | options))


@pytest.mark.parametrize(("subtype", "count", "rate"), [("IMA_ADPCM", 30_000, 44_100), ("MS_ADPCM", 20_001, 22_050)])
def test_read_audio_leaves_out_the_padding_of_the_last_adpcm_block(
    tmp_path: Path, subtype: str, count: int, rate: int
) -> None:
    content = bytearray(wav(count, rate, subtype=subtype))
    fact = content.index(b"fact")
    for stated in (count, 100, 0):  # wrong by far: all is sound
        content[fact + 8 : fact + 12] = struct.pack("<I", stated)
        read_count = read(tmp_path, bytes(content)).shape[1]
        assert read_count == count if stated == count else read_count >= count


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24"])
@pytest.mark.parametrize("count", [30_001, 30_003])
def test_read_audio_leaves_out_the_padding_of_a_w64(tmp_path: Path, subtype: str, count: int) -> None:
    content = wav(count, format="W64", subtype=subtype)
    assert read(tmp_path, content + bytes(-len(content) % 8)).shape == (1, count)


@pytest.mark.parametrize("padding", [b"", b"\0"])
def test_read_audio_reads_an_odd_chunk_with_and_without_padding(tmp_path: Path, padding: bytes) -> None:
    plain = wav()
    chunk = b"junk" + struct.pack("<I", 5) + b"abcde" + padding
    for content in (plain[:12] + chunk + plain[12:], plain[:36] + chunk + chunk + plain[36:]):
        assert np.array_equal(read(tmp_path, content), read(tmp_path, plain))
        assert "incomplete" in refusal(tmp_path, content[:-100])
    plain = wav(format="AIFF")
    chunk = b"NAME" + struct.pack(">I", 5) + b"abcde" + padding
    place = plain.index(b"SSND")
    for content in (plain[:12] + chunk + plain[12:], plain[:place] + chunk + plain[place:]):
        assert np.array_equal(read(tmp_path, content), read(tmp_path, plain))


def test_read_audio_takes_no_tag_for_sound(tmp_path: Path) -> None:
    content = bytearray(wav(0)) + b"LIST" + struct.pack("<I", 16) + b"INFOICMT\4\0\0\0abcd"
    content[4:8] = struct.pack("<I", len(content) - 8)
    assert "holds no audio (0 samples)" in refusal(tmp_path, bytes(content))


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [
        *(("CAF", "PCM_16"), ("W64", "PCM_24"), ("AU", "PCM_16"), ("WAV", "IMA_ADPCM"), ("WAV", "GSM610")),
        ("RF64", "PCM_16"),
    ],
)
@pytest.mark.parametrize("part", [0.3, 0.95, 0.999])
def test_read_audio_refuses_a_cut_recording_of_any_studio_format(
    tmp_path: Path, kind: str, subtype: str, part: float
) -> None:
    content = wav(format=kind, subtype=subtype, rate=8_000)
    assert "incomplete" in refusal(tmp_path, content[: int(len(content) * part)])


def test_read_audio_reads_a_wav_with_mp3(tmp_path: Path) -> None:
    content = with_ffmpeg(tone(30_000, 44_100), 44_100, "libmp3lame", "wav")
    assert read(tmp_path, content).shape == (1, 30_000 + 1105)  # with the encoder's delay, which a WAV does not state


# ---- FLAC ----


def of_unknown_length(content: bytes) -> bytes:
    """A FLAC as a pipe leaves it: no number of samples, no MD5 sum."""
    streamed = bytearray(content)
    streamed[21] &= 0xF0
    streamed[22:42] = bytes(20)
    return bytes(streamed)


@pytest.mark.parametrize("after", [b"", b"TAG" + bytes(125)])
@pytest.mark.parametrize("before", [b"", b"ID3\x03\0\0\0\0\0\x0a" + bytes(10)])
def test_read_audio_reads_a_flac_of_unknown_length(tmp_path: Path, before: bytes, after: bytes) -> None:
    content = wav(132_300, format="FLAC")
    samples = read(tmp_path, before + of_unknown_length(content) + after)
    assert np.array_equal(samples, read(tmp_path, content))
    assert samples.shape == (1, 132_300)


@pytest.mark.parametrize("is_known", [True, False])
def test_read_audio_refuses_a_damaged_flac(tmp_path: Path, is_known: bool) -> None:
    content = wav(60_000, format="FLAC")
    content = content if is_known else of_unknown_length(content)
    places = len(content) // 2, len(content) - 300
    for damaged in (*(with_wrong_byte(content, place) for place in places), content[:-500]):
        assert "incomplete" in refusal(tmp_path, damaged)


# ---- what is not read ----


def of_a_disc(codec: str) -> bytes:
    """A WAV that says it holds samples of 16 bits, and holds another codec, as those of surround discs do."""
    coded = np.frombuffer(with_ffmpeg(np.tile(tone(9 * 48_000, 48_000), (2, 1)), 48_000, codec, codec), "<i2")
    return with_sndfile(coded.reshape(1, -1), 48_000, format="WAV", subtype="PCM_16")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"#!AMR\n" + bytes(50), "is AMR"),
        (b"DSD " + bytes(50), "is DSD"),
        (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11" + bytes(50), "is WMA"),
        (b"RIFX\0\0\0\0WAVEfmt " + bytes(50), "is a big-endian WAV"),
        (wav(rate=8_000, subtype="G721_32"), "holds G.726 ADPCM"),
        (with_ffmpeg(tone(9000, 44_100), 44_100, "aac", "wav"), "holds AAC"),
        (with_ffmpeg(tone(9000, 44_100), 44_100, "wavpack", "matroska"), "holds WavPack"),
        (of_a_disc("ac3"), "holds ATSC A/52A (AC-3)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_read_audio_names_an_encoding_that_is_not_read(tmp_path: Path, content: bytes, words: str) -> None:
    sentence = refusal(tmp_path, content)
    assert words in sentence
    assert "cannot be read: export it as WAV" in sentence


def test_read_audio_takes_neither_random_bytes_nor_utf16_for_an_mp3(tmp_path: Path) -> None:
    random = np.random.default_rng(1).bytes(100_000)  # begins with what looks like an MPEG frame
    assert random[:2] == b"\xff\xe4"
    # of a few of these windows the end looked like the last frame
    windows = [np.random.default_rng(seed).bytes(1 << 17) for seed in range(100, 140)]
    for content in (random, "These are my lyrics.".encode("utf-16") * 100, bytes(100_000), b"\xff\xfb", *windows):
        assert "is not an audio file" in refusal(tmp_path, content)


def test_read_audio_reads_eight_separate_channels_in_an_unusual_order(tmp_path: Path) -> None:
    """PyAV reads past the eighth of separate channels, and frees the layout of a CAF by FFmpeg twice."""
    samples = tone(9000, RATE, 8)
    assert np.abs(read(tmp_path, with_ffmpeg(samples, RATE, "pcm_s24le", "caf")) - samples).max() < 1e-6
    assert read(tmp_path, with_ffmpeg(samples, RATE, "libopus", "webm")).shape == (8, 9000)


def test_read_audio_never_passes_a_name_to_ffmpeg(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(wav(1000))
    for name in ("concat:a.wav|a.wav", "http:x.wav", "pipe:0", "-", "%03d.wav"):
        assert read(tmp_path, wav(500), name).shape == (1, 500)


# ---- headers that say what cannot be ----


@pytest.mark.parametrize(("container", "place"), [("w64", 56), ("caf", 12)])
def test_read_audio_refuses_a_chunk_that_ends_beyond_any_file(tmp_path: Path, container: str, place: int) -> None:
    content = bytearray(with_sndfile(tone(3000, 44_100), 44_100, format=container.upper(), subtype="PCM_16"))
    content[place : place + 8] = b"\xfe" * 8
    assert '"recording"' in refusal(tmp_path, bytes(content))


UNCODED = [one for one in KINDS if one.codec.startswith("pcm") and one.container in ("wav", "aiff", "au", "caf", "w64")]


@pytest.mark.parametrize("kind", UNCODED, ids=str)
def test_read_audio_refuses_no_channels(tmp_path: Path, kind: Kind) -> None:
    content = kind.write(tone(3000, kind.rates[0]), kind.rates[0])
    width, order = {"wav": (2, "<"), "w64": (2, "<"), "aiff": (2, ">"), "au": (4, ">"), "caf": (4, ">")}[kind.container]
    before = {"wav": b"fmt ", "w64": b"fmt ", "aiff": b"COMM", "au": b".snd", "caf": b"desc"}[kind.container]
    after = {"wav": 10, "w64": 26, "aiff": 8, "au": 20, "caf": 36}[kind.container]  # bytes from the name of the chunk
    place = content.index(before) + after
    assert content[place : place + width] == struct.pack(f"{order}{'H' if width == 2 else 'I'}", 1)
    assert '"recording"' in refusal(tmp_path, content[:place] + bytes(width) + content[place + width :])


def test_a_wav_is_searched_for_other_codecs_once_and_not_throughout(tmp_path, monkeypatch):
    """FFmpeg does so in each WAV of 16 bits, for longer than all else that opening it takes."""
    options, open_with_ffmpeg = [], av.open

    def opened(*given, **named):
        options.append(named["options"])
        return open_with_ffmpeg(*given, **named)

    monkeypatch.setattr("engine.audio.decoder.av.open", opened)
    expected = np.round(np.sin(np.arange(50_000) / 20) * 20_000).astype(np.int16)
    soundfile.write(tmp_path / "a.wav", expected, 16_000)
    np.testing.assert_array_equal(read_audio(tmp_path / "a.wav").samples[0], expected / np.float32(32_768))
    assert options == [{"probesize": "65536"}, {"probesize": "2048"}]
