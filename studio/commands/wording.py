"""The language of the terminal: what a person reads is translated here; paths, ids and JSON for scripts stay."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len
from rich.markup import escape
from typer.core import TyperArgument, TyperGroup, TyperOption

from engine.installed import NAME, add_extra, shown_path
from engine.texts import tr
from studio.languages.known import ENGLISH, LANGUAGES, chosen_by, of_environment
from studio.languages.sorting import sort_key

if TYPE_CHECKING:
    from typer._click import Command, Context

OPTION = "--language"
_KEPT = "plain_help"  # attribute of what has a help
_CHOSEN: ContextVar[str] = ContextVar("terminal_language", default="")
PROGRAM = "timbre-studio"  # as it is installed, and as texts call it
# before a command, in any script; not the folder or the package of this name
_IN_TEXTS = re.compile(rf"(?<![A-Za-z0-9/._-]){PROGRAM}(?= [a-z])")
# how texts that are fixed, as help is, ask for an extra
_EXTRA = re.compile(rf"pip install '{PROGRAM}\[(\w+)\]'")
BY_MODULE = "python -m studio"  # where no command is installed
_CALLED: ContextVar[str] = ContextVar("called", default=BY_MODULE)
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


def translated(text: str) -> str:
    """Return a text in the language of the terminal."""
    return speaker()(text)


def speaker() -> Callable[[str], str]:
    """Return a `translated` that knows the language in other threads too."""
    code, name = terminal_language(), program_name()

    def in_language(text: str) -> str:
        from studio.languages.translation import translator  # Babel takes a moment to load

        said = _IN_TEXTS.sub(lambda _: name, translator(code).say_as_text(text))
        return _EXTRA.sub(lambda found: add_extra(found[1]), said)

    return in_language


def terminal_language() -> str:
    """Return the code of the language of the terminal."""
    return _CHOSEN.get() or of_environment().code


def installed_name(called: str) -> str:
    """Return what to type for this program: its command's name where that is found, else its path.
    called: the program's own first argument. Only where no command is installed it is `python -m studio`."""
    by_name = Path(called).stem == PROGRAM
    script = Path(called) if by_name else Path(sys.executable).with_name(NAME + (".exe" if os.name == "nt" else ""))
    found = shutil.which(PROGRAM)
    if not script.is_file():
        return PROGRAM if by_name else BY_MODULE
    return PROGRAM if found and script.samefile(found) else shown_path(script.absolute())


def set_program_name(name: str) -> None:
    """Let texts call this program as it was called."""
    _CALLED.set(name)


def program_name() -> str:
    return _CALLED.get()


def be_quiet(quiet: bool) -> None:
    """Say nothing but errors and what the command was asked for, or speak again."""
    _QUIET.set(quiet)


def is_quiet() -> bool:
    """Return whether only errors and results are wanted."""
    return _QUIET.get()


def say(text: object, about: str = "") -> None:
    """Write a text for the person at the terminal to stderr, unless that is not wanted; about: a file, named first."""
    if not is_quiet():
        complain(text, about)


def complain(text: object, about: str = "") -> None:
    """Write an error to stderr, or what must be read before a secret; about: a file, named first."""
    typer.echo((f'"{about}": ' if about else "") + translated(str(text)), err=True)


def show(text: object) -> None:
    """Write a text for the person at the terminal to stdout, where it is what the command was asked for."""
    typer.echo(translated(str(text)))


def padded(text: str, width: int) -> str:
    """Return a text in the language, filled up with spaces to so many columns of the terminal; one at least."""
    shown = translated(text)
    return shown + " " * max(1, width - cell_len(shown))


def in_order(name: str) -> tuple[str, str]:
    """Return what to sort names by that are shown."""
    return sort_key(name, terminal_language())


def choose_language(arguments: Sequence[str]) -> None:
    """Choose the language by the options before the command, else by the environment. Raises typer.BadParameter."""
    wish = _wish(arguments)
    _CHOSEN.set(known_language(wish) if wish else of_environment().code)


def known_language(wish: str) -> str:
    """Return the code of the language that is wished for. Raises typer.BadParameter if there is none like it."""
    code = chosen_by([wish]).code
    if code == ENGLISH and not wish.lower().startswith(ENGLISH):
        raise typer.BadParameter(
            tr("There is no language '{wish}': choose one of {languages}.", wish=wish, languages=", ".join(LANGUAGES))
        )
    return code


def _wish(arguments: Sequence[str]) -> str:
    for place, argument in enumerate(arguments):
        if argument.startswith(f"{OPTION}="):
            return argument.partition("=")[2]
        if argument == OPTION and len(arguments) > place + 1:
            return arguments[place + 1]
        if not argument.startswith("-"):
            break
    return ""


def translate_help(command: "Command", context: "Context") -> None:
    """Translate the help of a command of typer, of its options and arguments, and of the commands in it."""
    if command.help:
        command.help = escape(_paragraphs(_plain(command)))
    for parameter in command.get_params(context):
        if isinstance(parameter, TyperOption | TyperArgument):
            _translate_parameter(parameter)
    if isinstance(command, TyperGroup):
        for one in command.commands.values():
            translate_help(one, context)


def _translate_parameter(parameter: TyperOption | TyperArgument) -> None:
    if parameter.help:
        parameter.help = escape(translated(_plain(parameter)))
    if isinstance(parameter, TyperOption) and parameter.is_flag:
        parameter.metavar = ""  # else it reads as if it took a value
    if parameter.rich_help_panel:
        parameter.rich_help_panel = translated(parameter.rich_help_panel)


def keep_help(described: "Command | TyperOption | TyperArgument", text: str) -> None:
    """Keep the help of something as the text that it is; typer makes it a plain string."""
    vars(described)[_KEPT] = text


def _plain(described: "Command | TyperOption | TyperArgument") -> str:
    """Return the help as it stands in the code: typer takes what is in brackets for markup, so it shows it escaped."""
    plain: str = vars(described).setdefault(_KEPT, described.help or "")
    return plain


def _paragraphs(text: str) -> str:
    return "\n\n".join(map(translated, text.split("\n\n")))
