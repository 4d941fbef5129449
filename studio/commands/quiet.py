"""`-q`: before a command, or after it."""

from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperOption
from typer.main import get_command

from engine.texts import tr
from studio.commands.wording import be_quiet, translated

if TYPE_CHECKING:
    from typer._click import Command


def _choose(quiet: bool) -> None:
    if quiet:
        be_quiet(True)


QuietOption = Annotated[
    bool,
    typer.Option(
        "-q", "--quiet", is_eager=True, callback=_choose, help=tr("Show only results and errors."), expose_value=False
    ),
]
_FLAG = "--quiet"


def add_quiet(command: "Command") -> None:
    """Give a command of typer the option, unless it has it."""
    if any(_FLAG in parameter.opts for parameter in command.params):
        return
    single = typer.Typer(add_completion=False)
    single.command()(_with_it)
    [option] = [one for one in get_command(single).params if isinstance(one, TyperOption) and _FLAG in one.opts]
    option.help, option.metavar = translated(option.help or ""), ""
    command.params.append(option)


def _with_it(quiet: QuietOption = False) -> None:
    """Have the option."""
