"""Groups of commands, and the errors of their parser: typer's own are typer's, texts of ours are translated."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from typer import TyperException
from typer._click import Command
from typer.core import TyperGroup

from studio.commands.wording import translated

if TYPE_CHECKING:
    from typer._click import Context


def command_group(about: str, no_args_is_help: bool = False) -> typer.Typer:
    """Return a group to add commands to; about: its help."""
    return typer.Typer(
        cls=_Group, help=about, no_args_is_help=no_args_is_help, add_completion=False, pretty_exceptions_enable=False
    )


class _Group(TyperGroup):
    """Commands, of which `list` is what a group does that lists by itself."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        lists = self.invoke_without_command and "list" not in self.commands
        return super().parse_args(ctx, args[1:] if lists and args[:1] == ["list"] else args)


def leaves(command: Command) -> Iterator[Command]:
    """Yield the commands of a group, or the command itself."""
    if not isinstance(command, TyperGroup):
        yield command
        return
    for one in command.commands.values():
        yield from leaves(one)


def named(command: Command, name: str) -> Iterator[tuple[str, Command]]:
    """Yield a command, and all below it, each with its name after those of its groups."""
    yield name, command
    if isinstance(command, TyperGroup):
        for own, one in command.commands.items():
            yield from named(one, f"{name} {own}")


def translate_error(error: TyperException) -> None:
    """Make a text of ours in an error of the parser speak the language; what typer says itself stays as it is."""
    error.message = translated(error.message)
