"""Help with examples on top: `-h` with what is used most, `--help` with everything."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

import typer
from typer.core import TyperOption

from engine.texts import ntr
from studio.commands.examples import ALWAYS, EXAMPLES, MOST_USED
from studio.commands.wording import program_name, translated

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

_SHORT: ContextVar[bool] = ContextVar("short_help", default=False)
_Format = Callable[["Context", "HelpFormatter"], None]


def choose_help(arguments: Sequence[str]) -> None:
    """Choose between the short help and the whole one by what was typed."""
    _SHORT.set("-h" in arguments and "--help" not in arguments)


def add_examples(command: "Command", name: str) -> None:
    """Let the help of a command begin with its examples, and be short where that is asked for, unless it does."""
    own = vars(command)
    if name in EXAMPLES and "format_help" not in own:
        own["format_help"] = partial(_formatted, command, name, command.format_help)


def _formatted(
    command: "Command", name: str, format_help: _Format, context: "Context", formatter: "HelpFormatter"
) -> None:
    typer.echo()
    for example in EXAMPLES[name]:
        typer.echo(f"  {program_name()} {example}")
    shown = MOST_USED.get(name)
    options = [one for one in command.params if isinstance(one, TyperOption) and not one.hidden]
    rare = [one for one in options if shown and _SHORT.get() and one.name not in shown | ALWAYS]
    for option in rare:
        option.hidden = True
    try:
        format_help(context, formatter)
    finally:
        for option in rare:
            option.hidden = False
    if rare:
        typer.echo(translated(ntr("{count} more option: --help", "{count} more options: --help", count=len(rare))))
