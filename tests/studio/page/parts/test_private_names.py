"""What the page uses of Gradio that Gradio does not promise: each was there in 6.31, and the page says who needs it."""

import re
from pathlib import Path

import gradio as gr
import pytest
from gradio.helpers import EventData
from gradio.queueing import Queue
from gradio.route_utils import API_PREFIX
from gradio.state_holder import StateHolder

from studio.page.blocks import _WORDS as WORDS
from studio.page.parts.checked_events import CheckedEvents
from studio.page.sessions import PREFIX
from studio.page.uploads import FILE, UPLOAD

SEEN = "6.31"
SCRIPTS = Path(gr.__file__).parent / "templates" / "frontend" / "assets"


@pytest.fixture(scope="module")
def page() -> gr.Blocks:
    with gr.Blocks() as page:
        gr.Button().click(lambda: None)
    return page.queue()


def missing(name: str, where: str) -> str:
    return f"Gradio {gr.__version__} has no {name}, as {SEEN} had; studio/page/{where} needs it."


@pytest.mark.parametrize(
    "name", ["clean_events", "pending_messages_per_session", "pending_event_ids_session", "sleep_when_free"]
)
def test_queue_of_gradio_has_what_sessions_forget_and_blocks_slow_down(page, name):
    assert isinstance(page._queue, Queue)
    assert hasattr(page._queue, name), missing(f"Queue.{name}", "sessions.py or blocks.py")


@pytest.mark.parametrize("name", ["session_data", "time_last_used"])
def test_state_holder_of_gradio_has_what_sessions_forget(page, name):
    assert isinstance(page.state_holder, StateHolder), missing("Blocks.state_holder", "sessions.py")
    assert hasattr(page.state_holder, name), missing(f"StateHolder.{name}", "sessions.py")


@pytest.mark.parametrize("name", ["process_api", "preprocess_data"])
def test_blocks_of_gradio_have_what_checked_events_override(name):
    assert name in vars(CheckedEvents)
    assert hasattr(gr.Blocks, name), missing(f"Blocks.{name}", "parts/checked_events.py")


def test_event_data_of_gradio_is_where_checked_events_look_for_files():
    told = {"told": {"id": 1}}
    assert EventData(None, told)._data is told, missing("EventData._data", "parts/checked_events.py")
    assert EventData(None, told).told == {"id": 1}


def test_components_of_gradio_have_the_numbers_that_checked_events_look_up(page):
    same = all(one._id == number for number, one in page.blocks.items())
    assert same, missing("Block._id", "parts/checked_events.py")
    assert all(hasattr(event, "inputs") for event in page.fns.values())


def test_gradio_serves_its_interface_where_the_middleware_looks_for_it():
    assert f"{API_PREFIX}/" == PREFIX, missing(PREFIX, "sessions.py")
    assert {FILE, UPLOAD} == {f"{API_PREFIX}/file=", f"{API_PREFIX}/upload"}


def test_blocks_of_gradio_keep_their_config_where_checked_events_say_its_texts(page):
    assert isinstance(vars(CheckedEvents)["config"], property)
    assert {"components", "dependencies"} <= set(page.config), missing("Blocks.config", "parts/checked_events.py")


@pytest.fixture(scope="module")
def scripts() -> str:
    """The scripts that Gradio ships."""
    return "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js"))


def test_indicator_of_gradio_still_counts_at_every_frame(scripts):
    # requestAnimationFrame(() => { ... (performance.now() - start) / 1e3 ... itself() })
    counting = r"function \w+\(\)\{\w+\(\(\)=>\{[^{}]{0,60}performance\.now\(\)-[^{}]{0,20}/1e3\)[^{}]{0,40}\}\)\}"
    assert re.search(counting, scripts), missing("timer that counts for ever", "static/frames.js, which can go,")


@pytest.mark.parametrize("word", sorted(WORDS))
def test_words_of_gradio_are_those_that_the_page_replaces(scripts, word):
    assert word in scripts, missing(f"word {word}", "blocks.py")


@pytest.mark.parametrize(
    "name", ["upload-container", "source-selection", "standard-player", "uploading"]
)
def test_audio_of_gradio_has_the_classes_that_the_place_to_drop_is_styled_by(scripts, name):
    assert name in scripts, missing(f"class {name}", "convert/columns.css")
