"""The prose of notebooks: their Markdown without its marks and its blocks of code."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

# blocks of code; headings; and paragraphs and items of lists, which go on up to an empty or a marked line
_MARK = r"[ ]*(?:#{1,6}|[-*+]|\d+[.)]|>)[ ]+"
_PROSE = re.compile(
    rf"^[ ]*```.*?^[ ]*```[^\n]*$|^#{{1,6}}[ ]+(?P<heading>[^\n]+)"
    rf"|^(?:{_MARK})?[ ]*(?P<text>(?![ ]*```)\S[^\n]*(?:\n(?!{_MARK}|[ ]*```|[ ]*$)[^\n]+)*)",
    re.MULTILINE | re.DOTALL,
)


def prose_of(notebook: Path) -> Iterator[str]:
    """Return the headings, paragraphs and items of lists of a notebook, each as one line."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            pieces = pieces_of_markdown("".join(cell["source"]))
            yield from (" ".join(text.split()) for text, is_prose in pieces if is_prose)


def pieces_of_markdown(markdown: str) -> Iterator[tuple[str, bool]]:
    """Split Markdown into pieces and whether they are prose; together they are the Markdown again."""
    place = 0
    for found in _PROSE.finditer(markdown):
        if kind := found.lastgroup:
            yield markdown[place : found.start(kind)], False
            yield found[kind], True
            place = found.end(kind)
    yield markdown[place:], False
