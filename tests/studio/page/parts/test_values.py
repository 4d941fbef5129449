"""What an event receives, by component."""

import gradio as gr
import pytest
from typing_extensions import TypedDict

from studio.errors import Invalid
from studio.page.convert.state import Analysed, Chosen, Now
from studio.page.convert.takes import Brought, TrackOf
from studio.page.parts.browser_memory import recalled
from studio.page.parts.page import Wish
from studio.page.parts.values import Given
from studio.page.train.tab import _Kept


class Kept(TypedDict):
    voice: str
    epochs: int


def test_read_returns_a_value_of_its_kind_as_it_is():
    name, amount, kept = gr.Textbox(), gr.Slider(0, 9), gr.State(None)
    value = {"voice": "mia", "epochs": 3, "later": True}
    given = Given({name: "Mia", amount: 3, kept: value})
    assert (given.text(name), given.number(amount), given.flag(kept)) == ("Mia", 3, True)
    assert given.read(kept, Kept) is value  # with what other parts have put there


def test_read_returns_nothing_where_there_is_nothing():
    name, kept = gr.Textbox(), gr.State(None)
    given = Given({name: None, kept: None})
    assert (given.text(name), given.number(name), given.flag(name), given.read(kept, Kept)) == ("", 0.0, False, None)


def test_read_forgets_what_a_browser_remembers_of_another_version():
    kept = gr.BrowserState(None)
    assert Given({kept: {"voice": "mia"}}).read(kept, Kept) is None
    assert Given({kept: "mia"}).read(kept, Kept) is None


def test_read_refuses_what_no_page_sends():
    name = gr.Textbox()
    with pytest.raises(Invalid, match="reload"):
        Given({name: {"path": "/etc/passwd"}}).read(name, str)


def test_given_reads_what_other_tabs_wish_and_what_the_browser_kept():
    """Pydantic refused these types under Python 3.11, and no voice could be trained."""
    wish, kept = gr.State(), gr.BrowserState({})
    given = Given({wish: {"voice": "mia", "at": 1.0}, kept: {"voice": "mia", "settings": {"epochs": 3}}})
    assert given.read(wish, Wish) == {"voice": "mia", "at": 1.0}
    assert given.read(kept, _Kept) == {"voice": "mia", "settings": {"epochs": 3}}
    assert Given({kept: {}}).read(kept, _Kept) is None  # of an earlier version


@pytest.mark.parametrize("kind", [Analysed, Chosen, Now, Brought, TrackOf])
def test_given_reads_every_record_of_the_convert_tab(kind):
    kept = gr.BrowserState({})
    assert Given({kept: {"unknown": 1}}).read(kept, kind) is None


def test_recalled_inputs_by_component_can_be_read():
    name, kept = gr.Textbox(), gr.BrowserState(None)
    found = recalled({name: "Mia", kept: {"nothing": True}})
    assert isinstance(found, Given)
    assert (found.text(name), found.read(kept, Kept)) == ("Mia", None)
