"""The lessons as a site: one HTML file for each, with style, pictures and sounds."""

from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template

from engine.texts import tr
from studio.languages.known import ENGLISH
from studio.languages.translation import Translator, translator
from studio.learn.contents import CONTENTS, PAGES, START
from studio.learn.markdown import parser

FOLDER = Path(__file__).parent
_BESIDE = ("learn.css", "learn.js", "pictures/*.png", "sounds/*.mp3")
_OF_THE_PAGE = FOLDER.parent / "page" / "pictures"


@cache
def pages_in(code: str, home: str = "") -> Mapping[str, str]:
    """Return the pages in a language by the names of their files; home: where the studio is, seen from them."""
    names = [START, *PAGES]
    followed = zip(names, [*names[1:], ""], strict=True)
    return {f"{name}.html": _page(name, after, translator(code), home) for name, after in followed}


@cache
def files() -> Mapping[str, Path]:
    """Return what the pages show, by the names under which they ask for it."""
    found = (path for pattern in _BESIDE for path in FOLDER.glob(pattern))
    beside = {path.relative_to(FOLDER).as_posix(): path for path in found}
    return beside | {f"pictures/{path.name}": path for path in _OF_THE_PAGE.glob("*.png")}


def _page(name: str, after: str, speaker: Translator, home: str) -> str:
    markdown = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    text = markdown.partition("\n")[2]
    title = speaker.say(PAGES.get(name, tr("Lessons")))
    body = f'<h1 lang="{speaker.language.code}">{escape(title)}</h1>\n{parser().render(text)}'
    follows = tr("Next: {remedy}", remedy=PAGES[after]) if after else ""
    return Template((FOLDER / "layout.html").read_text(encoding="utf-8")).substitute(
        code=speaker.language.code,
        direction=speaker.language.direction,
        prose=ENGLISH,
        title=escape(title),
        lessons=escape(speaker.say(tr("Lessons"))),
        home=f'<a href="{home}">{escape(speaker.say(tr("Open the studio")))}</a>' if home else "",
        contents=_contents(name, speaker),
        body=body,
        next=f'<a lang="{speaker.language.code}" href="{after}.html">{escape(speaker.say(follows))}</a>'
        if after
        else "",
    )


def _contents(here: str, speaker: Translator) -> str:
    parts = []
    for part, pages in CONTENTS.items():
        links = "".join(_link(name, title, here, speaker) for name, title in pages.items())
        parts.append(f"<h2>{escape(speaker.say(part))}</h2><ul>{links}</ul>")
    return "".join(parts)


def _link(name: str, title: str, here: str, speaker: Translator) -> str:
    current = ' aria-current="page"' if name == here else ""
    return f'<li><a href="{name}.html"{current}>{escape(speaker.say(title))}</a></li>'
