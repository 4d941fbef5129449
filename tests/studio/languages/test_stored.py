import pytest
from pydantic import TypeAdapter

from engine.texts import ntr, tr
from studio.languages.stored import Said, read_text, stored_text


@pytest.mark.parametrize(
    "text", [tr("The disk is full."), ntr("{count} take", "{count} takes", count=2), tr("{a}", a=tr("{b}", b="x"))]
)
def test_read_text_returns_the_text_of_stored_text(text):
    again = read_text(stored_text(text))
    assert (again, again.template, again.plural, again.values) == (text, text.template, text.plural, text.values)


def test_stored_text_without_values_is_english_alone():
    assert stored_text(tr("The disk is full.")) == "The disk is full."
    assert read_text(None) is None


def test_stored_text_removes_what_databases_refuse():
    assert stored_text("a\0b\ud800c") == "ab?c"
    assert read_text(stored_text(tr("{name} is damaged.", name="a\0b\ud800c"))).values == {"name": "a\0b?c"}


def test_read_text_keeps_what_others_wrote():
    for text in ('{"text": ', '{"text": 1}', "{}", ""):
        assert read_text(text) == text


def test_said_keeps_the_template_in_a_record():
    kept = TypeAdapter(list[Said])
    values = kept.dump_python([tr("{n} s", n=2), "plain"], mode="json")
    assert kept.validate_python(values) == ["2 s", "plain"]
    assert kept.validate_python(values)[0].template == "{n} s"
