"""What is cleared away, and above all what is not."""

import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from engine.conversion.comping import CompPart
from engine.provenance.statement import Statement
from studio.executors.housekeeping import DAY_S, Swept, sweep
from studio.executors.visitors import account_of_visitor
from studio.settings.service import DEMO, ServiceSettings
from studio.store import idempotent_answers, tasks
from studio.store.accounts import Account, create_account, local_account
from studio.store.database import Database, Now
from studio.store.drafts import new_draft_id, new_moment
from studio.store.folder_locks import lock
from studio.store.records.codec import written
from studio.store.records.conversion import ChosenTake, Comp, CompSource, Conversion, Edit, EditSources, OutputSettings
from studio.store.storage import Storage
from studio.store.tables import accounts, rates
from studio.store.tables import tasks as rows

ROOT = Path(__file__).parents[3]
KEPT = ServiceSettings()
TWO_DAYS = ServiceSettings(keep_outputs_days=2.0)
NOTHING = dict.fromkeys(asdict(Swept()), 0)


@pytest.fixture
def me(database) -> Account:
    return local_account(database)


def queued(database: Database, storage: Storage, account: Account) -> tuple[str, str]:
    """A conversion that waits, with its recording; its id and the prefix of its files."""
    task_id = os.urandom(12).hex()
    place = f"{'' if account.is_local else f'accounts/{account.id}/'}tasks/{task_id}"
    storage.put_bytes(b"recording", f"{place}/input.wav")
    with database.write() as connection:
        asked = written(Conversion(f"{place}/input.wav", {}))
        tasks.submit(connection, account.id, "conversion", asked, task_id=task_id)
    return task_id, place


def ended(
    database: Database, storage: Storage, account: Account, age_s: float, attempts: int = 1, state: str = "completed"
) -> str:
    """A conversion that ended so long ago; each attempt has left a file. Gives the prefix of its files."""
    task_id, place = queued(database, storage, account)
    for fence in range(1, attempts + 1):
        task = tasks.claim(database, "worker", ["conversion"], 60)
        assert (task.id, task.fence) == (task_id, fence)
        storage.put_bytes(b"take", f"{place}/{fence}/take-1.wav")
        if fence < attempts:
            tasks.requeue(database, task)
    with database.write() as connection:
        if state == "completed":
            tasks.complete(connection, task, {"outputs": [f"{place}/{attempts}/take-1.wav"]})
        elif state == "failed":
            tasks.fail(connection, task, "Why.", "why")
        else:
            tasks.cancelled(connection, task)
        connection.execute(update(rows).where(rows.c.id == task_id).values(finished_at=Now() - age_s))
    return place


def below(storage: Storage, place: str) -> list[str]:
    return sorted(key.removeprefix(f"{place}/") for key in storage.list_keys(place))


def made_old(path: Path, age_s: float = 1.1 * DAY_S) -> Path:
    os.utime(path, (time.time() - age_s, time.time() - age_s))
    return path


def test_sweep_keeps_tasks_and_results_by_default(database, storage, me):
    waiting = queued(database, storage, me)[1]
    tasks.claim(database, "worker", ["conversion"], 60)  # and runs
    done = ended(database, storage, me, 1000 * DAY_S)
    assert asdict(sweep(database, storage, KEPT)) == NOTHING
    assert below(storage, waiting) == ["input.wav"]
    assert below(storage, done) == ["1/take-1.wav", "input.wav"]


def test_sweep_deletes_recordings_and_results_after_keep_outputs_days(database, storage, me):
    guest = create_account(database, "guest")
    places = {
        (account.name, days, state): ended(database, storage, account, days * DAY_S, state=state)
        for account in (me, guest)
        for days in (1.9, 2.1)
        for state in ("completed", "failed", "cancelled")
    }
    assert sweep(database, storage, TWO_DAYS).outputs == 6
    for (_, days, _), place in places.items():
        assert ("input.wav" in below(storage, place)) == (days < 2)
    with database.read() as connection:
        marked = connection.execute(select(rows.c.id).where(rows.c.outputs_deleted_at.is_not(None))).all()
    assert len(marked) == 6
    assert asdict(sweep(database, storage, TWO_DAYS)) == NOTHING


def test_sweep_completes_an_interrupted_deletion_next_time(database, s3_storage, me, monkeypatch):
    place = ended(database, s3_storage, me, 3 * DAY_S)

    def killed(prefix: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(s3_storage, "delete_below", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep(database, s3_storage, TWO_DAYS)
    assert sweep(database, s3_storage, TWO_DAYS).outputs == 1
    assert below(s3_storage, place) == []


def test_sweep_deletes_files_of_lost_attempts(database, storage, me):
    twice = ended(database, storage, me, 2 * 3600, attempts=2)
    failed = ended(database, storage, me, 2 * 3600, attempts=2, state="failed")
    just_now = ended(database, storage, me, 60, attempts=2)
    assert asdict(sweep(database, storage, KEPT)) == {**NOTHING, "attempts": 2}
    assert below(storage, twice) == ["2/take-1.wav", "input.wav"]
    assert below(storage, failed) == ["input.wav"]
    assert below(storage, just_now) == ["1/take-1.wav", "2/take-1.wav", "input.wav"]
    assert asdict(sweep(database, storage, KEPT)) == NOTHING


def twice_tried(database, storage, me, asked) -> str:
    """The place of a conversion that is completed at the second attempt; `asked` returns its parameters."""
    task_id, place = queued(database, storage, me)
    parameters = asked(place)
    names = ("1/take-1.wav", "2/take-1.wav", "2/groundwork.npz", "own/1.wav", "own/2.npz")
    keys = [f"{place}/{name}" for name in names]
    for key in keys:
        storage.put_bytes(b"sound", key)
    for attempt in (1, 2):
        task = tasks.claim(database, "worker", ["conversion"], 60)
        if attempt == 1:
            tasks.requeue(database, task)
    with database.write() as connection:
        tasks.complete(connection, task, {"outputs": [keys[1]], "groundwork": keys[2]})
        ended_at = Now() - 2 * 3600
        connection.execute(update(rows).where(rows.c.id == task_id).values(parameters=parameters, finished_at=ended_at))
    return place


def edited(place: str) -> dict:
    sources = EditSources(f"{place}/own/1.wav", f"{place}/own/2.npz")
    return written(Conversion(f"{place}/input.wav", {}, edit=Edit("a", "a", 1, [], sources)))


def comped(place: str) -> dict:
    statement = Statement("mia", "Mia", None, {}, None, "0")
    of = CompSource(OutputSettings("mia", 0, "melodic"), {}, False, statement, (0.0,))
    comp = Comp((f"{place}/own/1.wav", f"{place}/own/2.npz"), (CompPart(0.0, 0),), (ChosenTake("a", 1),), of)
    return written(Conversion(f"{place}/input.wav", {}, comp=comp))


@pytest.mark.parametrize("asked", [edited, comped])
def test_sweep_keeps_the_takes_that_an_edit_or_a_comp_is_made_of(database, storage, me, asked):
    """They were deleted after a second attempt, so that the comp could not be made again."""
    place = twice_tried(database, storage, me, asked)
    assert sweep(database, storage, KEPT).attempts == 1
    assert below(storage, place) == ["2/groundwork.npz", "2/take-1.wav", "input.wav", "own/1.wav", "own/2.npz"]


def test_sweep_keeps_all_files_of_a_task_that_a_later_version_has_stored(database, storage, me):
    place = twice_tried(database, storage, me, lambda place: {"input_key": f"{place}/input.wav", "karaoke": {}})
    assert asdict(sweep(database, storage, KEPT)) == NOTHING
    assert "1/take-1.wav" in below(storage, place)


def test_sweep_deletes_more_lost_attempts_and_outputs_than_one_batch(sqlite_database, folder_storage, monkeypatch):
    monkeypatch.setattr("studio.executors.housekeeping._AT_ONCE", 2)
    me = local_account(sqlite_database)
    for _ in range(5):
        ended(sqlite_database, folder_storage, me, 2 * 3600, attempts=2)
        ended(sqlite_database, folder_storage, me, 3 * DAY_S)
    swept = sweep(sqlite_database, folder_storage, TWO_DAYS)
    assert (swept.outputs, swept.attempts) == (5, 5)


def test_sweep_deletes_recordings_without_a_task_after_a_day(database, folder_storage, me):
    guest = create_account(database, "guest")
    waiting = [queued(database, folder_storage, account)[1] for account in (me, guest)]
    orphans = [f"tasks/{'a' * 24}", f"accounts/{guest.id}/tasks/{'a' * 24}", f"tasks/{'b' * 24}"]
    for place in orphans:
        folder_storage.put_bytes(b"x", f"{place}/input.wav")
    for place in (*waiting, *orphans[:2]):
        made_old(folder_storage.folder(place))
    assert asdict(sweep(database, folder_storage, KEPT)) == {**NOTHING, "inputs": 2}
    assert [below(folder_storage, place) for place in waiting] == [["input.wav"]] * 2
    assert [below(folder_storage, place) for place in orphans] == [[], [], ["input.wav"]]


def test_sweep_deletes_abandoned_uploads_and_temporary_folders(database, storage, me):
    work = storage.scratch
    held = "2" * 24
    old = [f"incoming/{'a' * 16}", f"incoming/{'a' * 24}", f"outgoing/{'a' * 24}"]
    old += [f"gone-{'a' * 16}", f"voice-{'b' * 16}", f"training-{'c' * 16}"]
    kept = ["incoming/notes", f"gone-{'d' * 16}", "cache", f"{'e' * 24}-1", "gone-fishing"]
    for name in (*old, *kept):
        (work / name).mkdir(parents=True)
        (work / name / "file").write_bytes(b"x")
    (work / "page").mkdir()
    (work / "page" / "tmpabc_1234").write_bytes(b"x")
    for name in (*old, "page/tmpabc_1234", *kept[2:]):
        made_old(work / name)
    (work / "incoming" / held).mkdir()
    release = lock(work / "incoming" / held)
    made_old(work / "incoming" / held)
    assert asdict(sweep(database, storage, KEPT)) == {**NOTHING, "uploads": 7}
    assert sorted(path.name for path in work.iterdir()) == sorted(["incoming", "outgoing", "page", *kept[1:]])
    assert sorted(path.name for path in (work / "incoming").iterdir()) == [held, "notes"]
    assert not list((work / "page").iterdir())
    release()
    assert sweep(database, storage, KEPT).uploads == 1


def test_sweep_keeps_what_the_data_folder_held_before(database, storage, me):
    """With the home folder as data folder, its own drafts, tasks and work/incoming were deleted."""
    theirs = """
        drafts/novel/chapter.txt tasks/2024/list.txt work/incoming/parcel/a.txt work/outgoing/b.txt
        work/page/notes.txt work/page/tmp.txt trainings/marathon.txt packages/wool.txt
    """.split()
    for name in theirs:
        storage.put_bytes(b"ours", name)
        path = storage.scratch.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"ours")
        for one in (path, path.parent):
            made_old(one, 400 * DAY_S)
    assert asdict(sweep(database, storage, KEPT)) == NOTHING
    assert not [name for name in theirs if not (storage.scratch.parent / name).exists() or storage.head(name) is None]


def test_sweep_deletes_uploads_of_killed_processes_at_once(database, storage, me):
    """They lay there for a day."""
    work = storage.scratch / "incoming"
    held, left = work / ("a" * 16), work / ("b" * 24)
    left.mkdir(parents=True)
    program = "import sys; from pathlib import Path; from studio.store.folder_locks import make_locked as made; "
    program += "made(Path(sys.argv[1])); "
    program += "print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(held)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        process.stdout.readline()
        assert sweep(database, storage, KEPT).uploads == 1
        assert list(work.iterdir()) == [held]
        process.kill()
    assert sweep(database, storage, KEPT).uploads == 1
    assert not list(work.iterdir())


def test_sweep_deletes_old_answers_and_call_counts(database, storage, me):
    with database.write() as connection:
        for key in ("old", "new"):
            idempotent_answers.remember(connection, me.id, "convert", key, "f" * 64, {})
        table = idempotent_answers.answers
        connection.execute(update(table).where(table.c.key == "old").values(created_at=Now() - 25 * 3600))
        connection.execute(insert(rates).values(account_id=me.id, what="calls", minute=1, calls=3))
    assert asdict(sweep(database, storage, KEPT)) == {**NOTHING, "answers": 1, "rates": 1}


# ---- recordings that were only looked at


def analysed(database, storage, account, age_s: float, state: str = "completed") -> tuple[str, str]:
    """The id of an analysis that was put in so long ago, and the prefix of its files."""
    task_id = os.urandom(12).hex()
    place = f"{'' if account.is_local else f'accounts/{account.id}/'}tasks/{task_id}"
    for name in ("input.wav", "1/note.png"):
        storage.put_bytes(b"x", f"{place}/{name}")
    with database.write() as connection:
        tasks.submit(connection, account.id, "analysis", {"input_key": f"{place}/input.wav"}, task_id=task_id)
    if state != "queued":
        task = tasks.claim(database, "worker", ["analysis"], 60)
        if state == "completed":
            with database.write() as connection:
                tasks.complete(connection, task, {})
    with database.write() as connection:
        connection.execute(update(rows).where(rows.c.id == task_id).values(created_at=Now() - age_s))
    return task_id, place


def test_sweep_deletes_analyses_with_files_and_rows_after_a_day(database, storage, me):
    other = create_account(database, "other")
    kept, kept_place = analysed(database, storage, me, 0.9 * DAY_S)
    old = [analysed(database, storage, account, 1.1 * DAY_S) for account in (me, other)]
    old.append(analysed(database, storage, me, 1.1 * DAY_S, "queued"))
    assert sweep(database, storage, KEPT).analyses == 3
    assert below(storage, kept_place) == ["1/note.png", "input.wav"]
    with database.read() as connection:
        assert set(connection.scalars(select(rows.c.id))) == {kept}
    assert not [key for _, place in old for key in storage.list_keys(place)]


def test_sweep_keeps_a_running_analysis(database, storage, me):
    task_id, place = analysed(database, storage, me, 2 * DAY_S, "running")
    assert sweep(database, storage, KEPT).analyses == 0
    assert below(storage, place) == ["1/note.png", "input.wav"]
    assert tasks.find(database, me.id, task_id).state == "running"


def test_sweep_deletes_drafts_unchanged_for_two_weeks(database, storage, me):
    guest = create_account(database, "guest")
    old, new = (f"drafts/{new_draft_id()}" for _ in range(2))
    theirs = f"accounts/{guest.id}/drafts/{new_draft_id()}"
    for age_days, place in ((20, old), (20, new), (1, new), (20, theirs)):
        moment = new_moment(time.time() - age_days * DAY_S)
        storage.put_bytes(b"recording", f"{place}/{moment}/1000/a.wav")
    storage.put_bytes(b"{}", f"{old}/model.json")
    assert asdict(sweep(database, storage, KEPT)) == NOTHING | {"drafts": 2}
    left = list(storage.list_keys("drafts"))
    assert len(left) == 2
    assert all(key.startswith(new) for key in left)
    assert not list(storage.list_keys(f"accounts/{guest.id}"))
    assert asdict(sweep(database, storage, KEPT)) == NOTHING


def test_sweep_deletes_expired_visitors_only_in_a_demo(database, folder_storage):
    visitor = account_of_visitor(database, "cookie", "")
    with database.write() as connection:
        connection.execute(update(accounts).where(accounts.c.id == visitor.id).values(created_at=Now() - 3700))
    assert sweep(database, folder_storage, ServiceSettings()).visitors == 0
    assert sweep(database, folder_storage, replace(DEMO, visitor_minutes=70.0)).visitors == 0
    assert sweep(database, folder_storage, DEMO).visitors == 1


def test_sweep_deletes_unfinished_files_of_a_killed_process_from_every_store(
    database, storage, me, tmp_path, monkeypatch
):
    """A SIGKILL in the middle of a create left a hidden folder of recordings in the data sets, for ever."""
    home = storage.scratch.parent
    other = create_account(database, "other")
    waiting = queued(database, storage, me)[1]
    left = [
        f"{kind}/.mia.{'a' * 8}.part/audio/one.wav"
        for kind in ("voices", "datasets", f"accounts/{other.id}/datasets", "work/incoming/abc", "work")
    ]
    left += [f"{waiting}/1/.take-1.wav.{'b' * 8}.part", f"datasets/leo/audio/.{'c' * 16}.part"]
    kept = [f"work/{'d' * 24}-3/.{'c' * 16}.part", "datasets/leo/audio/take.part", f"voices/mia.{'a' * 8}.part/card"]
    for name in (*left, *kept):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(b"recording")
    assert asdict(sweep(database, storage, KEPT)) == NOTHING  # somebody may be writing them
    now_s = time.time()
    monkeypatch.setattr("studio.executors.housekeeping.time.time", lambda: now_s + 601)
    is_folder = storage.folder("voices") is not None
    assert sweep(database, storage, KEPT).unfinished == (7 if is_folder else 2)
    there = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    assert set(kept) <= there
    assert not there & set(left if is_folder else left[3:5])
