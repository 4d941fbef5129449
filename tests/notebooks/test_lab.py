"""The first notebook in Jupyter Lab, as somebody uses it who has a browser: its widgets are there, and work."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, sync_playwright

from studio.settings.environment import HOME_VARIABLE
from tests.waiting import PATIENCE_S, WORK_MS, wait_until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(tmp_path) -> Iterator[str]:
    """`jupyter lab notebooks` on copies of them; gives the address of the first, with its token."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    environment = os.environ | {HOME_VARIABLE: str(tmp_path / "home"), "IPYTHONDIR": str(tmp_path / "ipython")}
    for kind in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        environment[f"JUPYTER_{kind}"] = str(tmp_path / "jupyter" / kind)
    settings = tmp_path / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}')  # cells that are scrolled away stay in the page
    environment["JUPYTERLAB_SETTINGS_DIR"] = str(tmp_path / "settings")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token, address = secrets.token_hex(16), f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "jupyterlab", "notebooks", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    with (tmp_path / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--allow-root", f"--IdentityProvider.token={token}"],
            cwd=tmp_path,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: process.poll() is not None or answers(f"{address}/api"))
        assert process.poll() is None, (tmp_path / "lab.log").read_text()
        yield f"{address}/lab/tree/1_listen_and_look.ipynb?token={token}"
    finally:
        process.terminate()  # with its kernels
        process.wait(PATIENCE_S)


def answers(url: str) -> bool:
    """Whether there is a server."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S):
            return True
    except urllib.error.URLError:
        return False


@pytest.fixture
def page(lab) -> Iterator[Page]:
    """A browser with the notebook open; at the end nothing was asked of any other machine."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("There is no chromium here: the notebooks are not looked at in Jupyter Lab (apt install chromium)")
    place = lab.partition("/lab/")[0].partition("//")[2]
    inside = ("data:", "blob:", "about:", f"http://{place}", f"ws://{place}")
    outside: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1300, "height": 2400})
        opened.set_default_timeout(WORK_MS)
        opened.on("request", lambda asked: None if asked.url.startswith(inside) else outside.append(asked.url))
        opened.goto(lab)
        yield opened
        browser.close()
    assert not outside


def changes(picture: Locator, act: Callable[[], object]) -> None:
    """Do something, and wait until the picture is another one."""
    before = picture.get_attribute("src")
    act()
    picture.page.wait_for_function(
        "before => document.querySelector('img.jupyter-widgets').src !== before", arg=before, timeout=WORK_MS
    )


def test_notebook_redraws_for_a_new_file_scale_and_window(page):
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()  # before that it would ask for a kernel
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator(".lm-Menu-itemLabel").get_by_text("Run All Cells", exact=True).click()
    chooser = page.locator(".jupyter-widgets select").first
    picture = page.locator("img.jupyter-widgets").first
    picture.wait_for()
    changes(picture, lambda: chooser.select_option(label="speech"))
    changes(picture, lambda: page.get_by_role("button", name="mel", exact=True).first.click())
    beginning = page.locator(".noUi-handle").first
    beginning.focus()
    changes(picture, lambda: beginning.press("ArrowRight"))
    page.locator("audio").first.wait_for()
