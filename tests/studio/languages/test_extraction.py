import json
from pathlib import Path

from studio.languages.extraction import all_texts, marked_in_python

COMMAND = '''
"""A module."""

@in_one_sentence
def sing(name: Annotated[str, typer.Argument(metavar="NAME", help=tr("Who sings."))] = "mia") -> None:
    """Sing a song.

    Of several
    verses.
    """
    say(tr("Sang {what} for {name}.", what=ntr("{count} song", "{count} songs", count=len(songs)), name=name))
    raise ValueError("for developers only")


@dataclass
class Echo:
    delay_ms: float = setting(80.0, 0.0, 500.0, tr("When it "
        "comes."))
    name: str = "No setting"


def _inner() -> None:
    """Nobody reads this docstring."""
    return tr(variable)
'''


def test_marked_in_python_finds_marked_texts_titles_of_settings_and_helps_of_commands(tmp_path):
    (tmp_path / "sing.py").write_text(COMMAND, encoding="utf-8")
    assert set(marked_in_python(tmp_path / "sing.py")) == (
        {"Who sings.", "Sing a song.", "Of several verses.", "Sang {what} for {name}."}
        | {("{count} song", "{count} songs"), "When it comes.", "Delay (ms)"}
    )
    assert "Delay (ms)" not in set(marked_in_python(tmp_path / "sing.py", is_titled=False))


def test_all_texts_finds_texts_in_python_scripts_and_notebooks(tmp_path):
    script = (
        'make("p", { title: tr(\'A "quoted" {name}\', { name }) }, ntr("{n} take", "{n} takes", { n }), "no text");'
    )
    for name, content in {
        "engine/x.py": 'TEXT = tr("From Python")',
        "studio/page/static/a.js": script,
        "notebooks/n.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": "From a notebook"}]}),
        "engine/weights/voices/mia/card.json": json.dumps(
            {"description": "A voice.", "traits": ["dark"], "consent": {"statement": "She agreed.", "by": "Mia"}}
        ),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert all_texts(tmp_path) == (
        {"From Python", 'A "quoted" {name}', ("{n} take", "{n} takes"), "From a notebook", "A voice.", "dark"}
        | {"She agreed."}
    )


def test_all_texts_finds_the_texts_of_this_checkout():
    texts = all_texts(Path(__file__).parents[3])
    assert {
        "Nothing was deleted.",
        "{name} must be at least {ge}.",
        "List all voices, trained or not.",
        "male",
    } <= texts
    assert not {text for text in texts if isinstance(text, str) and text != " ".join(text.split()) and text != ", "}
