"""Files with several sound tracks: which is read, that it is said, and that any can be chosen."""

from pathlib import Path

import numpy as np
import pytest

from engine.analysis.recording import analyse_file
from engine.audio.files import open_audio, read_audio
from engine.audio.tracks import track_digest
from engine.errors import AudioError
from engine.files import named, on_track
from tests.engine.audio.encoded import several, tone

RATE = 48_000
LOW, HIGH = tone(48_000, RATE, hertz=200.0), tone(48_000, RATE, hertz=500.0)
SILENT = np.zeros((1, 48_000), np.float32)
CONTAINERS = [
    *(("matroska", "pcm_s16le"), ("matroska", "aac"), ("mov", "pcm_s16le"), ("mp4", "aac"), ("webm", "libopus")),
    *(("ogg", "libopus"), ("ogg", "flac"), ("mpegts", "aac"), ("mpegts", "mp2")),
]
FLAGGED = CONTAINERS[:4]  # with a mark for the track that players play


def put(folder: Path, content: bytes, name: str = "film.mkv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def hertz_of(samples: np.ndarray, rate: int = RATE) -> float:
    spectrum = np.abs(np.fft.rfft(samples[0, 4800:33_600]))
    return float(np.argmax(spectrum) * rate / 28_800)


@pytest.mark.parametrize(("container", "codec"), FLAGGED)
@pytest.mark.parametrize("default", [0, 1])
def test_open_audio_reads_the_track_that_players_play(tmp_path: Path, container: str, codec: str, default: int) -> None:
    path = put(tmp_path, several([LOW, HIGH], container, codec, default))
    with open_audio(path) as source:
        assert source.track == default + 1
        assert source.notes == (
            f'"film.mkv" has 2 sound tracks. Track {default + 1}, the one that players play, is read; choose another '
            "if it is not the voice.",
        )
        assert hertz_of(np.concatenate(list(source.blocks()), 1)) == pytest.approx((200.0, 500.0)[default], abs=2)


@pytest.mark.parametrize(("container", "codec"), CONTAINERS)
def test_open_audio_reads_the_track_that_is_chosen(tmp_path: Path, container: str, codec: str) -> None:
    path = put(tmp_path, several([LOW, HIGH, SILENT], container, codec))
    for number, hertz in ((1, 200.0), (2, 500.0)):
        for audio in (read_audio(path, number), read_audio(on_track(path, number))):
            assert hertz_of(audio.samples) == pytest.approx(hertz, abs=2)
            assert audio.notes == ()
    assert np.abs(read_audio(path, 3).samples).max() < 1e-3  # a silent one too, if it is asked for
    for number in (0, 4, 64):
        with pytest.raises(AudioError, match=f"has 3 sound tracks, so there is no track {number}"):
            open_audio(path, number)


@pytest.mark.parametrize(("container", "codec"), CONTAINERS)
def test_open_audio_reads_another_track_where_the_default_is_silent(tmp_path: Path, container: str, codec: str) -> None:
    path = put(tmp_path, several([SILENT, SILENT, HIGH], container, codec))
    with open_audio(path) as source:
        assert source.notes == ('"film.mkv" has 3 sound tracks. Track 3 is read, since track 1 is silent.',)
        assert hertz_of(np.concatenate(list(source.blocks()), 1)) == pytest.approx(500.0, abs=2)


def test_open_audio_hears_a_default_track_that_begins_late(tmp_path: Path) -> None:
    late = np.concatenate([SILENT, SILENT, LOW], 1)
    with open_audio(put(tmp_path, several([late, np.tile(HIGH, 3)]))) as source:
        assert source.track == 1


def test_open_audio_reads_the_default_track_where_all_are_silent(tmp_path: Path) -> None:
    path = put(tmp_path, several([SILENT, SILENT], default=1))
    with open_audio(path) as source:
        assert source.track == 2


def test_open_audio_reads_a_track_whose_encoding_can_be_read(tmp_path: Path) -> None:
    path = put(tmp_path, several([LOW, HIGH], codecs=["wavpack", "pcm_s16le"]))
    with open_audio(path) as source:
        assert source.notes == (
            '"film.mkv" has 2 sound tracks. Track 2 is read, since track 1 holds WavPack, which cannot be read.',
        )
        assert hertz_of(np.concatenate(list(source.blocks()), 1)) == pytest.approx(500.0, abs=2)
        assert [track.is_readable for track in source.tracks] == [False, True]
    with pytest.raises(AudioError, match=r"holds WavPack, which cannot be read: export it as WAV"):
        open_audio(path, 1)
    with pytest.raises(AudioError, match="holds WavPack"):
        open_audio(put(tmp_path, several([LOW, HIGH], codecs=["wavpack", "wavpack"])))


def test_open_audio_lists_the_tracks_of_a_file(tmp_path: Path) -> None:
    with open_audio(put(tmp_path, several([LOW, HIGH], default=1, titles=["Music", "Voice"]))) as source:
        assert [(one.number, one.title, one.language, one.is_default) for one in source.tracks] == [
            (1, "Music", "deu", False),
            (2, "Voice", "deu", True),
        ]
        assert [one.channels for one in source.tracks] == [1, 1]


@pytest.mark.parametrize(("container", "codec"), CONTAINERS)
def test_open_audio_says_nothing_of_a_file_with_one_track(tmp_path: Path, container: str, codec: str) -> None:
    path = put(tmp_path, several([LOW], container, codec))
    with open_audio(path) as source:
        assert (source.notes, source.track) == ((), 1)
    with pytest.raises(AudioError, match="has 1 sound track, so there is no track 2"):
        open_audio(path, 2)


def test_open_audio_refuses_a_second_track_of_a_wav(tmp_path: Path) -> None:
    path = put(tmp_path, several([LOW], "wav"), "a.wav")
    assert read_audio(path, 1).sample_count == 48_000
    with pytest.raises(AudioError, match="no track 2"):
        open_audio(path, 2)


def test_analyse_file_is_not_silent_where_another_track_holds_a_voice(tmp_path: Path) -> None:
    found = analyse_file(put(tmp_path, several([SILENT, LOW])))
    assert found.warning is not None
    assert "track 1 is silent" in found.warning
    assert "microphone" not in found.warning


def test_on_track_and_named_go_together(tmp_path: Path) -> None:
    path = put(tmp_path, several([LOW, HIGH]), "upload")
    for given in (on_track(named(path, "Ave.mkv"), 3), named(on_track(path, 3), "Ave.mkv")):
        with pytest.raises(AudioError, match=r'"Ave.mkv" has 2 sound tracks, so there is no track 3'):
            open_audio(given)


def test_track_digest_tells_tracks_apart(tmp_path: Path) -> None:
    path = put(tmp_path, several([LOW, HIGH]))
    assert len({track_digest(path), track_digest(on_track(path, 1)), track_digest(on_track(path, 2))}) == 3
    assert track_digest(on_track(path, None)) == track_digest(path)
