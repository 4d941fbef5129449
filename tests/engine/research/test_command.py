"""The commands of research: parts, options, errors."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from setuptools import find_packages

from engine.research.command import PARTS, every_few_seconds, main

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("command", PARTS)
def test_each_part_has_help_options_and_a_run(command, capsys):
    for part in PARTS[command]:
        with pytest.raises(SystemExit) as caught:
            main(command, [part, "--help"])
        assert caught.value.code == 0
        said = capsys.readouterr().out
        assert said.startswith(f"usage: python -m engine.{command} {part}")
        module = import_module(f"engine.research.{command}.{part.replace('-', '_')}")
        assert module.__doc__.splitlines()[0] in said
        assert callable(module.run)


@pytest.mark.parametrize("command", PARTS)
def test_command_runs_as_a_module_and_lists_its_parts(command):
    call = [sys.executable, "-m", f"engine.{command}", "--help"]
    finished = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    assert all(part in finished.stdout for part in PARTS[command][1:])


def test_command_names_a_part_that_does_not_exist(capsys):
    with pytest.raises(SystemExit) as caught:
        main("benchmark", ["beauty"])
    assert caught.value.code == 2
    assert "beauty" in capsys.readouterr().err


def test_command_refuses_several_numbers_of_threads_where_a_part_takes_one(capsys):
    for given, said in (("1,2", "takes one number"), ("0", "invalid"), ("two", "invalid")):
        with pytest.raises(SystemExit) as caught:
            main("benchmark", ["card", "--section", "steps", "--threads", given])
        assert caught.value.code == 2
        assert said in capsys.readouterr().err


def test_every_few_seconds_reports_rarely_and_at_the_end():
    times, shown = iter([0.0, 1.0, 6.0, 6.0, 7.0, 7.5, 7.5]), []
    report = every_few_seconds(lambda fraction, message: shown.append(fraction), lambda: next(times))
    for fraction in (0.1, 0.5, 0.6, 1.0):
        report(fraction, "working")
    assert shown == [0.5, 1.0]


def test_research_is_not_in_what_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = set(find_packages(str(ROOT), **project["tool"]["setuptools"]["packages"]["find"]))
    assert {"engine", "engine.conversion", "engine.widgets", "studio.commands"} <= packages
    # what the notebooks show is
    kept = {"engine.research", "engine.research.demonstrations"}
    assert {one for one in packages if one.startswith(("engine.research", "engine.benchmark", "engine.pre"))} == kept
