"""The notebooks in a language: prose translated, code and marks as they are, widgets in the language."""

import json
import sys

import nbformat
import pytest
from jupyterlab import labapp
from typer.testing import CliRunner

from engine.errors import EngineError
from studio.commands import notebooks
from studio.commands.cli import app
from studio.commands.notebooks import FOLDER, translated_notebook
from tests.catalogues import catalogue

GERMAN = {
    "2. Convert": "2. Konvertieren",
    "Listen": "Anhören",
    "For developers. Use the service over HTTP, as a program of yours would: convert, create a voice, train it, check "
    "the progress. This notebook needs a running service and does not start one. In a terminal:": (
        "Für Entwickler. Nutze den Dienst über `HTTP`:"
    ),
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
        "# 5. The service\n\nFür Entwickler. Nutze den Dienst über `HTTP`:\n\n```sh\ntimbre-studio serve"
    )


@pytest.fixture
def lab(monkeypatch):
    """JupyterLab, which is only started; gives its arguments."""
    started = []
    monkeypatch.setattr(labapp, "main", started.append)
    return started


def test_lab_opens_copies_and_keeps_what_is_there(tmp_path, lab):
    folder = tmp_path / "my notebooks"
    result = CliRunner().invoke(app, ["lab", "--allow-root", "--out", str(folder), "--port", "8899"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert lab == [["--allow-root", "--port", "8899", str(folder)]]
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == {
        one.name: one.read_bytes() for one in FOLDER.glob("*.ipynb")
    }
    (folder / "2_convert.ipynb").write_text("mine")
    (folder / "1_listen_and_look.ipynb").unlink()
    again = CliRunner().invoke(app, ["lab", "--out", str(folder)])
    assert (folder / "2_convert.ipynb").read_text() == "mine"
    assert (folder / "1_listen_and_look.ipynb").exists()
    assert [line.partition(": ")[0] for line in again.stderr.splitlines()] == [f'"{folder / "2_convert.ipynb"}"']


def test_lab_speaks_the_language_of_the_terminal(tmp_path, lab):
    with catalogue(tmp_path / "catalogues", "de", GERMAN):
        CliRunner().invoke(app, ["--language", "de", "lab", "--out", str(tmp_path / "out")])
    assert "Konvertieren" in (tmp_path / "out" / "2_convert.ipynb").read_text()


def test_lab_names_the_packages_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    result = CliRunner().invoke(app, ["lab", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "install jupyterlab ipywidgets" in result.stderr
    assert not (tmp_path / "out").exists()


def test_installed_notebooks_are_found_without_the_projects_folder(tmp_path, monkeypatch):
    shared = tmp_path / "share" / "1_listen_and_look.ipynb"
    shared.parent.mkdir()
    shared.write_text("{}")
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path / "nothing")
    monkeypatch.setattr(notebooks, "installed_files", lambda suffix: [shared])
    assert notebooks.bundled() == [shared]
    monkeypatch.setattr(notebooks, "installed_files", lambda suffix: [])
    with pytest.raises(EngineError, match=r"install the project again: .*install"):
        notebooks.bundled()


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
