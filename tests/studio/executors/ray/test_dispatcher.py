"""The dispatcher, on a cluster that is only played: what is placed, what is given back, and which dispatcher leads."""

import time
from dataclasses import replace

import pytest
import structlog
from sqlalchemy import update

from studio.errors import StudioError
from studio.executors import supervisor
from studio.executors.ray import dispatcher as ray_dispatcher
from studio.executors.ray.cluster import LOST, WITHDRAWN
from studio.executors.ray.dispatcher import LOCK, Dispatcher, acquire_lock, read_status, release_lock
from studio.executors.ray.work import NOTHING, TROUBLE
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.accounts import local_account
from studio.store.database import open_database
from studio.store.kinds import LANES
from studio.store.migration import upgrade
from studio.store.tables import leader_locks


class PlayedCluster:
    """A cluster whose workers do what a test says, and nothing by themselves."""

    def __init__(self) -> None:
        self.placed: dict[str, str] = {}  # owner -> lane
        self.over: dict[str, tuple[str, str]] = {}
        self.asked: list[str] = []
        self.killed: list[str] = []
        self.refuses = ""
        self.connected = False

    def connect(self) -> None:
        if self.refuses:
            raise ConnectionError(self.refuses)
        self.connected = True

    def place(self, lane, owner) -> None:
        self.placed[owner] = lane

    def end(self, owner, outcome="completed", text="") -> None:
        self.over[owner] = (outcome, text)

    def ended(self):
        over, self.over = self.over, {}
        for owner in over:
            self.placed.pop(owner, None)
        return over

    def ask_to_stop(self, owners) -> None:
        self.asked += owners
        for owner in owners:
            self.end(owner, WITHDRAWN)

    def kill(self, owner) -> None:
        self.killed.append(owner)
        self.end(owner, WITHDRAWN)

    def size(self):
        return {"workers": 2.0, "nodes": 1.0}

    def leave(self) -> None:
        self.connected = False


@pytest.fixture
def database(sqlite_database):
    return sqlite_database


@pytest.fixture
def cluster() -> PlayedCluster:
    return PlayedCluster()


@pytest.fixture
def dispatcher(database, cluster, monkeypatch) -> Dispatcher:
    for name in ("_RENEW_S", "_SIZE_S", "_PAUSE_S", "_FIRST_BACKOFF_S"):
        monkeypatch.setattr(ray_dispatcher, name, 0.0)
    monkeypatch.setattr(supervisor, "RECOVER_S", 0.0)
    return new_dispatcher(database, cluster)


def new_dispatcher(database, cluster, owner="one", **service) -> Dispatcher:
    settings = ServiceSettings(**{"grace_s": 0.0, "ray_trainings": 2} | service)
    return Dispatcher(settings, database, cluster, structlog.get_logger(), owner)


def submit(database, kind="conversion", model="kathleen") -> str:
    with database.write() as connection:
        return tasks.submit(connection, local_account_id(database), kind, {}, model_id=model)


def local_account_id(database) -> str:
    with database.read() as connection:
        found = connection.exec_driver_sql("SELECT id FROM accounts").scalar()
    return found or local_account(database).id


@pytest.fixture(autouse=True)
def account(database):
    return local_account(database)


def claim(database, owner, kind="conversion", lease_s=60.0) -> tasks.Task:
    return tasks.claim(database, owner, [kind], lease_s)


def placed(database, dispatcher, cluster, kind="conversion") -> tuple[str, str]:
    """A task that waits, and the worker that is placed for it."""
    task = submit(database, kind)
    dispatcher.look()
    [worker] = cluster.placed
    return task, worker


def of_lane(cluster, lane) -> list[str]:
    return [owner for owner, its_lane in cluster.placed.items() if its_lane == lane]


def test_dispatcher_places_one_worker_per_waiting_task(database, dispatcher, cluster):
    for _ in range(3):
        submit(database)
    submit(database, "analysis")
    for _ in range(3):  # however often it looks
        dispatcher.look()
    assert len(of_lane(cluster, "conversions")) == 3
    assert len(of_lane(cluster, "analyses")) == 1
    assert of_lane(cluster, "trainings") == []


def test_dispatcher_does_not_count_busy_workers_as_waiting(database, dispatcher, cluster):
    submit(database)
    dispatcher.look()
    [busy] = cluster.placed
    claim(database, busy)
    dispatcher.look()
    assert list(cluster.placed) == [busy]
    submit(database)
    dispatcher.look()
    assert len(cluster.placed) == 2


def test_dispatcher_limits_training_workers_to_ray_trainings(database, dispatcher, cluster):
    for name in ("mia", "ben", "eva", "tom"):
        submit(database, "training", name)
    dispatcher.look()
    dispatcher.look()
    assert len(of_lane(cluster, "trainings")) == 2


def test_dispatcher_pauses_before_it_replaces_a_worker_without_a_task(database, dispatcher, cluster, monkeypatch):
    monkeypatch.setattr(ray_dispatcher, "_PAUSE_S", 100.0)
    _, worker = placed(database, dispatcher, cluster, "training")
    cluster.end(worker, NOTHING)
    dispatcher.look()
    assert cluster.placed == {}


@pytest.mark.parametrize("outcome", [LOST, TROUBLE, WITHDRAWN])
def test_dispatcher_requeues_the_task_of_an_ended_worker_before_its_lease_expires(
    database, dispatcher, cluster, account, outcome
):
    task, worker = placed(database, dispatcher, cluster)
    claim(database, worker, lease_s=3600.0)
    cluster.end(worker, outcome)
    dispatcher.look()
    now = tasks.find(database, account.id, task)
    assert (now.state, now.attempt, now.owner) == ("queued", 1, None)


def test_dispatcher_keeps_the_completed_task_of_an_ended_worker(database, dispatcher, cluster, account):
    task, worker = placed(database, dispatcher, cluster)
    held = claim(database, worker)
    with database.write() as connection:
        tasks.complete(connection, held, {})
    cluster.end(worker)
    dispatcher.look()
    assert tasks.find(database, account.id, task).state == "completed"
    assert cluster.placed == {}


def test_dispatcher_backs_off_after_a_worker_fails(database, dispatcher, cluster):
    dispatcher._lanes["conversions"].backoff.first_s = 100.0
    _, worker = placed(database, dispatcher, cluster)
    cluster.end(worker, TROUBLE, "the database cannot be reached")
    dispatcher.look()
    assert cluster.placed == {}


def test_dispatcher_kills_a_worker_once_if_it_ignores_a_cancellation(
    database, dispatcher, cluster, account, monkeypatch
):
    monkeypatch.setitem(LANES, "conversions", replace(LANES["conversions"], patience_s=0.05))
    task, worker = placed(database, dispatcher, cluster)
    claim(database, worker)
    tasks.request_cancel(database, account.id, task)
    dispatcher.look()
    assert cluster.killed == []
    time.sleep(0.1)
    dispatcher.look()
    dispatcher.look()
    assert cluster.killed == [worker]
    assert tasks.find(database, account.id, task).state == "cancelled"


def test_dispatcher_kills_a_worker_with_an_expired_lease(database, dispatcher, cluster, account, monkeypatch):
    monkeypatch.setattr("studio.executors.supervisor.HOLD_OFF_S", 0.05)
    task, worker = placed(database, dispatcher, cluster)
    claim(database, worker, lease_s=0.05)
    time.sleep(0.1)
    dispatcher.look()
    assert cluster.killed == []  # it may have been kept from it
    time.sleep(0.1)
    dispatcher.look()
    assert cluster.killed == [worker]
    dispatcher.look()
    assert tasks.find(database, account.id, task).state == "queued"


# ---- several of them


def test_dispatcher_leads_alone_until_another_takes_over_its_expired_lock(database, dispatcher, cluster):
    second_cluster = PlayedCluster()
    second = new_dispatcher(database, second_cluster, "two")
    submit(database)
    dispatcher.look()
    second.look()
    assert (dispatcher.leads, second.leads) == (True, False)
    assert (len(cluster.placed), second_cluster.connected) == (1, False)
    dispatcher.look()
    assert second.status() == {"workers": 2.0, "nodes": 1.0, "placed": 1, "leads": 0.0}
    with database.write() as connection:
        connection.execute(update(leader_locks).values(until=0.0))  # the first has not renewed it
    second.look()
    assert second.leads
    assert len(second_cluster.placed) == 1
    dispatcher.look()
    assert not dispatcher.leads


def test_dispatcher_end_requeues_claimed_tasks_and_gives_up_the_lead(database, dispatcher, cluster, account):
    task, worker = placed(database, dispatcher, cluster)
    claim(database, worker)
    dispatcher.end()
    assert cluster.asked == [worker]
    assert not cluster.connected
    assert tasks.find(database, account.id, task).state == "queued"
    second = new_dispatcher(database, PlayedCluster(), "two")
    second.look()
    assert second.leads


def test_dispatcher_raises_if_the_cluster_refuses_and_leaves_the_lead_to_another(database, dispatcher, cluster):
    cluster.refuses = "no such head"
    with pytest.raises(StudioError, match="no such head"):
        dispatcher.look()
    second_cluster = PlayedCluster()
    second = new_dispatcher(database, second_cluster, "two")
    second.look()
    assert second.leads
    assert second_cluster.connected


def test_dispatcher_keeps_an_expired_lease_after_hold_off(database, dispatcher, cluster, account):
    task, worker = placed(database, dispatcher, cluster)
    claim(database, worker, lease_s=0.05)
    time.sleep(0.1)
    dispatcher.hold_off()
    dispatcher.look()
    assert tasks.find(database, account.id, task).state == "running"


# ---- the lock itself, on both databases


def test_leader_lock_belongs_to_one_owner_until_it_expires_or_is_released(empty_database_url):
    database = open_database(empty_database_url)
    upgrade(database)
    try:
        assert acquire_lock(database, LOCK, "one", 60.0, {"nodes": 1})
        assert not acquire_lock(database, LOCK, "two", 60.0, {})
        assert read_status(database, LOCK) == {"nodes": 1}
        assert acquire_lock(database, LOCK, "one", 0.01, {"nodes": 2})
        time.sleep(0.1)
        assert read_status(database, LOCK) == {}
        assert acquire_lock(database, LOCK, "two", 60.0, {})
        release_lock(database, LOCK, "one")  # another process holds it
        assert not acquire_lock(database, LOCK, "one", 60.0, {})
        release_lock(database, LOCK, "two")
        assert acquire_lock(database, LOCK, "one", 60.0, {})
    finally:
        database.close()
