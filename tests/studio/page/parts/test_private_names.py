"""What the page uses of Gradio that Gradio does not promise: each was there in 6.31, and the test says who needs it."""

import re
from pathlib import Path

import gradio as gr
import pytest
from gradio.helpers import EventData
from gradio.queueing import Queue
from gradio.route_utils import API_PREFIX
from gradio.routes import App
from gradio.state_holder import StateHolder

import studio.page
from studio.page.blocks import _WORDS as WORDS
from studio.page.early_scripts import _HEAD as HEAD
from studio.page.parts.checked_events import CheckedEvents
from studio.page.sessions import PREFIX, USED
from studio.page.uploads import FILE, UPLOAD

SEEN = "6.31"
PAGE = Path(studio.page.__path__[0])
COMMENTS, DECLARATIONS = re.compile(r"/\*.*?\*/", re.S), re.compile(r"\{[^{}]*\}|\"[^\"]*\"")
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


@pytest.mark.parametrize("name", sorted(USED))
def test_gradio_has_the_addresses_that_the_page_keeps_open(page, name):
    served = App.create_app(page).openapi()["paths"]
    assert any(path.startswith(PREFIX + name) for path in served), missing(PREFIX + name, "sessions.py")


def test_page_of_gradio_has_the_head_that_early_scripts_begin():
    page = (SCRIPTS.parent / "index.html").read_bytes()
    assert page.count(HEAD) == 1, missing(HEAD.decode(), "early_scripts.py")
    assert b"<script" not in page.partition(HEAD)[0]


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


# what our modules look for in the page, and who does
FOUND = {
    "upload-container": "convert/columns.css",
    "standard-player": "convert/columns.css",
    "uploading": "convert/columns.css",
    "data-tab-id": "static/address.js, drop.js and returning.js",
    "tab-wrapper": "static/address.js",
    "overflow-dropdown": "static/address.js",
    "aria-dropeffect": "static/drop.js",
    "tabitem": "static/keyboard.js",
    "reset-button": "static/keyboard.js",
    "number input for ": "static/keyboard.js",
    "range slider for ": "static/keyboard.js",
    "Reset to default value": "static/keyboard.js",
    "info-text": "static/page.css",
    "queue/join": "body_limits.py and sessions.py",
}
# what Gradio does that the page works around, as its scripts have it: where one is gone, so can be what works around it
DONE = {
    "parts/recorder.py": r"getUserMedia\(\{audio:\w+==null\|\|\w+\}\)",  # with the browser's gain control and the like
    "static/fields.js (pass)": r"===`Escape`\?\[!1,\w+\]:.{0,300}\[!0,\w+\]",  # any other key opens the list, Tab too
    "the marks of convert/presets.py": r"on_blur\?\.\(\),\w+\.on_input\?\.\(\)",  # a list that is left says `input`
    "static/audio-files.js": r"\.split\(`/`\);return \w+\.type\.startsWith\(",  # what a browser says that a file is
    "_NOTHING of parts/memory.py": r"\{if\(\w+\)try\{let \w+=\w+\(JSON\.stringify",  # what is false is not stored
}


@pytest.mark.parametrize("name", FOUND)
def test_scripts_of_gradio_have_the_names_that_the_page_looks_for(scripts, name):
    assert name in scripts, missing(name, FOUND[name])


@pytest.mark.parametrize("defence", DONE)
def test_scripts_of_gradio_still_do_what_the_page_works_around(scripts, defence):
    assert re.search(DONE[defence], scripts), f"Gradio {gr.__version__} does not need {defence} any more."


def test_style_sheets_name_only_classes_that_we_or_gradio_have(scripts):
    sheets = "".join(DECLARATIONS.sub("{}", COMMENTS.sub("", one.read_text())) for one in PAGE.rglob("*.css"))
    ours = "".join(one.read_text() for kind in ("*.py", "*.js") for one in PAGE.rglob(kind))
    known = set(re.findall(r"[\w-]+", ours + scripts))
    assert set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", sheets)) - known == set()


def test_client_of_gradio_asks_by_the_fetch_of_the_window(scripts):
    asks = re.search(r"[^.\w]fetch\(\w+,\{\.\.\.\w+,headers:", scripts)
    assert asks, missing("client that calls window.fetch", "static/restart.js")
