"""The notebooks in a language: prose translated, code and marks as they are, widgets in the language."""

import json

import nbformat
from typer.testing import CliRunner

from studio.commands.cli import app
from studio.commands.notebooks import FOLDER, translated_notebook
from tests.catalogues import catalogue

GERMAN = {
    "2. Convert": "2. Konvertieren",
    "Listen": "Anhören",
    "Use the service over HTTP, as a program of yours would: convert, create a voice, train it, check the progress. "
    "This notebook needs a running service and does not start one. In a terminal:": "Nutze den Dienst über `HTTP`:",
}


def cell(kind: str, source: str) -> dict:
    return {"cell_type": kind, "id": "x", "metadata": {}, "source": source.splitlines(keepends=True)}


def test_notebooks_command_translates_every_notebook_and_keeps_its_code(tmp_path):
    with catalogue(tmp_path / "catalogues", "de", GERMAN):
        result = CliRunner().invoke(app, ["notebooks", "--language", "de-AT", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in FOLDER.glob("*.ipynb"))
    assert result.stdout.splitlines() == [str(tmp_path / "out" / name) for name in names]
    for name in names:
        made, original = (nbformat.read(folder / name, as_version=4) for folder in (tmp_path / "out", FOLDER))
        nbformat.validate(made)
        code = [one.source for one in made.cells if one.cell_type == "code" and one.id != "cell-language"]
        assert code == [one.source for one in original.cells if one.cell_type == "code"]
        [speaking] = [one.source for one in made.cells if one.id == "cell-language"]
        assert speaking.endswith("widgets.prepare(translator('de').say_as_text)")
        assert [one.cell_type for one in made.cells if one.id != "cell-language"] == [
            one.cell_type for one in original.cells
        ]
    prose = "\n".join(
        "".join(one["source"]) for one in json.loads((tmp_path / "out" / "2_convert.ipynb").read_text())["cells"]
    )
    assert "# 2. Konvertieren\n" in prose
    assert "## Anhören" in prose
    assert "## Recording, voice and settings" in prose  # what has no translation stays
    service = json.loads((tmp_path / "out" / "5_the_service.ipynb").read_text(encoding="utf-8"))
    assert "".join(service["cells"][0]["source"]).startswith(
        "# 5. The service\n\nNutze den Dienst über `HTTP`:\n\n```sh\npython -m studio serve"
    )


def test_translated_notebook_keeps_markdown_marks_and_code_blocks():
    markdown = "## One\ntext of\ntwo lines\n\n- an item\n- `another`\n\n```sh\ndo it\n```\n\nlast"
    made = translated_notebook({"cells": [cell("markdown", markdown)], "nbformat": 4}, lambda text: text.upper(), "de")
    assert "".join(made["cells"][0]["source"]) == (
        "## ONE\nTEXT OF\nTWO LINES\n\n- AN ITEM\n- `ANOTHER`\n\n```sh\ndo it\n```\n\nLAST"
    )


def test_notebooks_command_refuses_an_unknown_language(tmp_path):
    result = CliRunner().invoke(app, ["notebooks", "--language", "xx", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert not list(tmp_path.iterdir())
