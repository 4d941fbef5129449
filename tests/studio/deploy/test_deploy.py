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
