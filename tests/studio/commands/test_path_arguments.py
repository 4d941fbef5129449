"""Paths as people paste them, for all commands; and results that cannot be files."""

import json
import os
import shutil
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from studio.commands import path_arguments
from studio.commands.cli import _WITH_SETTINGS, _completed, app
from studio.commands.demo import bundled_sample
from studio.commands.parsing import leaves
from tests.command_line import run


@pytest.fixture
def song(tmp_path, monkeypatch) -> Path:
    """A recording with spaces in its name, in another folder than the current one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my songs").mkdir()
    return Path(shutil.copy(bundled_sample(), tmp_path / "my songs" / "Für Elise (1).flac"))


@pytest.mark.parametrize(
    "as_pasted",
    [
        *("{path}", "'{path}'", '"{path}"', ' "{path}" ', "“{path}”", "{path}\n", "\u202a{path}\ufeff", "file://{url}"),
        *("FILE://localhost{url}", "file:{url}", "'file://{url}'", "{escaped}", "~/my songs/{name}"),
        *("'~/my songs/{name}'", "../my songs/{name}", "{decomposed}"),
    ],
)
def test_commands_read_a_path_as_it_is_pasted(song, as_pasted):
    given = as_pasted.format(
        path=song,
        url=song.as_uri().removeprefix("file://"),
        name=song.name,
        escaped=str(song).replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)"),
        decomposed=str(song).replace("ü", "u\u0308"),
    )
    done = run("verify", given, "--json")
    assert done.exit_code == 0, done.output
    assert Path(json.loads(done.stdout)["file"]).samefile(song)


@pytest.mark.parametrize("name", ["'quoted'", '"a', "a\\ b", "file:a", " a ", "100%20"])
def test_commands_take_a_path_that_is_there_as_it_stands(song, name):
    Path(name).write_bytes(song.read_bytes())
    assert run("verify", name).exit_code == 0


def test_commands_name_a_file_on_another_machine(song):
    done = run("verify", "file://elsewhere/songs/a.flac")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "file://elsewhere/songs/a.flac is on another machine: copy the file to this one.\n"


@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/null", "/dev/fd/1", "/proc/self/fd/1", "pipe", "-"])
@pytest.mark.parametrize(
    "command",
    [
        *(("convert", "SONG", "-o"), ("mix", "SONG", "SONG", "-o"), ("analyse", "SONG", "--csv")),
        *(("analyse", "SONG", "--plot"), ("report", "SONG", "--plot"), ("voices", "export", "koguchi", "-o")),
        *(("live", "--input", "SONG", "--output"), ("comp", "SONG", "SONG", "-o"), ("projects", "export", "a", "-o")),
    ],
)
def test_commands_refuse_a_result_that_is_no_file_before_any_work(song, command, output):
    """With --overwrite, `-o /dev/null` would have put a file in its place."""
    os.mkfifo("pipe")
    may_be_pipe = command[0] in ("convert", "mix", "comp")
    if output == "-" and may_be_pipe:
        pytest.skip("their sound goes to standard output")
    before = os.lstat("/dev/null").st_ino
    done = run(*(song if word == "SONG" else word for word in command), output)
    assert done.exit_code == 1
    remedy = "use -o - to write to a pipe" if may_be_pipe else "name a file or a folder"
    assert done.stderr == f'"{output}" is not a regular file; {remedy}.\n'
    assert os.lstat("/dev/null").st_ino == before
    assert [path.name for path in Path().iterdir()] == ["pipe"]


@pytest.mark.parametrize("empty", ["", " ", "''"])
def test_commands_refuse_an_empty_path(song, empty):
    for command in (("verify", empty), ("convert", song, "-o", empty)):
        done = run(*command)
        assert (done.exit_code, done.stderr) == (1, "A path is empty: name a file or a folder.\n")


def test_commands_write_a_result_where_the_pasted_path_says(song):
    done = run("analyse", song, "--csv", f" '{song.parent}/the notes.csv' ")
    assert done.exit_code == 0, done.output
    assert (song.parent / "the notes.csv").is_file()


def test_all_options_for_results_are_known_by_name():
    """A new one is refused a pipe, too."""
    commands = [*leaves(get_command(app)), *map(_completed, _WITH_SETTINGS)]
    results = [one for command in commands for one in command.params if "OUT" in (one.metavar or "").split("|")]
    assert len(results) > 5
    assert all(path_arguments._RESULTS.intersection(one.opts) for one in results)


def test_stems_are_pasted_with_their_voices(song):
    [stem] = [one for one in _completed("convert").params if "--stem" in one.opts]
    assert path_arguments._read(stem, Context(get_command(app)), f"'{song}'=koguchi") == f"{song}=koguchi"
