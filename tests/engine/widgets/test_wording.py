"""Widgets and tables in the reader's language."""

import ipywidgets
import pytest
from IPython.display import HTML

from engine.widgets import prepare, table, voice_chooser
from engine.widgets.showing import sentence
from engine.widgets.wording import speak, translated_html


class Formatter:
    """What IPython does with kinds that have a function of their own."""

    def __init__(self) -> None:
        self.of = {}

    def for_type(self, kind, function) -> None:
        self.of[kind] = function


@pytest.fixture
def formatter():
    """German, until the test ends."""
    words = {
        "voice": "Stimme",
        "notes": "Noten",
        "It failed.": "Es ging schief.",
        "melodic": "gesungen",
        "a & b": "a < b",
    }
    made = Formatter()
    speak(lambda text: words.get(text, text), made)
    yield made
    ipywidgets.Widget.on_widget_constructed(None)


def test_speak_translates_widget_labels(formatter):
    assert ipywidgets.Checkbox(description="notes").description == "Noten"
    assert voice_chooser().description == "Stimme"
    assert ipywidgets.Checkbox(description="unknown").description == "unknown"


def test_speak_translates_texts_set_at_creation_or_later(formatter):
    told, label = ipywidgets.HTML(), ipywidgets.Label("notes")
    told.value = sentence("It failed.", wrong=True)
    assert "Es ging schief." in told.value
    assert label.value == "Noten"


def test_speak_translates_choices_and_keeps_their_values(formatter):
    chooser = ipywidgets.ToggleButtons(options=["rhythmic", "melodic"], value="melodic")
    assert chooser.options[1] == ("gesungen", "melodic")
    assert chooser.value == "melodic"


def test_speak_translates_tables(formatter):
    shown = formatter.of[HTML](table([{"voice": "Mia"}]))
    assert "Stimme" in shown
    assert "Mia" in shown


def test_translated_html_keeps_tags_and_escapes():
    assert translated_html(lambda text: text.replace("&", "<"), "<b>a &amp; b</b>") == "<b>a &lt; b</b>"


def test_prepare_outside_a_notebook_does_nothing():
    prepare(str.upper)
    assert ipywidgets.Checkbox(description="notes").description == "notes"
