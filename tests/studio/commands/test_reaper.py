"""`reaper`: the script and its settings in REAPER's folder of scripts."""

import json
import stat

from lupa import lua54
from typer.testing import CliRunner

from studio.commands import reaper as module
from studio.commands.cli import app
from studio.commands.reaper import SCRIPT


def run(*arguments, fails=False):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == int(fails), result.output
    return result


def test_reaper_writes_the_script_and_settings_that_only_the_user_reads(tmp_path):
    written, settings = tmp_path / SCRIPT.name, tmp_path / "timbre_studio_settings.lua"
    assert run("reaper", str(tmp_path)).stdout.strip() == str(written)
    assert written.read_bytes() == SCRIPT.read_bytes()
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    given = lua54.LuaRuntime().execute(settings.read_text())
    assert given.address == "http://127.0.0.1:7860"
    assert len(given.token) > 20
    assert [one["name"] for one in json.loads(run("token", "list", "--json").stdout)["tokens"]] == ["REAPER"]


def test_reaper_renews_its_script_and_keeps_the_settings(tmp_path):
    run("reaper", str(tmp_path))
    settings = tmp_path / "timbre_studio_settings.lua"
    settings.write_text("return {}")
    (tmp_path / SCRIPT.name).write_bytes(SCRIPT.read_bytes().partition(b"\n")[0] + b"\n-- an earlier version\n")
    run("reaper", str(tmp_path))
    assert (tmp_path / SCRIPT.name).read_bytes() == SCRIPT.read_bytes()
    assert settings.read_text() == "return {}"


def test_reaper_replaces_no_script_of_another_kind(tmp_path):
    (tmp_path / SCRIPT.name).write_text("-- mine\n")
    assert "is another script" in " ".join(run("reaper", str(tmp_path), fails=True).stderr.split())
    assert (tmp_path / SCRIPT.name).read_text() == "-- mine\n"


def test_reaper_takes_the_usual_folder_and_says_how_to_find_another(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_usual_folder", lambda: tmp_path / "REAPER")
    assert "Show REAPER resource path" in " ".join(run("reaper", fails=True).stderr.split())
    (tmp_path / "REAPER").mkdir()
    assert run("reaper").stdout.strip() == str(tmp_path / "REAPER" / "Scripts" / SCRIPT.name)
