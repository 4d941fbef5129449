"""The data folder of a service: private whatever the umask, and missed when it is gone."""

import os
import shutil
from pathlib import Path

import httpx
import pytest

from studio.client import Client, ServiceError
from tests.load.trial_service import trial_service
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.system

SAMPLE = Path(__file__).parents[2] / "engine" / "samples" / "singing.flac"


@pytest.fixture
def home(tmp_path):
    """A folder that anybody may read and write, with one of an earlier version in it, and no umask."""
    before = os.umask(0)
    folder = tmp_path / "home"
    (folder / "voices").mkdir(parents=True)
    yield folder
    os.umask(before)


def test_service_keeps_all_it_writes_private_under_umask_0(home):
    """Its folders had mode 777, its recordings 666."""
    with trial_service(home, executor="none") as service, Client(service.base_url, service.token()) as client:
        client.convert(SAMPLE.read_bytes(), "kathleen")
        sent = httpx.post(
            f"{service.base_url}/gradio_api/upload", files={"files": b"x"}, headers={"Origin": service.base_url},
            trust_env=False, timeout=PATIENCE_S,
        )  # fmt: skip
        assert sent.is_success
        modes = {path: path.lstat().st_mode & 0o077 for path in (home, *home.rglob("*"))}
    assert len(modes) > 10
    assert not [path for path, mode in modes.items() if mode]


def test_service_says_that_its_data_folder_is_gone_once_and_makes_no_other(home):
    """It answered 500, logged a traceback four times a second, and its worker began with an empty database."""
    with trial_service(home) as service, Client(service.base_url, service.token(), retry_s=0.0) as client:
        wait_until(lambda: "worker_started" in service.log.read_text())
        shutil.move(home, home.with_name("elsewhere"))
        wait_until(lambda: "workers_not_looked_after" in service.log.read_text())
        for _ in range(20):
            with pytest.raises(ServiceError, match="The data folder is gone"):
                client.convert(SAMPLE.read_bytes(), "kathleen")
        log = service.log.read_text()
        assert log.count("workers_not_looked_after") == 1
        assert "Traceback" not in log
        assert not home.exists()
        shutil.move(home.with_name("elsewhere"), home)
        wait_until(lambda: "workers_not_looked_after_over" in service.log.read_text())
        assert client.convert(SAMPLE.read_bytes(), "kathleen")
