import re

from hypothesis import given
from hypothesis import strategies as some

from studio.languages.templates import FIELD, Template, Templates, normal

VALUES = some.text(some.characters(whitelist_categories=["Nd", "Lo"]), min_size=1, max_size=12)
WORDS = some.lists(
    some.sampled_from(["take", "of", "is", "longer", "than", "(best)", "50 %", "a.b*c", "[x]"]), min_size=1
)


@given(WORDS, some.integers(1, 4), some.data())
def test_template_recognises_its_formatted_text_and_returns_the_values(words, count, data):
    """With values that hold none of the template's own words."""
    names = [f"f{number}" for number in range(count)]
    parts = [f"{' '.join(data.draw(WORDS))} {{{name}}}" for name in names]
    template = Template(f"{' '.join(words)} longest: {' '.join(parts)}.")
    values = {name: data.draw(VALUES) for name in names}
    text = FIELD.sub(lambda field: values[field[1]], template.text)
    assert template.values_in(text) == values
    assert Templates(["another {f0} template", template.text]).recognise(text) == (template.text, values)


def test_template_pattern_uses_only_syntax_shared_with_javascript():
    pattern = Template("a/b (c) {x}.").pattern
    assert pattern == r"a\/b \(c\) ([^]+?)\."
    assert not re.search(r"\(\?P|\\[^\\^$.*+?()\[\]{}|/]", pattern)


def test_template_of_few_words_accepts_only_numbers():
    assert Template("{length} s").values_in("2.5 s") == {"length": "2.5"}
    assert Template("{length} s").values_in("\u22123 s") == {"length": "\u22123"}
    assert Template("{length} s").values_in("yes s") is None


def test_templates_recognise_picks_the_most_specific_template():
    templates = Templates(["{name} is {what}.", "{name} is still being {what}: wait.", "{n} of {m}"])
    assert templates.recognise("Mia is still being trained: wait.") == (
        "{name} is still being {what}: wait.", {"name": "Mia", "what": "trained"},
    )  # fmt: skip
    assert templates.recognise("Nothing like it") is None
    assert templates.recognise("3 of 5") == ("{n} of {m}", {"n": "3", "m": "5"})


def test_normal_collapses_white_space():
    assert normal("  two\n   words ") == "two words"
