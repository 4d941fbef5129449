"""Help: examples on top, which can be typed as they stand, and a short form of it."""

import shlex

import pytest
from typer.main import get_command

from studio.commands import short_help
from studio.commands.cli import app
from studio.commands.examples import EXAMPLES, MOST_USED
from studio.commands.parsing import named
from tests.command_line import run


def commands():
    root = get_command(app)
    return dict(entry for name, one in root.commands.items() for entry in named(one, name))


def test_every_help_has_three_examples():
    assert {"", *commands()} == set(EXAMPLES)
    assert {len(one) for one in EXAMPLES.values()} == {3}


@pytest.mark.parametrize("example", sorted({one for examples in EXAMPLES.values() for one in examples}))
def test_examples_can_be_typed(example, monkeypatch):
    called = []
    for command in commands().values():
        monkeypatch.setattr(type(command), "invoke", lambda self, ctx: called.append(self.name))
    root = get_command(app)
    with root.make_context("timbre-studio", shlex.split(example)) as context:
        name, command, rest = root.resolve_command(context, context._protected_args + context.args)
        made = command.make_context(name, list(rest), parent=context)
        if getattr(command, "commands", None) and (below := made._protected_args + made.args):
            name, command, rest = command.resolve_command(made, below)
            command.make_context(name, list(rest), parent=made)


@pytest.mark.parametrize("name", sorted(MOST_USED))
def test_short_help_shows_the_most_used_options_and_how_many_more_there_are(name):
    whole, short = run(name, "--help").stdout, run(name, "-h").stdout
    for shown in (whole, short):
        assert [f"  python -m studio {one}" for one in EXAMPLES[name]] == shown.splitlines()[1:4]
    assert "more options: --help" in short
    assert "more options" not in whole
    assert len(short.splitlines()) < 0.8 * len(whole.splitlines())
    for option in MOST_USED[name]:
        assert f"--{option.replace('_', '-')}" in whole or option == "source"
    assert run(name, "--help").stdout == whole  # the short one leaves nothing behind


@pytest.mark.parametrize("words", [("-h",), ("--help",), ("update", "-h"), ("mcp", "-h"), ("voices", "export", "-h")])
def test_examples_are_on_top_of_every_help_with_the_programs_own_name(words, monkeypatch):
    monkeypatch.setattr(short_help, "program_name", lambda: "tools/timbre-studio")
    examples = EXAMPLES[" ".join(words[:-1])]
    assert run(*words).stdout.splitlines()[1:4] == [f"  tools/timbre-studio {one}" for one in examples]


@pytest.mark.parametrize("name", ["lessons", "lab", "notebooks"])
def test_options_of_a_place_have_their_letter(name):
    [option] = [one for one in commands()[name].params if "--out" in one.opts]
    assert option.opts == ["-o", "--out"]


def test_short_help_of_small_commands_is_whole():
    shown = run("voices", "export", "-h").stdout
    assert shown == run("voices", "export", "--help").stdout
    assert "  python -m studio voices export mia\n" in shown
