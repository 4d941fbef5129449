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
        ("[convert]\ntakes = 99", 'defaults.toml": takes must be a whole number from 1 to 10, not 99'),
        ("[convert]\nlikeness = 3", 'defaults.toml": likeness must be a number from 0.0 to 1.0, not 3'),
        ("[convert]\ntakes = true", "defaults.toml\": --takes takes a whole number, not 'true'."),
        ('[convert]\nlikeness = "much"', 'defaults.toml": --likeness takes a number'),
        ('[convert]\nscores = "yes"', 'defaults.toml": scores is true or false, not "yes".'),
        ("[convert]\nscores = 1", 'defaults.toml": scores is true or false, not 1.'),
        ("[convert]\njobs = 99", 'defaults.toml": jobs: Input should be less than or equal to 64'),
        ("[convert]\nthreads = [1]", 'defaults.toml": threads: '),
        ("[convert]\nqqqq = 1", "no command or option 'qqqq'."),
    ],
)
def test_defaults_that_are_wrong_are_refused_with_their_file(here, text, said):
    (here / "home" / FILE).write_text(text)
    result = run("convert", "vocal.wav", "--dry-run")
    assert result.exit_code in (1, 2)
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_an_option_that_may_be_repeated_takes_one_value_or_several(here):
    for value in ('"0:04 koguchi"', '["0:04 koguchi"]'):
        (here / "home" / FILE).write_text(f"[convert]\nfrom = {value}\ndry-run = true\n")
        assert "--dry-run names the takes of recordings" in run("convert", "vocal.wav").stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[convert", "cannot be read"),
        ("[convert]\nlikeness = 3", "likeness must be a number"),
        ("[token.list]\njson = 2", "json is true or false, not 2"),
        ("[live]\nqqqq = 1", "no command or option 'qqqq'"),
        ("[doctor]\njson = 1", "json is true or false"),
    ],
)
def test_help_and_doctor_work_with_wrong_defaults_and_doctor_names_the_file(here, text, said, monkeypatch):
    (here / "home" / FILE).write_text(text)
    for words in (("convert", "-h"), ("convert", "--help"), ("token", "list", "-h"), ("-h",)):
        assert run(*words).exit_code == 0
    monkeypatch.setattr("studio.doctor.examine", lambda: iter(()))
    result = run("doctor")
    assert result.exit_code == 1
    assert said in result.stdout
    assert str(here / "home" / FILE) in result.stdout
    (here / "home" / FILE).write_text("[convert]\nlikeness = 0.3\n\n[doctor]\njson = true\n")
    assert json.loads(run("doctor").stdout) == {"works": True, "findings": []}


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
