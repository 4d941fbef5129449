"""What takes a while is in nobody else's way: imports of one account that stand still, and the calls of another."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest

import engine
from studio.load.trial_service import TrialService, trial_service
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.system

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
MANY = 24
ALONE = {"executor": "none", "page": "off", "free_disk_mb": 0, "grace_s": 1}  # the server, and what it starts


def client_of(service: TrialService, account: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {service.token(account)}"}
    return httpx.Client(base_url=service.base_url, headers=headers, trust_env=False, timeout=PATIENCE_S)


def action_processes(service: TrialService) -> list[psutil.Process]:
    """The processes that imports, exports and checks are done in."""
    found = []
    for one in psutil.Process(service.process.pid).children():
        with suppress(psutil.Error):
            found += [one] if "spawn_main" in " ".join(one.cmdline()) else []
    return found


def two_of(processes: list[psutil.Process]) -> list[psutil.Process]:
    return processes if len(processes) == 2 else []


@contextmanager
def standing_still(processes: list[psutil.Process]) -> Iterator[None]:
    for one in processes:
        one.suspend()
    try:
        yield
    finally:
        for one in processes:
            with suppress(psutil.NoSuchProcess):
                one.resume()


def test_no_account_waits_for_the_imports_exports_and_checks_of_another(tmp_path):
    """Beside 24 imports of one account, `/convert` of another took 38 s instead of 0.1."""
    answered: list[str] = []

    def ask(client: httpx.Client, who: str, number: int) -> int:
        kind = ("import", "verify", "export")[number % 3]
        if kind == "import":
            answer = client.post("/models/import", files={"package": ("a.voice.zip", b"no package")})
        elif kind == "verify":
            answer = client.post("/verify", files={"audio": ("speech.flac", SPEECH.read_bytes())})
        else:
            answer = client.get("/models/koguchi/package")
        answered.append(who)
        return answer.status_code

    with (
        trial_service(tmp_path / "home", **ALONE) as service,
        client_of(service, "anna") as anna,
        client_of(service, "bert") as bert,
        ThreadPoolExecutor(MANY) as pool,
    ):
        asked = [pool.submit(ask, anna, "anna", number) for number in range(MANY)]
        stopped = wait_until(lambda: action_processes(service))
        with standing_still(stopped):
            speech = {"audio": ("speech.flac", SPEECH.read_bytes())}
            converted = bert.post("/convert", files=speech, data={"model": "kathleen"})
            assert converted.status_code == 200, converted.text
            task_id = converted.json()["task_id"]
            assert bert.get(f"/check-task/{task_id}").json() == {"status": "in_progress"}
            assert bert.delete(f"/tasks/{task_id}").is_success
            assert bert.delete(f"/tasks/{task_id}/results").status_code == 204
            # slow work of its own, too, has its turn
            assert [ask(bert, "bert", number) for number in range(3)] == [415, 200, 200]
            assert answered.count("anna") < MANY
            assert 2 <= len(action_processes(service)) <= 3  # another one in the place of the one that takes long
        assert sorted({one.result(PATIENCE_S) for one in asked}) == [200, 415]
    assert answered.count("anna") == MANY


def test_no_account_waits_for_the_slow_imports_of_two_others(tmp_path):
    """They held both processes: checks, exports and /v1 of a third account took 89 to 114 s."""

    def export(client: httpx.Client) -> int:
        return client.get("/models/koguchi/package").status_code

    with (
        trial_service(tmp_path / "home", **ALONE) as service,
        client_of(service, "anna") as anna,
        client_of(service, "bert") as bert,
        client_of(service, "carla") as carla,
        ThreadPoolExecutor(4) as pool,
    ):
        asked = [pool.submit(export, client) for client in (anna, anna, bert, bert)]
        with standing_still(wait_until(lambda: two_of(action_processes(service)))):
            speech = {"audio": ("speech.flac", SPEECH.read_bytes())}
            assert carla.post("/verify", files=speech).status_code == 200
            assert export(carla) == 200
            package = {"package": ("a.voice.zip", b"no package")}
            assert carla.post("/models/import", files=package).status_code == 415
            assert not any(one.done() for one in asked)
            assert len(action_processes(service)) <= 4
        assert [one.result(PATIENCE_S) for one in asked] == [200] * 4


def test_import_is_done_once_though_its_client_and_its_server_are_gone(tmp_path):
    """The process that does it outlives both; whoever asks again with the key receives the same voice."""
    home, once = tmp_path / "home", {"Idempotency-Key": "once"}

    def voices(client: httpx.Client) -> set[str]:
        return {one["id"] for one in client.get("/models").json()["models"]}

    with trial_service(home, **ALONE) as service, client_of(service, "anna") as anna:
        before, package = voices(anna), anna.get("/models/koguchi/package").content
        files = {"package": ("koguchi.voice.zip", package)}
        (process,) = action_processes(service)
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(anna.post, "/models/import", files=files, headers=once)
            # an upload has a folder with a longer name
            wait_until(lambda: list((home / "work" / "incoming").glob("?" * 16)))
            with standing_still([process]):
                service.process.kill()
                service.process.wait()
            with suppress(httpx.TransportError):
                call.result(PATIENCE_S)
        process.wait(PATIENCE_S)
    with trial_service(home, **ALONE) as service, client_of(service, "anna") as anna:
        new = voices(anna) - before
        again = anna.post("/models/import", files=files, headers=once)
        assert again.status_code == 200, again.text
        assert voices(anna) - before == new == {again.json()["model_id"]}
