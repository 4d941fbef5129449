"""Defaults of one's own for the options of commands, from a file in the data folder.

    [convert]
    voice = "mia"
    takes = 3
    skip-existing = true

    [projects.export]
    tempo = 96

An option that is typed has priority.
"""

import json
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer._click import Context
from typer.core import TyperGroup, TyperOption

from engine.spelling import nearest
from engine.texts import joined, tr
from studio.settings.environment import load_settings

if TYPE_CHECKING:
    from typer._click import Command

FILE = "defaults.toml"
Defaults = dict[str, "bool | str | list[str] | Defaults"]  # by parameter, and of the commands below by their names


def own_defaults(commands: Mapping[str, "Command"], name: str) -> Defaults:
    """Return the defaults of a command and of all below it, as typer takes them. Raises typer.BadParameter."""
    tables = tables_with_defaults(commands)
    return {name: _by_parameter(commands[name], tables[name], _file())} if name in tables else {}


def tables_with_defaults(commands: Collection[str]) -> Mapping[str, object]:
    """Return what the file says of each command; {} without a file. Raises typer.BadParameter."""
    path = _file()
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as cause:  # of which those of the format are
        raise typer.BadParameter(tr('"{path}" cannot be read: {cause}.', path=path, cause=cause)) from cause
    if unknown := sorted(tables.keys() - set(commands)):
        raise _no_such(path, unknown[0], commands)
    return tables


def wrong_default(cause: str) -> typer.BadParameter:
    """Return the error about a value in the file, which names it."""
    return typer.BadParameter(joined(": ", (f'"{_file()}"', cause)))


def _file() -> Path:
    return load_settings().data / FILE


def _by_parameter(command: "Command", table: object, path: Path) -> Defaults:
    """Return values by the names of their parameters; those of commands below it in a mapping each."""
    if not isinstance(table, dict):
        raise typer.BadParameter(
            tr('"{path}": put options in the table of their command, such as [convert].', path=path)
        )
    below = command.commands if isinstance(command, TyperGroup) else {}
    options = [one for one in command.params if isinstance(one, TyperOption)]
    known = {name.lstrip("-"): one for one in options for name in one.opts if name.startswith("--")}
    found: Defaults = {}
    for key, value in table.items():
        if key in below:
            found[key] = _by_parameter(below[key], value, path)
        elif key in known:
            found[str(known[key].name)] = _value(known[key], key, value, Context(command))
        else:
            raise _no_such(path, key, {**known, **below})
    return found


def _value(option: TyperOption, name: str, value: object, context: Context) -> bool | str | list[str]:
    """Return a value as it would be typed, since the options of settings are texts. Raises typer.BadParameter for one
    that the option cannot have."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise wrong_default(tr("{name} is true or false, not {value}.", name=name, value=_as_json(value)))
        return value
    texts = [_typed(one) for one in (value if option.multiple and isinstance(value, list) else [value])]
    typed = texts if option.multiple else texts[0]
    try:
        option.get_runtime_param().coerce(typed, param=option, ctx=context)
    except typer.BadParameter as cause:
        raise wrong_default(f"{name}: {cause.message}") from cause
    return typed


def _typed(value: object) -> str:
    return value if isinstance(value, str) else _as_json(value)


def _as_json(value: object) -> str:
    return json.dumps(value, default=str)  # str: a date


def _no_such(path: Path, name: str, known: Collection[str]) -> typer.BadParameter:
    if meant := nearest(name, known):
        return typer.BadParameter(
            tr(
                "\"{path}\": there is no command or option '{name}': did you mean {meant}?",
                path=path,
                name=name,
                meant=meant,
            )
        )
    return typer.BadParameter(tr("\"{path}\": there is no command or option '{name}'.", path=path, name=name))
