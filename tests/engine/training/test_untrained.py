import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.datasets.dataset import TRAINING_FOLDER, Dataset, create_dataset, load_dataset
from engine.errors import Cancelled, DatasetError, EngineError, TrainingError
from engine.features.clips import Clip, analyse_clip
from engine.features.speaker_timbre import mean_timbre, speaker_timbres
from engine.networks.base import load_base
from engine.training.untrained import finished_untrained, untrained_of, untrained_voice
from engine.units import SAMPLE_RATE
from engine.voices.card import load_card
from engine.voices.profile import VoiceProfile
from engine.voices.voice import load_voice
from tests.cards import update_card
from tests.halves import forced_halves


@pytest.fixture(scope="module")
def clips(sing) -> list[Clip]:
    """Thirteen seconds of a voice whose notes go from 200 to 283 Hz."""
    return [analyse_clip(Audio(sing(6.5, hertz=200.0, seed=seed)[None], SAMPLE_RATE)) for seed in (1, 2)]


@pytest.fixture(scope="module")
def made(sing, tmp_path_factory) -> Path:
    """The folder of a dataset whose untrained voice was made."""
    folder = tmp_path_factory.mktemp("made")
    soundfile.write(folder / "one.wav", sing(14.0, hertz=200.0), SAMPLE_RATE)
    untrained_of(create_dataset([folder / "one.wav"], folder / "mia", {"name": "Mia"}))
    return folder / "mia"


@pytest.fixture
def dataset(made, tmp_path) -> Dataset:
    """The same, to be changed; files keep their times, as where a folder is moved."""
    return load_dataset(shutil.copytree(made, tmp_path / "mia"))


def test_untrained_voice_is_the_base_with_the_timbre_of_the_recordings(clips):
    voice = untrained_voice(clips, VoiceProfile("Mia", "female"))
    base = load_base()
    for name, value in base.decoder.state_dict().items():
        assert torch.equal(voice.decoder.state_dict()[name], value)
    assert torch.allclose(voice.timbre, mean_timbre(*speaker_timbres(base, clips)))
    assert (voice.card.name, voice.card.gender, voice.card.vocal_range) == ("Mia", "female", {"min": "G3", "max": "D4"})
    assert voice.card.is_untrained
    assert voice.card.training == {"untrained": True, "minutes": 0.2, "epochs": 0, "steps": 0}
    assert len(voice.retrieval_frames) > 500


def test_untrained_voice_is_the_same_on_processors_with_halves(clips, halves):
    voice = untrained_voice(clips)
    with forced_halves(False):
        expected = untrained_voice(clips)
    assert torch.equal(voice.timbre, expected.timbre)
    assert torch.equal(voice.retrieval_frames, expected.retrieval_frames)
    assert torch.equal(voice.contrast, expected.contrast)


def test_untrained_voice_converts_a_vocal(clips, sing):
    vocal = Audio(sing(1.0, hertz=140.0)[None], SAMPLE_RATE)
    take = convert(vocal, untrained_voice(clips)).takes[0].audio
    assert take.samples.shape == vocal.samples.shape
    assert np.abs(take.samples).max() > 0.01


def test_untrained_voice_refuses_too_little_voice(clips):
    with pytest.raises(TrainingError, match=r"only \d\.\d seconds of voice; at least 10 are needed"):
        untrained_voice(clips[:1])


def test_untrained_voice_ignores_clips_with_nan(clips):
    broken = replace(clips[0], envelope=np.full_like(clips[0].envelope, np.nan))
    assert torch.isfinite(untrained_voice([*clips, broken]).timbre).all()


@pytest.mark.system
def test_untrained_of_stores_the_voice_once_without_a_training_folder(dataset, monkeypatch):
    home = untrained_of(dataset)
    assert home == dataset.folder / "untrained" == finished_untrained(dataset)
    assert load_voice(home).card.is_untrained
    assert not (dataset.folder / TRAINING_FOLDER).exists()
    before = (home / "weights.safetensors").stat().st_mtime_ns
    monkeypatch.setattr("engine.training.untrained.usable_clips", lambda *given: pytest.fail("it is there already"))
    assert untrained_of(dataset) == home
    assert (home / "weights.safetensors").stat().st_mtime_ns == before


def test_kept_untrained_is_none_after_a_recording_changes_or_is_added(dataset, sing):
    first = dataset.recordings[0]
    os.utime(first, ns=(0, 0))
    assert finished_untrained(dataset) is None
    untrained_of(dataset)
    soundfile.write(dataset.folder / "audio" / "two.wav", sing(3.0, hertz=230.0), SAMPLE_RATE)
    both = load_dataset(dataset.folder)
    assert finished_untrained(both) is None
    assert finished_untrained(dataset) is not None
    untrained_of(both)
    assert finished_untrained(both) is not None


def test_untrained_of_makes_the_voice_again_after_a_rename(dataset):
    (dataset.folder / "model.json").write_text('{"name": "Mia Muster"}', encoding="utf-8")
    named = load_dataset(dataset.folder)
    assert finished_untrained(named) is None
    assert load_card(untrained_of(named)).name == "Mia Muster"


def test_untrained_of_makes_an_earlier_or_incomplete_voice_again(dataset):
    home = dataset.folder / "untrained"
    update_card(home, format=1)
    assert finished_untrained(dataset) is None
    assert not load_card(untrained_of(dataset)).is_earlier
    (home / "weights.safetensors").unlink()
    assert finished_untrained(dataset) is None
    (home / "card.json").write_text("{")
    assert finished_untrained(dataset) is None
    assert load_voice(untrained_of(dataset)).card.is_untrained


def test_untrained_of_refuses_a_dataset_with_too_little_sound(tmp_path, sing):
    soundfile.write(tmp_path / "one.wav", sing(4.0), SAMPLE_RATE)
    dataset = create_dataset([tmp_path / "one.wav"], tmp_path / "mia", {"name": "Mia"})
    with pytest.raises(DatasetError, match="less than 10 s do not contain every sound"):
        untrained_of(dataset)
    assert not (dataset.folder / "untrained").exists()


@pytest.mark.system
def test_untrained_of_leaves_no_voice_when_cancelled_but_keeps_the_clips(tmp_path, sing):
    soundfile.write(tmp_path / "one.wav", sing(14.0, hertz=200.0), SAMPLE_RATE)
    dataset = create_dataset([tmp_path / "one.wav"], tmp_path / "mia", {"name": "Mia"})

    def report(fraction, message):
        if message == "rendering a preview":
            raise Cancelled

    with pytest.raises(Cancelled):
        untrained_of(dataset, report)
    assert sorted(path.name for path in dataset.folder.iterdir()) == ["audio", "clips", "model.json", "report.json"]


def test_untrained_of_refuses_a_dataset_with_deleted_recordings(dataset):
    shutil.rmtree(dataset.folder)
    with pytest.raises(EngineError, match='recordings of "Mia" cannot be read'):
        untrained_of(dataset)
    assert not dataset.folder.exists()
