import json
import shutil
from dataclasses import asdict, replace

import pytest

from engine.errors import ProfileError
from engine.voices.card import CARD_FILE, DEMO_VOICES, load_card
from studio.actions.voices.datasets import create_model
from studio.actions.voices.packages import export_model, import_model
from studio.actions.voices.profiles import edit_profile, profile_values
from studio.actions.voices.voice import model_view, models_view
from studio.errors import DiskFull, Invalid, NotFound, WrongState
from studio.store.catalogue import all_models, find_model
from studio.store.folder_import import import_folders
from studio.store.records.codec import plain
from studio.store.tasks import claim, complete, list_tasks

SAID = (
    {"name": "Nina", "gender": "female", "age": "adult", "description": "Smoky.", "base_language": "de"}
    | {"traits": ["smoky", "close"], "genre": "jazz", "voice_type": "alto"}
    | {"vocal_range": {"min": "F3", "max": "D5"}}
    | {"licence": "CC-BY-4.0", "source": "Nina, at home", "consent": {"statement": "It is mine.", "by": "Nina"}}
)


@pytest.fixture
def voice(studio) -> str:
    """A voice without recordings."""
    shutil.copytree(DEMO_VOICES / "koguchi", studio.settings.voices / "mine")
    import_folders(studio.database, studio.storage, studio.local)
    return "mine"


def card_of(studio, model_id):
    return load_card(studio.settings.voices / model_id)


def stated(studio, model_id):
    return json.loads((studio.settings.datasets / model_id / "model.json").read_text())


def reports(studio):
    return [task for task in list_tasks(studio.database, studio.local.id)[0] if task.kind == "report"]


def test_edit_profile_replaces_every_stated_field(studio, voice):
    before = card_of(studio, voice)
    edit_profile(studio, studio.local, voice, SAID)
    view = model_view(studio, studio.local, voice)
    assert plain(view).items() >= SAID.items()
    assert (view.id, view.state) == (voice, "completed")
    after = card_of(studio, voice)
    assert {name: asdict(after)[name] for name in SAID} == SAID
    expected = (voice, before.pitch, before.training, before.bandwidth_hertz)
    assert (after.id, after.pitch, after.training, after.bandwidth_hertz) == expected
    assert profile_values(studio, studio.local, voice) == SAID
    assert "Nina" in {one.name for one in models_view(studio, studio.local, genre="jazz").models}


def test_edit_profile_clears_omitted_fields_but_keeps_measured_ones(studio, voice):
    before = card_of(studio, voice)
    edit_profile(studio, studio.local, voice, {"name": "Nina"})
    view = model_view(studio, studio.local, voice)
    assert (view.gender, view.traits, view.licence, view.consent) == (None, [], "", {})
    assert (view.voice_type, view.vocal_range) == (before.voice_type, before.vocal_range)
    assert model_view(studio, studio.local, "koguchi").gender


def test_edit_profile_of_a_pending_voice_writes_model_json(studio, package):
    model = create_model(studio, studio.local, package(mood="blue", genre="pop"))
    edit_profile(studio, studio.local, model, SAID)
    assert stated(studio, model) == SAID | {"mood": "blue"}
    assert model_view(studio, studio.local, model).state == "pending"
    edit_profile(studio, studio.local, model, {"name": "Nina"})
    assert stated(studio, model) == {"name": "Nina", "mood": "blue"}
    assert model_view(studio, studio.local, model).vocal_range is None


def test_edit_profile_repeats_the_data_report_only_for_a_new_voice_type(studio, package):
    model = create_model(studio, studio.local, package())
    claimed = claim(studio.database, "worker", ["report"], 60)
    with studio.database.write() as connection:
        complete(connection, claimed, {})
    edit_profile(studio, studio.local, model, {"name": "Nina", "description": "Smoky."})
    assert len(reports(studio)) == 1
    edit_profile(studio, studio.local, model, {"name": "Nina", "voice_type": "alto"})
    assert len(reports(studio)) == 2


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"name": ""}, "^Give the voice a name"),
        ({"name": "  "}, "^Give the voice a name"),
        ({"name": "kathleen"}, "already a voice called kathleen: choose another name, such as kathleen 2"),
        ({"name": "Nina", "genre": "polka"}, "genre must be one of"),
        ({"name": "Nina", "vocal_range": {"min": "C5", "max": "C3"}}, "swapped"),
        ({"name": "a\u0007b"}, "control characters"),
    ],
)
def test_edit_profile_refuses_invalid_values_and_changes_nothing(studio, voice, values, says):
    before = profile_values(studio, studio.local, voice)
    with pytest.raises((ProfileError, Invalid), match=says):
        edit_profile(studio, studio.local, voice, values)
    assert profile_values(studio, studio.local, voice) == before


def test_edit_profile_keeps_a_name_that_two_voices_have_already(studio, voice):
    kept = profile_values(studio, studio.local, voice)["name"]  # that of the demo voice it was copied from
    edit_profile(studio, studio.local, voice, {"name": kept, "genre": "jazz"})
    assert profile_values(studio, studio.local, voice)["name"] == kept


def test_edit_profile_on_a_full_disk_changes_nothing(studio, voice, monkeypatch):
    before = profile_values(studio, studio.local, voice)

    def refuse(data, key):
        raise DiskFull("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(studio.storage, "put_bytes", refuse)
        with pytest.raises(DiskFull):
            edit_profile(studio, studio.local, voice, SAID)
    assert profile_values(studio, studio.local, voice) == before
    assert card_of(studio, voice).name == before["name"]


def test_edit_profile_refuses_demo_voices_and_voices_of_other_accounts(studio, other, voice):
    with pytest.raises(WrongState, match="cannot be changed"):
        edit_profile(studio, studio.local, "koguchi", SAID)
    for act in (lambda: edit_profile(studio, other, voice, SAID), lambda: profile_values(studio, other, voice)):
        with pytest.raises(NotFound):
            act()
    assert card_of(studio, voice).name != "Nina"


def test_edit_profile_in_s3_storage_reaches_later_exports(studio, s3_storage, voice, other, tmp_path):
    there = replace(studio, storage=s3_storage)
    export_model(studio, studio.local, voice, tmp_path / "out.zip")
    model = import_model(there, other, tmp_path / "out.zip")
    export_model(there, other, model, tmp_path / "before.zip")  # which fetches it
    edit_profile(there, other, model, SAID)
    export_model(there, other, model, tmp_path / "after.zip")
    again = import_model(there, other, tmp_path / "after.zip")
    assert find_model(there.database, other, again).name == "Nina"
    edited = find_model(there.database, other, model)
    assert (edited.name, edited.state) == ("Nina", "completed")  # and not one of an earlier base
    assert CARD_FILE in {key.rpartition("/")[2] for key in s3_storage.list_keys("accounts")}
    assert len(all_models(there.database, other)) == 8
