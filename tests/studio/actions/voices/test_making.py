import zipfile
from dataclasses import replace

import pytest
import soundfile
import torch

from engine.datasets.left_out import left_out_from
from engine.errors import DatasetError, SettingsError
from studio.actions.tasks import task_view
from studio.actions.voices.datasets import create_model
from studio.actions.voices.making import TeachingRequest, active_new_voice, new_voice_view, start_blend, start_teaching
from studio.actions.voices.packages import import_model
from studio.actions.voices.profiles import edit_profile
from studio.actions.voices.voice import model_view, score_lines
from studio.errors import Invalid, NotFound, TooMany, WrongState
from studio.store.records.codec import plain
from studio.store.tasks import claim, complete, fail, find
from tests.engine.rvc.models import checkpoint_of, work_in_this_process

SCORES = {"likeness": 0.9, "content": 0.7, "score": 1.2}


def test_start_blend_queues_a_task_and_new_voice_view_names_its_voice(studio):
    task_id = start_blend(studio, studio.local, "kathleen", "koguchi", 0.3)
    task = find(studio.database, studio.local.id, task_id)
    assert task.parameters == {"first": "kathleen", "second": "koguchi", "share": 0.3, "name": "Kathleen and Koguchi"}
    assert active_new_voice(studio, studio.local, "blend") == new_voice_view(studio, studio.local, "blend", task_id)
    assert new_voice_view(studio, studio.local, "blend", task_id).is_active
    claimed = claim(studio.database, "worker", ["blend"], 60)
    with studio.database.write() as connection:
        complete(connection, claimed, {"model_id": "kathleen-and-koguchi"})
    view = new_voice_view(studio, studio.local, "blend", task_id)
    assert (view.state, view.model_id, view.is_active) == ("completed", "kathleen-and-koguchi", False)
    assert active_new_voice(studio, studio.local, "blend") is None


def test_new_voice_view_shows_the_error_of_a_failed_blend(studio):
    task_id = start_blend(studio, studio.local, "kathleen", "koguchi", 0.3, " Käthe ")
    claimed = claim(studio.database, "worker", ["blend"], 60)
    with studio.database.write() as connection:
        fail(connection, claimed, "It did not work.", "reason")
    view = new_voice_view(studio, studio.local, "blend", task_id)
    assert (view.name, view.error, view.model_id) == ("Käthe", "It did not work.", None)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (("kathleen", "kathleen", 0.5), Invalid, "two different"),
        (("kathleen", "koguchi", 1.5), Invalid, "from 0 to 1"),
        (("kathleen", "koguchi", 0.5, "a\u0000b"), Invalid, "control characters"),
        (("kathleen", "koguchi", 0.5, "x" * 101), Invalid, "at most 100"),
        (("kathleen", "nobody", 0.5), NotFound, "no voice"),
    ],
)
def test_start_blend_refuses_invalid_voices_shares_and_names(studio, given, error, says):
    with pytest.raises(error, match=says):
        start_blend(studio, studio.local, *given)
    assert active_new_voice(studio, studio.local, "blend") is None


def test_start_blend_refuses_an_untrained_voice(studio, package):
    create_model(studio, studio.local, package())
    with pytest.raises(WrongState, match="train it first"):
        start_blend(studio, studio.local, "kathleen", "mia", 0.5)


def test_start_blend_refuses_to_exceed_the_limit_of_voices(studio, package):
    for _ in range(5):
        create_model(studio, studio.local, package())
    with pytest.raises(TooMany, match="5 voices"):
        start_blend(studio, studio.local, "kathleen", "koguchi", 0.5)


def test_new_voice_view_and_active_new_voice_hide_blends_of_other_accounts(studio, other):
    task_id = start_blend(studio, studio.local, "kathleen", "koguchi", 0.5)
    with pytest.raises(NotFound):
        new_voice_view(studio, other, "blend", task_id)
    assert active_new_voice(studio, other, "blend") is None


@pytest.fixture
def teacher(studio, tmp_path, monkeypatch):
    """The id of an imported voice; ContentVec is there."""
    work_in_this_process(monkeypatch)
    monkeypatch.setattr("studio.actions.rvc_models.contentvec_path", lambda: tmp_path / "contentvec.safetensors")
    (tmp_path / "contentvec.safetensors").touch()
    torch.save(checkpoint_of("v1"), tmp_path / "Mia.pth")
    return import_model(studio, studio.local, tmp_path / "Mia.pth")


def files(studio):
    return sorted(key for key in studio.storage.list_keys("tasks/"))


def test_start_teaching_queues_a_task_with_its_recordings(studio, teacher, recording):
    request = TeachingRequest(" Mia II ", 40, [recording(2.0, "My song.wav"), recording(1.0, "b.wav")])
    task_id = start_teaching(studio, studio.local, teacher, request)
    task = find(studio.database, studio.local.id, task_id)
    assert (task.model_id, task.cost) == (teacher, 46.0)
    asked = task.parameters
    assert (asked["teacher"], asked["name"], asked["epochs"]) == (teacher, "Mia II", 40)
    assert [key.rpartition("/")[2] for key in asked["sources"]] == ["b.wav", "my-song.wav"]
    assert files(studio) == sorted(asked["sources"])
    view = new_voice_view(studio, studio.local, "teaching", task_id)
    assert active_new_voice(studio, studio.local, "teaching") == view
    claimed = claim(studio.database, "worker", ["teaching"], 60)
    with studio.database.write() as connection:
        complete(connection, claimed, {"model_id": "mia-ii"})
    assert active_new_voice(studio, studio.local, "teaching") is None
    assert new_voice_view(studio, studio.local, "teaching", task_id).model_id == "mia-ii"
    assert task_view(studio, studio.local, task_id, "", 0.0).model_id == "mia-ii"


def test_start_teaching_lists_the_files_of_a_zip_that_are_left_out(studio, teacher, recording, tmp_path):
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.write(recording(1.0, "a.wav"), "songs/a.wav")
        archive.writestr("songs/words.txt", "no sound")
        archive.writestr("songs/old.wma", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11" + bytes(100))
    task_id = start_teaching(studio, studio.local, teacher, TeachingRequest(recordings=[tmp_path / "set.zip"]))
    left_out = left_out_from(find(studio.database, studio.local.id, task_id).parameters["left_out"])
    assert {one.name: one.reason.partition(",")[0] for one in left_out} == {
        "songs/words.txt": "This file is left out",
        "songs/old.wma": "This file is left out",
    }
    assert task_view(studio, studio.local, task_id, "", 0.0).warning == " ".join(
        f"{one.name}: {one.reason}" for one in left_out
    )


def test_start_teaching_refuses_ineligible_voices_and_a_missing_contentvec(studio, teacher, tmp_path):
    def code_of(model_id):
        with pytest.raises(WrongState) as caught:
            start_teaching(studio, studio.local, model_id, TeachingRequest())
        return caught.value.code

    assert code_of("kathleen") == "not_imported"
    edit_profile(studio, studio.local, teacher, {"name": "Mia", "licence": "CC BY-NC-ND 4.0"})
    assert code_of(teacher) == "no_derivatives"
    edit_profile(studio, studio.local, teacher, {"name": "Mia"})
    studio.service.__dict__["consent"] = "required"
    assert code_of(teacher) == "no_consent"
    studio.service.__dict__["consent"] = "recommended"
    (tmp_path / "contentvec.safetensors").unlink()
    with pytest.raises(WrongState, match="timbre-studio rvc fetch") as caught:
        start_teaching(studio, studio.local, teacher, TeachingRequest())
    assert caught.value.code == "no_contentvec"


def test_start_teaching_leaves_no_files_after_bad_requests(studio, teacher, tmp_path, other):
    (tmp_path / "words.txt").write_text("no sound")
    for request, error in (
        (TeachingRequest(name="x" * 101), Invalid),
        (TeachingRequest(epochs=100_001), SettingsError),
        (TeachingRequest(recordings=[tmp_path / "words.txt"]), DatasetError),
    ):
        with pytest.raises(error):
            start_teaching(studio, studio.local, teacher, request)
    with pytest.raises(NotFound):
        start_teaching(studio, other, teacher, TeachingRequest())
    for _ in range(2):
        start_teaching(studio, studio.local, teacher, TeachingRequest())
    soundfile.write(tmp_path / "one.wav", [0.0] * 16_000, 16_000)
    with pytest.raises(TooMany, match="already teaching"):
        start_teaching(studio, studio.local, teacher, TeachingRequest(recordings=[tmp_path / "one.wav"]))
    assert not files(studio)


def test_taught_voice_names_its_teacher_and_both_scores(studio, package):
    taught = {"name": "Mia", "file": "Mia.pth", "sha256": "a1", "scores": SCORES}
    model_id = create_model(studio, studio.local, package(name="Mia II", taught_by=taught))
    view = model_view(studio, studio.local, model_id)
    assert plain(view.taught_by) == taught
    assert score_lines(view) == ["Mia, imported: likeness 0.90, intelligibility 0.70, score 1.20"]
    evaluations = [SCORES | {"score": 0.5}, SCORES | {"likeness": 0.8, "score": 1.1}]
    trained = replace(view, training=replace(view.training, history={"evaluations": evaluations}))
    assert score_lines(trained)[1] == "Mia II, taught: likeness 0.80, intelligibility 0.70, score 1.10"
    for odd in ("Mia", {"name": 1}, taught | {"scores": {"likeness": "high"}}):
        identifier = create_model(studio, studio.local, package(name="Odd", taught_by=odd))
        assert model_view(studio, studio.local, identifier).taught_by is None
