"""`notebooks`: write the notebooks in a language; `lab`: open copies of them in JupyterLab."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import typer

from engine.errors import EngineError
from engine.files import write_atomically
from engine.installed import add_packages, install_again, installed_files
from engine.texts import tr
from studio.commands.failures import in_one_sentence
from studio.commands.wording import OPTION, known_language, say, terminal_language
from studio.languages.known import ENGLISH
from studio.settings.options import option

FOLDER = Path(__file__).parents[2] / "notebooks"  # in the project's folder
_KIND = ".ipynb"
_KEPT = tr("Your copy stays as it is; choose another folder for the one that came with the studio.")
_PREPARES = "widgets.prepare()"
_SPEAKS = """from studio.languages.translation import translator

widgets.prepare(translator({code!r}).say_as_text)"""


class Cell(TypedDict):
    """A cell of a notebook; others of its fields stay as they are."""

    id: str
    cell_type: str
    source: list[str]
    outputs: NotRequired[list[object]]


class Notebook(TypedDict):
    """A notebook; others of its fields stay as they are."""

    cells: list[Cell]


@in_one_sentence
def notebooks(
    out: Annotated[Path, option("FOLDER", tr("Where to write them; files there are replaced."), "-o", "--out")],
    language: Annotated[str, option("CODE", tr("Their language: de, ja, ... (Default: the terminal's.)"), OPTION)] = "",
) -> None:
    """Write the notebooks in a language: their prose translated, their code as it is; prints their paths."""
    code = known_language(language) if language else terminal_language()
    out.mkdir(parents=True, exist_ok=True)
    for path in bundled():
        target = out / path.name
        write_atomically(target, _in_language(path, code))
        typer.echo(target)


@in_one_sentence
def lab(
    context: typer.Context,
    out: Annotated[
        Path, option("FOLDER", tr("Where your copies of the notebooks are, or will be."), "-o", "--out")
    ] = Path("timbre-studio-notebooks"),
) -> None:
    """Open the notebooks in JupyterLab: copies of them in a folder of yours, where none of your files is replaced.

    Options that are not listed here are passed on to JupyterLab, such as --no-browser or --port 8890.
    """
    try:
        from jupyterlab.labapp import main
    except ImportError as cause:
        raise EngineError(
            tr("Notebooks need other packages: {install}.", install=add_packages("jupyterlab", "ipywidgets"))
        ) from cause

    copy_notebooks(out, terminal_language())
    sys.exit(main([*context.args, str(out.absolute())]))


def copy_notebooks(folder: Path, code: str) -> None:
    """Write the notebooks in a language into a folder, beside what is there under their names; say what that is."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in bundled():
        target, text = folder / path.name, _in_language(path, code)
        if not target.exists():
            write_atomically(target, text)
        elif target.read_bytes() != text:
            say(_KEPT, str(target))


def bundled() -> list[Path]:
    """Return the notebooks that came with the studio. Raises EngineError if none did."""
    found = sorted(FOLDER.glob("*" + _KIND)) or sorted(installed_files(_KIND))
    if not found:
        raise EngineError(
            tr("The notebooks are missing; install the project again: {install}", install=install_again())
        )
    return found


def _in_language(path: Path, code: str) -> bytes:
    """Return a notebook in a language; in English as it came, with what it shows."""
    if code == ENGLISH:
        return path.read_bytes()
    from studio.languages.translation import translator

    notebook = translated_notebook(json.loads(path.read_text(encoding="utf-8")), translator(code).say_as_text, code)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def translated_notebook(notebook: Notebook, translate: Callable[[str], str], code: str) -> Notebook:
    """Return a notebook with its prose translated, and a cell that makes its widgets speak the language `code`.
    Its outputs, which are English, are left out."""
    from studio.languages.prose import pieces_of_markdown

    cells: list[Cell] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            pieces = pieces_of_markdown(source)
            source = "".join(translate(text) if is_prose else text for text, is_prose in pieces)
            cell = {**cell, "source": source.splitlines(keepends=True)}
        else:
            cell = {**cell, "outputs": []}
        cells.append(cell)
        if _PREPARES in source:
            speaking = _SPEAKS.format(code=code).splitlines(keepends=True)
            cells.append({**cell, "id": "cell-language", "source": speaking})
    return {**notebook, "cells": cells}
