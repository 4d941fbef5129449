import json
import shutil
import zipfile
from contextlib import suppress
from dataclasses import replace

import pytest

from engine.archives import ArchiveLimits
from engine.errors import DatasetError, ProfileError
from studio.actions.trainings.training import train_model
from studio.actions.voices.drafts import (
    add_recordings,
    choose_track,
    create_from_draft,
    draft_view,
    drop_draft,
    remove_recording,
    reopen_as_draft,
)
from studio.actions.voices.voice import model_view
from studio.errors import DiskFull, Invalid, NotFound, WrongState
from studio.settings.service import ServiceSettings
from studio.store.catalogue import locked_model, report_completed
from studio.store.tasks import claim, complete, list_tasks
from tests.engine.audio.encoded import several, tone

NOW_S = 1_800_000_000.0
STATED = {"name": "Mia", "consent": {"statement": "It is my own voice.", "by": "Mia"}}


def listed(studio, draft_id, account=None):
    return draft_view(studio, account or studio.local, draft_id, "", NOW_S)


def names(studio, draft_id):
    return [one.name for one in listed(studio, draft_id)]


def kept(studio):
    return sorted(path.name for path in (studio.settings.data / "drafts").rglob("*") if path.is_file())


def tasks(studio):
    return [task.kind for task in list_tasks(studio.database, studio.local.id)[0]]


@pytest.fixture
def examined(studio):
    """Writes the data report of a voice, as the worker does: `examined("mia", {"one.wav": "fail"})`."""

    def examine(model_id, **verdicts):
        task = claim(studio.database, "worker", ["report"], 60)
        recordings = [{"name": f"{name}.wav", "verdict": verdict} for name, verdict in verdicts.items()]
        with studio.database.write() as connection:
            complete(connection, task, {})
            report_completed(connection, studio.local.id, model_id, {"recordings": recordings, "usable_s": 60.0})

    return examine


# ---- gathered


def test_add_recordings_collects_recordings_over_several_calls(studio, recording):
    first = add_recordings(studio, studio.local, None, [recording(1.5, "b.wav"), recording(2.0, "a.wav")], NOW_S)
    again = add_recordings(studio, studio.local, first.draft_id, [recording(3.25, "sung (ä) 100%.wav")], NOW_S + 1)
    assert (first.added, again.added, again.draft_id) == (2, 1, first.draft_id)
    shown = [(one.name, one.duration_s) for one in listed(studio, first.draft_id)]
    assert shown == [("a.wav", 2.0), ("b.wav", 1.5), ("sung (ä) 100_.wav", 3.25)]
    assert all(one.url.startswith("/files/drafts/") for one in listed(studio, first.draft_id))


def test_drop_draft_leaves_the_original_file_in_place(studio, recording):
    audio = recording(1.0, "a.wav")
    content = audio.read_bytes()
    draft = add_recordings(studio, studio.local, None, [audio], NOW_S).draft_id
    drop_draft(studio, studio.local, draft)
    assert audio.read_bytes() == content
    assert listed(studio, draft) == []


def test_add_recordings_reads_the_profile_from_a_loose_model_json(studio, tmp_path):
    (tmp_path / "model.json").write_text('{"genre": "jazz", "mood": "blue"}')
    brought = add_recordings(studio, studio.local, None, [tmp_path / "model.json"], NOW_S)
    assert (brought.values, brought.added, brought.refused) == ({"genre": "jazz", "mood": "blue"}, 0, ())


def test_add_recordings_keeps_two_recordings_of_the_same_name(studio, recording, tmp_path):
    other = tmp_path / "elsewhere" / "a.wav"
    other.parent.mkdir()
    shutil.copyfile(recording(1.0, "b.wav"), other)
    draft = add_recordings(studio, studio.local, None, [recording(1.0, "a.wav"), other], NOW_S).draft_id
    assert names(studio, draft) == ["a.wav", "a-2.wav"] or names(studio, draft) == ["a-2.wav", "a.wav"]


def test_add_recordings_takes_recordings_and_profile_from_a_zip(studio, package):
    brought = add_recordings(studio, studio.local, None, [package(genre="jazz", mood="blue")], NOW_S)
    assert names(studio, brought.draft_id) == ["one.wav"]
    assert brought.values == {"name": "Mia", "genre": "jazz", "mood": "blue"}


def test_add_recordings_names_the_voice_after_a_zip_without_a_name(studio, recording, tmp_path):
    with zipfile.ZipFile(tmp_path / "Anna.zip", "w") as archive:
        archive.write(recording(1.0, "a.wav"), "day 1/a.wav")
        archive.write(recording(1.0, "b.wav"), "day 2/a.wav")
        archive.writestr("day 2/broken.wav", b"RIFF")
    brought = add_recordings(studio, studio.local, None, [tmp_path / "Anna.zip"], NOW_S)
    assert brought.values == {"name": "Anna"}
    assert names(studio, brought.draft_id) == ["day 1/a.wav", "day 2/a.wav"]
    assert len(brought.refused) == 1
    assert "broken.wav" in brought.refused[0]


def test_add_recordings_names_unreadable_files_and_takes_the_rest(studio, recording, tmp_path):
    bad = {"notes.txt": b"la la", "broken.wav": b"RIFF", "cut.zip": b"PK\x03\x04", "model.json": b"[]", "x.json": b"{"}
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    files = [*(tmp_path / name for name in bad), recording(1.0, "good.wav")]
    brought = add_recordings(studio, studio.local, None, files, NOW_S)
    assert names(studio, brought.draft_id) == ["good.wav"]
    assert len(brought.refused) == len(bad)
    for sentence, name in zip(brought.refused, bad, strict=True):
        assert f'"{name}"' in sentence
        assert str(tmp_path) not in sentence


def test_add_recordings_takes_as_many_as_a_voice_may_have_and_no_more(studio, recording, monkeypatch):
    monkeypatch.setattr("studio.actions.voices.drafts.LIMITS", ArchiveLimits(most_files=2))
    draft = add_recordings(studio, studio.local, None, [recording(1, "a.wav"), recording(1, "b.wav")], NOW_S).draft_id
    with pytest.raises(Invalid, match="at most 2 recordings"):
        add_recordings(studio, studio.local, draft, [recording(1, "c.wav")], NOW_S)
    assert names(studio, draft) == ["a.wav", "b.wav"]


def test_add_recordings_takes_recordings_by_what_they_hold_and_names_the_rest_of_a_zip(studio, recording, tmp_path):
    plain = recording(1.0, "good.wav")
    loose = tmp_path / "take.bin"
    shutil.copyfile(plain, loose)
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.write(plain, "a.rec")
        archive.writestr("notes.txt", "la la")
        archive.writestr("b.amr", b"#!AMR" + bytes(50))
    brought = add_recordings(studio, studio.local, None, [loose, tmp_path / "set.zip"], NOW_S)
    assert sorted(names(studio, brought.draft_id)) == ["a.rec", "take.bin"]
    assert sorted(brought.refused) == [
        "b.amr: This file is left out, since it is AMR, which cannot be read: export it as WAV or FLAC.",
        "notes.txt: This file is left out, since it is not audio.",
    ]


def test_add_recordings_refuses_a_zip_with_an_invalid_field_and_takes_nothing(studio, package):
    brought = add_recordings(studio, studio.local, None, [package(genre="polka")], NOW_S)
    assert (brought.added, brought.values) == (0, {})
    assert "genre must be one of" in brought.refused[0]
    assert not kept(studio)


def test_remove_recording_removes_one_recording_and_may_be_repeated(studio, recording):
    draft = add_recordings(studio, studio.local, None, [recording(1, "a.wav"), recording(1, "b.wav")], NOW_S).draft_id
    first = listed(studio, draft)[0].id
    for _ in range(2):
        remove_recording(studio, studio.local, draft, first)
    assert names(studio, draft) == ["b.wav"]


@pytest.mark.parametrize("recording_id", ["../../voices/mia/card.json", "model.json", "", "0" * 17 + "/1/../../x"])
def test_remove_recording_removes_nothing_for_unknown_and_unsafe_ids(studio, recording, recording_id):
    draft = add_recordings(studio, studio.local, None, [recording(1, "a.wav")], NOW_S).draft_id
    with suppress(NotFound):
        remove_recording(studio, studio.local, draft, recording_id)
    assert names(studio, draft) == ["a.wav"]


@pytest.mark.parametrize("draft_id", ["../voices", "nothing", "0" * 25])
def test_add_recordings_and_create_from_draft_refuse_an_unknown_draft(studio, recording, draft_id):
    with pytest.raises(NotFound):
        add_recordings(studio, studio.local, draft_id, [recording()], NOW_S)
    with pytest.raises(NotFound):
        create_from_draft(studio, studio.local, draft_id, STATED)
    assert listed(studio, draft_id) == []


def test_draft_is_hidden_from_other_accounts(studio, other, recording):
    draft = add_recordings(studio, studio.local, None, [recording(12)], NOW_S).draft_id
    assert listed(studio, draft, other) == []
    with pytest.raises(Invalid):
        create_from_draft(studio, other, draft, STATED)
    theirs = add_recordings(studio, other, draft, [recording(1, "b.wav")], NOW_S).draft_id
    assert [one.name for one in listed(studio, theirs, other)] == ["b.wav"]
    assert names(studio, draft) == ["vocal.wav"]


def test_add_recordings_raises_disk_full_without_free_space(studio, recording):
    full = replace(studio, service=ServiceSettings(free_disk_mb=10_000_000))
    with pytest.raises(DiskFull):
        add_recordings(full, studio.local, None, [recording()], NOW_S)


# ---- made into a voice


def test_create_from_draft_creates_a_voice_and_deletes_the_draft(studio, recording):
    files = [recording(6.0, "a.wav"), recording(7.0, "b.wav")]
    draft = add_recordings(studio, studio.local, None, files, NOW_S).draft_id
    model = create_from_draft(studio, studio.local, draft, {**STATED, "genre": "jazz"})
    view = model_view(studio, studio.local, model)
    assert (view.id, view.state, view.genre, view.consent["by"]) == ("mia", "pending", "jazz", "Mia")
    assert sorted(path.name for path in (studio.settings.datasets / "mia" / "audio").iterdir()) == ["a.wav", "b.wav"]
    assert tasks(studio) == ["report"]
    assert not kept(studio)


def test_create_from_draft_prefers_the_form_and_keeps_extra_fields_of_a_zip(studio, package):
    draft = add_recordings(studio, studio.local, None, [package(genre="jazz", mood="blue")], NOW_S).draft_id
    create_from_draft(studio, studio.local, draft, {**STATED, "name": "Nina"})
    stated = json.loads((studio.settings.datasets / "nina" / "model.json").read_text())
    assert stated == {"name": "Nina", "consent": STATED["consent"], "mood": "blue"}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"name": ""}, "Give the voice a name"),
        ({"consent": {}}, "has agreed to this voice"),
        ({"consent": {"statement": "Yes.", "by": " "}}, "name of the person who agreed"),
    ],
)
def test_create_from_draft_requires_a_name_and_a_stated_consent(studio, recording, values, says):
    draft = add_recordings(studio, studio.local, None, [recording(12)], NOW_S).draft_id
    with pytest.raises(Invalid, match=says):
        create_from_draft(studio, studio.local, draft, STATED | values)
    assert names(studio, draft) == ["vocal.wav"]
    assert not tasks(studio)


def test_create_from_draft_refuses_missing_invalid_and_too_little_input(studio, recording):
    with pytest.raises(Invalid, match="Add recordings first"):
        create_from_draft(studio, studio.local, None, STATED)
    draft = add_recordings(studio, studio.local, None, [recording(2)], NOW_S).draft_id
    with pytest.raises(ProfileError, match=r"consent\.date"):
        create_from_draft(studio, studio.local, draft, STATED | {"consent": {**STATED["consent"], "date": "May"}})
    with pytest.raises(DatasetError, match=r"2\.0 seconds"):
        create_from_draft(studio, studio.local, draft, STATED)
    assert names(studio, draft) == ["vocal.wav"]


# ---- taken back


def test_take_back_turns_an_untrained_voice_into_a_draft_of_its_good_recordings(studio, recording, examined):
    files = [recording(12, "good.wav"), recording(3, "bad.wav")]
    draft = add_recordings(studio, studio.local, None, files, NOW_S).draft_id
    model = create_from_draft(studio, studio.local, draft, {**STATED, "genre": "jazz"})
    claimed = claim(studio.database, "worker", ["report"], 60)
    with pytest.raises(WrongState):  # whoever examines the recordings needs them
        reopen_as_draft(studio, studio.local, model, NOW_S)
    with studio.database.write() as connection:
        complete(connection, claimed, {})
        report = {"recordings": [{"name": "bad.wav", "verdict": "fail"}, {"name": "good.wav", "verdict": "pass"}]}
        report_completed(connection, studio.local.id, model, report)
    back = reopen_as_draft(studio, studio.local, model, NOW_S, only_good=True)
    assert names(studio, back.draft_id) == ["good.wav"]
    assert back.values == {**STATED, "genre": "jazz"}
    with pytest.raises(NotFound):
        model_view(studio, studio.local, model)
    assert create_from_draft(studio, studio.local, back.draft_id, STATED) == "mia"


def test_take_back_refuses_trained_and_training_voices_and_other_accounts(studio, other, recording, examined):
    draft = add_recordings(studio, studio.local, None, [recording(12)], NOW_S).draft_id
    model = create_from_draft(studio, studio.local, draft, STATED)
    examined(model, vocal="pass")
    with pytest.raises(NotFound):
        reopen_as_draft(studio, other, model, NOW_S)
    with pytest.raises(WrongState):
        reopen_as_draft(studio, studio.local, "kathleen", NOW_S)
    train_model(studio, studio.local, model, 3)
    with pytest.raises(WrongState):
        reopen_as_draft(studio, studio.local, model, NOW_S)
    assert model_view(studio, studio.local, model).state == "training"
    assert not kept(studio)
    with studio.database.read() as connection:
        assert locked_model(connection, studio.local.id, model).dataset_key


# ---- sound tracks


def test_choose_track_puts_one_sound_track_in_the_place_of_a_film(studio, tmp_path, recording):
    film = tmp_path / "film.mkv"
    film.write_bytes(several([tone(96_000, 48_000, hertz=200.0), tone(96_000, 48_000, hertz=400.0)], titles=["A", "B"]))
    came = add_recordings(studio, studio.local, None, [recording(1.0, "a.wav"), film], NOW_S)
    [choice] = came.choices
    assert (choice.name, choice.read, [one.title for one in choice.tracks]) == ("film.mkv", 1, ["A", "B"])
    assert choice.recording in [one.id for one in listed(studio, came.draft_id)]
    with pytest.raises(NotFound):
        choose_track(studio, studio.local, came.draft_id, "nothing", 2)
    choose_track(studio, studio.local, came.draft_id, choice.recording, 2)
    shown = [(one.name, one.duration_s) for one in listed(studio, came.draft_id)]
    assert shown == [("a.wav", 1.0), ("film 2.flac", 2.0)]
