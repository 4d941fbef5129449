"""Sentences on the page."""

import pytest

from studio.errors import NotFound
from studio.page.parts.notice import sentence_of


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("There is no such voice: GET /models lists those.", "There is no such voice. It may have been deleted."),
        ("Too much: 3 of 2 hours.", "Too much: 3 of 2 hours."),
    ],
)
def test_sentence_of_leaves_out_api_requests(said, told):
    assert sentence_of(NotFound(said)) == told
