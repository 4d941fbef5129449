"""The main job without a mouse: a sample in, another voice chosen, converted, compared and downloaded."""

from playwright.sync_api import Page, expect

from tests.waiting import WORK_MS

MOST_STOPS = 40  # of the Tab key from one place to the next


def go_to(page: Page, name: str, role: str = "button") -> None:
    """Press Tab until a control has the focus."""
    control = page.locator("#convert").get_by_role(role, name=name, exact=True).first
    for _ in range(MOST_STOPS):
        if control.evaluate("(one) => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} is not reached with the Tab key")


def test_main_job_is_done_with_the_keyboard_alone(new_visitor):
    page = new_visitor(viewport={"width": 1280, "height": 720})
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the content
    go_to(page, "Singing")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#convert-facts")).to_contain_text("speech.flac", timeout=WORK_MS)

    page.locator("#convert-voices .choose[tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    second = page.locator("#convert-voices .card").nth(1)
    expect(second.locator(".choose")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("Control+Enter")
    lanes = page.locator("#convert-instrument .track")
    expect(lanes).to_have_count(2, timeout=WORK_MS)
    expect(page.locator("#convert-title h2")).to_contain_text(second.locator(".name").text_content())

    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelector('timbre-instrument').seconds > 0.3")
    page.keyboard.press("0")
    expect(lanes.nth(0)).to_have_attribute("aria-checked", "true")
    page.keyboard.press("b")
    expect(lanes.nth(1)).to_have_attribute("aria-checked", "true")
    page.keyboard.press("Space")

    page.wait_for_function("!document.querySelector('timbre-instrument').isPlaying")
    go_to(page, "Play")
    with page.expect_download() as coming:
        download = page.locator("#convert-instrument .download").first
        for _ in range(5):  # Comp is among them where another story has made a take of the sample
            if not download.evaluate("(one) => one === document.activeElement"):
                page.keyboard.press("ArrowRight")
        expect(download).to_be_focused()
        page.keyboard.press("Enter")
    assert coming.value.suggested_filename.endswith(".wav")


IS_PLAYING = "document.querySelector('timbre-instrument').isPlaying"
STATE = """(one) => [one.ariaPressed, one.ariaChecked, one.ariaSelected, one.ariaExpanded, one.parentElement.open,
  one.matches(".open"), one.value, one.querySelector("input")?.checked]"""
PRESSED = (  # with the mouse, before the space bar
    *(".tracks .track >> nth=1", "timbre-instrument .tool:has-text('A/B')", ".view .tool:has-text('Waveform')"),
    *(".display summary", "#convert-voices .card .choose >> nth=1", "#convert-style label >> nth=1"),
    *("#convert-transpose input[type=range]", "#convert-auto", "#convert-more .label-wrap", ".roll-stage"),
    "#tabs [role=tab][data-tab-id=convert]",
)


def test_space_plays_whatever_was_clicked_last(visitor):
    visitor.get_by_role("button", name="Singing", exact=True).click()
    expect(visitor.locator("#convert-facts")).to_contain_text("singing.flac", timeout=WORK_MS)
    visitor.get_by_role("button", name="Convert", exact=True).click()
    expect(visitor.locator("#convert-instrument .track")).to_have_count(2, timeout=WORK_MS)
    for place in PRESSED:
        # a lane is pressed at its name, beside its fader
        at = {"x": 12, "y": 12} if place.startswith(".tracks") else None
        visitor.locator(place).locator("visible=true").first.click(position=at)
        state = visitor.locator(place).first.evaluate(STATE)
        for plays in (True, False):
            visitor.keyboard.press("Space")
            visitor.wait_for_function(f"{IS_PLAYING} === {str(plays).lower()}")
        assert visitor.locator(place).first.evaluate(STATE) == state, f"the space bar pressed {place} too"


def test_space_is_typed_where_one_types_and_presses_a_box_that_the_tab_key_reached(visitor):
    expect(visitor.locator("#convert-voices .card").first).to_be_visible()
    search = visitor.locator("#convert-voices .search")
    search.press_sequentially("a b")
    expect(search).to_have_value("a b")
    search.fill("")
    auto = visitor.locator("#convert-auto input")
    expect(auto).to_be_checked()
    visitor.locator("#convert-transpose input[type=number]").focus()
    visitor.keyboard.press("Shift+Tab")
    expect(auto).to_be_focused()
    visitor.keyboard.press("Space")
    expect(auto).not_to_be_checked()
    layer = visitor.locator("#convert-voices .choose").nth(1)
    layer.focus()
    visitor.keyboard.press("Enter")  # presses a button
    expect(layer).to_have_attribute("aria-checked", "true")
    assert not visitor.evaluate(IS_PLAYING)
