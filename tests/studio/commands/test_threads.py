"""`--threads`: the same option of all commands that compute, down to what computes."""

import pytest
import torch
from typer.testing import CliRunner

from studio.commands.arguments import compute_on
from studio.commands.cli import app
from studio.commands.demo import bundled_sample
from studio.commands.in_process import local_studio
from studio.executors import work

COMMANDS = ("convert", "train", "live", "serve")


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_option(command):
    assert "--threads" in CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output


@pytest.mark.parametrize("given", ["0", "-1", "many", "257"])
@pytest.mark.parametrize("command", [("convert", "a.wav"), ("train", "mia"), ("live", "--input", "a.wav")])
def test_a_number_that_is_none_is_refused_before_anything_is_computed(home, command, given):
    done = CliRunner().invoke(app, [*command, "--threads", given])
    assert done.exit_code == 2
    assert "--threads" in done.stderr


def test_the_option_wins_over_the_environment(home, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_THREADS", "2")
    for given, used in ((None, 2), (3, 3)):
        with local_studio(threads=given) as studio:
            assert studio.service.threads == used


def test_convert_gives_its_task_the_threads(home, monkeypatch):
    contexts = []

    def note(job) -> None:
        contexts.append(job.context)
        raise work.EngineError("enough")

    monkeypatch.setattr(work, "resolve_name", lambda name: note)
    for option, threads in (((), None), (("--threads", "3"), 3)):
        CliRunner().invoke(app, ["convert", str(bundled_sample()), *option])
        assert contexts.pop().threads == threads


def test_compute_on_leaves_all_threads_where_none_are_given(torch_threads):
    for given, used in ((None, torch_threads), (0, torch_threads), (2, 2)):
        compute_on(given)
        assert torch.get_num_threads() == used
