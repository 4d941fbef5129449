"""`notebooks`: write the notebooks in a language."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import typer

from engine.errors import EngineError
from engine.texts import tr
from studio.commands.failures import in_one_sentence
from studio.commands.wording import OPTION, known_language, terminal_language

FOLDER = Path(__file__).parents[2] / "notebooks"
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
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help=tr("Where to write them; files there are replaced."))
    ],
    language: Annotated[
        str, typer.Option(OPTION, metavar="CODE", help=tr("Their language: de, ja, ... (Default: the terminal's.)"))
    ] = "",
) -> None:
    """Write the notebooks in a language: their prose translated, their code as it is; prints their paths."""
    from studio.languages.translation import translator

    code = known_language(language) if language else terminal_language()
    found = sorted(FOLDER.glob("*.ipynb"))
    if not found:
        raise EngineError(tr("The notebooks are not part of the installed package: run this in the project's folder."))
    out.mkdir(parents=True, exist_ok=True)
    for path in found:
        notebook = translated_notebook(json.loads(path.read_text(encoding="utf-8")), translator(code).say_as_text, code)
        target = out / path.name
        target.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        typer.echo(target)


def translated_notebook(notebook: Notebook, translate: Callable[[str], str], code: str) -> Notebook:
    """Return a notebook with its prose translated and a cell that makes its widgets speak the language `code`.

    Its outputs are left out: they are in English, until it is run.
    """
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
