import json
import shutil
from dataclasses import replace

import pytest

from engine.training.history import TrainingHistory, write_history
from engine.voices.card import DEMO_VOICES, load_card
from studio.actions.trainings.auditions import auditions_view
from studio.actions.trainings.checkpoints import choose_checkpoint
from studio.actions.trainings.training import train_model
from studio.actions.voices.cards import voice_details
from studio.actions.voices.datasets import create_model
from studio.actions.voices.profiles import edit_profile
from studio.actions.voices.voice import model_view
from studio.errors import NotFound, WrongState
from studio.store.catalogue import find_model, set_keys, training_reached
from tests.cards import update_card

SCORES = {"likeness": 0.9, "content": 0.8, "mel_distance": 0.5, "pitch_error_cents": 8.0, "voicing_error": 0.1}
MADE_OF = {0: "koguchi", 4: "kerstin", 8: "kathleen"}  # demo voices instead of the moments of a training


@pytest.fixture
def trained(studio, package):
    """A voice whose training was judged after 0, 4 and 8 epochs, and stopped; its id."""
    model = create_model(studio, studio.local, package(genre="jazz"))
    training_in(studio.settings.datasets / model / "training")
    return model


def training_in(folder):
    history = TrainingHistory("training", 20, [{"epoch": 9, "steps": 5, "seconds": 1.0}])
    for epoch, name in MADE_OF.items():
        evaluation = folder / "evaluations" / f"{epoch:06d}"
        shutil.copytree(DEMO_VOICES / name, evaluation)
        update_card(evaluation, name="Mia", training={"epochs": epoch, "steps": 7 * epoch})
        (evaluation / "speech-high.flac").write_bytes(b"sound")
        history.evaluations.append({"epoch": epoch, "folder": f"{epoch:06d}", **SCORES, "score": 1.0 + epoch})
    (folder / "originals").mkdir()
    (folder / "originals" / "speech-high.flac").write_bytes(b"sound")
    write_history(history, folder)


def weights(folder):
    return (folder / "weights.safetensors").read_bytes()


def test_choose_checkpoint_makes_any_kept_checkpoint_the_voice(studio, trained):
    for epoch in (4, 0):
        choose_checkpoint(studio, studio.local, trained, epoch)
        home = studio.settings.voices / trained
        assert weights(home) == weights(DEMO_VOICES / MADE_OF[epoch])
        assert (home / "preview.wav").read_bytes() == (DEMO_VOICES / MADE_OF[epoch] / "preview.wav").read_bytes()
        card = load_card(home)
        assert (card.id, card.name, card.genre) == (trained, "Mia", "jazz")
        assert card.training["best_epoch"] == epoch
        assert card.training["epochs"] == 9
        assert card.training["scores"]["likeness"] == 0.9
        details = voice_details(studio, studio.local, trained, "", 0.0)
        assert (details.state, details.learned["best_epoch"], details.has_recordings) == ("completed", epoch, True)
        assert "/voices/mia/preview.wav" in details.preview_url


def test_choose_checkpoint_replaces_the_untrained_voice(studio, trained):
    home = shutil.copytree(DEMO_VOICES / "koguchi", studio.settings.datasets / trained / "untrained")
    assert model_view(studio, studio.local, trained).untrained
    choose_checkpoint(studio, studio.local, trained, 4)
    assert not model_view(studio, studio.local, trained).untrained
    assert not home.exists()


def test_train_model_continues_after_choose_checkpoint(studio, trained):
    choose_checkpoint(studio, studio.local, trained, 4)
    assert train_model(studio, studio.local, trained, 20)["status"] == "training"


def test_choose_checkpoint_keeps_later_profile_edits(studio, trained):
    choose_checkpoint(studio, studio.local, trained, 4)
    edit_profile(studio, studio.local, trained, {"name": "Nina", "vocal_range": {"min": "C3", "max": "C4"}})
    choose_checkpoint(studio, studio.local, trained, 8)
    view = model_view(studio, studio.local, trained)
    assert (view.name, view.vocal_range) == ("Nina", {"min": "C3", "max": "C4"})
    assert load_card(studio.settings.voices / trained).name == "Nina"


def test_choose_checkpoint_refuses_incomplete_and_unknown_checkpoints(studio, trained):
    (studio.settings.datasets / trained / "training" / "evaluations" / "000004" / "weights.safetensors").unlink()
    found = auditions_view(studio, studio.local, trained, "", 0.0).evaluations
    assert [line["complete"] for line in found] == [True, False, True]
    with pytest.raises(WrongState, match="Only the audio of this checkpoint was kept"):
        choose_checkpoint(studio, studio.local, trained, 4)
    with pytest.raises(NotFound, match="after 5 epochs"):
        choose_checkpoint(studio, studio.local, trained, 5)
    assert model_view(studio, studio.local, trained).state == "pending"


def test_choose_checkpoint_refuses_voices_in_training_demo_voices_and_other_accounts(studio, other, trained):
    train_model(studio, studio.local, trained, 20)
    with pytest.raises(WrongState, match="stop the training first"):
        choose_checkpoint(studio, studio.local, trained, 4)
    with pytest.raises(NotFound):
        choose_checkpoint(studio, studio.local, "kathleen", 4)
    with pytest.raises(NotFound):
        choose_checkpoint(studio, other, trained, 4)


@pytest.mark.system
def test_choose_checkpoint_on_s3_replaces_the_earlier_voice(studio, other, package, s3_storage, tmp_path):
    there = replace(studio, storage=s3_storage)
    model = create_model(there, other, package())
    training_in(tmp_path / "training")
    place = f"accounts/{other.id}/trainings/{model}/1-1-ab-1"
    files = {
        path.relative_to(tmp_path / "training").as_posix(): path
        for path in (tmp_path / "training").rglob("*")
        if path.is_file()
    }
    s3_storage.put_bytes(json.dumps({name: f"{place}/{name}" for name in files}).encode(), f"{place}/files.json")
    for name, path in files.items():
        s3_storage.put_file(path, f"{place}/{name}")
    row = find_model(there.database, other, model)
    with there.database.write() as connection:
        training_reached(connection, row, 9, place)
        set_keys(connection, row)
    keys = []
    for epoch in (4, 8):
        choose_checkpoint(there, other, model, epoch)
        keys.append(find_model(there.database, other, model).voice_key)
        assert voice_details(there, other, model, "", 0.0).learned["best_epoch"] == epoch
    stored = {key.rpartition("/")[0] for key in s3_storage.list_keys(f"accounts/{other.id}/voices")}
    assert stored == {keys[1]}  # what it was before is gone
