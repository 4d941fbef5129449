"""What every way to start work relies on, for each kind: one call is one task, and what is refused leaves nothing."""

from dataclasses import replace

import pytest

from studio.actions.submission import Work, new_task, submit_work
from studio.errors import Invalid, TooMany, WrongState
from studio.store.accounts import create_account
from studio.store.idempotency import Idempotency
from studio.store.kinds import ANALYSIS, BLEND, CHECKUP, CONVERSION, ESTIMATE, KINDS, REPORT, TEACHING, TRAINING
from studio.store.records.analysis import Analysis
from studio.store.records.conversion import Conversion
from studio.store.records.voices import Blend, EstimateAsked, Nothing, ReportAsked, Teaching, Training
from studio.store.tasks import counts, find

ASKED = (
    {CONVERSION: Conversion("input.wav", {}, "vocal.wav"), TRAINING: Training(3), REPORT: ReportAsked()}
    | {BLEND: Blend("kathleen", "koguchi", 0.5, "Both"), TEACHING: Teaching("mia", "Mia", 40, ())}
    | {ESTIMATE: EstimateAsked(), CHECKUP: Nothing(), ANALYSIS: Analysis("input.wav", "vocal.wav")}
)
MOST = {CONVERSION: 3, TRAINING: 2, ANALYSIS: 20, BLEND: 4, TEACHING: 2}  # of an account; the others are not limited
CALL = Idempotency("call", "key", "fingerprint")


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


@pytest.fixture
def start(studio, recording, kind):
    """Starts work of the kind with a recording of its own; returns the id of its task."""
    service = replace(studio.service, conversions_per_account=3, waiting_at_most=5)
    studio = replace(studio, service=service)

    def start(idempotency=None, account=None, **more):
        task = new_task(account or studio.local)
        files = {f"{task.prefix}/input.wav": recording(0.1)}
        return submit_work(studio, task, Work(kind, ASKED[kind]), files=files, idempotency=idempotency, **more)

    return start


def stored(studio) -> list[str]:
    return sorted(path.parent.name for path in studio.settings.data.rglob("input.wav"))


def test_submit_work_starts_and_stores_one_task_for_a_repeated_key(studio, other, start):
    first = start(CALL)
    assert start(CALL) == first
    with pytest.raises(Invalid):
        start(replace(CALL, fingerprint="another"))
    assert stored(studio) == [first]
    others = [start(replace(CALL, call="another")), start(CALL, other)]
    assert stored(studio) == sorted([first, *others])
    assert find(studio.database, studio.local.id, first).state == "queued"


def test_submit_work_refuses_one_more_than_an_account_may_have_and_leaves_nothing(studio, other, start, kind):
    started = [start() for _ in range(MOST.get(kind, 25))]
    if kind in MOST:
        with pytest.raises(TooMany) as refused:
            start(CALL)
        assert (refused.value.code, refused.value.retry_after_s > 0) == ("queue_full", True)
        started.append(start(account=other))
    assert stored(studio) == sorted(started)
    assert counts(studio.database) == {(kind, "queued"): len(started)}


@pytest.mark.parametrize("kind", [CONVERSION, TRAINING])
def test_submit_work_refuses_more_than_all_accounts_together_may_have(studio, other, start, kind):
    third = create_account(studio.database, "third")
    started = [start(account=one) for one in (studio.local, other, third, studio.local, other)]
    with pytest.raises(TooMany, match=r"queue( of trainings)? is full") as refused:
        start(account=third)
    assert refused.value.code == "queue_full"
    assert stored(studio) == sorted(started)


def test_submit_work_leaves_nothing_of_what_a_check_refuses_and_keeps_the_key_free(studio, start):
    def refuse(connection):
        raise WrongState("Not now.", "not_now")

    with pytest.raises(WrongState):
        start(CALL, check=refuse)
    assert (stored(studio), counts(studio.database)) == ([], {})
    assert start(CALL) == start(CALL)
