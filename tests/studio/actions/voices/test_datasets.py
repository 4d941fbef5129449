import shutil
from dataclasses import replace

import pytest

from engine.errors import ArchiveError, DatasetError, ProfileError
from studio.actions.voices.datasets import create_model, examination_view, examine_again
from studio.actions.voices.voice import model_view, models_view
from studio.errors import DiskFull, NotFound, NotReadable, TooMany, WrongState
from studio.http.errors import problem_of
from studio.store.idempotency import Idempotency
from studio.store.records.codec import plain
from studio.store.tasks import claim, fail, list_tasks

PUBLISHED = set("id name gender age description base_language traits genre voice_type vocal_range".split())


def left(studio):
    return sorted(path.name for path in studio.settings.data.rglob("*") if path.is_file() and "sqlite" not in path.name)


def test_create_model_makes_a_pending_voice_from_a_zip(studio, package):
    model = create_model(studio, studio.local, package(genre="jazz", consent={"by": "Mia"}))
    view = model_view(studio, studio.local, model)
    assert model == "mia"
    assert (view.name, view.genre, view.state, view.consent) == ("Mia", "jazz", "pending", {"by": "Mia"})
    assert set(plain(view)) >= PUBLISHED
    assert (studio.settings.datasets / "mia" / "audio" / "one.wav").is_file()
    assert [task.kind for task in list_tasks(studio.database, studio.local.id)[0]] == ["report"]
    assert "mia" not in {one.id for one in models_view(studio, studio.local).models}


def test_create_model_gives_equal_names_of_an_account_different_ids(studio, other, package):
    assert [create_model(studio, studio.local, package()) for _ in range(2)] == ["mia", "mia-2"]
    assert create_model(studio, other, package()) == "mia"
    assert create_model(studio, other, package(name="Kathleen")) == "kathleen-2"


@pytest.mark.parametrize(
    ("given", "error"),
    [({"genre": "polka"}, ProfileError), ({"name": ""}, ProfileError), ({"seconds": 3.0}, DatasetError)],
)
def test_create_model_refuses_invalid_data_and_leaves_nothing(studio, package, given, error):
    before = left(studio)
    with pytest.raises(error):
        create_model(studio, studio.local, package(**given))
    assert left(studio) == before
    assert not list_tasks(studio.database, studio.local.id)[0]


def test_create_model_refuses_other_files_and_damaged_zips(studio, recording, tmp_path):
    with pytest.raises(NotReadable):
        create_model(studio, studio.local, recording())
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ArchiveError, match=r'^"cut\.zip" is damaged or incomplete'):
        create_model(studio, studio.local, tmp_path / "cut.zip")


def test_create_model_limits_the_number_of_voices(studio, package):
    for _ in range(5):
        create_model(studio, studio.local, package())
    with pytest.raises(TooMany, match="5 voices"):
        create_model(studio, studio.local, package())
    assert len(list(studio.settings.datasets.iterdir())) == 5


def test_create_model_makes_one_voice_for_a_repeated_call(studio, package):
    key = Idempotency("create", "k", "f")
    assert create_model(studio, studio.local, package(), key) == create_model(studio, studio.local, package(), key)
    assert len(list(studio.settings.datasets.iterdir())) == 1


def test_create_model_raises_on_a_full_disk_and_leaves_nothing(studio, package, monkeypatch):
    def refuse(folder, prefix):
        raise DiskFull("The disk is full.")  # what the storage says of ENOSPC: see its own tests

    monkeypatch.setattr(studio.storage, "push_folder", refuse)
    with pytest.raises(DiskFull):
        create_model(studio, studio.local, package())
    assert not list_tasks(studio.database, studio.local.id)[0]
    assert not list(studio.settings.data.rglob("one.wav"))


def test_examination_view_shows_the_state_and_examine_again_restarts_it(studio, other, package):
    model = create_model(studio, studio.local, package())
    assert examination_view(studio, studio.local, model).state == "queued"
    claimed = claim(studio.database, "worker", ["report"], 60)
    with studio.database.write() as connection:
        fail(connection, claimed, "It did not work.", "reason")
    view = examination_view(studio, studio.local, model)
    assert (view.state, view.error) == ("failed", "It did not work.")
    examine_again(studio, studio.local, model)
    assert examination_view(studio, studio.local, model).state == "queued"
    with pytest.raises(NotFound):
        examine_again(studio, other, model)
    with pytest.raises(WrongState):
        examine_again(studio, studio.local, "kathleen")
    assert examination_view(studio, studio.local, "kathleen").state == "completed"


def test_create_model_limits_dataset_hours_and_sets_the_report_cost(studio, package):
    short = replace(studio, service=replace(studio.service, longest_dataset_hours=0.01))
    with pytest.raises(DatasetError, match=r"hours of audio; at most 0\.01"):
        create_model(short, short.local, package(40.0))
    assert list_tasks(studio.database, studio.local.id)[0] == []
    create_model(studio, studio.local, package(40.0))
    [report] = list_tasks(studio.database, studio.local.id)[0]
    assert (report.queue, report.cost) == ("report", pytest.approx(40.0))


def test_create_model_refuses_a_zip_that_would_fill_the_reserved_disk_space(studio, package, monkeypatch):
    archive = package(40.0)
    real = shutil.disk_usage
    monkeypatch.setattr("engine.archives.shutil.disk_usage", lambda path: real(path)._replace(free=501e6))
    with pytest.raises(ArchiveError, match="disk space") as refused:
        create_model(studio, studio.local, archive)
    assert problem_of(refused.value).status == 507
    assert left(studio) == []
