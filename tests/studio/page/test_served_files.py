"""The files of the page as one for all styles, and one for all modules."""

import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from studio.page import served_files
from studio.page.page_files import FOLDERS
from studio.page.served_files import SCRIPTS, STYLES, PageFiles, joined_styles, modules
from tests.waiting import WORK_MS

SMALL = {
    "elements.js": 'import { late } from "./late.js";\nimport "./early.js";\nwindow.told = late();\n',
    "early.js": "window.order = [1];\n",
    "late.js": (
        'import "./early.js";\n\nwindow.order.push(2);\n'
        "export const late = () => new URL('./a.js', import.meta.url).href;\n"
        'setTimeout(() => {\n  throw new Error("of late");\n});\n'
    ),
}


def test_all_styles_and_all_modules_of_the_page_are_in_the_two_files():
    files = {path.name for folder in FOLDERS for path in folder.iterdir()}
    assert "@import" not in joined_styles()
    for name in (one for one in files if one.endswith(".css")):
        rule = next(line for line in served_files._read(name).splitlines() if "{" in line)
        assert rule in joined_styles(), name
    found = list(modules())
    by_themselves = {one for one in files if one.endswith(".js")} - set(found)
    # what runs before Gradio, or in a thread of its own
    assert by_themselves == {
        "first.js",
        "frames.js",
        "joining.js",
        "capture-worklet.js",
        "live-worklet.js",
        "live-socket.js",
    }
    for place, name in enumerate(found):
        assert not set(re.findall(r'from "\./([\w-]+\.js)"', modules()[name])) - set(found[:place])


def test_modules_that_import_each_other_are_refused(monkeypatch):
    monkeypatch.setattr(served_files, "_read", lambda name: {**SMALL, "early.js": 'import "./late.js";'}[name])
    with pytest.raises(ValueError, match=r"import each other: elements\.js, late\.js, early\.js, late\.js"):
        modules()


def test_both_files_are_sent_packed_and_once_to_each_browser():
    with TestClient(Starlette(routes=[Mount("/", PageFiles())])) as client:
        for name, kind in ((STYLES, "text/css"), (SCRIPTS, "text/javascript")):
            answer = client.get(f"/{name}")
            assert answer.headers["content-type"].startswith(kind)
            assert answer.headers["content-encoding"] == "gzip"
            assert int(answer.headers["content-length"]) < len(answer.content) / 3
            again = client.get(f"/{name}", headers={"if-none-match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert client.get(f"/{name}", headers={"accept-encoding": ""}).content == answer.content
            assert client.head(f"/{name}").headers["etag"] == answer.headers["etag"]
        assert "timbre-roll" in client.get("/roll.css").text  # each by itself is there too
        assert client.get("/nothing.js").status_code == 404


def test_modules_find_each_other_their_address_and_the_lines_of_their_errors(browser, monkeypatch):
    monkeypatch.setattr(served_files, "_read", lambda name: SMALL.get(name) or (FOLDERS[0] / name).read_text("utf-8"))
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(error.stack))
    page.route(
        "**/all.js", lambda route: route.fulfill(body=served_files.joined_scripts(), content_type="text/javascript")
    )
    blank = '<link rel="icon" href="data:,"><script type="module" src="files/all.js"></script>'
    page.route("**/blank", lambda route: route.fulfill(body=blank, content_type="text/html"))
    page.goto("http://page.test/blank")
    page.wait_for_function("window.told", timeout=WORK_MS)
    assert page.evaluate("[order, told]") == [[1, 2], "http://page.test/files/a.js"]
    page.wait_for_timeout(100)
    assert "http://page.test/files/late.js:6" in errors[0]
