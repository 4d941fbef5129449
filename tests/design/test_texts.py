"""Texts stay texts: what is put together with strings alone is no longer said in other languages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"tr", "ntr", "joined", "title_of", "in_words", "rounded_duration", "duration_text"}  # functions that return one
LOST = {"lower", "upper", "strip", "rstrip", "capitalize", "title"}  # methods of strings that return plain ones
REPORTS = {"report", "_report", "_show"}  # take what is shown while something runs, as their second value
_NUMBERED = re.compile(r"\{([a-z_]*[a-z_][2-9])\}")  # name2, not sha256
NOT_TOLD = ("research", "plots")  # measurements and pictures, in English


def lost_texts(source: str) -> Iterator[int]:
    """The lines where a text becomes a plain string, or where a plain one is reported."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            if any(_is_text(one.value) for one in node.values if isinstance(one, ast.FormattedValue)):
                yield node.lineno
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            on = node.func.value if isinstance(node.func, ast.Attribute) else None
            is_joined = name == "join" and any(_is_text(one) for given in node.args for one in ast.walk(given))
            told = node.args[1] if name in REPORTS and len(node.args) == 2 else None
            is_plain = isinstance(told, ast.Constant) and isinstance(told.value, str) and told.value
            if is_joined or is_plain or (name in LOST and _is_text(on)):
                yield node.lineno


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MADE


@pytest.mark.parametrize(
    "source",
    ["f\"{tr('one')} two\"", '", ".join([tr("one"), other])', 'tr("One").lower()', 'self.report(0.5, "mixing")'],
)
def test_lost_texts_finds_what_becomes_a_plain_string(source):
    assert list(lost_texts(source)) == [1]


@pytest.mark.parametrize(
    "source",
    ['joined(", ", [tr("one")])', 'tr("one") + other', 'report(0.5, tr("mixing"))', 'report(0.5, "")', "f'{a}'"],
)
def test_lost_texts_takes_what_stays_a_text(source):
    assert list(lost_texts(source)) == []


@pytest.mark.parametrize("room", ["engine", "studio"])
def test_texts_of_the_product_stay_texts(room):
    paths = [path for path in sorted((ROOT / room).rglob("*.py")) if not set(path.parts) & set(NOT_TOLD)]
    lost = [f"{path}:{line}" for path in paths for line in lost_texts(path.read_text(encoding="utf-8"))]
    assert len(paths) > 50
    assert lost == []


# ---- what translators are given


def faults_of_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of texts that cannot be said well in another language, or name a program that is not installed."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tr", "ntr")):
            continue
        template = " ".join(str(one.value) for one in node.args if isinstance(one, ast.Constant))
        if numbered := _NUMBERED.findall(template):
            yield node.lineno, f"fields named by a number: {numbered}"
        if "python -m studio" in template:
            yield node.lineno, "the program is called timbre-studio where it is installed"
        chosen = [one.arg for one in node.keywords if _is_chosen(one)]
        yield from ((node.lineno, f"{name} is English in every language") for name in chosen)


def _is_chosen(value: ast.keyword) -> bool:
    """Whether a value is one of several English words: take or takes."""
    if not isinstance(value.value, ast.IfExp):
        return False
    ends = (value.value.body, value.value.orelse)
    return any(isinstance(one, ast.Constant) and re.search("[a-z]{2}", str(one.value)) for one in ends)


@pytest.mark.parametrize(
    "source",
    [
        *('tr("{name} and {name2}", name=a, name2=b)', 'tr("Run python -m studio doctor.")'),
        *('tr("{n} {takes}", n=n, takes="take" if n == 1 else "takes")', 'ntr("{n2} take", "{n2} takes", n2=n)'),
    ],
)
def test_faults_of_texts_finds_what_no_language_can_say(source):
    assert len(list(faults_of_texts(source))) == 1


@pytest.mark.parametrize("room", ["engine", "studio"])
def test_texts_can_be_said_in_every_language(room):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, what in faults_of_texts(path.read_text(encoding="utf-8"))
    ]
    assert found == []
