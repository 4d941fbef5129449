"""The commands that add packages, for each way of installing."""

import json
import sys
from types import SimpleNamespace

import pytest

from engine import installed


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment of this program that holds nothing, and a current folder beside it."""
    folder = tmp_path / "environment"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    return folder


def named(monkeypatch, origin: dict | None) -> None:
    """Let this program be installed from there."""
    requires = ['onnx<2,>=1.23; extra == "onnx"', 'sounddevice<0.6; (extra == "live")', "numpy"]
    text = None if origin is None else json.dumps(origin)
    found = SimpleNamespace(requires=requires, read_text=lambda name: text)
    monkeypatch.setattr(installed, "_distribution", lambda: found)


WHEEL = {"url": "file:///home/mia/a%20folder/timbre.whl", "archive_info": {}}
CLONE = {"url": "file:///home/mia/timbre", "dir_info": {"editable": True}}


def test_a_tool_of_uv_is_completed_by_uv(environment, monkeypatch):
    named(monkeypatch, WHEEL)
    (environment / "uv-receipt.toml").touch()
    assert installed.add_extra("onnx") == 'uv pip install --python environment/bin/python "onnx<2,>=1.23"'
    assert installed.add_packages("a", again=True) == "uv pip install --python environment/bin/python --reinstall a"
    assert installed.install_again() == "uv tool upgrade --reinstall timbre-studio"


def test_a_package_of_pipx_is_completed_by_pipx(environment, monkeypatch):
    named(monkeypatch, WHEEL)
    (environment / "pipx_metadata.json").touch()
    assert installed.add_extra("live") == 'pipx inject timbre-studio "sounddevice<0.6"'
    assert installed.add_packages("a", alone=True) == "pipx runpip timbre-studio install --no-deps a"
    assert installed.install_again() == "pipx reinstall timbre-studio"


def test_pip_is_called_by_its_name_only_where_that_is_found(environment, monkeypatch):
    named(monkeypatch, WHEEL)
    assert installed.add_packages("a") == "environment/bin/python -m pip install a"
    assert installed.install_again() == (
        'environment/bin/python -m pip install --force-reinstall "/home/mia/a folder/timbre.whl"'
    )
    (environment / "bin" / "pip").touch(0o755)
    monkeypatch.setenv("PATH", str(environment / "bin"))
    named(monkeypatch, CLONE)
    assert installed.add_extra("onnx") == 'pip install "onnx<2,>=1.23"'
    assert installed.install_again() == "pip install -e /home/mia/timbre"


def test_an_environment_without_pip_is_completed_by_uv(environment, monkeypatch):
    named(monkeypatch, CLONE)
    monkeypatch.setattr(installed.sys, "path", [str(environment)])
    assert installed.add_packages("a") == "uv pip install --python environment/bin/python a"
    assert installed.install_again() == "uv pip install --python environment/bin/python -e /home/mia/timbre"


def test_what_is_not_installed_is_completed_from_its_folder(environment, monkeypatch):
    monkeypatch.setattr(installed, "_distribution", lambda: None)
    assert installed.extra_packages("onnx") == ()
    assert installed.add_extra("onnx").endswith('[onnx]"')
    assert " install -e " in installed.install_again()


def test_paths_are_shown_as_they_are_typed_in_this_folder(environment, tmp_path):
    assert installed.shown_path(tmp_path / "a b") == '"a b"'
    assert installed.shown_path(tmp_path.parent) == str(tmp_path.parent)


def test_extras_ask_for_what_the_project_says():
    expected = ["speechmos", "pocketsphinx", "jiwer", "whisper-normalizer", "webrtcvad-wheels"]
    assert [one.split("<")[0].split(">")[0] for one in installed.extra_packages("evaluation")] == expected


PIP = "environment/bin/python -m pip"


@pytest.mark.parametrize(
    ("receipt", "upgrade", "wheel"),
    [
        ("uv-receipt.toml", "uv tool upgrade timbre-studio", "uv pip install --python environment/bin/python a.whl"),
        ("pipx_metadata.json", "pipx upgrade timbre-studio", "pipx runpip timbre-studio install a.whl"),
        ("none", f"{PIP} install --upgrade timbre-studio", f"{PIP} install a.whl"),
    ],
)
def test_a_newer_version_is_installed_as_this_one_was(receipt, upgrade, wheel, environment):
    (environment / receipt).touch()
    assert installed.install_from(installed.NAME) == upgrade
    assert installed.install_from("a.whl") == wheel
    assert installed.newest_in_index()[0] == ("uv" if receipt.startswith("uv") else sys.executable)
