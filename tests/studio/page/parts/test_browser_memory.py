"""What is given to the browser to remember, which Gradio's script would not store."""

import gradio as gr
import pytest

from studio.page.parts.browser_memory import recalled, remembered, stored


@pytest.mark.parametrize("value", [None, [], {}, "", 0, {"id": None}, "kathleen"])
def test_stored_gives_the_browser_something_to_store_and_recalled_gives_it_back(value):
    kept, shown = remembered("kept"), gr.State()
    given = stored({kept: value, shown: value})
    assert given[shown] == value
    assert given[kept] is not None
    assert recalled(given[kept]) == value


def test_recalled_gives_inputs_by_component_back_one_by_one():
    kept, other, shown = remembered("kept"), remembered("other"), gr.State()
    given = stored({kept: None, other: 3, shown: None})
    assert recalled(given) == {kept: None, other: 3, shown: None}
    assert recalled({"nothing": None}) == {"nothing": None}
