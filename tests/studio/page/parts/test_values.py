import gradio as gr
import pytest

from studio.errors import Invalid
from studio.page.parts.page import Wish
from studio.page.parts.values import Given
from studio.page.tabs.train import _Kept


def test_given_reads_what_other_tabs_wish_and_what_the_browser_kept():
    """Pydantic refused these types under Python 3.11, and no voice could be trained."""
    with gr.Blocks():
        wish, kept = gr.State(), gr.BrowserState({})
    given = Given({wish: {"voice": "mia", "at": 1.0}, kept: {"voice": "mia", "settings": {"epochs": 3}}})
    assert given.read(wish, Wish) == {"voice": "mia", "at": 1.0}
    assert given.read(kept, _Kept) == {"voice": "mia", "settings": {"epochs": 3}}
    assert Given({kept: {}}).read(kept, _Kept) is None  # of an earlier version


def test_given_refuses_what_no_page_sends():
    with gr.Blocks():
        name = gr.Textbox()
    with pytest.raises(Invalid, match="reload it"):
        Given({name: {"a": 1}}).read(name, str)
    assert Given({name: None}).text(name) == ""
