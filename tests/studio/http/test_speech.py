"""Speech from another service: asked for as such services are, and bounded."""

import asyncio
import json

import httpx
import pytest

from studio.errors import NotFound, TooLarge, Unavailable
from studio.http.speech import spoken
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import open_studio

URL = "http://127.0.0.1:8880/v1"


@pytest.fixture
def studio_of(tmp_path):
    opened = []

    def make(**settings):
        given = {"speech_url": URL, "free_disk_mb": 0} | settings
        opened.append(open_studio(Settings(tmp_path), ServiceSettings(**given)))
        return opened[-1]

    yield make
    for studio in opened:
        studio.close()


def said(studio, answer, text="Hello.", speed=1.0):
    """Return what the service was asked, and the speech."""
    asked = []

    def speak(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return answer

    async def fetch():
        async with spoken(studio, text, speed, httpx.MockTransport(speak)) as recording:
            return recording, recording.read_bytes()

    recording, sound = asyncio.run(fetch())
    assert not recording.parent.exists()
    return asked[0], sound


def test_spoken_asks_the_service_in_its_own_voice(studio_of):
    studio = studio_of(speech_voice="nova", speech_key="secret", speech_model="kokoro")
    request, sound = said(studio, httpx.Response(200, content=b"RIFF..."), "Grüße", 1.5)
    assert str(request.url) == f"{URL}/audio/speech"
    assert request.headers["authorization"] == "Bearer secret"
    assert json.loads(request.content) == {
        "model": "kokoro", "voice": "nova", "input": "Grüße", "speed": 1.5, "response_format": "wav",
    }  # fmt: skip
    assert sound == b"RIFF..."


@pytest.mark.parametrize("status", [302, 401, 500])
def test_spoken_reports_a_service_that_refuses(studio_of, status):
    with pytest.raises(Unavailable, match="speech service"):
        said(studio_of(), httpx.Response(status, headers={"Location": "http://elsewhere/"}))


def test_spoken_reports_a_service_that_leads_to_no_address(studio_of):
    with pytest.raises(Unavailable, match="speech service"):
        said(studio_of(), httpx.Response(307, headers={"Location": "http://xn--a/"}))


def test_spoken_ends_speech_that_trickles(studio_of, monkeypatch):
    class Trickle(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield b"RIFF"
            await asyncio.Event().wait()

    monkeypatch.setattr("studio.http.speech._LONGEST_S", 0.05)
    with pytest.raises(Unavailable, match="speech service"):
        said(studio_of(), httpx.Response(200, stream=Trickle()))


def test_spoken_ends_speech_without_an_end(studio_of):
    with pytest.raises(TooLarge):
        said(studio_of(largest_upload_mb=1), httpx.Response(200, content=b"x" * 1_100_000))


def test_spoken_without_a_service_names_the_option(studio_of):
    with pytest.raises(NotFound, match="--speech-url"):
        said(studio_of(speech_url=""), httpx.Response(200))
