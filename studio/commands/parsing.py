"""What typer's parser refuses, in the language of the terminal: said by the kind of the error and by its fields."""

from collections.abc import Collection, Iterator

import typer
from typer import TyperException
from typer._click import Command, Context
from typer._click.exceptions import BadOptionUsage, MissingParameter, NoSuchOption, UsageError
from typer.core import TyperGroup, TyperOption

from engine.spelling import nearest
from engine.texts import Text, joined, tr
from studio.commands.wording import translated
from studio.settings.options import not_a_number


class CommandGroup(TyperGroup):
    """Commands below a name. Of a name that it lacks, it says which was probably meant."""

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            raise UsageError(_no_such_command(args[0], self.commands), ctx)
        return super().resolve_command(ctx, args)


def command_group(about: str, no_args_is_help: bool = False) -> typer.Typer:
    """Return a group to add commands to; about: its help."""
    return typer.Typer(
        cls=CommandGroup,
        help=about,
        no_args_is_help=no_args_is_help,
        add_completion=False,
        pretty_exceptions_enable=False,
    )


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


def translate_error(error: TyperException, command: Command | None) -> None:
    """Make an error of the parser speak the language: what it prints is its `format_message`.

    command: the one that was called, as far as it is known.
    """
    said = translated(_sentence(error, command))
    vars(error)["format_message"] = lambda: said


def _sentence(error: TyperException, command: Command | None) -> str:
    message = getattr(error, "message", str(error))
    match error:
        case MissingParameter(param=parameter) if parameter is not None:
            if isinstance(parameter, TyperOption):
                return tr("Missing option '{name}'.", name=parameter.opts[-1])
            return tr("Missing argument '{name}'.", name=parameter.metavar or parameter.name)
        case typer.BadParameter(param=parameter) if parameter is not None and not isinstance(message, Text):
            return _bad_value(parameter.opts[-1], error)
        case NoSuchOption(option_name=name, possibilities=names) if names:
            return tr("No such option: {name} (Possible options: {names})", name=name, names=", ".join(sorted(names)))
        case NoSuchOption(option_name=name):
            return tr("No such option: {name}", name=name)
        case BadOptionUsage(option_name=name):
            if _is_flag(name, command):
                return tr("Option '{name}' does not take a value.", name=name)
            return tr("Option '{name}' requires an argument.", name=name)
        case UsageError() if isinstance(message, Text):
            return message
        case UsageError(cmd=TyperGroup()):
            return tr("Missing command.")
        case UsageError(cmd=Command()):  # nothing else is left over
            return tr("There are more arguments than this command takes: put names with spaces in quotation marks.")
        case _:
            return message


def _bad_value(name: str, error: typer.BadParameter) -> str:
    from pydantic import ValidationError  # takes a moment to load, which typer has spent by now

    cause = error.__cause__
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False)[0]
        if first["type"].startswith(("int", "float")):
            return not_a_number(name, str(first["input"]), is_fraction=first["type"].startswith("float"))
    return tr("Invalid value for '{name}': {reason}", name=name, reason=error.message)


def _is_flag(name: str, command: Command | None) -> bool:
    known = [one for called in (command, *leaves(command)) for one in called.params] if command else []
    return any(isinstance(one, TyperOption) and one.is_flag and name in one.opts for one in known)


def _no_such_command(name: str, known: Collection[str]) -> str:
    meant = nearest(name, known)
    text = tr("No such command '{name}'.", name=name)
    return text if meant is None else joined(" ", (text, tr("Did you mean '{meant}'?", meant=meant)))
