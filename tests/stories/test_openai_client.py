"""OpenAI's own Python client, from an environment of its own, with the running service."""

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import engine
from studio.load.trial_service import trial_service
from tests.servers import serving
from tests.waiting import PATIENCE_S

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
PROGRAM = """
import sys
from pathlib import Path
import openai
from openai import OpenAI

url, token, recording = sys.argv[1:]
client = OpenAI(base_url=f"{url}/v1", api_key=token)
assert "kathleen" in {one.id for one in client.models.list()}
assert client.models.retrieve("kathleen").object == "model"
sound = Path(recording).read_bytes()
take = client.post(
    "/audio/conversions", cast_to=openai.HttpxBinaryResponseContent, files={"file": ("speech.flac", sound)},
    body={"voice": "kathleen", "response_format": "flac"}, options={"headers": {"Content-Type": "multipart/form-data"}},
)
assert b"fLaC" in take.content[:20_000] and len(take.content) > 50_000  # behind its credentials
spoken = client.audio.speech.create(model="tts-1", voice="kathleen", input="Hello.", response_format="wav")
assert spoken.content[:4] == b"RIFF" and len(spoken.content) > 10_000
cases = (
    (dict(voice="nobody"), openai.NotFoundError),
    (dict(voice="kathleen", response_format="pcm"), openai.UnprocessableEntityError),
)
for wrong, kind in cases:
    try:
        client.audio.speech.create(model="tts-1", input="Hello.", **wrong)
    except kind as error:
        assert error.code and error.body["message"], error.body
    else:
        raise AssertionError(wrong)
try:
    OpenAI(base_url=f"{url}/v1", api_key="wrong").models.list()
except openai.AuthenticationError as error:
    assert error.code == "token_invalid"
print("done")
"""

pytestmark = pytest.mark.slow


class Speaker(BaseHTTPRequestHandler):
    """A speech service that says the same to everything."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        sound = SPEECH.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(sound)))
        self.end_headers()
        self.wfile.write(sound)

    def log_message(self, *said):
        pass


@pytest.fixture
def speaker():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Speaker)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}/v1"


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """An environment with OpenAI's client."""
    home = tmp_path_factory.mktemp("openai") / "venv"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    if subprocess.run([home / "bin/pip", "install", "-q", "openai"], capture_output=True, check=False).returncode:
        pytest.skip("The package index does not answer.")
    return home / "bin/python"


def test_openais_own_client_lists_converts_speaks_and_understands_errors(python, speaker, tmp_path):
    with trial_service(tmp_path / "home", page="off", speech_url=speaker) as service:
        command = [python, "-c", PROGRAM, service.base_url, service.token(), SPEECH]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-3000:]
