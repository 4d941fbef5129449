"""A hosted Space, installed as its host does: from the package index, in its own environment."""

import json
import os
import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from studio.load.trial_service import TrialService
from studio.settings.environment import HOME_VARIABLE, PREFIX
from tests.installations import clean_environment, run
from tests.waiting import PATIENCE_S, WORK_MS, wait_until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def front_matter(name: str) -> str:
    """A value at the top of the README, which the host reads."""
    return re.search(rf'^{name}: "?([^"\n]+)"?$', (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)[1]


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """Of an environment with what requirements.txt names, the gradio that the README names, and nothing else."""
    requirements, gradio = ROOT / "requirements.txt", f"gradio=={front_matter('sdk_version')}"
    torch = next(line for line in requirements.read_text(encoding="utf-8").splitlines() if line.startswith("torch=="))
    python = clean_environment(tmp_path_factory.mktemp("space") / "environment", torch)
    run(python, "-m", "pip", "install", "-q", "-r", requirements, gradio)
    return python


@pytest.fixture(scope="module")
def studio_page(python, tmp_path_factory) -> Iterator[TrialService]:
    """app.py, started as the host does it."""
    assert front_matter("app_file") == "app.py"
    home = tmp_path_factory.mktemp("space") / "home"
    environment = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "PYTHON"))}
    environment |= {"SPACE_ID": "x", "GRADIO_SSR_MODE": "True", HOME_VARIABLE: str(home)}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = home.with_name("space.log")
    with log.open("wb") as said:
        command = [python, ROOT / "app.py", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(command, cwd=home.parent, env=environment, stdout=said, stderr=subprocess.STDOUT)
    try:
        service = TrialService(f"http://127.0.0.1:{port}", home, process, log, environment)
        wait_until(lambda: process.poll() is not None or b"runs at" in log.read_bytes())
        assert process.poll() is None, log.read_text()
        yield service
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def ask(service: TrialService, path: str) -> tuple[int, str, bytes]:
    """Status, kind and content of an answer."""
    try:
        with urllib.request.urlopen(service.base_url + path, timeout=PATIENCE_S) as answer:
            return answer.status, answer.headers["content-type"], answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers["content-type"], refused.read()


def test_space_serves_the_page_and_health_and_refuses_the_api_in_json(studio_page):
    assert json.loads(ask(studio_page, "/health")[2])["status"] == "ok"
    status, kind, page = ask(studio_page, "/")
    assert (status, kind.partition(";")[0]) == (200, "text/html")
    assert b"all your data is deleted" in page
    config = json.loads(ask(studio_page, "/config")[2])
    assert config["version"] == front_matter("sdk_version")
    status, kind, said = ask(studio_page, "/models")
    assert (status, kind, json.loads(said)["code"]) == (404, "application/problem+json", "api_off")


def test_space_converts_a_sample_for_a_visitor(visitor):
    visitor.get_by_role("button", name="Speech", exact=True).click()
    expect(visitor.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    visitor.get_by_role("button", name="Convert", exact=True).click()
    expect(visitor.locator("#convert-title h2")).to_contain_text("speech.flac by", timeout=WORK_MS)
