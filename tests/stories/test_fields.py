"""Fields that only do what was meant: the wheel scrolls, and Tab leaves."""

from playwright.sync_api import expect


def test_wheel_over_a_focused_number_scrolls_and_changes_nothing(visitor):
    expect(visitor.locator("timbre-drop:defined")).to_be_attached()  # which come with what minds the wheel
    number = visitor.locator("#convert-takes input[type=number]").first
    number.fill("3")
    number.focus()
    number.dispatch_event("wheel", {"deltaY": 300, "bubbles": True})
    expect(number).not_to_be_focused()
    expect(number).to_have_value("3")


def test_tab_closes_the_list_of_choices_it_leaves(new_visitor):
    page = new_visitor("Settings")
    choices = page.locator("input[role=combobox]:visible").first
    choices.focus()
    expect(choices).to_have_attribute("aria-expanded", "true")
    choices.press("Tab")
    expect(choices).not_to_be_focused()
    page.wait_for_timeout(300)  # Gradio opened it again after the key
    expect(choices).to_have_attribute("aria-expanded", "false")
