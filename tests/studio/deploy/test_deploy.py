"""The files that run the studio elsewhere: linted, and the same in what they share."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from studio.settings.environment import HOME_VARIABLE, PREFIX, load_service_settings

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "studio" / "deploy"
MOST_EXPOSED = 20  # of 100, as systemd-analyze counts


def linted(program: str, *arguments: str | Path) -> None:
    """Run a linter of this environment."""
    found = shutil.which(program, path=Path(sys.executable).parent)
    if found is None:
        pytest.skip(f"{program} is not installed.")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def composed() -> dict:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def test_dockerfile_passes_hadolint():
    linted("hadolint", DEPLOY / "Dockerfile")


def test_dockerfile_installs_torch_and_extras_as_in_pyproject():
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert re.search(r"pip install .*(torch==\S+)", text)[1] == project["dependencies"][0]
    assert set(re.search(r'EXTRAS="(\S+)"', text)[1].split(",")) <= set(project["optional-dependencies"])
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())


@pytest.mark.system
def test_compose_file_follows_the_compose_specification():
    linted("check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")


def test_compose_file_sets_valid_studio_settings(monkeypatch):
    services = composed()["services"]
    assert set(services) == {"studio", "worker", "ray", "database", "storage"}
    given = services["studio"]["environment"]
    known = load_service_settings(environment={name: value for name, value in given.items() if "${" not in value})
    assert (known.executor, known.ray_address) == ("ray", "ray:6379")
    assert {name for name in given if name.startswith(PREFIX)} == {
        PREFIX + name for name in ("BASE_URL", "DATABASE_URL", "STORAGE_URL", "EXECUTOR", "RAY_ADDRESS")
    }
    assert all(services[name]["environment"] == given for name in ("worker", "ray"))
    assert [name for name, one in services.items() if "ports" in one] == ["studio"]


@pytest.fixture
def unit(tmp_path) -> Path:
    """The unit, with a program that is there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed.")
    text = (DEPLOY / "timbre-studio.service").read_text(encoding="utf-8")
    assert f"{HOME_VARIABLE}=%S/timbre-studio" in text
    file = tmp_path / "timbre-studio.service"
    file.write_text(text.replace("ExecStart=/opt/timbre-studio/bin/timbre-studio", f"ExecStart={sys.executable}"))
    return file


@pytest.mark.parametrize("check", [["verify"], ["security", "--offline=true", f"--threshold={MOST_EXPOSED}"]])
def test_systemd_unit_is_valid_and_hardened(check, unit):
    done = subprocess.run(
        ["systemd-analyze", *check, unit], capture_output=True, text=True, check=False, env=os.environ | {"PAGER": ""}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Unknown" not in done.stderr


# ---- without a terminal

LAUNCHERS = {DEPLOY / "Timbre-Studio.command": b"\n", DEPLOY / "Timbre-Studio.bat": b"\r\n"}
INSTALLS = "uv tool install --quiet --python 3.11 --torch-backend cpu ."


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda path: path.suffix)
def test_launchers_install_alike_and_have_the_line_ends_of_their_system(launcher):
    content = launcher.read_bytes()
    assert content.count(b"\n") == content.count(LAUNCHERS[launcher])
    text = content.decode("ascii")
    assert INSTALLS in text
    assert "serve --open-page on" in text


def test_batch_file_jumps_only_to_labels_that_it_has():
    text = (DEPLOY / "Timbre-Studio.bat").read_text(encoding="ascii")
    labels = set(re.findall(r"^:(\w+)", text, re.MULTILINE))
    assert set(re.findall(r"\bgoto (\w+)", text)) == labels == {"install", "fail"}


@pytest.fixture
def double_click(tmp_path):
    """Open the launcher in a copy of the project whose path has a space, with a uv that only notes what it is told."""
    project, programs = tmp_path / "a folder" / "timbre", tmp_path / "programs"
    shutil.copytree(DEPLOY, project / "studio" / "deploy")
    programs.mkdir()

    def program(name: str, lines: str) -> None:
        (programs / name).write_text(f'#!/bin/sh\necho "$(pwd): {name} $*" >> "{tmp_path}/said"\n{lines}\n')
        (programs / name).chmod(0o755)

    def run(fails: bool = False) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        program("uv", f'case "$*" in *--bin*) echo "{programs}" ;; *) exit {int(fails)} ;; esac')
        program("timbre-studio", "exit 0")
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "HOME": str(tmp_path)}
        command, options = project / "studio" / "deploy" / "Timbre-Studio.command", {"cwd": tmp_path, "input": "\n"}
        done = subprocess.run([command], env=environment, capture_output=True, text=True, check=False, **options)
        said = (tmp_path / "said").read_text().splitlines()
        return done, [line.removeprefix(f"{project}: ") for line in said]

    return run


@pytest.mark.skipif(sys.platform == "win32", reason="The other launcher is for Windows")
def test_launcher_installs_from_its_project_and_opens_the_page(double_click):
    done, said = double_click()
    assert done.returncode == 0, done.stderr
    assert said == [INSTALLS, "uv tool dir --bin", "timbre-studio serve --open-page on"]


@pytest.mark.skipif(sys.platform == "win32", reason="The other launcher is for Windows")
def test_launcher_says_that_it_could_not_install_and_waits(double_click):
    done, said = double_click(fails=True)
    assert done.returncode == 1
    assert "could not be set up" in done.stderr
    assert "Press Return" in done.stderr
    assert said == [INSTALLS]


# ---- where the project is hosted


@pytest.mark.system
def test_workflow_follows_the_schema_of_its_host():
    linted("check-jsonschema", "--builtin-schema", "vendor.github-workflows", ROOT / ".github/workflows/tests.yml")


def test_workflow_runs_every_python_that_the_project_allows_on_three_systems():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    matrix = workflow["jobs"]["engine"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    oldest, beyond = re.findall(r"3\.(\d+)", project["requires-python"])
    assert matrix["python"] == [f"3.{minor}" for minor in range(int(oldest), int(beyond))]
