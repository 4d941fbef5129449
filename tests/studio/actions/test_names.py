"""What voices and files are called, also when the voice has another name by now, or is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.actions.conversions import ConversionRequest, start_conversion
from studio.actions.creations import create_model
from studio.actions.downloads import take_download
from studio.actions.history import history_view
from studio.actions.names import named_file, named_take, voice_name
from studio.actions.packages import export_model, import_model
from studio.actions.profiles import edit_profile
from studio.actions.results import result_view
from studio.actions.voices import delete_model
from studio.store.tasks import claim, find


@pytest.fixture
def voice(studio, tmp_path):
    """The id of a voice of one's own, called Mia."""
    export_model(studio, studio.local, "kathleen", tmp_path / "out.zip")
    model = import_model(studio, studio.local, tmp_path / "out.zip")
    edit_profile(studio, studio.local, model, {"name": "Mia"})
    return model


@pytest.fixture
def done(studio, voice, recording, complete_task):
    """The id of a conversion to that voice."""
    task_id = start_conversion(studio, studio.local, recording(), "my vocal.wav", ConversionRequest(voice, {}))
    complete_task(claim(studio.database, "worker", ["conversion"], 60))
    return task_id


def inform(studio, task_id):
    """What it is called wherever it is told: in the result, the history, the file of its take, and beside it."""
    return (
        result_view(studio, studio.local, task_id, "", 0.0)["voice"],
        history_view(studio, studio.local, "", 0.0)["tasks"][0]["model_name"],
        take_download(studio, studio.local, task_id, 1, "wav", "", 0.0)["name"],
        voice_name(studio.database, studio.local, find(studio.database, studio.local.id, task_id)),
    )


def test_result_names_follow_a_renamed_voice_and_stay_after_its_deletion(studio, voice, done):
    assert inform(studio, done) == ("Mia", "Mia", "my vocal - Mia.wav", "Mia")
    edit_profile(studio, studio.local, voice, {"name": "Mia Lou"})
    assert inform(studio, done) == ("Mia Lou", "Mia Lou", "my vocal - Mia Lou.wav", "Mia Lou")
    delete_model(studio, studio.local, voice)
    assert inform(studio, done) == ("Mia Lou", "Mia Lou", "my vocal - Mia Lou.wav", "Mia Lou")


def test_result_keeps_its_voice_name_when_a_later_voice_takes_the_id(studio, package, voice, done):
    model = find(studio.database, studio.local.id, done).model_id
    delete_model(studio, studio.local, voice)
    assert create_model(studio, studio.local, package(name="Kathleen 2")) == model
    assert inform(studio, done)[0] == "Mia"


def test_delete_model_keeps_voice_names_of_other_accounts_unchanged(studio, other, voice, done, recording):
    theirs = start_conversion(studio, other, recording(), "song.wav", ConversionRequest("kathleen", {}))
    delete_model(studio, studio.local, voice)
    assert history_view(studio, other, "", 0.0)["tasks"][0]["model_name"] == "Kathleen"
    assert find(studio.database, other.id, theirs).model_name is None


def test_named_take_adds_a_number_only_to_several_takes():
    assert named_take("a.b.flac", "Kathleen", 2, 3, "mp3") == "a.b - Kathleen 2.mp3"
    assert named_take("a.b.flac", "Kathleen", 1, 1, "mp3") == "a.b - Kathleen.mp3"


def test_named_file_drops_unsafe_characters_and_limits_the_length():
    assert named_file(' a/b: "c"\n?* ', "voice.zip") == "a b c.voice.zip"
    assert len(named_file("ä" * 500, "wav").encode()) == 204
    assert len(named_file("歌🎤" * 500, "wav").encode()) <= 204


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=200), st.integers(1, 10))
def test_named_take_keeps_the_take_number_however_long_the_names(recording, voice, take):
    several = named_take(f"{recording}.wav", voice, take, 10, "wav")

    assert several.endswith(f" {take}.wav")
    assert len(several.encode()) <= 204
    assert named_file(several.removesuffix(".wav"), "wav") == several


def test_named_take_shortens_the_recording_first_and_then_the_voice():
    assert named_take(f"{'a' * 300}.wav", "Gökhan", 2, 2, "wav") == f"{'a' * 188} - Gökhan 2.wav"
    assert named_take(f"{'a' * 300}.wav", "b" * 200, 2, 2, "wav") == f"{'a' * 60} - {'b' * 135} 2.wav"
