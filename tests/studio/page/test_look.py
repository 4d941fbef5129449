"""Rules of the page's look, over all its scripts, styles and texts."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "studio" / "page"
STYLES = sorted(PAGE.rglob("*.css"))
# arrows, technical signs, shapes, dingbats, emoji: of these every system's fonts have others, or none
SIGNS = re.compile("[\u00d7\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u22ee-\u22f1\u2900-\u2bff\U0001f000-\U0001faff]")
ESCAPED = re.compile(r"\\u\{?([0-9a-fA-F]{4,6})|\\U([0-9a-fA-F]{8})|content:[^;]*\\([0-9a-fA-F]{4,6})")
SPEEDS = {"var(--quick)", "var(--calm)"}


def signs(text: str) -> list[str]:
    """Return the signs of fonts in a text, written as they are or escaped."""
    escaped = (chr(int("".join(found.groups(default="")), 16)) for found in ESCAPED.finditer(text))
    return SIGNS.findall(text) + [one for one in escaped if SIGNS.match(one)]


@pytest.mark.parametrize(
    "text", ["\u00d7", "→", "✓", "★", "▸", "⋯", "🎤", r"\u25b6", r"\u{1f3a4}", r'content: "Ctrl \21b5"']
)
def test_signs_finds_what_fonts_draw(text):
    assert len(signs(text)) == 1


def test_signs_of_the_page_are_drawn_and_not_of_a_font():
    found = {
        str(path.relative_to(PAGE)): signs(path.read_text(encoding="utf-8"))
        for path in PAGE.rglob("*")
        if path.suffix in {".py", ".js", ".css"}
    }
    assert {name: some for name, some in found.items() if some} == {}


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_what_moves_has_one_of_two_speeds(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for rule in re.findall(r"(?:^|[\s;{])((?:transition|animation):[^;}]*)", text):
        speeds = re.findall(r"var\((--\w+)|([\d.]+m?s)\b(?!\))", rule)
        assert speeds, rule
        assert {name for name, _ in speeds} <= {"--quick", "--calm"}, rule
    assert "scroll-behavior" not in text


def test_scripts_move_nothing_by_themselves():
    for path in PAGE.rglob("*.js"):
        assert not re.findall(r'behavior: "smooth"|\.animate\(', path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_reduced_motion_stops_everything_that_moves(browser, motion):
    context = browser.new_context(reduced_motion=motion)
    page = context.new_page()
    styles = "".join(path.read_text(encoding="utf-8") for path in STYLES)
    gradios = "@keyframes round { to { rotate: 1turn; } } i { animation: 1s round infinite; transition: all 2s; }"
    page.set_content(
        f"<style>{styles} {gradios}</style><i></i>"
        "<div id=tabs><button>A</button><div class=roll-tools></div></div></body>"
    )
    times = page.evaluate("""() => [...document.querySelectorAll("body *")].flatMap((one) => {
      const { animationDuration, transitionDuration } = getComputedStyle(one);
      return `${animationDuration},${transitionDuration}`.split(",").map(parseFloat);
    })""")
    context.close()
    assert any(times) == (motion != "reduce")
