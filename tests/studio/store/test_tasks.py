"""The queue: who gets which task, who may write for it, and what becomes of it when its worker is lost."""

import math
import secrets
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from sqlalchemy import select, update

from studio.errors import Invalid, LeaseLost, NotFound, WrongState
from studio.store import tasks as queue
from studio.store.accounts import create_account, local_account
from studio.store.database import Database, Now, open_database
from studio.store.kinds import QUEUES
from studio.store.tables import tasks
from tests.waiting import PATIENCE_S, in_threads

ROOT = Path(__file__).parents[3]
LEASE_S = 1000.0
ATTEMPTS = 3


def submit(database, account, kind="conversion", **more) -> str:
    with database.write() as connection:
        return queue.submit(connection, account, kind, {}, **more)


def claim(database, *kinds, owner="worker"):
    return queue.claim(database, owner, kinds or ("conversion", "training", "report"), LEASE_S)


def ending(database, end, *arguments):
    with database.write() as connection:
        return end(connection, *arguments)


def change(database, task_id=None, **values) -> None:
    with database.write() as connection:
        connection.execute(update(tasks).where(True if task_id is None else tasks.c.id == task_id).values(values))


def lose(database, task) -> None:
    """What the time does while a worker is silent."""
    change(database, task.id, lease_until=1.0)


# ---- a task's life


def test_task_has_the_columns_of_its_row_in_their_order():
    assert [field.name for field in fields(queue.Task)] == [column.name for column in tasks.c]


def test_task_runs_from_queued_to_completed_with_its_result(database, account):
    with database.write() as connection:
        parameters = {"settings": {"transpose": -3}, "words": "Übermut ☃"}
        task_id = queue.submit(connection, account, "conversion", parameters, model_id="mia", request_id="r1")
    waiting = queue.find(database, account, task_id)
    assert (waiting.state, waiting.attempt, waiting.fence, waiting.started_at) == ("queued", 0, 0, None)
    assert (waiting.parameters, waiting.model_id, waiting.request_id) == (parameters, "mia", "r1")

    task = claim(database)
    assert (task.id, task.state, task.owner, task.attempt, task.fence) == (task_id, "running", "worker", 1, 1)
    assert task.lease_until - task.started_at == pytest.approx(LEASE_S, abs=1)
    assert claim(database) is None

    assert queue.renew(database, task, 50, progress=0.25, message="Half of it") is False
    seen = queue.find(database, account, task_id)
    assert (seen.progress, seen.message) == (0.25, "Half of it")
    assert seen.lease_until < task.lease_until

    done = ending(database, queue.complete, task, {"outputs": ["a.wav"]})
    assert done == queue.find(database, account, task_id)
    assert (done.state, done.progress, done.result, done.has_ended) == ("completed", 1.0, {"outputs": ["a.wav"]}, True)
    assert done.created_at <= done.started_at <= done.finished_at
    assert claim(database) is None


def test_submit_with_a_result_files_a_completed_task_that_nobody_claims(database, account):
    task_id = submit(database, account, cost=0.0, result={"outputs": ["a.wav"], "score": math.nan})
    done = queue.find(database, account, task_id)
    assert (done.state, done.progress, done.result) == ("completed", 1.0, {"outputs": ["a.wav"], "score": None})
    assert (done.has_ended, done.owner, done.lease_until, done.message, done.attempt) == (True, None, None, "", 0)
    assert None not in (done.started_at, done.finished_at)
    assert claim(database) is None


def test_submit_leaves_no_task_if_its_transaction_fails(database, account):
    def submit_and_fail(connection):
        queue.submit(connection, account, "conversion", {})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ending(database, submit_and_fail)
    assert queue.counts(database) == {}


def test_fail_records_the_error_and_its_code(database, account):
    submit(database, account)
    failed = ending(database, queue.fail, claim(database), "There is no voice in it.", "no_voice")
    assert (failed.state, failed.error, failed.error_code) == ("failed", "There is no voice in it.", "no_voice")


@pytest.mark.parametrize("end", ["complete", "fail", "cancelled", "give_up", "requeue", "renew"])
@pytest.mark.parametrize("now", ["queued", "another's", "ended"])
def test_writes_without_the_lease_raise_lease_lost_and_change_nothing(database, account, end, now):
    task_id = submit(database, account)
    task = claim(database, owner="first")
    if now == "ended":
        ending(database, queue.complete, task, {"by": "first"})
    else:
        lose(database, task)
        assert queue.recover(database, ATTEMPTS) == []
        if now == "another's":
            change(database, not_before=0)
            assert claim(database, owner="second").fence == task.fence + 1
    before = queue.find(database, account, task_id)
    late = {
        "complete": lambda: ending(database, queue.complete, task, {"late": True}),
        "fail": lambda: ending(database, queue.fail, task, "late", "late"),
        "cancelled": lambda: ending(database, queue.cancelled, task),
        "give_up": lambda: ending(database, queue.give_up, task, ATTEMPTS, "late", "late"),
        "requeue": lambda: queue.requeue(database, task),
        "renew": lambda: queue.renew(database, task, LEASE_S),
    }
    with pytest.raises(LeaseLost):
        late[end]()
    assert queue.find(database, account, task_id) == before


def test_renew_restores_an_expired_lease_before_recovery(database, account):
    submit(database, account)
    task = claim(database)
    lose(database, task)
    queue.renew(database, task, LEASE_S)
    assert queue.recover(database, ATTEMPTS) == []
    assert ending(database, queue.complete, task, {}).state == "completed"


def test_renew_clamps_progress_to_0_to_1_and_ignores_nan(database, account):
    task_id = submit(database, account)
    task = claim(database)
    for said, kept in ((1.5, 1.0), (-1.0, 0.0), (0.5, 0.5), (math.nan, 0.5)):
        queue.renew(database, task, LEASE_S, progress=said)
        assert queue.find(database, account, task_id).progress == kept


def test_complete_and_fail_drop_or_replace_unstorable_values(database, account):
    submit(database, account)
    result = {"scores": [{"likeness": math.nan, "clarity": 3.5}, (math.inf,)], "name": "a\0b"}
    done = ending(database, queue.complete, claim(database), result)
    assert queue.find(database, account, done.id).result == {
        "scores": [{"likeness": None, "clarity": 3.5}, [None]],
        "name": "a\0b",
    }
    submit(database, account)
    failed = ending(database, queue.fail, claim(database), "a\0b\ud800c", "odd")
    assert queue.find(database, account, failed.id).error == "ab?c"


# ---- who is next


def test_claim_takes_estimates_and_checkups_first_then_the_oldest(database, account):
    submit(database, account)
    running = claim(database)
    ids = [submit(database, account, kind) for kind in ("conversion", "blend", "estimate", "conversion", "checkup")]
    for age, task_id in enumerate(ids):
        change(database, task_id, created_at=1000.0 + age)
    everything = QUEUES["conversions"]
    assert [claim(database, *everything).id for _ in ids] == [ids[place] for place in (2, 4, 0, 1, 3)]
    assert running.id not in ids


def served(database, names, lane="conversions"):
    """Whose tasks a single worker serves, in order."""
    order = ""
    while task := claim(database, *QUEUES[lane]):
        order += names[task.account_id]
        ending(database, queue.complete, task, {})
    return order


def test_claim_serves_accounts_in_turn(database, account):
    """A hundred tasks of one account were all served before the one of another."""
    other, third = (create_account(database, name).id for name in ("anna", "bert"))
    names = {account: "a", other: "b", third: "c"}
    for _ in range(100):
        submit(database, account)
    for _ in range(10):
        ending(database, queue.complete, claim(database), {})
    running = claim(database)
    for _ in range(2):
        submit(database, other)
    submit(database, third)
    ending(database, queue.complete, running, {})
    order = served(database, names)
    assert (order[:4].count("b"), order[:4].count("c"), len(order)) == (2, 1, 92), order[:8]


def test_claim_gives_an_account_that_was_idle_no_extra_turns(database, account):
    other = create_account(database, "anna").id
    for _ in range(20):
        submit(database, account)
    for _ in range(10):
        ending(database, queue.complete, claim(database), {})
    for _ in range(10):
        submit(database, other)
    assert served(database, {account: "a", other: "b"})[:10].count("b") == 5


def test_claim_gives_fewer_turns_to_accounts_with_costly_tasks(database, account):
    other = create_account(database, "anna").id
    for _ in range(3):
        submit(database, account, cost=500.0)
    for _ in range(12):
        submit(database, other, cost=50.0)
    assert served(database, {account: "a", other: "b"})[:12].count("b") >= 10


def test_claim_serves_long_conversions_and_reports_in_their_own_lanes(database, account):
    long, short = submit(database, account, cost=3600.0), submit(database, account, cost=3.0)
    report = submit(database, account, "report", cost=36_000.0, model_id="mia")
    assert claim(database, *QUEUES["conversions"]).id == short
    assert claim(database, *QUEUES["conversions"]) is None
    assert claim(database, *QUEUES["long"]).id == long
    assert claim(database, *QUEUES["reports"]).id == report
    assert queue.find(database, account, long).kind == "conversion"


def test_claim_takes_only_the_requested_kinds(database, account):
    training = submit(database, account, "training", model_id="mia")
    report = submit(database, account, "report", model_id="mia")
    assert claim(database, "conversion") is None
    assert claim(database, "conversion", "report").id == report
    assert claim(database, "training").id == training


def test_claim_skips_a_requeued_task_until_its_delay_is_over(database, account):
    submit(database, account)
    task = claim(database)
    queue.requeue(database, task, delay_s=60)
    assert claim(database) is None
    change(database, not_before=0)
    assert claim(database).attempt == 2


def test_claim_allows_one_running_training_per_voice(database, account):
    other = create_account(database, "anna").id
    first, second = (submit(database, account, "training", model_id="mia") for _ in range(2))
    change(database, first, created_at=1.0)
    elsewhere = {
        submit(database, account, "training", model_id="leo"),
        submit(database, other, "training", model_id="mia"),
        submit(database, account, "conversion", model_id="mia"),
        submit(database, account, "report", model_id="mia"),
    }
    task = claim(database)
    assert task.id == first
    assert {claim(database).id for _ in elsewhere} == elsewhere
    assert claim(database) is None
    ending(database, queue.fail, task, "no", "no")
    assert claim(database).id == second


def test_tasks_table_refuses_two_running_trainings_of_a_voice(database, account):
    for _ in range(2):
        submit(database, account, "training", model_id="mia")
    with pytest.raises(Exception, match=r"uq_tasks_running_training|UNIQUE"), database.write() as connection:
        connection.execute(update(tasks).values(state="running"))


# ---- cancelling


def test_request_cancel_cancels_a_queued_task_at_once(database, account):
    task_id = submit(database, account)
    seen = []
    task = queue.request_cancel(database, account, task_id, also=lambda _, cancelled: seen.append(cancelled))
    assert task.state == "cancelled"
    assert task.finished_at is not None
    assert seen == [task]
    assert claim(database) is None


def test_renew_reports_a_cancel_request_to_the_worker(database, account):
    task_id = submit(database, account)
    task = claim(database)
    assert queue.request_cancel(database, account, task_id).state == "running"
    assert queue.renew(database, task, LEASE_S) is True
    assert ending(database, queue.cancelled, task).state == "cancelled"


@pytest.mark.parametrize("way", ["requeue", "give_up", "recover"])
def test_requeue_give_up_and_recover_cancel_a_task_with_a_cancel_request(database, account, way):
    task_id = submit(database, account)
    task = claim(database)
    queue.request_cancel(database, account, task_id)
    if way == "requeue":
        queue.requeue(database, task)
    elif way == "give_up":
        ending(database, queue.give_up, task, ATTEMPTS, "no", "no")
    else:
        lose(database, task)
        assert [one.state for one in queue.recover(database, ATTEMPTS)] == ["cancelled"]
    found = queue.find(database, account, task_id)
    assert (found.state, found.error) == ("cancelled", None)
    assert found.finished_at is not None


def test_complete_ends_a_task_as_completed_despite_a_cancel_request(database, account):
    task_id = submit(database, account)
    task = claim(database)
    queue.request_cancel(database, account, task_id)
    assert ending(database, queue.complete, task, {}).state == "completed"


def test_request_cancel_refuses_ended_unknown_and_foreign_tasks(database, account):
    task_id = submit(database, account)
    stranger = create_account(database, "anna").id
    with pytest.raises(NotFound):
        queue.request_cancel(database, stranger, task_id)
    with pytest.raises(NotFound):
        queue.request_cancel(database, account, "0" * 24)
    queue.request_cancel(database, account, task_id)
    with pytest.raises(WrongState, match="has ended"):
        queue.request_cancel(database, account, task_id)


# ---- attempts


def test_recover_requeues_a_lost_task_twice_then_fails_it(database, account):
    task_id = submit(database, account)
    for attempt, pause_s in ((1, 1.0), (2, 4.0)):
        task = claim(database)
        assert task.attempt == attempt
        lose(database, task)
        assert queue.recover(database, ATTEMPTS) == []
        with database.read() as connection:
            wait_s = connection.scalar(select(tasks.c.not_before - Now()))
        assert wait_s == pytest.approx(pause_s, abs=0.8)
        assert queue.find(database, account, task_id).owner is None
        change(database, not_before=0)
    lose(database, claim(database))
    seen = []
    [failed] = queue.recover(database, ATTEMPTS, also=lambda _, task: seen.append(task))
    assert seen == [failed]
    assert failed == queue.find(database, account, task_id)
    assert (failed.state, failed.error_code) == ("failed", queue.WORKER_LOST)
    assert "crashed 3 times" in failed.error
    assert failed.finished_at is not None


def test_recover_changes_nothing_if_its_also_callback_fails(database, account):
    task_id = submit(database, account)
    lose(database, claim(database))

    def refuse(connection, task):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        queue.recover(database, 1, also=refuse)
    assert queue.find(database, account, task_id).state == "running"


def test_recover_requeues_tasks_of_dead_owners_at_once(database, account):
    mine, other = submit(database, account), submit(database, account)
    for owner in ("alive", "dead"):
        claim(database, owner=owner)
    assert queue.recover(database, ATTEMPTS) == []
    assert queue.recover(database, ATTEMPTS, dead_owners=["dead"]) == []
    states = {task.owner: task.state for task in queue.list_tasks(database, account)[0]}
    assert states == {"alive": "running", None: "queued"}
    assert {mine, other} == {task.id for task in queue.list_tasks(database, account)[0]}


def test_renew_with_headway_restarts_the_attempt_count(database, account):
    submit(database, account, "training", model_id="mia")
    for _ in range(2 * ATTEMPTS):
        task = claim(database)
        queue.renew(database, task, LEASE_S, headway=True)
        lose(database, task)
        assert queue.recover(database, ATTEMPTS) == []
        change(database, not_before=0)
    assert claim(database).attempt == 2


def test_requeue_with_counts_false_uses_up_no_attempt(database, account):
    submit(database, account)
    for _ in range(2 * ATTEMPTS):
        task = claim(database)
        assert task.attempt == 1
        assert queue.requeue(database, task, counts=False).attempt == 0
    assert task.fence == 2 * ATTEMPTS
    queue.renew(database, task := claim(database), LEASE_S, headway=True)
    assert queue.requeue(database, task, counts=False).attempt == 0


def test_give_up_requeues_until_the_last_attempt_then_fails(database, account):
    submit(database, account)
    for _ in range(ATTEMPTS - 1):
        again = ending(database, queue.give_up, claim(database), ATTEMPTS, "It broke.", "internal")
        assert (again.state, again.error) == ("queued", None)
        change(database, not_before=0)
    failed = ending(database, queue.give_up, claim(database), ATTEMPTS, "It broke.", "internal")
    assert (failed.state, failed.error, failed.error_code) == ("failed", "It broke.", "internal")


# ---- looking


@pytest.mark.parametrize("task_id", ["", "x", "0" * 24, "a\0b", "\ud800", "ä" * 24, "a" * 10_000, "' OR 1=1 --"])
def test_find_and_request_cancel_refuse_malformed_and_unknown_ids(database, account, task_id):
    with pytest.raises(NotFound):
        queue.find(database, account, task_id)
    with pytest.raises(NotFound):
        queue.request_cancel(database, account, task_id)


def test_find_refuses_tasks_of_other_accounts_and_kinds(database, account):
    task_id = submit(database, account)
    with pytest.raises(NotFound):
        queue.find(database, create_account(database, "anna").id, task_id)
    assert queue.find(database, account, task_id, kind="conversion").id == task_id
    with pytest.raises(NotFound, match=rf"is a conversion, not a training. GET /tasks/{task_id}"):
        queue.find(database, account, task_id, kind="training")


def test_list_tasks_pages_through_each_task_once_newest_first(database, account):
    submit(database, create_account(database, "anna").id)
    ids = [submit(database, account, "training" if number % 3 else "conversion") for number in range(20)]
    for number, task_id in enumerate(ids):
        change(database, task_id, created_at=1000.1 + number // 4)  # several at the same moment
    pages, cursor = [], None
    while True:
        page, cursor = queue.list_tasks(database, account, limit=3, cursor=cursor)
        pages.append(page)
        if cursor is None:
            break
    seen = [task for page in pages for task in page]
    assert [len(page) for page in pages] == [3] * 6 + [2]
    assert sorted(task.id for task in seen) == sorted(ids)
    assert [(task.created_at, task.id) for task in seen] == sorted(
        ((task.created_at, task.id) for task in seen), reverse=True
    )
    assert queue.list_tasks(database, account, limit=20)[1] is None
    narrowed, _ = queue.list_tasks(database, account, kind="conversion", state="queued")
    assert {task.id for task in narrowed} == set(ids[::3])
    assert queue.list_tasks(database, account, state="failed") == ([], None)


@pytest.mark.parametrize("limit", [0, -1, queue.MOST_LISTED + 1])
def test_list_tasks_refuses_limits_out_of_range(database, account, limit):
    with pytest.raises(Invalid, match="limit must be"):
        queue.list_tasks(database, account, limit=limit)


def test_counts_oldest_wait_waiting_and_latest_match_the_queue(database, account):
    assert queue.counts(database) == {}
    assert queue.oldest_wait_s(database) == 0.0
    assert queue.latest(database, account, "mia", "training") is None
    for model in ("mia", "mia", "leo"):
        submit(database, account, "training", model_id=model)
    old, new = sorted(task.id for task in queue.list_tasks(database, account)[0] if task.model_id == "mia")
    change(database, old, created_at=1000.0, turn=-1.0)
    change(database, new, created_at=2000.0)
    ending(database, queue.complete, claim(database), {})
    assert queue.counts(database) == {("training", "queued"): 2, ("training", "completed"): 1}
    with database.read() as connection:
        now_s = connection.scalar(select(Now()))
    assert queue.oldest_wait_s(database) == pytest.approx(now_s - 2000.0, abs=5)
    claim(database)
    with database.write() as connection:
        assert queue.waiting_and_running(connection, account, "training") == 2
        assert queue.waiting_and_running(connection, account, "conversion") == 0
    assert queue.latest(database, account, "mia", "training").id == new
    assert queue.latest(database, account, "leo", "conversion") is None


# ---- many at once


def test_claim_in_parallel_starts_one_training_of_a_voice(database, account):
    for _ in range(8):
        submit(database, account, "training", model_id="mia")
    for _ in range(3):
        [task] = [task for task in in_threads(8, lambda _: claim(database)) if task is not None]
        ending(database, queue.complete, task, {})
        change(database, not_before=0)


def test_waiting_and_running_keeps_a_limit_for_parallel_submits(database, account):
    def submit_below_limit(_):
        with database.write() as connection:
            if queue.waiting_and_running(connection, account, "conversion") < 3:
                return queue.submit(connection, account, "conversion", {})
        return None

    in_threads(8, submit_below_limit)
    assert queue.counts(database) == {("conversion", "queued"): 3}


def test_recover_in_parallel_fails_each_task_once(database, account):
    for _ in range(10):
        submit(database, account)
        lose(database, claim(database))
    ended = in_threads(4, lambda _: queue.recover(database, 1))
    assert sum(len(tasks_) for tasks_ in ended) == 10
    assert queue.counts(database) == {("conversion", "failed"): 10}


WORKING = """
import random, sys
from studio.store import tasks as queue
from studio.store.database import open_database
url, owner = sys.argv[1:]
database = open_database(url, busy_s=30)
sys.stdin.readline()
chance = random.Random(owner)
while queue.counts(database).keys() & {("conversion", "queued"), ("training", "queued")}:
    task = queue.claim(database, owner, ("conversion", "training"), 600)
    if task is None:
        continue
    print(task.id, task.fence, flush=True)
    if chance.random() < 0.2:
        queue.requeue(database, task)
        continue
    queue.renew(database, task, 600, 0.5)
    with database.write() as connection:
        queue.complete(connection, task, {"by": owner, "fence": task.fence})
database.close()
"""


@pytest.mark.system
def test_worker_processes_share_the_queue_without_duplicate_claims(database, database_url, account):
    ids = {submit(database, account) for _ in range(60)}
    ids |= {submit(database, account, "training", model_id=f"voice-{number % 5}") for number in range(20)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKING, database_url, f"worker-{number}"],
            **dict(cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE),
        )
        for number in range(4)
    ]
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=PATIENCE_S) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4, said
    claims = [tuple(line.split()) for output, _ in said for line in output.splitlines()]
    assert len(claims) == len(set(claims))  # no claim was given to two
    ended, _ = queue.list_tasks(database, account, limit=1000)
    assert {task.id for task in ended} == ids
    assert {task.state for task in ended} == {"completed"}
    last = {task_id: max(int(fence) for one, fence in claims if one == task_id) for task_id in ids}
    assert {task.id: task.result["fence"] for task in ended} == last
    assert sum(last.values()) == len(claims)  # every claim is known, and every fence was given once


# ---- any order of events


@dataclass
class Known:
    """What a task must be by all that was done to it."""

    kind: str
    about: tuple
    turn: float
    created_at: float
    state: str = "queued"
    attempt: int = 0
    fence: int = 0
    unwanted: bool = False
    due: bool = True


class Queue(RuleBasedStateMachine):
    """The queue against what it must be, whatever workers and users do in whatever order."""

    def __init__(self, template: Path, folder: Path):
        super().__init__()
        self.file = folder / f"{secrets.token_hex(8)}.sqlite"
        shutil.copy(template, self.file)
        self.database: Database = open_database(f"sqlite:///{self.file}")
        self.account = local_account(self.database).id
        self.known: dict[str, Known] = {}
        self.claims: list[queue.Task] = []

    def teardown(self):
        self.database.close()
        self.file.unlink()

    @initialize()
    def some_work(self):
        for number in range(3):
            self.submitted("training" if number else "conversion", "mia", number)

    @rule(
        kind=st.sampled_from(["conversion", "training"]), model=st.sampled_from(["mia", "leo"]), cost=st.integers(0, 3)
    )
    def submitted(self, kind, model, cost):
        number = len(self.known)  # ids and times that are the same whenever this is run again
        task_id, created_at = f"{number:024x}", 1000.0 + number // 2
        submit(self.database, self.account, kind, model_id=model, cost=cost, task_id=task_id)
        change(self.database, task_id, created_at=created_at)
        turn = queue.find(self.database, self.account, task_id).turn
        self.known[task_id] = Known(kind, (self.account, model), turn, created_at)

    @rule(kinds=st.sampled_from([("conversion",), ("training",), ("conversion", "training")]))
    def claimed(self, kinds):
        training = {one.about for one in self.known.values() if (one.kind, one.state) == ("training", "running")}
        possible = [
            (one.turn, one.created_at, task_id)
            for task_id, one in self.known.items()
            if one.state == "queued"
            and one.due
            and one.kind in kinds
            and not (one.kind == "training" and one.about in training)
        ]
        task = queue.claim(self.database, "worker", kinds, LEASE_S)
        assert (task.id if task else None) == (min(possible)[2] if possible else None)
        if task:
            one = self.known[task.id]
            one.state, one.attempt, one.fence = "running", one.attempt + 1, one.fence + 1
            self.claims.append(task)

    @contextmanager
    def _sustained(self, index):
        """A claim of any time, and what is known of its task; LeaseLost is right where it does not hold any more."""
        task = self.claims[index % len(self.claims)]
        one = self.known[task.id]
        if (one.state, one.fence) == ("running", task.fence):
            yield task, one
        else:
            with pytest.raises(LeaseLost):
                yield task, Known("", (), 0, 0.0)

    def _put_back(self, one, failed=False, due=True):
        one.state = "cancelled" if one.unwanted else "failed" if failed else "queued"
        one.due = due

    @precondition(lambda self: self.claims)
    @rule(index=st.integers(0, 50), headway=st.booleans())
    def renewed(self, index, headway):
        with self._sustained(index) as (task, one):
            assert queue.renew(self.database, task, LEASE_S, 0.5, "", headway) == one.unwanted
            one.attempt = 1 if headway else one.attempt

    @precondition(lambda self: self.claims)
    @rule(index=st.integers(0, 50), end=st.sampled_from(["completed", "failed", "cancelled"]))
    def ended(self, index, end):
        with self._sustained(index) as (task, one):
            if end == "completed":
                ending(self.database, queue.complete, task, {})
            elif end == "failed":
                ending(self.database, queue.fail, task, "no", "no")
            else:
                ending(self.database, queue.cancelled, task)
            one.state = end

    @precondition(lambda self: self.claims)
    @rule(index=st.integers(0, 50), counts=st.booleans())
    def given_back(self, index, counts):
        with self._sustained(index) as (task, one):
            queue.requeue(self.database, task, counts=counts)
            one.attempt -= 0 if counts else 1
            self._put_back(one)

    @precondition(lambda self: self.claims)
    @rule(index=st.integers(0, 50))
    def broke(self, index):
        with self._sustained(index) as (task, one):
            ending(self.database, queue.give_up, task, ATTEMPTS, "no", "no")
            self._put_back(one, failed=one.attempt >= ATTEMPTS, due=False)
            self._hold_back()

    @precondition(lambda self: self.claims)
    @rule(indices=st.sets(st.integers(0, 50), min_size=1, max_size=3))
    def lost(self, indices):
        lost = {self.claims[index % len(self.claims)].id for index in indices}
        lost = {task_id for task_id in lost if self.known[task_id].state == "running"}
        for task_id in lost:
            change(self.database, task_id, lease_until=1.0)
        ended = queue.recover(self.database, ATTEMPTS)
        for task_id in lost:
            one = self.known[task_id]
            self._put_back(one, failed=one.attempt >= ATTEMPTS, due=False)
        self._hold_back()
        assert {(task.id, task.state) for task in ended} == {
            (task_id, self.known[task_id].state) for task_id in lost if self.known[task_id].state in queue.ENDED
        }

    def _hold_back(self):
        """Pauses of seconds are over in this test when it says so, not when the machine was slow."""
        for task_id, one in self.known.items():
            if one.state == "queued" and not one.due:
                change(self.database, task_id, not_before=1e12)

    @rule()
    def pauses_are_over(self):
        change(self.database, not_before=0.0)
        for one in self.known.values():
            one.due = True

    @rule(index=st.integers(0, 50))
    def cancel_wanted(self, index):
        task_id = sorted(self.known)[index % len(self.known)]
        one = self.known[task_id]
        if one.state in queue.ENDED:
            with pytest.raises(WrongState):
                queue.request_cancel(self.database, self.account, task_id)
            return
        one.unwanted = True
        one.state = "cancelled" if one.state == "queued" else one.state
        assert queue.request_cancel(self.database, self.account, task_id).state == one.state

    @invariant()
    def all_is_as_known(self):
        found, _ = queue.list_tasks(self.database, self.account, limit=1000)
        assert {task.id: (task.state, task.attempt, task.fence, task.cancel_requested) for task in found} == {
            task_id: (one.state, one.attempt, one.fence, one.unwanted) for task_id, one in self.known.items()
        }
        for task in found:
            assert (task.finished_at is not None) == task.has_ended
            assert (task.lease_until is not None) == (task.state == "running")


@pytest.mark.system
def test_queue_matches_its_model_in_any_order_of_events(sqlite_template, tmp_path):
    run_machine(
        lambda: Queue(sqlite_template, tmp_path),
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of the queue
        ),
    )
