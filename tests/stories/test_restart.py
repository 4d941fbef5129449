"""An open page while its service stops and restarts."""

from playwright.sync_api import Page, expect

from studio.load.trial_service import trial_service
from tests.proxies import free_port

LOADED = "performance.timeOrigin"  # another number each time a page is loaded

EVENTS = "text/event-stream"
# what Gradio's queue_data sends where a stream of the session was cancelled while its next one began
FORGOTTEN = 'data: {"msg": "unexpected_error", "message": "404", "session_not_found": true, "success": false}\n\n'

# as page/static/uploads.js keeps a file for a studio out of reach, and how many are kept
STORE = """(act) => new Promise((done) => {
  const opened = indexedDB.open("timbre-kept", 1);
  opened.onupgradeneeded = () => opened.result.createObjectStore("uploads", { keyPath: "key" });
  opened.onsuccess = () => {
    const { result } = opened, transaction = result.transaction("uploads", "readwrite");
    const asked = act(transaction.objectStore("uploads"));
    transaction.oncomplete = () => (result.close(), done(asked.result));
  };
})"""
KEEP = f"""() => ({STORE})((store) => store.put({{ key: "1", entry: {{ place: "#convert-drop", files: [] }} }}))"""
KEPT = f"() => ({STORE})((store) => store.count())"


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Account").fill("band")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def test_page_reloads_after_a_restart_and_keeps_its_draft(browser, open_tab, tmp_path):
    settings = {"executor": "none", "port": free_port()}
    page = browser.new_page()
    with trial_service(tmp_path / "home", **settings) as service:
        page.goto(service.base_url)
        open_tab(page, "Create")
        page.get_by_label("Name", exact=True).fill("Zoë")
        page.wait_for_function("localStorage.getItem('timbre-create') !== null")
        loaded = page.evaluate(LOADED)
    with trial_service(tmp_path / "home", **settings):
        open_tab(page, "Voices")
        page.wait_for_function(f"{LOADED} !== {loaded}")
        open_tab(page, "Create")
        expect(page.get_by_label("Name", exact=True)).to_have_value("Zoë")
    page.close()


def test_page_reloads_where_gradio_has_forgotten_it_and_keeps_its_draft(browser, open_tab, tmp_path):
    page = browser.new_page()
    with trial_service(tmp_path / "home", executor="none") as service:
        page.goto(service.base_url)
        open_tab(page, "Create")
        page.get_by_label("Name", exact=True).fill("Zoë")
        page.wait_for_function("localStorage.getItem('timbre-create') !== null")
        loaded = page.evaluate(LOADED)
        page.route("**/queue/data*", lambda route: route.fulfill(body=FORGOTTEN, content_type=EVENTS), times=1)
        open_tab(page, "History")  # asks for something
        page.wait_for_function(f"{LOADED} !== {loaded}")
        open_tab(page, "Create")
        expect(page.get_by_label("Name", exact=True)).to_have_value("Zoë")
    page.close()


def test_page_logs_out_and_asks_to_log_in_after_a_restart(browser, open_tab, tmp_path):
    settings = {"executor": "none", "port": free_port(), "host": "0.0.0.0"}
    page = browser.new_page()
    with trial_service(tmp_path / "home", **settings) as service:
        token = service.token("band")
        page.goto(service.base_url)
        log_in(page, token)
        open_tab(page, "Settings")
        expect(page.locator("#tokens")).to_contain_text("trial")
        page.evaluate(KEEP)
        assert page.evaluate(KEPT) == 1
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Account")).to_be_visible()
        assert page.evaluate(KEPT) == 0  # nothing is left for the next person to log in
        log_in(page, token)
        open_tab(page, "Voices")
    with trial_service(tmp_path / "home", **settings):
        # it may have noticed by itself
        page.get_by_role("tab", name="Train", exact=True).or_(page.get_by_label("Account")).click()
        expect(page.get_by_label("Account")).to_be_visible()
    page.close()
