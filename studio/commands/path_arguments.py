"""The paths that commands are given: read as they are pasted, and those of results refused where no file can be."""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, get_args

from typer.core import TyperArgument, TyperOption

from engine.errors import SettingsError
from engine.spelling import pasted_path
from engine.texts import tr
from studio.commands.failures import in_one_sentence
from studio.commands.piped import STREAM, brought_by, is_pipe

if TYPE_CHECKING:
    from typer._click import Command, Context

_TEXTS = re.compile(r"\b(FILE|FOLDER|ZIP)\b")  # what stands for a parameter that may be a path or something else
_WITH_VOICE = "FILE="
_RESULTS = {"--output", "--out", "--plot", "--csv", "--midi", "--record"}
_STREAMS = re.compile(r"-|/dev/(std(in|out|err)|fd/\d+)|/proc/[^/]+/fd/\d+")
_Parameter = TyperArgument | TyperOption


class _Process(Protocol):
    def __call__(self, ctx: "Context", value: object) -> object: ...


def read_pasted_paths(command: "Command") -> None:
    """Let a command of typer read its paths as they are pasted, unless it does."""
    for parameter in command.params:
        own = vars(parameter)
        if isinstance(parameter, _Parameter) and _takes_paths(parameter) and "process_value" not in own:
            own["process_value"] = partial(_processed, parameter, parameter.process_value)


def refuse_missing(path: str | Path) -> None:
    """Raise SettingsError for a file or folder that is not there, before anything heavy is loaded."""
    if not Path(path).exists():
        raise SettingsError(tr('There is no file or folder "{path}".', path=path))


def _takes_paths(parameter: _Parameter) -> bool:
    annotation = parameter.type_descriptor.annotation
    is_result = bool(_RESULTS.intersection(parameter.opts))
    return is_result or Path in (annotation, *get_args(annotation)) or bool(_TEXTS.search(parameter.metavar or ""))


@in_one_sentence
def _processed(parameter: _Parameter, process: _Process, ctx: "Context", value: object) -> object:
    # one text or several; its default is no text, or a path as it is
    if isinstance(value, str):
        value = value if value == parameter.default else _read(parameter, ctx, value)
    elif isinstance(value, list | tuple):
        value = [_read(parameter, ctx, one) if isinstance(one, str) else one for one in value]
    return process(ctx, value)


def _read(parameter: _Parameter, context: "Context", text: str) -> str:
    """Return a path. Raises SettingsError for one that is empty, and for a result that cannot be a file."""
    is_result = bool(_RESULTS.intersection(parameter.opts))
    may_be_pipe = STREAM in (parameter.metavar or "").replace("...", "").split("|")
    if may_be_pipe and (text == STREAM if is_result else is_pipe(text)):
        return text if is_result else brought_by(text, context)
    if (parameter.metavar or "").startswith(_WITH_VOICE):
        path, sign, voice = text.rpartition("=")
        return pasted_path(path) + sign + voice
    path = pasted_path(text)
    if not path:
        raise SettingsError(tr("A path is empty: name a file or a folder."))
    if is_result and _is_no_file(path):
        if may_be_pipe:
            raise SettingsError(tr('"{path}" is not a regular file; use -o - to write to a pipe.', path=path))
        raise SettingsError(tr('"{path}" is not a regular file; name a file or a folder.', path=path))
    return path


def _is_no_file(path: str) -> bool:
    """Whether a path is a stream, a device, or something else that another file cannot take the place of."""
    if _STREAMS.fullmatch(path):
        return True
    try:
        there = Path(path)
        return there.exists() and not (there.is_file() or there.is_dir())
    except OSError:  # a name that is too long: said by whoever writes
        return False
