"""Sound through pipes: `-` in place of a recording is standard input, in place of a result standard output.
Both are whole files meanwhile: a conversion measures all of a recording first, and most headers are written last."""

import io
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from engine.audio.containers import look_at
from engine.errors import AudioError, SettingsError
from engine.files import writing_errors
from engine.texts import tr

if TYPE_CHECKING:
    from typer._click import Context

STREAM = "-"
_WAV = "wav"
_PREFIX = "timbre-studio-pipe-"  # of folders with what came through one


def is_pipe(text: str) -> bool:
    """Return whether a path is standard input or another pipe, whose bytes come once."""
    return text == STREAM or Path(text).is_fifo()


def brought_by(text: str, context: "Context") -> str:
    """Return the path of a file with what a pipe brings, there until the command ends.
    Raises SettingsError for a terminal, AudioError where nothing comes or the disk is full."""
    known: dict[str, str] = context.meta.setdefault(__name__, {})
    if text not in known:
        if text == STREAM and sys.stdin.isatty():
            raise SettingsError(tr("- reads what is piped into this command: pipe a recording, or name a file."))
        folder = Path(context.find_root().with_resource(TemporaryDirectory(prefix=_PREFIX)))
        if text == STREAM:
            known[text] = str(_kept(sys.stdin.buffer, folder / "stdin"))
        else:
            with Path(text).open("rb") as pipe:
                known[text] = str(_kept(pipe, folder / Path(text).name))
    return known[text]


def shown_path(path: Path) -> str:
    """Return what a recording is called: its path, or - for what came through a pipe."""
    return STREAM if path.parent.name.startswith(_PREFIX) else str(path)


def _kept(pipe: BinaryIO, path: Path) -> Path:
    """Write what a pipe brings to a file with the suffix of its kind."""
    with writing_errors(path), path.open("wb") as file:
        shutil.copyfileobj(pipe, file)
    if not path.stat().st_size:
        raise AudioError(tr("Nothing came through the pipe: check the output of the program before it."))
    container = look_at(path).container
    return path.rename(path.with_suffix(container.suffixes[0])) if container else path


@contextmanager
def to_standard_output(output: str, form: str | None) -> Iterator[str]:
    """Yield where to write a result: `output`, or a file that goes to standard output when the block succeeds.
    What the block prints there is dropped then. Raises SettingsError if standard output is a terminal."""
    if output != STREAM:
        yield output
        return
    shown = sys.stdout
    if shown.isatty():
        raise SettingsError(tr("-o - writes sound, which a terminal cannot show: pipe it into a program or a file."))
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"stdout.{form or _WAV}"
        with redirect_stdout(io.StringIO()):
            yield str(path)
        with path.open("rb") as file:
            shutil.copyfileobj(file, shown.buffer)
            shown.buffer.flush()


def refuse_beside_sound(options: Mapping[str, bool]) -> None:
    """Raise SettingsError for the first of these options that is given: they print where `-o -` writes sound."""
    for option, is_given in options.items():
        if is_given:
            raise SettingsError(tr("{option} does not go with -o -, which writes nothing but sound.", option=option))
