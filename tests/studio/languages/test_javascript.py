import pytest

from studio.languages.javascript import texts_of_script


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ('say("Press Start again.")', ["Press Start again."]),
        ("let a = 'Play', b = \"stop\"", ["Play"]),
        ("x = `take ${number} of ${takes.length}`", ["take {number} of {length}"]),
        ('x = `${a ? "one take" : "no takes here"} in all`', ["one take", "no takes here", "{a} in all"]),
        ("// a comment of words\n/* and \"another one\" */ x = 1", []),
        ('node.className = "big red button"', []),
        ('document.querySelector("div span")', []),
        ('x = "It\\u00e4s a text\\nof two lines"', ["Itäs a text\nof two lines"]),
        ('if (event.key === "Escape") x = /"not a text"/', []),
    ],
)  # fmt: skip
def test_texts_of_script_extracts_texts_and_skips_code(script, texts):
    assert list(texts_of_script(script)) == texts
