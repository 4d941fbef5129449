"""The data set of a taught voice, and its teacher's scores, with small random networks."""

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.datasets.teaching import TeachingSource
from engine.errors import DatasetError
from engine.rvc import contentvec
from engine.training.checkpoint_audition import FOREIGN
from engine.training.plan import TrainingPlan
from engine.training.teaching import teach
from engine.training.train import train_dataset
from engine.voices.imported import load_any_voice
from engine.voices.profile import TAUGHT_BY
from tests.engine.rvc.models import import_small, use_small_contentvec, write_small_contentvec

SAMPLES = FOREIGN.parent
SCORES = {"likeness", "content", "mel_distance", "pitch_error_cents", "voicing_error", "score"}


@pytest.fixture
def teacher(tmp_path, monkeypatch, short_trainings):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))
    write_small_contentvec(tmp_path)
    use_small_contentvec(monkeypatch)
    contentvec._loaded.cache_clear()
    yield load_any_voice(tmp_path / "voices" / import_small(tmp_path / "voices", "v1").id)
    contentvec._loaded.cache_clear()


@pytest.mark.system
def test_teach_makes_a_dataset_that_trains_with_both_scores_and_its_origin(teacher, tmp_path):
    shown = []
    singing = [read_audio(path) for path in (SAMPLES / "singing.flac", SAMPLES / "foreign" / "singing-high.flac")]
    vocal = np.concatenate([one.samples for one in (*singing, singing[0])], axis=1)
    write_audio(tmp_path / "vocal.flac", Audio(vocal, singing[0].rate))
    source = TeachingSource(tmp_path / "vocal.flac")
    dataset = teach(teacher, [source], tmp_path / "taught", "Mia II", lambda part, text: shown.append(part))
    assert [path.name for path in dataset.recordings] == ["01-vocal.flac"]
    assert read_audio(dataset.recordings[0]).sample_count == vocal.shape[1]
    assert shown == sorted(shown)
    assert [path.name for path in tmp_path.glob("taught*")] == ["taught"]
    card = train_dataset(dataset, TrainingPlan(epochs=1, batch=8, foreign=1)).card
    assert (card.name, card.kind, card.source) == ("Mia II", "studio", "taught by Mia, imported from Mia.pth")
    assert set(card.other[TAUGHT_BY]["scores"]) == set(card.training["scores"]) == SCORES
    assert -1 <= card.other[TAUGHT_BY]["scores"]["likeness"] <= 1


def test_teach_refuses_too_little_voice_and_leaves_nothing(teacher, tmp_path):
    with pytest.raises(DatasetError, match="usable voice"):
        teach(teacher, [TeachingSource(FOREIGN / "speech-high.flac")], tmp_path / "taught")
    assert not list(tmp_path.glob("taught*"))
