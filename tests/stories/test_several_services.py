"""Two services on one PostgreSQL and one S3: shared knowledge, shared limits."""

import io
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import numpy as np
import pytest
import soundfile

from studio.load.trial_service import trial_service
from tests.waiting import PATIENCE_S

SUBMISSIONS, READS = 6, 12
SHARED = {"page": "off", "executor": "none", "submissions_per_minute": SUBMISSIONS, "reads_per_minute": READS}


@pytest.fixture(scope="module")
def tone() -> bytes:
    file = io.BytesIO()
    soundfile.write(file, 0.1 * np.sin(np.arange(22_050) / 30.0), 44_100, format="WAV")
    return file.getvalue()


def caller(service, token) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=service.base_url, headers=headers, trust_env=False, timeout=PATIENCE_S)


def convert(client, tone, key=None) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post("/convert", data={"model": "kathleen"}, files={"audio": ("a.wav", tone)}, headers=headers)


def minute() -> int:
    return int(time.time() // 60)


@pytest.mark.slow
def test_two_services_share_tasks_limits_and_tokens(postgresql_of_its_own, s3_server, s3_bucket, tmp_path, tone):
    shared = SHARED | {
        "database_url": postgresql_of_its_own,
        "storage_url": f"s3://{s3_bucket}?endpoint={s3_server}&region=us-east-1",
    }
    with (
        trial_service(tmp_path / "one", **shared) as one,
        trial_service(tmp_path / "two", **shared) as two,
        ExitStack() as clients,
    ):
        secret = one.token("anna")
        first, second = (clients.enter_context(caller(service, secret)) for service in (one, two))
        stranger = clients.enter_context(caller(two, two.token("ben")))
        if time.time() % 60 > 45:  # what is counted is counted in one minute
            time.sleep(60 - time.time() % 60)
        begun = minute()

        # the same call to both at once is carried out once
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda client: convert(client, tone, "again"), (first, second, first, second)))
        assert {answer.status_code for answer in answers} == {200}
        [task] = {answer.json()["task_id"] for answer in answers}

        # what one took the other can look at, and cancel; nobody else can
        assert second.get(f"/check-task/{task}").json()["status"] == "in_progress"
        assert stranger.get(f"/check-task/{task}").status_code == 404
        assert second.delete(f"/tasks/{task}").is_success
        assert first.get(f"/tasks/{task}").json()["state"] == "cancelled"

        # four submissions are made; both together take no more than are left
        taken = [convert(client, tone).status_code for client in (first, second, first, second)]
        assert minute() > begun or sorted(taken) == [200, 200, 429, 429]
        # three reads of Anna's are made, of which the deletion is one
        read = [client.get("/tasks").status_code for client in (first, second) * 7]
        assert minute() > begun or (read.count(200), set(read)) == (READS - 3, {200, 429})
        assert stranger.get("/tasks").is_success

        # a token that one revokes is worth nothing to the other, at once
        [shown] = [line for line in one.command("token", "list").splitlines() if "anna" in line]
        one.command("token", "revoke", shown.split()[0])
        assert [client.get("/models").status_code for client in (first, second)] == [401, 401]
        assert stranger.get("/models").is_success
