import gradio as gr

from studio.page.parts.element import element, shown


def test_element_passes_its_options_on():
    with gr.Blocks():
        options = {"elem_id": "here", "elem_classes": "dense", "visible": False}
        made = element("voices", events=("chosen",), data={"voices": []}, **options)
    assert (made.elem_id, made.elem_classes, made.visible) == ("here", ["dense"], False)
    assert made.value == shown({"voices": []}) == '{"voices": []}'
    assert "trigger(name, { told: event.detail })" in made.js_on_load
    assert '"chosen"' in made.js_on_load
