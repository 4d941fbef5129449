"""Groups of commands, and the errors of their parser: typer's own are typer's, texts of ours are translated."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

import typer
from typer import TyperException
from typer._click import Command
from typer.core import TyperGroup

from studio.commands.wording import translated

if TYPE_CHECKING:
    from typer._click import Context

_LIST = "list"


def command_group(about: str, no_args_is_help: bool = False) -> typer.Typer:
    """Return a group to add commands to; about: its help."""
    return typer.Typer(
        cls=_Group, help=about, no_args_is_help=no_args_is_help, add_completion=False, pretty_exceptions_enable=False
    )


class _Group(TyperGroup):
    """Commands; `list` is one of them wherever a group lists by itself."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        lists = args[:1] == [_LIST] and _LIST not in self.commands and self.invoke_without_command
        return super().parse_args(ctx, args[1:] if lists else args)

    def resolve_command(self, ctx: "Context", args: list[str]) -> "tuple[str | None, Command | None, list[str]]":
        self.suggest_commands = False  # typer's would look among the commands alone
        try:
            return super().resolve_command(ctx, args)
        except TyperException as error:
            names = {*self.commands, *([_LIST] if self.invoke_without_command else [])}
            if near := get_close_matches(args[0], sorted(names)):
                error.message = f"{error.message.rstrip('.')}. Did you mean {', '.join(map(repr, near))}?"
            raise


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
