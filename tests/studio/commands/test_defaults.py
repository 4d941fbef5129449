"""Defaults of one's own: read for the command that is called, below what is typed, refused where they are wrong."""

import json

import pytest

from studio.commands.defaults import FILE
from studio.settings.environment import HOME_VARIABLE
from tests.command_line import run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocal.wav").touch()
    return tmp_path


def test_convert_takes_defaults_from_the_file_and_what_is_typed_instead(here):
    (here / "home" / FILE).write_text('[convert]\nvoice = "koguchi"\ntakes = 2\ndry-run = true\n')
    assert run("convert", "vocal.wav").stdout.splitlines() == ["vocal.koguchi.wav", "vocal.koguchi.take2.wav"]
    assert run("convert", "vocal.wav", "--takes", "1").stdout.splitlines() == ["vocal.koguchi.wav"]
    assert run("convert", "vocal.wav", "-v", "everett", "--takes", "1").stdout.splitlines() == ["vocal.everett.wav"]


def test_commands_below_a_group_have_tables_below_its_own(here):
    (here / "home" / FILE).write_text("[token.list]\njson = true\n")
    assert json.loads(run("token", "list").stdout) == {"tokens": []}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[convert]\nvoize = "mia"', "no command or option 'voize': did you mean voice?"),
        ("[konvert]\ntakes = 2", "no command or option 'konvert': did you mean convert?"),
        ("convert = 2", "in the table of their command"),
        ("[convert", "cannot be read"),
        ("[convert]\ntakes = 99", "takes must be a whole number from 1 to 10, not 99"),
        ("[convert]\nqqqq = 1", "no command or option 'qqqq'."),
    ],
)
def test_defaults_that_are_wrong_are_refused_with_their_file(here, text, said):
    (here / "home" / FILE).write_text(text)
    result = run("convert", "vocal.wav", "--dry-run")
    assert result.exit_code in (1, 2)
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_dry_run_names_results_and_writes_nothing(here):
    (here / "vocal.koguchi.wav").touch()
    before = sorted(here.rglob("*"))
    given = ("convert", "vocal.wav", "-v", "koguchi", "--dry-run")
    assert run(*given).stdout.splitlines() == ["vocal.koguchi-2.wav"]
    assert run(*given, "--skip-existing").stdout == ""
    assert run(*given, "-o", "new/", "--takes", "2").stdout.splitlines() == [
        "new/vocal.koguchi.wav",
        "new/vocal.koguchi.take2.wav",
    ]
    assert run(*given, "-o", "out/{name}.{take}.flac").stdout.splitlines() == ["out/vocal.1.flac"]
    for wrong in (("--takes", "99"), ("-o", "x.xyz"), ("--separate",)):
        assert run(*given, *wrong).exit_code == 1
    assert sorted(here.rglob("*")) == before
