import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt

from studio.languages.extraction import all_texts
from studio.languages.known import LANGUAGES
from studio.learn.contents import PAGES, START
from studio.learn.markdown import anchor_of, parser
from studio.learn.site import FOLDER, files, pages_in

ROOT = Path(__file__).parents[3]
ENGLISH = pages_in("en", "../")
FIGURES = ("engine/README.md", "engine/MEASUREMENTS.md", "studio/deploy/README.md")
_SHORTEST_LABEL = 2  # letters of a text beside what is put into it


class Addresses(HTMLParser):
    """All that a page leads to or shows, and its anchors."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given["id"]} if given.get("id") else set()
        self.found += [(tag, given[name]) for name in ("href", "src") if given.get(name)]


def emphasised(markdown: str) -> set[str]:
    """The texts in *asterisks*: labels of the page."""
    labels = set()
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        inside = ""
        for part in token.children or ():
            if part.type == "em_open":
                inside = " "
            elif part.type == "em_close":
                labels.add(inside.strip())
                inside = ""
            elif inside:
                inside += " " if part.type == "softbreak" else part.content
    return labels


def is_shown(label: str, texts: set[str]) -> bool:
    """Whether the page can show a text: as it stands, behind a plus, or with something put into it."""
    if label.removeprefix("+ ") in texts:
        return True
    templates = (one for one in texts if "{" in one and len(re.sub(r"{\w+}|\W", "", one)) > _SHORTEST_LABEL)
    return any(re.fullmatch(re.sub(r"\\{\w+\\}", r"\\d+", re.escape(one)), label) for one in templates)


def test_every_lesson_is_in_the_contents_under_its_own_title():
    assert {path.stem for path in FOLDER.glob("*.md")} == {START, *PAGES}
    for name, title in PAGES.items():
        assert (FOLDER / f"{name}.md").read_text(encoding="utf-8").startswith(f"# {title}\n\n"), name


def test_the_first_page_has_its_title_in_the_language():
    page = pages_in("de", "../")[f"{START}.html"]
    assert "<title>Lektionen - " in page
    assert '<h1 lang="de">Lektionen</h1>' in page


def test_pages_lead_only_to_what_is_there_and_ask_nothing_of_others():
    anchors = {name: Addresses(page).anchors for name, page in ENGLISH.items()}
    shown = set()
    for name, page in ENGLISH.items():
        for tag, address in Addresses(page).found:
            where = urlsplit(address)
            assert not where.scheme, (name, address)
            assert not where.netloc, (name, address)
            if address != "../":
                assert where.path in ENGLISH if tag == "a" and where.path.endswith(".html") else where.path in files()
                assert not where.fragment or where.fragment in anchors[where.path], (name, address)
                shown.add(where.path)
    assert set(files()) - shown == set()  # nothing is carried along for nothing


def test_labels_of_the_page_are_named_as_the_page_has_them():
    texts = {text if isinstance(text, str) else text[0] for text in all_texts()} | {
        "A/B"
    }  # two letters in every language
    documents = [*FOLDER.glob("*.md"), *FOLDER.parent.glob("*.md")]
    named = {label for path in documents for label in emphasised(path.read_text(encoding="utf-8"))}
    assert len(named) > 60
    assert sorted(label for label in named if not is_shown(label, texts)) == []


@pytest.mark.parametrize(
    ("label", "known"), [("Use epoch 30", True), ("+ Backing", True), ("Do magic", False), ("30", False)]
)
def test_is_shown_knows_what_the_page_puts_together(label, known):
    assert is_shown(label, {"Use epoch {epoch}", "Backing", "{epoch}"}) is known


def test_figures_stand_in_the_measurements_too():
    sources = " ".join((ROOT / name).read_text(encoding="utf-8") for name in FIGURES)
    rows = re.findall(r"^\|(?!-).*\|$", (FOLDER / "hardware.md").read_text(encoding="utf-8"), re.MULTILINE)
    figures = {figure for row in rows for figure in re.findall(r"\d+[.,]\d+|\d{3,}", row)}
    assert len(figures) > 15
    assert (
        sorted(
            figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)", sources)
        )
        == []
    )


@pytest.mark.parametrize("code", LANGUAGES)
def test_site_is_whole_in_every_language(code):
    pages = pages_in(code)
    assert set(pages) == set(ENGLISH)
    language = LANGUAGES[code]
    assert all(f'<html lang="{code}" dir="{language.direction}">' in page for page in pages.values())
    assert all('href="../"' not in page for page in pages.values())  # a folder of its own has no studio beside it
    assert all(len(page) > 1000 and "$" not in page.partition("<main")[0] for page in pages.values())


def test_parser_makes_players_anchors_and_pages():
    made = parser().render("## Hear it\n\n[A & B](sounds/a.mp3)\n\nSee [that](other.md#here), [a file](b.mp3) too.\n")
    assert '<h2 id="hear-it">' in made
    assert '<audio controls preload="none" src="sounds/a.mp3" aria-label="A &amp; B"></audio>' in made
    assert 'href="other.html#here"' in made
    assert made.count("<audio") == 1  # a link within a sentence stays one


def test_parser_keeps_html_as_text():
    made = parser().render("<script>alert(1)</script> and [x](javascript:alert(1))\n")
    assert "<script" not in made
    assert 'href="javascript' not in made


def test_anchor_of_makes_those_that_links_in_the_documents_use():
    assert anchor_of('"This does not sound like a dry vocal"') == "this-does-not-sound-like-a-dry-vocal"
