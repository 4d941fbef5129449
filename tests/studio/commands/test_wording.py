"""The language of the terminal: help, messages, questions and errors in it; output for scripts as it is."""

import json
import sys
from pathlib import Path

import pytest

from engine.installed import add_extra
from studio.commands.wording import installed_name, padded, translated
from tests.catalogues import catalogue
from tests.command_line import run

NO_VOICE = "There is no voice '{voice}'. `timbre-studio voices` lists them."
GERMAN = {
    "Show the version and exit.": "Die Version anzeigen.",
    "List all voices, trained or not.": "Alle Stimmen auflisten.",
    "The voice to convert with; `voices` lists them.": "Die Stimme; `voices` listet sie auf.",
    "How it sounds": "Wie es klingt",
    "(Default: {default}, or the preset's.)": "(Sonst: {default}, oder was das Preset sagt.)",
    "The same number gives exactly the same takes again.": "Dieselbe Zahl ergibt dieselben Takes.",
    NO_VOICE: "Keine Stimme „{voice}“: `timbre-studio voices`.",
    "voice type": "Stimmlage",
    "range": "Umfang",
    "{min} to {max}": "{min} bis {max}",
    "ready": "bereit",
    "Created account '{name}'.": "Konto „{name}“ angelegt.",
    "The token is shown only once. Keep it like a password:": "Das Token wird nur einmal gezeigt:",
}


@pytest.fixture
def german(tmp_path: Path):
    with catalogue(tmp_path / "catalogues", "de", GERMAN):
        yield


@pytest.mark.parametrize("wish", [("--language", "de"), ("--language=de-AT",)])
def test_language_option_translates_the_help(german, wish):
    shown = run(*wish, "--help").stdout
    assert "Die Version anzeigen." in shown
    assert "Start the studio" in shown  # what has no translation stays English


def test_command_help_uses_the_language_of_the_environment(german):
    shown = run("convert", "--help", TIMBRE_STUDIO_LANGUAGE="de").stdout
    for text in ("Wie es klingt", "Die Stimme; `voices` listet sie auf."):
        assert text in shown
    assert "Dieselbe Zahl ergibt dieselben Takes. (Sonst: 0, oder was das Preset sagt.)" in " ".join(
        shown.replace("│", " ").split()
    )


def test_command_help_is_english_without_a_language_setting(german):
    shown = run("convert", "--help", TIMBRE_STUDIO_LANGUAGE="", LC_ALL="C").stdout
    assert "How it sounds" in shown
    assert "Wie es klingt" not in shown


def test_language_option_translates_errors_but_not_json(german):
    result = run("--language", "de", "voices", "export", "nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Keine Stimme „nobody“: `python -m studio voices`.\n"
    assert run("--language", "de", "voices", "--json").stdout == run("voices", "--json").stdout


def test_language_option_translates_the_table_of_voices(german):
    header, *rows = run("--language", "de", "voices").stdout.splitlines()
    assert header.split() == ["id", "name", "Stimmlage", "Umfang", "gender", "language", "genre", "state"]
    assert " bis " in rows[0]
    assert rows[0].rstrip().endswith("bereit")


def test_language_option_translates_messages_on_stderr(german):
    result = run("--language", "de", "token", "create", "mine", "--account", "anna")
    assert result.stderr.startswith("Konto „anna“ angelegt.\n")
    assert "Das Token wird nur einmal gezeigt:\n" in result.stderr
    [secret] = result.stdout.splitlines()
    tokens = json.loads(run("--language", "de", "token", "list", "--account", "anna", "--json").stdout)["tokens"]
    assert [one["state"] for one in tokens] == ["valid"]
    assert secret


def test_padded_counts_wide_characters_as_two_columns(tmp_path):
    with catalogue(tmp_path, "ja", {"length": "長さ"}):
        result = run("--language", "ja", "--help")
        assert result.exit_code == 0
        assert padded("length", 10) == "長さ      "
        assert translated("length") == "長さ"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Run timbre-studio doctor.", "Run python -m studio doctor."),
        ("`timbre-studio train mia`", "`python -m studio train mia`"),
        ("コマンドtimbre-studio train", "コマンドpython -m studio train"),
        ("pip install 'timbre-studio[mcp]'", add_extra("mcp")),
        ("/home/x/timbre-studio data", None),
        ("timbre-studio 1.0", None),
    ],
)
def test_translated_calls_the_program_as_it_was_called_and_leaves_folders_alone(text, said):
    assert translated(text) == (said or text)


@pytest.mark.parametrize(
    ("called", "scripts", "shown"),
    [
        ("/elsewhere/timbre-studio", (), "timbre-studio"),
        ("-c", (), "python -m studio"),  # no command is installed
        ("-c", ("beside",), "beside/timbre-studio"),  # what is installed has priority, on the path or not
        ("-c", ("beside", "found"), "timbre-studio"),
        ("beside/timbre-studio", ("beside",), "beside/timbre-studio"),
        ("beside/timbre-studio", ("beside", "found"), "timbre-studio"),
        ("beside/timbre-studio", ("beside", "other"), "beside/timbre-studio"),  # another installation is found first
    ],
)
def test_texts_use_the_name_of_the_installation_at_hand(tmp_path, monkeypatch, called, scripts, shown):
    monkeypatch.chdir(tmp_path)
    for folder in ("beside", "other"):
        (tmp_path / folder).mkdir()
    if scripts:
        (tmp_path / "beside" / "timbre-studio").touch(0o755)
    (tmp_path / "other" / "timbre-studio").touch(0o755)
    found = {"found": "beside", "other": "other"}.get(scripts[-1] if scripts else "", "nowhere")
    monkeypatch.setenv("PATH", str(tmp_path / found))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "beside" / "python"))
    assert installed_name(called) == shown
