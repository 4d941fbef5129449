"""What sessions of a page share, and what stays each one's own."""

import anyio
import gradio as gr
import pytest
from gradio.state_holder import StateHolder

from studio.page.parts.checked_events import CheckedEvents
from studio.page.uploads import UploadNames


@pytest.fixture
def page(tmp_path) -> CheckedEvents:
    with CheckedEvents(UploadNames(tmp_path), title="A page", delete_cache=None) as made:
        voice, name = gr.Dropdown(["a"], label="Voice"), gr.Textbox()
        gr.Button().click(lambda choices: gr.update(choices=choices), name, voice)
    return made


def choose(page: CheckedEvents, session: str, choices: list[str]) -> gr.Dropdown:
    """Have the event put these choices in a session; return its list."""
    (event,) = page.fns.values()
    state = page.state_holder[session]
    anyio.run(page.postprocess_data, event, gr.update(choices=choices), state)
    return state[event.outputs[0]._id]


def test_sessions_have_choices_of_their_own(page):
    StateHolder().set_blocks(page)
    ann, bert = choose(page, "ann", ["b"]), choose(page, "bert", ["b", "c"])
    assert [[choice for _, choice in one.choices] for one in (ann, bert)] == [["b"], ["b", "c"]]
    (event,) = page.fns.values()
    assert page.state_holder["other"][event.outputs[0]._id] is page.blocks[event.outputs[0]._id] is event.outputs[0]
    assert [choice for _, choice in event.outputs[0].choices] == ["a"]
    assert [choice for _, choice in choose(page, "ann", ["c"]).choices] == ["c"]  # no longer what it was


def test_sessions_share_components_that_are_alike(page):
    """Every session kept 54 of its own after the page was opened."""
    StateHolder().set_blocks(page)
    assert choose(page, "ann", ["b"]) is choose(page, "bert", ["b"])
    many = [choose(page, "ann", [str(number)]) for number in range(20)]
    assert choose(page, "bert", ["19"]) is many[-1]
    again = choose(page, "bert", ["0"])
    assert again is not many[0]  # the last few are known, and not whatever anybody ever had
    assert [choice for _, choice in again.choices] == ["0"]


def test_sessions_keep_no_descriptions_of_components(page):
    """They took 1 MB of each session, for links to its state, which this page does not offer."""
    StateHolder().set_blocks(page)
    choose(page, "ann", ["b"])
    assert list(page.state_holder["ann"].components) == []
    assert [one["props"]["label"] for one in page.config["components"] if one["type"] == "dropdown"] == ["Voice"]


def test_sessions_add_and_lose_components_for_themselves(page):
    """As `gr.render` does."""
    StateHolder().set_blocks(page)
    ann, bert = (page.state_holder[one].blocks_config for one in ("ann", "bert"))
    of_page = len(page.blocks)
    ann.blocks[-1] = gr.Textbox(render=False)
    del bert.blocks[next(iter(page.blocks))]
    ann.fns.clear()
    assert (len(ann.blocks), len(bert.blocks), len(page.blocks)) == (of_page + 1, of_page - 1, of_page)
    assert page.fns.keys() == bert.fns.keys() != ann.fns.keys()
