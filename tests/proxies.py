"""nginx in front of services, for the tests that go through a proxy."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.waiting import PATIENCE_S, wait_until


@contextmanager
def nginx(folder: Path, port: int, servers: str, path: str = "") -> Iterator[str]:
    """Run nginx with these server blocks; yield the address of the service behind it, once that answers.

    port: the one that the blocks listen on. path: that of the service, as "/studio".
    """
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed (apt install nginx-light).")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    general = f"daemon off; worker_processes 1; pid {folder / 'pid'}; error_log {folder / 'error.log'};"
    (folder / "nginx.conf").write_text(f"{general} events {{}} http {{ access_log off; {places}\n{servers} }}")
    running = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    try:
        address = f"http://127.0.0.1:{port}{path}"
        wait_until(lambda: running.poll() is not None or _answers(address))
        assert running.poll() is None, (folder / "error.log").read_text()
        yield address
    finally:
        running.terminate()
        running.wait(PATIENCE_S)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health", trust_env=False).is_success
    except httpx.TransportError:
        return False
