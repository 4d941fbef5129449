"""Parts of the page are made without a page that runs.

Gradio makes an event loop for each page where none runs, and closes none: what is left of them goes here, unheard.
"""

import asyncio
import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only here are loops and sockets that nobody closes not ours."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left() -> Iterator[None]:
    """What gradio has made is gone before the tests of another module begin."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.set_event_loop(None)  # the last one, which would go in the middle of another test
        gc.collect()
