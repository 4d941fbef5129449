"""Accessibility on every tab: names for screen readers, contrast, a phone's width."""

import pytest
from playwright.sync_api import Page, expect

from studio.page.tab_names import TABS

FOLDS = {
    "Convert": ["More settings", "Fine-tune", "Song", "Edit pitch"],
    "Voices": ["Blend voices"],
    "Create": ["More about the voice (optional)"],
    "Train": ["More settings"],
    "Settings": ["Create token"],
}
WORK_MS = 120_000
NAMELESS = """
() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter((one) => one.tabIndex >= 0 && !one.disabled && !one.closest("[inert]") && one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => {
    const said = (one.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "");
    const inside = one.matches("button, a, summary, [role]") ? one.textContent : "";
    const labels = [...(one.labels ?? [])].map((label) => label.textContent);
    return ![one.getAttribute("aria-label"), ...said, ...labels, inside, one.title].some((text) => text?.trim());
  })
  .map((one) => one.outerHTML.slice(0, 200))
"""  # noqa: E501
LEVELS = """
() => [...document.querySelectorAll("h1, h2, h3, h4")].filter((one) => one.checkVisibility())
  .map((one) => Number(one.getAttribute("aria-level") ?? one.tagName[1]))
"""
# what is fainter than WCAG's 4.5:1 (3:1 where it is large), of all text that is seen and can be used
FAINT = """
() => {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (above, below) => [0, 1, 2].map((at) => above[at] * above[3] + below[at] * (1 - above[3]));
  const part = (value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([red, green, blue]) => 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  const found = [], said = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) said.push([texts.currentNode.textContent.trim(), texts.currentNode.parentElement]);
  for (const field of document.querySelectorAll("input:not([type=checkbox], [type=radio], [type=range], [type=file]), select, textarea"))
    said.push([field.value, field]);
  for (const [text, holder] of said) {
    if (!text || !holder.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (holder.closest("script, style, option, svg, :disabled, [aria-disabled=true], [aria-hidden=true]")) continue;
    const layers = [];
    for (let one = holder; one; one = one.parentElement) layers.unshift(read(getComputedStyle(one).backgroundColor));
    const ground = layers.reduce((below, above) => over(above, below), [255, 255, 255]);
    const look = getComputedStyle(holder);
    const [one, other] = [light(over(read(look.color), ground)), light(ground)];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const points = parseFloat(look.fontSize) * 0.75;
    const least = points >= 18 || (points >= 14 && Number(look.fontWeight) >= 700) ? 3 : 4.5;
    if (contrast < least) found.push(`${contrast.toFixed(2)} ${holder.tagName}.${holder.className}: ${text.slice(0, 40)}`);
  }
  return found;
}
"""  # noqa: E501
# what hides a part of its own text, without saying so
CUT = """
() => [...document.querySelectorAll("#tabs *")].filter((one) => {
  const look = getComputedStyle(one);
  if (!one.clientHeight || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  if (!["hidden", "clip"].includes(look.overflowY) || look.clipPath !== "none" || look.webkitLineClamp !== "none") return false;
  if (one.matches(".uses")) return false; // leaves whole rows out, and has them all in its title
  if (one.matches(".visually-hidden, select, textarea") || one.closest("#create-files")) return false; // gradio's button
  return one.scrollHeight > one.clientHeight + 2 && (one.innerText?.trim() || one.querySelector("input, button"));
}).map((one) => `${one.scrollHeight} in ${one.clientHeight}: ${one.outerHTML.slice(0, 160)}`)
"""  # noqa: E501


@pytest.fixture
def used(visitor, open_tab) -> Page:
    """The page of somebody who has converted a sample, and had another looked at."""
    visitor.get_by_role("button", name="Speech", exact=True).click()
    expect(visitor.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    visitor.get_by_role("button", name="Convert", exact=True).click()
    expect(visitor.locator("#convert-title h2")).to_be_visible(timeout=WORK_MS)
    open_tab(visitor, "Explore")
    visitor.locator("[role=tabpanel]:visible").first.get_by_text("Speech", exact=True).click()
    expect(visitor.locator("#explore-facts")).to_contain_text("speech.flac", timeout=WORK_MS)
    for tab, names in FOLDS.items():
        open_tab(visitor, tab)
        for name in names:
            visitor.get_by_role("button", name=name).click()
    open_tab(visitor, "History")
    visitor.locator("timbre-tasks .task-head").first.click()
    return visitor


def test_every_tab_has_named_controls_readable_text_and_fits_a_phone(used, open_tab):
    for tab in TABS:
        open_tab(used, tab)
        used.wait_for_timeout(500)
        assert used.evaluate(NAMELESS) == [], tab
        levels = used.evaluate(LEVELS)
        assert levels[0] == 1, tab
        assert all(level <= 2 for level in levels[1:2]), tab
        for dark in (False, True):
            used.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
            used.wait_for_timeout(400)  # colours change slowly
            assert used.evaluate(FAINT) == [], (tab, dark)
        used.evaluate("document.body.classList.remove('dark')")
        assert used.evaluate(CUT) == [], tab
        for width in (390, 320):
            used.set_viewport_size({"width": width, "height": 844})
            used.wait_for_timeout(300)
            assert used.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), (tab, width)
            assert used.evaluate(CUT) == [], (tab, width)
        used.set_viewport_size({"width": 1280, "height": 900})
