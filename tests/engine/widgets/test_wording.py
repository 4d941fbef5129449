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


def test_labels_are_translated(formatter):
    assert ipywidgets.Checkbox(description="notes").description == "Noten"
    assert voice_chooser().description == "Stimme"
    assert ipywidgets.Checkbox(description="unknown").description == "unknown"


def test_texts_are_translated_whenever_they_come(formatter):
    told, label = ipywidgets.HTML(), ipywidgets.Label("notes")
    told.value = sentence("It failed.", wrong=True)
    assert "Es ging schief." in told.value
    assert label.value == "Noten"


def test_choices_keep_their_values(formatter):
    chooser = ipywidgets.ToggleButtons(options=["rhythmic", "melodic"], value="melodic")
    assert chooser.options[1] == ("gesungen", "melodic")
    assert chooser.value == "melodic"


def test_tables_are_translated(formatter):
    shown = formatter.of[HTML](table([{"voice": "Mia"}]))
    assert "Stimme" in shown
    assert "Mia" in shown


def test_html_stays_html():
    assert translated_html(lambda text: text.replace("&", "<"), "<b>a &amp; b</b>") == "<b>a &lt; b</b>"


def test_prepare_outside_a_notebook_does_nothing():
    prepare(str.upper)
    assert ipywidgets.Checkbox(description="notes").description == "notes"
