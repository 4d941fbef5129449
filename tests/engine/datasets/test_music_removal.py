"""Music taken out of recordings, by a real network of a few hundred bytes that keeps the middle of the stereo field."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.datasets.dataset import Dataset, create_dataset
from engine.datasets.findings import finding
from engine.datasets.music_removal import remove_music, with_music
from engine.datasets.report import DataReport, RecordingReport, examined
from engine.errors import Cancelled, DatasetError
from engine.songs.separation import OnnxSeparator
from tests.engine.songs.conftest import chords, write_network

SAMPLES = Path(__file__).parents[3] / "engine" / "samples"


@pytest.fixture(scope="module")
def separator(tmp_path_factory) -> OnnxSeparator:
    return OnnxSeparator(write_network(tmp_path_factory.mktemp("network") / "middle.onnx"))


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    """A dry recording, and a song: the same singer in the middle, and chords at the sides."""
    source = tmp_path / "source"
    vocal = read_audio(SAMPLES / "singing.flac").samples[0]
    played = 2.0 * chords(len(vocal) / 44_100)[: len(vocal)]
    (source / "live").mkdir(parents=True)
    write_audio(source / "live" / "song.wav", Audio(0.5 * np.stack([vocal + played, vocal - played]), 44_100))
    write_audio(source / "dry.flac", Audio(read_audio(SAMPLES / "speech.flac").samples, 44_100))
    return create_dataset(source, tmp_path / "mia", {"name": "Mia", "source": "her phone"})


def report_on(dataset: Dataset, *with_it: str) -> DataReport:
    """One that finds music in these."""
    found = (finding("accompaniment", "warn", "There is music."),)
    names = [path.relative_to(dataset.folder / "audio").as_posix() for path in dataset.recordings]
    parts = tuple(RecordingReport(one, "", "warn", found if one in with_it else ()) for one in names)
    return replace(_empty(), recordings=parts)


def _empty() -> DataReport:
    return DataReport(
        **dict(verdict="pass", findings=(), recordings=(), total_s=0, voiced_s=0, usable_s=0, pitch_histogram={}),
        **dict(vocal_range=None, voice_type=None, style=None, level_db=None, level_spread_db=None, snr_db=None),
        **dict(reverberation_s=None, bandwidth_hertz=None, stated_gender=None, stated_voice_type=None),
        stated_range=None,
    )


def test_the_report_finds_the_music_and_no_longer_after_it_was_removed(dataset, separator):
    before = examined(dataset)
    assert [path.name for path in with_music(dataset, before)] == ["song.wav"]
    cleaned = remove_music(dataset, before, separator)
    assert with_music(cleaned, examined(cleaned)) == []
    assert not any(found.code == "accompaniment" for one in examined(cleaned).recordings for found in one.findings)


def test_the_vocal_is_what_the_voice_learns_and_the_original_stays(dataset, separator):
    song = (dataset.folder / "audio" / "live" / "song.wav").read_bytes()
    cleaned = remove_music(dataset, report_on(dataset, "live/song.wav"), separator)
    assert sorted(path.name for path in cleaned.recordings) == ["dry.flac", "song.wav.flac"]
    assert (dataset.folder / "originals" / "live" / "song.wav").read_bytes() == song
    vocal = read_audio(SAMPLES / "singing.flac").samples[0]
    alone = read_audio(dataset.folder / "audio" / "live" / "song.wav.flac").samples
    assert np.abs(alone - 0.5 * vocal).max() < 1e-4
    assert cleaned.profile.source == "her phone; music removed from 1 recording with htdemucs_ft vocals"
    assert json.loads((dataset.folder / "model.json").read_text())["source"] == cleaned.profile.source
    assert sorted(path.name for path in dataset.folder.iterdir()) == ["audio", "model.json", "originals"]


def test_a_removal_that_was_cancelled_goes_on_where_it_was_and_takes_nothing_twice(dataset, separator):
    report, said = report_on(dataset, "live/song.wav", "dry.flac"), []

    def stop_at_the_second(fraction: float, message: str) -> None:
        said.append((fraction, message))
        if fraction > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        remove_music(dataset, report, separator, stop_at_the_second)
    assert [fraction for fraction, _ in said] == sorted(fraction for fraction, _ in said)
    left = with_music(dataset, report)
    assert len(left) == 1
    assert left[0].is_file()
    cleaned = remove_music(dataset, report, separator)
    assert cleaned.profile.source.endswith("music removed from 2 recordings with htdemucs_ft vocals")
    assert cleaned.profile.source.count("music removed") == 1
    with pytest.raises(DatasetError, match="no music to remove"):
        remove_music(cleaned, report, separator)


def test_what_holds_no_vocal_stays_as_it_is_and_is_said(tmp_path, separator):
    played = chords(12.0)
    (tmp_path / "source").mkdir()
    write_audio(tmp_path / "source" / "karaoke.wav", Audio(np.stack([played, -played]), 44_100))
    dataset = create_dataset(tmp_path / "source", tmp_path / "mia", {"name": "Mia"})
    with pytest.raises(DatasetError, match=r'no vocal in "karaoke\.wav"'):
        remove_music(dataset, report_on(dataset, "karaoke.wav"), separator)
    assert [path.name for path in dataset.folder.rglob("*.wav")] == ["karaoke.wav"]
    assert dataset.profile.source == ""


def test_a_recording_of_the_same_name_in_another_format_stays_as_it_is(tmp_path, separator):
    source = tmp_path / "source"
    source.mkdir()
    vocal = read_audio(SAMPLES / "singing.flac").samples[0]
    write_audio(source / "song.wav", Audio(0.5 * np.stack([vocal, vocal]), 44_100))
    write_audio(source / "song.flac", Audio(read_audio(SAMPLES / "speech.flac").samples, 44_100))
    dataset = create_dataset(source, tmp_path / "mia", {"name": "Mia"})
    dry = (dataset.folder / "audio" / "song.flac").read_bytes()
    report = report_on(dataset, "song.wav")
    cleaned = remove_music(dataset, report, separator)
    assert [path.name for path in cleaned.recordings] == ["song.flac", "song.wav.flac"]
    assert (dataset.folder / "audio" / "song.flac").read_bytes() == dry
    assert with_music(cleaned, report_on(cleaned, "song.flac", "song.wav.flac")) == [cleaned.recordings[0]]
