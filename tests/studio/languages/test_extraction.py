import json
from pathlib import Path

import pytest

from studio.languages.extraction import all_texts, notebook_paragraphs, pieces_of_html, prose_of, python_texts

COMMAND = '''
"""A module."""
import typer

@command
def sing(name: Annotated[str, typer.Argument(metavar="NAME", help="Who sings.")] = "mia") -> None:
    """Sing a song.

    Of several verses.
    """
    say("done")
    say(f"Sang {len(songs)} songs for {name}.")
    raise ValueError("for developers only")


def _inner() -> None:
    """Nobody reads this docstring."""
    return {"some_key": "a-class another"}["x y"]
'''


def found(source: str, place: str = "studio/actions/x.py") -> list[str]:
    return list(python_texts(source, place))


def test_python_texts_finds_the_help_and_messages_of_a_command():
    texts = found(COMMAND, "studio/commands/sing.py")
    assert {"Sing a song.", "Of several verses.", "Who sings.", "done", "Sang {songs} songs for {name}."} <= set(texts)
    assert "Nobody reads this docstring." not in texts
    assert "for developers only" not in texts


@pytest.mark.parametrize(
    ("code", "template"),
    [
        ('f"{len(takes)} takes of {voice.name}"', "{takes} takes of {name}"),
        ('f"from {a} to {a}"', "from {a} to {a2}"),
        ('f"about {seconds:.1f} s left"'.replace("\\", ""), "about {seconds} s left"),
        ('"{count} takes are {kind!r}".format()', "{count} takes are {kind}"),
        ("f\"the {row['state']} task\"".replace("\\", ""), "the {state} task"),
    ],
)
def test_python_texts_turns_formatted_strings_into_templates(code, template):
    assert found(f"x = {code}") == [template.replace("\\n", "\n")]


def test_python_texts_skips_strings_read_by_programs():
    for code in (
        'x = "kathleen"', 'x = re.compile("two words")', 'x = "SELECT name FROM models"', 'button(elem_id="my own id")',
        'if kind == "two words": pass', 'assert x, "two words"', 'x = "color: red; margin: 0"',
    ):  # fmt: skip
        assert not found(code), code


def test_python_texts_finds_single_words_only_in_terms():
    assert found('x = terms("id", "name")') == ["id", "name"]
    assert found('x = ("id", "name")') == []


def test_pieces_of_html_returns_text_and_titles_without_code():
    page = "<p title='Two words'>One <b>bold</b> text {count}</p><code>x = 1</code><script>let a = 'no text'</script>"
    assert [one.strip() for one in pieces_of_html(page)] == ["Two words", "One", "bold", "text {count}"]


def test_prose_of_and_notebook_paragraphs_skip_markup_and_code():
    markdown = "# Title\nRight after.\n\n1. one\n   goes on\n2. two\n\n```sh\ncode here\n```\n> quoted\n"
    assert list(prose_of(markdown)) == ["Title", "Right after.", "one\n   goes on", "two", "quoted"]
    notebook = {
        "cells": [{"cell_type": "markdown", "source": ["# A\n", "b"]}, {"cell_type": "code", "source": ["x y"]}]
    }
    assert list(notebook_paragraphs(notebook)) == ["A", "b"]


def test_all_texts_finds_texts_in_python_scripts_pages_and_notebooks(tmp_path):
    for name, content in {
        "engine/x.py": 'TEXT = "One text\\n   here."', "engine/research/benchmark/y.py": 'TEXT = "not this one"',
        "studio/page/static/a.js": 'let x = "From the script"', "studio/page/static/b.html": "<b>From the page</b>",
        "notebooks/n.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": "From a notebook"}]}),
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = {
        text: places for text, places in all_texts(tmp_path).places.items() if "studio/languages/words.py" not in places
    }
    assert found == {
        "One text here.": {"engine/x.py"}, "From the script": {"studio/page/static/a.js"},
        "From the page": {"studio/page/static/b.html"}, "From a notebook": {"notebooks/n.ipynb"},
    }  # fmt: skip


def test_all_texts_finds_the_texts_of_this_checkout():
    places = all_texts(Path(__file__).parents[3]).places
    assert "studio/commands/confirmation.py" in places["Nothing was deleted."]
    assert "{name} must be at least {ge}." in places
    assert "List all voices, trained or not." in places
