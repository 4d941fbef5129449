"""The data folder of a service: private whatever the umask, and missed when it is gone."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from studio.client import Client, ServiceError
from studio.load.trial_service import trial_service
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.system

_HALF_AN_UPLOAD = (
    b"POST /convert HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100000000\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
    b'Content-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n' + 3_000_000 * b"x"
)
SAMPLE = Path(__file__).parents[2] / "engine" / "samples" / "singing.flac"


@pytest.fixture
def home(tmp_path):
    """A folder that anybody may read and write, with another in it, and no umask."""
    before = os.umask(0)
    folder = tmp_path / "home"
    (folder / "mixes").mkdir(parents=True)
    yield folder
    os.umask(before)


def test_service_keeps_all_it_writes_private_under_umask_0(home):
    """Its folders had mode 777, its recordings 666."""
    with trial_service(home, executor="none") as service, Client(service.base_url, service.token()) as client:
        client.convert(SAMPLE.read_bytes(), "kathleen")
        address, headers = f"{service.base_url}/gradio_api/upload", {"Origin": service.base_url}
        sent = httpx.post(address, files={"files": b"x"}, headers=headers, trust_env=False, timeout=PATIENCE_S)
        assert sent.is_success
        modes = {path: path.lstat().st_mode & 0o077 for path in (home, *home.rglob("*"))}
    assert len(modes) > 10
    assert {path for path, mode in modes.items() if mode} == {home, home / "mixes"}  # which others have made


def test_service_deletes_at_its_start_what_a_killed_service_and_its_action_process_were_receiving(home):
    """Files were left in `incoming` until an hour after the next start."""
    incoming = home / "work" / "incoming"
    with trial_service(home, executor="none") as service:
        token = service.token()
        slow = socket.create_connection(("127.0.0.1", httpx.URL(service.base_url).port))
        slow.sendall(_HALF_AN_UPLOAD % token.encode())
        wait_until(lambda: incoming.is_dir() and any(incoming.glob("*/0")))
        service.process.kill()
        service.process.wait(PATIENCE_S)
        slow.close()
    (left,) = incoming.iterdir()
    by_an_action = incoming / ("a" * 16)  # as `scratch_folder` makes them; `test_apart` kills one that holds it
    shutil.copytree(left, by_an_action)
    (incoming / "notes").mkdir()  # nobody's of the studio
    with trial_service(home, executor="none"):
        assert [path.name for path in incoming.iterdir()] == ["notes"]


@pytest.fixture
def as_owner():
    """Run a command of the studio as whoever owns its files, without root's right to pass by modes."""
    plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"] if os.geteuid() == 0 else []
    if plain and shutil.which(plain[0]) is None:
        pytest.skip("setpriv is not installed (apt install util-linux).")

    def run(*command: str, home: Path) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "TIMBRE_STUDIO_HOME": str(home)}
        command = [*plain, sys.executable, "-m", "studio", *command]
        options = {"env": environment, "cwd": SAMPLE.parents[2], "timeout": PATIENCE_S}
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


def test_command_leaves_a_data_folder_that_must_not_be_written_to_as_it_is(tmp_path, as_owner):
    """It made the folder writable."""
    home = tmp_path / "kept"
    home.mkdir(mode=0o555)
    done = as_owner("voices", home=home)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f'"{home}" cannot be used (nothing can be written to it)' in done.stderr
    assert home.stat().st_mode & 0o777 == 0o555


def test_command_names_a_database_of_another_user(tmp_path, as_owner):
    """It said that the data folder is gone."""
    home = tmp_path / "kept"
    assert as_owner("voices", home=home).returncode == 0
    (home / "studio.sqlite").chmod(0o400)
    done = as_owner("voices", home=home)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert 'studio.sqlite" belongs to another user, or cannot be written to' in done.stderr


@pytest.mark.parametrize("umask", [0o777, 0o277, 0o027])
def test_command_can_use_what_it_writes_whatever_the_umask(tmp_path, as_owner, umask):
    """It showed a traceback, or said that the data folder is gone."""
    before = os.umask(umask)
    try:
        done = as_owner("voices", home=tmp_path / "kept")
    finally:
        os.umask(before)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


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
