"""Bodies sent to the page: refused before they come, cut while they arrive, and nothing more reaches Gradio."""

import asyncio
import shutil

import pytest

from studio.page.body_limits import BodyLimits
from studio.settings.environment import load_settings
from studio.settings.service import DEMO, ServiceSettings
from studio.store.studio import open_studio

MB = 1_000_000


@pytest.fixture
def upload(home, monkeypatch):
    """Sends blocks of a megabyte, as many as are asked for; gives the status, the text, and what Gradio got of it."""
    real = shutil.disk_usage

    def send(service, blocks, announced=None, free=10_000 * MB, path="/gradio_api/upload", block=MB):
        monkeypatch.setattr("studio.store.free_space.shutil.disk_usage", lambda path: real(path)._replace(free=free))
        monkeypatch.setattr("studio.store.storage.FolderStorage.free_bytes", lambda storage: free)
        studio = open_studio(load_settings(), service)
        received, answers = [], []

        async def gradio(scope, receive, send):
            while True:
                message = await receive()
                received.append(len(message["body"]))
                if not message["more_body"]:
                    break
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"[]"})

        left = list(range(blocks))

        async def receive():
            left.pop()
            return {"type": "http.request", "body": bytes(block), "more_body": bool(left)}

        async def answer(message):
            answers.append(message)

        headers = [(b"content-length", str(announced).encode())] if announced else [(b"transfer-encoding", b"chunked")]
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
        asyncio.run(BodyLimits(gradio, studio)(scope, receive, answer))
        studio.close()
        text = b"".join(one.get("body", b"") for one in answers).decode()
        return answers[0]["status"], text, sum(received) / MB

    return send


def test_body_limits_pass_on_an_upload_within_the_limits(upload):
    assert upload(DEMO, 20, 20 * MB) == (200, "[]", 20)
    assert upload(ServiceSettings(), 300, 300 * MB) == (200, "[]", 300)  # of several files


def test_body_limits_refuse_more_than_25_mb_in_a_demo(upload):
    """It said 25 MB, and took four files of 95."""
    status, text, received = upload(DEMO, 30, 30 * MB)
    assert (status, received) == (413, 0)
    assert "larger than 25 MB" in text
    status, text, received = upload(DEMO, 95)
    assert (status, received) == (413, 25)
    assert "larger than 25 MB" in text


def test_body_limits_refuse_an_upload_before_its_body_without_free_space(upload):
    """Six uploads of the page left 42 MB of the 500 that are kept free."""
    status, text, received = upload(ServiceSettings(), 95, 95 * MB, free=680 * MB)
    assert (status, received) == (507, 0)
    assert "free space" in text
    assert upload(ServiceSettings(), 95, free=499 * MB)[::2] == (507, 0)
    assert upload(ServiceSettings(), 80, 80 * MB, free=680 * MB)[0] == 200


@pytest.mark.parametrize(("path", "most"), [("/login", 65536), ("/", 65536), ("/gradio_api/queue/join", 4 << 20)])
def test_body_limits_refuse_other_bodies_before_and_while_they_come(upload, path, most):
    """/login read 300 MB to their end."""
    for service in (ServiceSettings(), DEMO):
        status, text, received = upload(service, 300, 300 * MB, path=path)
        assert (status, received) == (413, 0)
        status, text, received = upload(service, 300, path=path)
        assert (status, received) == (413, most // MB)
        assert f"at most {most} bytes" in text
    assert upload(ServiceSettings(), 4, path="/gradio_api/queue/join") == (200, "[]", 4)


@pytest.mark.parametrize("path", ["/login", "/gradio_api/upload", "/gradio_api/queue/join", "/"])
def test_body_limits_cut_a_body_that_is_too_slow(upload, monkeypatch, path):
    """Twenty clients of /login that sent a byte now and then were still there after 150 s."""
    monkeypatch.setattr("studio.http.uploads.PACE_S", 0.0)  # so that any wait is a whole one
    status, text, received = upload(ServiceSettings(least_upload_kb_s=1_000_000), 3, path=path, block=100)
    assert (status, received) == (408, 0)
    assert "slower than 1e+06 kB a second" in text
    assert upload(ServiceSettings(least_upload_kb_s=0), 3, path=path, block=100)[0] == 200


@pytest.mark.parametrize(("announced", "most"), [(300 * MB, 0), (None, 2 * MB)])
def test_body_limits_discard_little_of_a_login_that_is_too_large(home, announced, most):
    """It was refused by its length, and then 270 MB of it were read to be thrown away."""
    studio, sent, answers = open_studio(load_settings(), ServiceSettings()), 0, []

    async def receive():
        nonlocal sent
        sent += MB // 10
        return {"type": "http.request", "body": bytes(MB // 10), "more_body": True}

    async def answer(message):
        answers.append(message)

    async def page(scope, receive, send):
        while True:
            await receive()

    length = [(b"content-length", str(announced).encode())] if announced else [(b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": "/login", "headers": length}
    asyncio.run(BodyLimits(page, studio)(scope, receive, answer))
    studio.close()
    assert answers[0]["status"] == 413
    assert sent <= most
