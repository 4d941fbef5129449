"""Scripts that the page runs first: put into the page's head, and into nothing else."""

import asyncio
import gzip

import pytest
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from studio.page.early_scripts import EarlyScripts

PAGE = "<html><head><title>Ä</title></head><body><head><gradio-app></gradio-app></body></html>"
TAG = '<script src="/first.js"></script>'
BODY = "<div>Kathleen</div>"
WHOLE = PAGE.replace("<head>", "<head>" + TAG, 1).replace("<gradio-app>", BODY + "<gradio-app>")


def asked(answer, path: str = "/", method: str = "GET", accepts: bytes = b"") -> tuple[dict[bytes, bytes], bytes]:
    """The headers and the body of what comes through."""
    sent = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(scope, receive, send)

    async def receive():
        await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": path, "method": method, "asgi": {"spec_version": "2.4"}}
    scope["headers"] = [(b"accept-encoding", accepts)]
    asyncio.run(EarlyScripts(app, lambda headers: TAG, lambda headers: BODY)(scope, receive, send))
    assert [message["type"] for message in sent].count("http.response.start") == 1
    assert not sent[-1].get("more_body", False)
    return dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent[1:])


def test_early_scripts_insert_tag_and_body_once_where_they_belong():
    headers, body = asked(HTMLResponse(PAGE))
    assert body.decode() == WHOLE
    assert int(headers[b"content-length"]) == len(body)


def test_early_scripts_insert_the_tag_into_a_streamed_page():
    headers, body = asked(StreamingResponse(iter([PAGE[:9], PAGE[9:30], PAGE[30:]]), media_type="text/html"))
    assert body.decode() == WHOLE
    assert int(headers[b"content-length"]) == len(body)


@pytest.mark.parametrize(
    ("answer", "path", "method"),
    [
        (HTMLResponse(PAGE), "/docs", "GET"),
        (HTMLResponse(PAGE), "/", "POST"),
        (JSONResponse({"a": "<head>"}), "/", "GET"),
        (HTMLResponse(PAGE, headers={"content-encoding": "br"}), "/", "GET"),
    ],
)
def test_early_scripts_leave_other_responses_unchanged(answer, path, method):
    headers, body = asked(answer, path, method)
    assert body == answer.body
    assert int(headers[b"content-length"]) == len(answer.body)


def test_early_scripts_compress_the_page_for_browsers_that_accept_it():
    headers, body = asked(HTMLResponse(PAGE), accepts=b"gzip, deflate, br")
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"vary"] == b"Accept-Encoding"
    assert int(headers[b"content-length"]) == len(body)
    assert gzip.decompress(body).decode() == WHOLE
