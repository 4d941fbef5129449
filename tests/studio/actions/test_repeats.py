"""Conversions of recordings that are here already."""

import pytest

from engine.audio.files import read_audio
from engine.errors import SettingsError
from studio.actions.analyses import start_analysis
from studio.actions.repeats import convert_again, convert_recording, look_at_recording, look_at_take
from studio.errors import NotFound
from studio.store.tasks import find


def asked(studio, task_id):
    return find(studio.database, studio.local.id, task_id)


def content_of(studio, key, tmp_path):
    return read_audio(studio.storage.fetch(key, tmp_path))


@pytest.fixture
def looked_at(studio, recording):
    return start_analysis(studio, studio.local, recording(2.0), "my vocal.wav")


def test_convert_recording_converts_an_analysed_recording_and_keeps_it(studio, looked_at, tmp_path):
    settings = {"transpose": -3, "takes": 2}
    task_id = convert_recording(studio, studio.local, looked_at, model="kerstin", settings=settings, preset="rhythmic")
    task = asked(studio, task_id)
    assert (task.kind, task.model_id, task.state) == ("conversion", "kerstin", "queued")
    assert (task.parameters["settings"], task.parameters["preset"]) == (settings, "rhythmic")
    assert task.parameters["file_name"] == "my vocal.wav"
    assert content_of(studio, task.parameters["input_key"], tmp_path).duration_s == 2.0
    assert studio.storage.head(asked(studio, looked_at).parameters["input_key"]) is not None


def test_convert_recording_converts_only_the_trimmed_part(studio, looked_at, tmp_path):
    given = {"model": "kerstin", "settings": {}, "stretch": (0.5, 1.25)}
    task = asked(studio, convert_recording(studio, studio.local, looked_at, **given))
    assert content_of(studio, task.parameters["input_key"], tmp_path).sample_count == 12_000


@pytest.mark.parametrize("stretch", [(1.0, 1.01), (5.0, 6.0)])
def test_convert_recording_refuses_an_invalid_part_and_leaves_nothing(studio, looked_at, stretch):
    with pytest.raises(SettingsError):
        convert_recording(studio, studio.local, looked_at, model="kerstin", settings={}, stretch=stretch)
    assert not any((studio.settings.work / "incoming").iterdir())


def test_convert_again_keeps_the_settings_for_another_voice(studio, looked_at, tmp_path):
    settings = {"transpose": "auto", "likeness": 0.4}
    first = convert_recording(studio, studio.local, looked_at, model="kerstin", settings=settings, preset="spoken")
    again = asked(studio, convert_again(studio, studio.local, first, "kathleen"))
    assert (again.model_id, again.parameters["preset"]) == ("kathleen", "spoken")
    assert again.parameters["settings"] == settings
    assert content_of(studio, again.parameters["input_key"], tmp_path).duration_s == 2.0
    assert asked(studio, convert_again(studio, studio.local, first)).model_id == "kerstin"


def test_look_at_recording_and_look_at_take_start_an_analysis(studio, converted, tmp_path):
    for analysis_id in (
        look_at_recording(studio, studio.local, converted),
        look_at_take(studio, studio.local, converted, 2),
    ):
        task = asked(studio, analysis_id)
        assert task.kind == "analysis"
        assert content_of(studio, task.parameters["input_key"], tmp_path).duration_s == 1.0
    assert task.parameters["file_name"] == "my vocal - Kathleen 2.wav"


def test_look_at_take_refuses_a_missing_take(studio, converted):
    for take in (0, 3):
        with pytest.raises(NotFound, match="no such take"):
            look_at_take(studio, studio.local, converted, take)


def test_convert_again_and_look_at_recording_refuse_a_deleted_recording(studio, converted):
    studio.storage.delete(asked(studio, converted).parameters["input_key"])
    for act in (convert_again, look_at_recording):
        with pytest.raises(NotFound, match="add it again"):
            act(studio, studio.local, converted)


def test_convert_and_look_at_refuse_tasks_of_another_account(studio, other, converted, looked_at):
    for act in (convert_again, look_at_recording):
        with pytest.raises(NotFound):
            act(studio, other, converted)
    with pytest.raises(NotFound):
        convert_recording(studio, other, looked_at, model="kerstin", settings={})
