"""A public demo as a hosted Space runs it, over HTTP. `test_demo_page` tests its page in a browser."""

from collections.abc import Iterator

import httpx
import pytest

from studio.load.trial_service import TrialService, trial_service
from studio.page.cookies import DEMO_COOKIE
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Iterator[TrialService]:
    """Started as the host of a Space does it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPACE_ID", "somebody/timbre")
        environment.setenv("GRADIO_SSR_MODE", "True")
        with trial_service(tmp_path_factory.mktemp("demo") / "home", executor="none") as service:
            yield service


@pytest.fixture
def client(demo) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=demo.base_url, trust_env=False, timeout=PATIENCE_S) as client:
        yield client


def test_demo_serves_the_page_and_sets_a_cookie(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert "all your data is deleted" in answer.text
    assert DEMO_COOKIE in answer.cookies


def test_demo_page_has_no_settings_tab(client):
    tabs = [
        part["props"]["label"]
        for part in client.get("/config").json()["components"]
        if part["type"] in ("tabitem", "tab")
    ]
    assert tabs[0] == "Convert"
    assert "Settings" not in tabs


@pytest.mark.parametrize("path", ["/models", "/tasks/x", "/docs", "/openapi.json", "/metrics", "/check-task/x"])
def test_demo_answers_api_calls_with_api_off_as_problem_json(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["code"] == "api_off"


def test_demo_refuses_a_convert_post_with_api_off(client):
    answer = client.post("/convert", files={"audio": ("a.wav", b"x")}, headers={"Authorization": "Bearer ts_x"})
    assert (answer.status_code, answer.json()["code"]) == (404, "api_off")


def test_health_reports_ok_in_the_demo(client):
    assert client.get("/health").json()["status"] == "ok"


def test_demo_announces_itself_in_the_log_at_the_start(demo):
    assert "This is a public demo" in demo.log.read_text()
