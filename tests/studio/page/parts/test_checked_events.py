"""What a browser sends, before an event begins; files are tested with the page (tests/studio/test_page.py)."""

from pathlib import Path

import anyio
import gradio as gr
import pytest

from studio.page.parts.checked_events import CheckedEvents, with_choices_left
from studio.page.uploads import UploadNames


def test_with_choices_left_clears_choices_that_no_longer_exist():
    with gr.Blocks():
        voices = gr.Dropdown([("Zoë", "voice-1"), ("Ann", "voice-2")])
        several = gr.Dropdown(["a"], multiselect=True)
        own = gr.Dropdown(["a"], allow_custom_value=True)
        name = gr.Textbox()
        none_yet = gr.Dropdown([])
    components = [voices, several, own, name, none_yet]
    expected = ["voice-2", ["a"], "b", "voice-9", None]
    assert with_choices_left(components, ["voice-2", ["a"], "b", "voice-9", "c"]) == expected
    assert with_choices_left([voices], ["voice-9"]) == [None]
    assert with_choices_left([voices], [None]) == [None]


def test_with_choices_left_accepts_too_few_and_too_many_values():
    with gr.Blocks():
        voices = gr.Dropdown(["a"])
    assert with_choices_left([voices], []) == []
    assert with_choices_left([], ["a"]) == ["a"]


@pytest.mark.parametrize("values", [[], ["a"], ["a", [[]]], ["a", {"b": 1}], ["a", "\x00"], ["a", 10**30]])
def test_preprocess_data_refuses_what_the_page_does_not_send(values):
    """Gradio logged a traceback for each."""
    with CheckedEvents(UploadNames(Path()), title="A page", delete_cache=None) as page:
        name, amount = gr.Textbox(), gr.Slider(0, 10)
        gr.Button().click(lambda *given: given, [name, amount], [name, amount])
    (event,) = page.fns.values()
    with pytest.raises(gr.Error) as refused:
        anyio.run(page.preprocess_data, event, values, None)
    assert not refused.value.print_exception


def test_preprocess_data_reads_the_values_of_the_page():
    with CheckedEvents(UploadNames(Path()), title="A page", delete_cache=None) as page:
        name, amount = gr.Textbox(), gr.Slider(0, 10)
        gr.Button().click(lambda *given: given, [name, amount], [name, amount])
    (event,) = page.fns.values()
    assert anyio.run(page.preprocess_data, event, ["a", 3], None) == ["a", 3]
