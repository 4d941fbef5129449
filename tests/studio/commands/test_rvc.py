"""`rvc teach` as a user and a script see it: with small random networks, in this process."""

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.rvc import contentvec
from engine.training.checkpoint_audition import FOREIGN
from engine.voices.card import load_card
from tests.command_line import assert_one_sentence, run
from tests.engine.rvc.models import import_small, use_small_contentvec, write_small_contentvec


@pytest.fixture
def imported(home, monkeypatch, short_trainings):
    """The id of an imported voice; ContentVec is there."""
    home.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(home))
    write_small_contentvec(home)
    use_small_contentvec(monkeypatch)
    monkeypatch.setattr("engine.training.fine_tuning.FineTuning.step", lambda *_: {"envelope": 0.5})
    monkeypatch.setattr("engine.datasets.teaching.bundled_sources", list)  # the user's is enough here
    contentvec._loaded.cache_clear()
    yield import_small(home / "voices", "v1").id
    contentvec._loaded.cache_clear()


@pytest.fixture
def long_vocal(tmp_path):
    """Twenty-four seconds, of which the random networks voice half."""
    singing, high = (read_audio(path) for path in (FOREIGN.parent / "singing.flac", FOREIGN / "singing-high.flac"))
    samples = np.concatenate([singing.samples, high.samples, singing.samples], axis=1)
    write_audio(tmp_path / "vocal.flac", Audio(samples, singing.rate))
    return tmp_path / "vocal.flac"


@pytest.mark.slow  # without the command: tests/engine/training/test_teaching.py
def test_rvc_teach_trains_a_voice_and_prints_both_scores(imported, long_vocal, home):
    result = run("rvc", "teach", imported, long_vocal, "--name", "Mia II", "--epochs", 1)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "mia-ii\n"
    assert "Mia, imported: likeness " in result.stderr
    assert "Mia II, taught: likeness " in result.stderr
    card = load_card(home / "voices" / "mia-ii")
    assert (card.kind, card.source) == ("studio", "taught by Mia, imported from Mia.pth")


def test_rvc_teach_failures_are_one_sentence(imported, home):
    assert_one_sentence(run("rvc", "teach", "kathleen"), "voice of this studio already", alone=False)
    assert_one_sentence(run("rvc", "teach", "nobody"), "nobody", alone=False)
    assert_one_sentence(run("rvc", "teach", imported, "--epochs", -1), "epochs", alone=False)
    (home / "models" / "contentvec.safetensors").unlink()
    assert_one_sentence(run("rvc", "teach", imported), "python -m studio rvc fetch")
