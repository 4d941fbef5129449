"""The whole service with its files on S3: its processes share a database and a storage, but no folder."""

import json
import zipfile
from pathlib import Path

import httpx
import pytest
import soundfile

from studio.client import Client
from studio.load.trial_service import trial_service
from tests.waiting import PATIENCE_S

RATE = 44_100


@pytest.fixture
def song(tmp_path, vocal) -> Path:
    soundfile.write(tmp_path / "song.wav", vocal(1.5, 150.0), RATE)
    return tmp_path / "song.wav"


@pytest.fixture
def recordings(tmp_path, vocal) -> Path:
    with zipfile.ZipFile(tmp_path / "mia.zip", "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Mia"}))
        for number in range(2):
            soundfile.write(tmp_path / "one.wav", vocal(9.0, 200.0 + 40 * number), RATE)
            archive.write(tmp_path / "one.wav", f"audio/take {number}.wav")
    return tmp_path / "mia.zip"


@pytest.mark.slow
@pytest.mark.parametrize("account", ["local", "guest"])
def test_service_on_s3_trains_uses_and_deletes_a_voice(
    account, s3_server, s3_bucket, s3_storage, song, recordings, tmp_path
):
    address = f"s3://{s3_bucket}/some/prefix?endpoint={s3_server}&region=us-east-1"
    home = tmp_path / "home"
    with (
        trial_service(home, storage_url=address) as service,
        Client(service.base_url, service.token(account)) as client,
    ):
        mia = client.create_model(recordings)
        for epochs in (1, 2):
            trained = client.train_and_wait(mia, epochs, timeout_s=PATIENCE_S)
            assert [line["epoch"] for line in trained["training"]["history"]["epochs"]] == list(range(1, epochs + 1))
            [take] = client.convert_and_wait(song, mia, folder=tmp_path / f"takes-{epochs}")
            assert soundfile.info(take).frames == round(1.5 * RATE)
        prefix = "" if account == "local" else next(s3_storage.list_keys("accounts")).partition("/tasks")[0]
        prefix = "/".join(prefix.split("/")[:2]) + "/" if prefix else ""
        assert len({key.split("/")[-2] for key in s3_storage.list_keys(f"{prefix}voices/{mia}")}) == 1
        headers = {"Authorization": f"Bearer {service.token(account)}"}
        assert httpx.delete(f"{service.base_url}/models/{mia}", headers=headers, timeout=PATIENCE_S).status_code == 204
        left = {
            kind: list(s3_storage.list_keys(f"{prefix}{kind}")) for kind in ("voices", "datasets", "trainings", "tasks")
        }
    assert [left[kind] for kind in ("voices", "datasets", "trainings")] == [[], [], []]
    kept = sorted(key.rpartition("/")[2] for key in left["tasks"])  # of both conversions
    assert kept == sorted(2 * ["groundwork.npz", "input.wav", "take-1.wav"])
    assert not any((home / name).exists() for name in ("voices", "datasets", "tasks", "accounts"))
