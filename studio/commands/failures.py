"""Turn errors into one sentence on stderr and an exit status."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from engine.errors import Cancelled, EngineError
from engine.files import names_that_fit
from engine.texts import tr
from studio.commands.wording import complain, program_name, translated

P = ParamSpec("P")
T = TypeVar("T")
STOPPED = 130  # the convention for Ctrl-C


def in_one_sentence(command: Callable[P, T]) -> Callable[P, T]:
    """Wrap `command` so that failures print one sentence; a Cancelled may bring its own."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with names_that_fit():
                return command(*args, **kwargs)
        except EngineError as error:
            typer.echo(translated(str(error)).replace("GET /models", program_name() + " voices"), err=True)
            raise typer.Exit(1) from error
        except ImportError as error:
            complain(tr("The installation is incomplete ({error}): see timbre-studio doctor.", error=error))
            raise typer.Exit(1) from error
        except (Cancelled, KeyboardInterrupt) as stop:
            complain(str(stop) or tr("Stopped; no incomplete files were left behind."))
            raise typer.Exit(STOPPED) from stop

    return run
