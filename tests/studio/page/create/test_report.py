"""The report of the Create tab, before it is there."""

import re

from studio.page.create.report import outline
from studio.page.page_files import page_file


def test_outline_names_what_a_report_shows_in_its_order():
    element = page_file("report.js").read_text(encoding="utf-8")
    labels = re.findall(r"<(?:dt|b)>(.+?)</", outline())
    assert len(labels) > 3
    places = [element.index(f'tr("{label}")') for label in labels]
    assert places == sorted(places)
