"""Defaults of one's own for the options of commands, from a file in the data folder.

    [convert]
    voice = "mia"
    takes = 3
    skip-existing = true

    [projects.export]
    tempo = 96

An option that is typed has priority.
"""

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup, TyperOption

from engine.spelling import nearest
from engine.texts import tr
from studio.settings.environment import load_settings

if TYPE_CHECKING:
    from typer._click import Command

FILE = "defaults.toml"


def own_defaults(commands: Mapping[str, "Command"], name: str) -> dict[str, object]:
    """Return the defaults of a command and of all below it, as typer takes them.

    Raises typer.BadParameter for a file that cannot be read, and for a command or an option that there is not.
    """
    path = load_settings().data / FILE
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as cause:  # of which those of the format are
        raise typer.BadParameter(tr('"{path}" cannot be read: {cause}.', path=path, cause=cause)) from cause
    if unknown := sorted(tables.keys() - commands):
        raise _no_such(path, unknown[0], commands)
    return {name: _by_parameter(commands[name], tables[name], path)} if name in tables else {}


def _by_parameter(command: "Command", table: object, path: Path) -> dict[str, object]:
    """Return values by the names of their parameters; those of commands below it in a mapping each."""
    if not isinstance(table, dict):
        raise typer.BadParameter(tr('"{path}": options stand in the table of their command, as [convert].', path=path))
    below = command.commands if isinstance(command, TyperGroup) else {}
    options = [one for one in command.params if isinstance(one, TyperOption)]
    known = {name.lstrip("-"): one for one in options for name in one.opts if name.startswith("--")}
    found: dict[str, object] = {}
    for key, value in table.items():
        if key in below:
            found[key] = _by_parameter(below[key], value, path)
        elif key in known:
            found[str(known[key].name)] = _value(value)
        else:
            raise _no_such(path, key, {**known, **below})
    return found


def _value(value: object) -> object:
    """Return a value as it would be typed, since the options of settings are texts."""
    if isinstance(value, list):
        return [str(one) for one in value]
    return value if isinstance(value, bool) else str(value)


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
