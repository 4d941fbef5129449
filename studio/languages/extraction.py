"""Extract the texts that are marked with `tr` and `ntr`, and those from elsewhere:
titles of settings, helps of commands, prose of notebooks, cards of the demo voices."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract

from engine.settings import title_of
from studio.languages.prose import prose_of

ROOT = Path(__file__).parents[2]
Message = str | tuple[str, str]  # with a plural, if it counts
_MARKS = {"tr": None, "ntr": (1, 2)}
_SETTINGS = {"setting", "text_setting"}
_COMMAND = "in_one_sentence"  # the decorator of commands
_NOT_SHOWN = "studio/settings/service.py"  # options by their names, not by titles


def all_texts(root: Path = ROOT) -> set[Message]:
    """Return the texts of engine, studio and notebooks of a checkout."""
    texts: set[Message] = set()
    for room in ("engine", "studio"):
        for path in (root / room).rglob("*.py"):
            texts.update(marked_in_python(path, is_titled=path != root / _NOT_SHOWN))
    for path in (root / "studio/page").rglob("*.js"):
        texts.update(_marked(path, "javascript"))
    for path in (root / "notebooks").glob("*.ipynb"):
        texts.update(prose_of(path))
    for path in (root / "engine/weights/voices").glob("*/card.json"):
        texts.update(_texts_of_card(path))
    return texts


def marked_in_python(path: Path, is_titled: bool = True) -> Iterator[Message]:
    """Return the texts that are marked in a module, its settings' titles, and its commands' helps by paragraphs."""
    yield from _marked(path, "python")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call) and isinstance(node.target, ast.Name):
            if is_titled and isinstance(node.value.func, ast.Name) and node.value.func.id in _SETTINGS:
                yield str.__str__(title_of(node.target.id))
        elif isinstance(node, ast.FunctionDef) and _COMMAND in map(ast.unparse, node.decorator_list):
            for paragraph in filter(None, (ast.get_docstring(node) or "").split("\n\n")):
                yield " ".join(paragraph.split())


def _marked(path: Path, method: str) -> Iterator[Message]:
    with path.open("rb") as file:
        for _, text, _, _ in extract(method, file, _MARKS, options={"parse_template_string": True}):
            yield (text[0], text[1]) if isinstance(text, tuple) else text


def _texts_of_card(path: Path) -> Iterator[str]:
    card = json.loads(path.read_text(encoding="utf-8"))
    yield from (card["description"], *card["traits"])
    yield card["consent"]["statement"] if isinstance(card["consent"], dict) else card["consent"]
