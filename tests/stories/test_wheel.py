"""The wheel in an environment with nothing else: the command line, the page and the service from it alone."""

import json
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest

from studio.settings.environment import HOME_VARIABLE, PREFIX
from tests.installations import clean_environment, run
from tests.proxies import free_port
from tests.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """The installed command `timbre-studio`."""
    folder = tmp_path_factory.mktemp("wheel")
    python = clean_environment(folder / "environment", "torch==2.13.0")
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, ROOT)
    [wheel] = folder.glob("timbre_studio-*.whl")
    run(python, "-m", "pip", "install", "-q", wheel)
    return python.with_name("timbre-studio")


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """Of a process that knows nothing of this project's folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "PYTHON"))}
    return kept | {HOME_VARIABLE: str(tmp_path / "home")}


def test_wheel_converts_a_sample_and_lists_the_demo_voices(program, environment, tmp_path):
    said = subprocess.run(
        [program, "voices"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "koguchi" in said.stdout
    subprocess.run([program, "demo"], cwd=tmp_path, env=environment, capture_output=True, check=True)
    [take] = tmp_path.glob("*.wav")
    assert take.stat().st_size > 100_000
    code = "from studio.commands.notebooks import bundled; import engine.research.demonstrations; print(len(bundled()))"
    python = program.with_name("python")
    counted = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert counted.stdout.strip() == b"5"
    subprocess.run([program, "doctor"], cwd=tmp_path, env=environment, capture_output=True, check=True)


def test_wheel_without_a_command_starts_the_page_and_the_service(program, environment, tmp_path):
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    with (tmp_path / "log").open("wb") as log:
        given = environment | {"GRADIO_SERVER_PORT": str(port)}
        process = subprocess.Popen([program], cwd=tmp_path, env=given, stdout=log, stderr=subprocess.STDOUT)
    try:
        log = tmp_path / "log"
        wait_until(lambda: process.poll() is not None or b"runs at" in log.read_bytes())
        assert process.poll() is None, log.read_text()
        paths = """
            / /health /docs /docs-files/swagger-ui-bundle.js /page-files/page.css /openapi.json
            /learn/ /learn/sounds/sung.mp3 /learn/pictures/convert.png
        """.split()
        answers = {path: urllib.request.urlopen(base_url + path, timeout=PATIENCE_S).read() for path in paths}
        assert json.loads(answers["/health"])["status"] == "ok"
        assert b"Timbre Studio" in answers["/"]
        assert all(answers.values())
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
