from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from studio.errors import Unauthorised
from studio.load.trial_service import TrialService, trial_service
from studio.page.log_in import LogIns
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.accounts import create_account, find_account
from studio.store.studio import Studio, open_studio
from studio.store.tokens import create_token, revoke_token
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.system

HOST = "voices.example"
PUBLIC = {"Host": HOST, "Origin": f"https://{HOST}"}


@pytest.fixture(scope="module")
def public(tmp_path_factory) -> Iterator[TrialService]:
    home = tmp_path_factory.mktemp("public") / "home"
    with trial_service(home, executor="none", host="0.0.0.0", base_url=f"https://{HOST}") as service:
        yield service


@pytest.fixture
def studio(home) -> Iterator[Studio]:
    opened = open_studio(Settings(home), ServiceSettings())
    yield opened
    opened.close()


def browser(service: TrialService) -> httpx.Client:
    return httpx.Client(base_url=service.base_url, headers=PUBLIC, trust_env=False, timeout=PATIENCE_S)


@contextmanager
def logged_in(service: TrialService, token: str, name: str = "band") -> Iterator[httpx.Client]:
    with browser(service) as client:
        answer = client.post("/login", data={"username": name, "password": token})
        assert (answer.status_code, answer.headers["location"]) == (303, "./")
        client.headers["Cookie"] = answer.headers["set-cookie"].split(";")[0]  # httpx sends no secure ones without TLS
        assert answer.headers["set-cookie"].split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Lax", "Secure"]
        assert client.headers["Cookie"].startswith("__Host-")
        yield client


def test_log_in_requires_an_account_and_its_token(public):
    token = public.token("band")
    with browser(public) as client:
        for name, password in (("band", "ts_wrong"), ("local", token), ("", "")):
            answer = client.post("/login", data={"username": name, "password": password})
            assert answer.status_code == 401
            assert "set-cookie" not in answer.headers
            assert "There is no such account" in answer.text
        assert client.post("/login", content=b"\xff\x00").status_code == 415
    with logged_in(public, token) as client:
        assert client.get("/config").status_code == 200
        assert client.get("/gradio_api/token").json().get("token") is None


def test_log_in_is_required_by_every_route_of_gradio(public):
    with browser(public) as client:
        assert "<form" in client.get("/").text
        files = ("gradio_api/file=/etc/hosts", "demo-voices/x", "learn/fix.html")
        for path in ("config", "gradio_api/queue/data?session_hash=a", *files):
            answer = client.get(f"/{path}")
            assert (answer.status_code, answer.json()["code"]) == (401, "log_in")
        for path in ("queue/join", "upload", "cancel", "run/predict", "process_recording", "stream/1/close"):
            assert client.post(f"/gradio_api/{path}", json={}).status_code == 401
        assert client.get("/page-files/page.css").status_code == 200
        assert client.get("/health").status_code == 200
        assert client.get("/models").json()["code"] == "token_missing"


def test_log_in_form_uses_the_language_of_the_browser(public):
    with browser(public) as client:
        assert client.get("/page-languages/ja.json").json()["code"] == "ja"
        form = client.get("/", headers={"Accept-Language": "ar"}).text
    assert '<html lang="ar" dir="rtl">' in form
    assert 'name="password"' in form


def test_log_out_also_ends_the_log_in_for_copies_of_its_cookie(public):
    with logged_in(public, public.token("band")) as client:
        assert "Max-Age=0" in client.post("/logout").headers["set-cookie"]
        assert client.get("/config").status_code == 401


def test_log_in_ends_when_its_token_is_revoked(public):
    first, second = (public.command("token", "create", name, "--account", "trio") for name in ("first", "second"))
    with logged_in(public, first, "trio") as one, logged_in(public, second, "trio") as two:
        public.command("token", "revoke", "first")
        assert one.get("/config").status_code == 401
        assert "<form" in one.get("/").text
        assert one.post("/gradio_api/queue/join", json={"session_hash": "a", "fn_index": 0}).status_code == 401
        assert two.get("/config").status_code == 200


def test_what_an_open_page_receives_ends_when_its_token_is_revoked(public):
    """Each event looked the token up; what had begun went on."""
    with logged_in(public, public.token("leaves"), "leaves") as client:
        with client.stream("GET", "/gradio_api/heartbeat/abcdefgh") as heart:
            assert heart.status_code == 200
            with public.database() as database:
                revoke_token(database, "trial", find_account(database, "leaves"))
            with suppress(httpx.RemoteProtocolError):
                for _ in heart.iter_bytes():
                    pass  # it ends; otherwise the client's patience does
        assert client.get("/config").status_code == 401


def test_log_ins_refuse_the_cookie_of_a_revoked_token(studio):
    """An event that waited in the queue while its token was revoked."""
    account = create_account(studio.database, "band")
    token, secret = create_token(studio.database, account, "laptop")
    _, other = create_token(studio.database, account, "phone")
    log_ins = LogIns(studio)
    cookie, kept = log_ins.open("band", secret), log_ins.open("band", other)
    assert log_ins.account_of(cookie) == account
    revoke_token(studio.database, token.id)
    with pytest.raises(Unauthorised, match="expired or been revoked"):
        log_ins.account_of(cookie)
    assert log_ins.account_of(kept) == account


def test_log_ins_of_one_account_end_nobody_elses(studio):
    """A token that logged in 10,000 times ended all others."""
    kept_account, greedy = (create_account(studio.database, name) for name in ("band", "greedy"))
    _, secret = create_token(studio.database, kept_account, "laptop")
    others = [create_token(studio.database, greedy, name)[1] for name in ("one", "two")]
    log_ins = LogIns(studio)
    kept = log_ins.open("band", secret)
    cookies = [log_ins.open("greedy", others[number % 2]) for number in range(130)]
    assert log_ins.account_of(kept) == kept_account
    with pytest.raises(Unauthorised):
        log_ins.account_of(cookies[29])
    assert [log_ins.account_of(cookie) for cookie in cookies[30:]] == [greedy] * 100


def test_log_ins_refuse_an_empty_cookie(studio):
    with pytest.raises(Unauthorised):
        LogIns(studio).account_of("")
