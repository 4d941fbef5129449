"""What a browser sends, before an event begins; files are tested with the page (tests/studio/test_page.py)."""

import gradio as gr

from studio.page.parts.checked_events import with_choices_left


def test_with_choices_left_clears_choices_that_no_longer_exist():
    with gr.Blocks():
        voices = gr.Dropdown([("Zoë", "voice-1"), ("Ann", "voice-2")])
        several = gr.Dropdown(["a"], multiselect=True)
        own = gr.Dropdown(["a"], allow_custom_value=True)
        name = gr.Textbox()
        none_yet = gr.Dropdown([])
    components = [voices, several, own, name, none_yet]
    assert with_choices_left(components, ["voice-2", ["a"], "b", "voice-9", "c"]) == [
        "voice-2", ["a"], "b", "voice-9", None,
    ]  # fmt: skip
    assert with_choices_left([voices], ["voice-9"]) == [None]
    assert with_choices_left([voices], [None]) == [None]


def test_with_choices_left_accepts_too_few_and_too_many_values():
    with gr.Blocks():
        voices = gr.Dropdown(["a"])
    assert with_choices_left([voices], []) == []
    assert with_choices_left([], ["a"]) == ["a"]
