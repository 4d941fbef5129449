"""How often `Any` is written, which switches the checks of types off: a number that may only fall."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = {"engine": 110}


@pytest.mark.parametrize("package", MOST)
def test_any_is_written_no_more_often_than_before(package: str) -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / package).rglob("*.py")}
    written = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    assert len(trees) > 50
    assert len(written) <= MOST[package], "write object, a type of your own, or what is really meant"
