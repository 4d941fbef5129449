"""What users read, and what files, classes and functions are called, uses the words of the field."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.texts import FIELD
from studio.languages.extraction import all_texts

# of the table in .github/CONTRIBUTING.md, where the word is wrong whatever it stands beside: what to say instead
WRONG = {
    r"\bheld (notes?|sounds?|vowels?)\b": "sustained",
    r"\bdrawn? towards\b": "replaced by similar frames",
    r"\bperformances\b": "takes",
    r"\bpronunciation is heard\b": "used",
    r"\bheard (timbre|as)\b": "speaker timbre, target timbre",
    r"\bmean colou?r\b": "long-term mean spectrum",
    r"\bcritic\b": "discriminator, optimizer",
    r"\bmoments? of (a|the) training\b|\beach moment\b": "checkpoint, frame",
    r"\b(watermark|fingerprint)\b": "content credentials",
    r"\bvariations\b": "takes",
    r"\bjoined where\b": "cross-fades",
}

ROOT = Path(__file__).parents[2]
# words of the table that are wrong in the name of a file, a class or a public function: what to say instead
WRONG_IN_NAMES = (
    dict.fromkeys(("hear", "hears", "hearing", "heard"), "extract, analyse, receive, detect")
    | dict.fromkeys(("tell", "tells", "telling", "told", "say", "says", "saying", "said"), "show, report, return")
    | {"held": "sustained, locked", "once": "idempotent", "critic": "discriminator", "watermark": "credentials"}
)
# words that are right there: a method of files, a text in the language of its reader, and what machines learn without
RIGHT = {
    "tell": {"engine/archives.py", "engine/audio/spliced_file.py"},
    "say": {"engine/texts.py", "engine/workers.py", "studio/languages/translation.py", "studio/commands/wording.py"},
    "said": {"engine/texts.py", "studio/languages/reading.py", "studio/page/parts/element.py"},
    "held": {"engine/research/benchmark/held_out.py", "engine/research/pretraining/corpus.py"},
}
USUAL = {("at", "once")}


def wrong_words(text: str) -> list[str]:
    shown = FIELD.sub("", text)
    return [f"{found[0]!r} in {text!r}: {say}" for one, say in WRONG.items() if (found := re.search(one, shown, re.I))]


@pytest.mark.parametrize("text", ["Pulls held notes up.", "How many performances to make", "What each moment needs"])
def test_wrong_words_finds_them(text):
    assert wrong_words(text)


def test_texts_use_the_words_of_the_field():
    texts = [text if isinstance(text, str) else text[1] for text in all_texts()]
    assert not [wrong for text in texts for wrong in wrong_words(text)]


def words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)]


def wrong_in(name: str, file: str = "") -> list[str]:
    words = words_of(name)
    wrong = [word for before, word in zip(["", *words], words, strict=False) if (before, word) not in USUAL]
    return [word for word in wrong if word in WRONG_IN_NAMES and file not in RIGHT.get(word, ())]


def names_in(path: Path) -> Iterator[str]:
    yield path.stem
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.suffix == ".py" else ()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    yield from (node.name for node in nodes if isinstance(node, kinds) and not node.name.startswith("_"))


@pytest.mark.parametrize("name", ["hear_vocal", "HeardTake", "is_held", "once", "tell_failure", "hearing"])
def test_wrong_in_finds_words_in_names(name):
    assert wrong_in(name)


def test_wrong_in_knows_usual_words():
    assert not wrong_in("conversions_at_once")
    assert not wrong_in("tell", "engine/archives.py")


def test_names_use_the_words_of_the_field():
    files = (path for room in ("engine", "studio") for path in (ROOT / room).rglob("*.*"))
    ours = [path for path in files if path.suffix in (".py", ".js")]
    assert len(ours) > 400
    named = [(str(path.relative_to(ROOT)), name) for path in ours for name in names_in(path)]
    wrong = [(file, name, word) for file, name in named for word in wrong_in(name, file)]
    assert not [f"{file}: {name}: {WRONG_IN_NAMES[word]} instead of {word}" for file, name, word in wrong]


def test_exceptions_for_words_in_names_are_used():
    for word, files in RIGHT.items():
        assert not [file for file in files if not any(word in words_of(name) for name in names_in(ROOT / file))]
