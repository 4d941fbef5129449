"""Lessons as HTML: CommonMark with tables. A link to a sound that stands alone becomes a player."""

import re
from collections.abc import MutableMapping, Sequence
from html import escape
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

SOUND = ".mp3"
_HEADINGS = ("h2", "h3")


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def parser() -> MarkdownIt:
    """Return a parser whose links lead to the pages of the site, and whose raw HTML stays text."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.core.ruler.push("lessons", lambda state: _adapt(state.tokens))
    markdown.add_render_rule("sound", _player)
    return markdown


def _adapt(tokens: list[Token]) -> None:
    """Give headings their anchors, links their pages and sounds their players."""
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag in _HEADINGS:
            token.attrSet("id", anchor_of(tokens[at + 1].content))
        for link in token.children or ():
            if link.type == "link_open":
                _lead_to_page(link)
            elif link.type == "image":
                link.attrSet("src", f"pictures/{PurePosixPath(str(link.attrGet('src'))).name}")
        if token.type == "inline" and _is_sound(token.children or []):
            address, caption = str(token.children[0].attrGet("href")), token.children[1].content  # type: ignore[index]
            token.children = [Token("sound", "audio", 0, content=caption, attrs={"src": address})]


def _lead_to_page(link: Token) -> None:
    page, _, anchor = str(link.attrGet("href")).partition("#")
    path = PurePosixPath(page)
    if path.suffix == ".md" and len(path.parts) == 1:
        link.attrSet("href", f"{path.stem}.html" + (f"#{anchor}" if anchor else ""))


def _is_sound(children: Sequence[Token]) -> bool:
    types = [one.type for one in children]
    return types == ["link_open", "text", "link_close"] and str(children[0].attrGet("href")).endswith(SOUND)


def _player(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    address, caption = escape(str(tokens[at].attrGet("src"))), escape(tokens[at].content)
    player = f'<audio controls preload="none" src="{address}" aria-label="{caption}"></audio>'
    return f'<span class="caption">{caption}</span>{player}'
