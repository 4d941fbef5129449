"""Attacks on every surface that came after 0.6, on a whole service: refused in a sentence, in nobody else's way.

What is attacked is in studio/load/attacks.py; `python -m studio.load.hostile` goes on with it for an hour.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from studio.load.attacks import VOICE, Attack, Belongings, attacks, belongings, client_of, of_another
from studio.load.attacks_on_promises import promise_attacks
from studio.load.attacks_on_sockets import assistant, live_attacks
from studio.load.hostile import LIMITS, loaded, seen, stalled
from studio.load.payloads import sample
from studio.load.trial_service import TrialService, trial_service
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.system

SURFACES = (
    *("imports", "new voices", "verify", "songs", "effects", "comps", "takes", "teach", "training", "projects"),
    *("exports", "lists", "links", "accounts", "callbacks", "openai"),
)
MANY = 24


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[TrialService]:
    with trial_service(tmp_path_factory.mktemp("hostile") / "home", free_disk_mb=0, grace_s=1, **LIMITS) as started:
        yield started


@pytest.fixture(scope="module")
def tokens(service) -> tuple[str, str]:
    return service.token("anna"), service.token("bert")


@pytest.fixture(scope="module")
def has(service, tokens) -> Belongings:
    return belongings(service, *tokens)


@pytest.fixture(scope="module")
def anna(service, tokens) -> Iterator[httpx.Client]:
    with client_of(service, tokens[0]) as client:
        yield client


@pytest.fixture(scope="module")
def bert(service, tokens) -> Iterator[httpx.Client]:
    with client_of(service, tokens[1]) as client:
        yield client


@pytest.fixture(scope="module")
def every(anna, has) -> list[Attack]:
    package = anna.get(f"/models/{VOICE}/package").content
    return [*attacks(package), *of_another(has.their_model)]


@pytest.fixture(autouse=True)
def unharmed(service, bert, has) -> Iterator[None]:
    """After each test: no traceback, no network in the server, no upload left, and bert's as it was."""
    before = seen(bert, has)
    yield
    assert "Traceback" not in service.log.read_text(encoding="utf-8", errors="replace")
    assert service.process.poll() is None
    maps = Path(f"/proc/{service.process.pid}/maps")
    assert not maps.exists() or not loaded(maps.read_text(encoding="utf-8"))
    assert seen(bert, has) == before
    for folder in ("incoming", "outgoing"):
        wait_until(lambda folder=folder: not list((service.home / "work" / folder).glob("*")))


def test_every_surface_is_attacked(every):
    assert {one.surface for one in every} == set(SURFACES)
    assert len(every) > 400


@pytest.mark.parametrize("surface", SURFACES)
def test_malformed_huge_and_others_are_refused_in_a_sentence(anna, has, every, surface):
    wrong = [one.wrong(one.carried_out(anna, has)) for one in every if one.surface == surface]
    assert not [one for one in wrong if one]


def test_many_and_stalled_calls_of_one_account_are_in_nobody_elses_way(service, anna, bert, has, every):
    slow = [one for one in every if one.surface in ("imports", "new voices", "verify", "teach", "songs")][::6]
    answered: list[str] = []

    def attack(one: Attack) -> str:
        wrong = one.wrong(one.carried_out(anna, has))
        answered.append(one.surface)
        return wrong

    with stalled(service, anna), ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(attack, one) for one in slow]
        wait_until(lambda: answered)
        called = bert.post("/convert", files={"audio": ("a.flac", sample())}, data={"model": VOICE})
        assert called.status_code == 200, called.text
        checked = bert.post("/verify", files={"audio": ("a.flac", sample())})
        assert checked.status_code == 200, checked.text
        assert bert.get(f"/projects/{has.their_project}/export").status_code == 200
        assert not [one.result(PATIENCE_S) for one in asked if one.result(PATIENCE_S)]
    task = bert.get(f"/tasks/{called.json()['task_id']}").json()
    assert task["state"] in ("queued", "running", "completed")
    if task["state"] != "completed":
        bert.delete(f"/tasks/{task['id']}")


def test_live_socket_ends_garbage_with_a_sentence(service):
    assert not [one for one in live_attacks(service) if one]


def test_callbacks_waits_tokens_bodies_and_locks_are_in_nobody_elses_way(service, anna, bert, has, monkeypatch):
    for bound in ("BESIDE_S", "ENDS_S", "READS_S"):  # the load test measures
        monkeypatch.setattr(f"studio.load.attacks_on_promises.{bound}", PATIENCE_S)
    assert not [one for one in promise_attacks(service, "anna", anna, bert, has) if one]


def test_assistant_is_told_in_short_sentences_and_stays(service):
    log = service.home.with_name(f"{service.home.name}.mcp.log")
    with assistant(service) as helper:
        assert not [one for one in helper.attacks() if one]
        assert helper.process.poll() is None
    assert "Traceback" not in log.read_text(encoding="utf-8", errors="replace")
