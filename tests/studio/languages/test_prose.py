import json

from studio.languages.prose import pieces_of_markdown, prose_of

MARKDOWN = "# Title\nRight after.\n\n1. one\n   goes on\n2. two\n\n```sh\ncode here\n```\n> quoted\n"


def test_pieces_of_markdown_tell_prose_from_marks_and_code_and_are_the_whole():
    pieces = list(pieces_of_markdown(MARKDOWN))
    assert [text for text, is_prose in pieces if is_prose] == [
        "Title",
        "Right after.",
        "one\n   goes on",
        "two",
        "quoted",
    ]
    assert "".join(text for text, _ in pieces) == MARKDOWN


def test_prose_of_returns_the_prose_of_a_notebook_in_lines(tmp_path):
    cells = [{"cell_type": "markdown", "source": ["# A\n", "b\n", "c"]}, {"cell_type": "code", "source": ["x y"]}]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert list(prose_of(tmp_path / "n.ipynb")) == ["A", "b c"]
