"""The curl lines of the studio's documents, run against the real service with another address, token and ids."""

import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile

from studio.load.trial_service import TrialService
from tests.waiting import PATIENCE_S, wait_until

AS_PUBLISHED = {"-F": '-H "Content-Type: application/json" -F'}  # of the train call: a header for another kind of body
DOCUMENT = Path(__file__).parents[2] / "studio" / "service.md"
ADDRESS = "http://127.0.0.1:7860"
RATE = 44_100

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")

Curl = Callable[..., dict]


def readme_lines() -> dict[str, str]:
    """The path that a line calls -> the first line that does."""
    texts = (DOCUMENT.with_name(name).read_text(encoding="utf-8") for name in (DOCUMENT.name, "RVC.md"))
    lines = [line for text in texts for line in text.splitlines() if line.startswith("curl ")]
    return {re.search(re.escape(ADDRESS) + r"(\S+)", line)[1]: line for line in reversed(lines)}


LINES = readme_lines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, vocal) -> Path:
    """Where the commands are typed: a recording and a zip, under the names that the README uses."""
    folder = tmp_path_factory.mktemp("typed")
    soundfile.write(folder / "vocal.wav", vocal(1.5, 120.0), RATE)
    with zipfile.ZipFile(folder / "recordings.zip", "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Mia", "gender": "female", "genre": "jazz"}))
        for number in range(2):
            soundfile.write(folder / "one.wav", vocal(6.0, 200.0 + 40 * number), RATE)
            archive.write(folder / "one.wav", f"audio/take {number}.wav")
    return folder


@pytest.fixture(scope="module")
def token(service: TrialService) -> str:
    return service.token("readme")


@pytest.fixture(scope="module")
def curl(service: TrialService, token: str, folder: Path) -> Curl:
    """Run one of the README's lines, with other words in some places; gives what it prints, read as JSON."""

    def run(path: str, **others: str) -> dict:
        line = LINES[path].replace(ADDRESS, service.base_url)
        for name, value in others.items():
            known = {"model": "model=koguchi", "epochs": "epochs=100"}.get(name, name)
            assert known in line, line
            line = line.replace(known, value if known == name else f"{name}={value}")
        return json.loads(said_by(line, folder, token))

    return run


def said_by(line: str, folder: Path, token: str = "") -> bytes:
    environment = os.environ | {"TOKEN": token}
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, check=True).stdout


def ended(look: Callable[[], dict], busy: str) -> dict:
    return wait_until(lambda: (answer := look())["status"] != busy and answer)


def converted(curl: Curl, folder: Path, model: str) -> dict:
    """The whole life of a conversion, as somebody lives it who types the README's lines."""
    answer = curl("/convert", model=model)
    assert set(answer) == {"task_id"}
    first = curl("/check-task/TASK_ID", TASK_ID=answer["task_id"])
    assert first == {"status": "in_progress"} or first["status"] == "completed"
    done = ended(lambda: curl("/check-task/TASK_ID", TASK_ID=answer["task_id"]), "in_progress")
    assert set(done) == {"status", "input_audio_url", "output_audio_urls", "output_settings"}
    assert done["status"] == "completed"
    (url,) = done["output_audio_urls"]
    for number, link in enumerate((done["input_audio_url"], url)):
        said_by(f"curl --fail -o heard{number}.wav '{link}'", folder)  # without a token, as a browser would
        samples, rate = soundfile.read(folder / f"heard{number}.wav")
        assert (len(samples), rate) == (round(1.5 * RATE), RATE)
        assert np.abs(samples).max() > 0.01
    headers = said_by(f"curl --fail -I '{url}'", folder).decode().lower()
    assert "content-type: audio/" in headers
    assert "accept-ranges: bytes" in headers
    return done


def test_readme_shows_the_published_calls():
    assert set(LINES) == {
        *("/convert", "/check-task/TASK_ID", "/models", "/models/create", "/models/MODEL_ID/train"),
        *("/tasks/TASK_ID/events", "/models/import", "/models/mia/teach"),  # additions
    }


def test_readme_calls_convert_a_recording(curl, folder):
    done = converted(curl, folder, "koguchi")
    assert done["output_settings"]["model"] == "koguchi"
    assert done["output_settings"]["transpose"] == 0
    assert done["output_settings"]["vocal_style"] in ("melodic", "rhythmic", "spoken")


def test_readme_calls_create_a_voice_and_start_its_training(curl, service, token):
    before = curl("/models")
    demo = {"everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"}
    assert {model["id"] for model in before["models"]} == demo
    made = curl("/models/create")
    assert set(made) == {"model_id"}
    mia = made["model_id"]
    assert curl("/models") == before  # it is still to be trained
    assert curl("/convert", model=mia)["status"] == 409
    training = curl("/models/MODEL_ID/train", MODEL_ID=mia, **AS_PUBLISHED)
    assert training == {"status": "training", "model_id": mia, "current_epoch": 0}
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=service.base_url, headers=headers, timeout=PATIENCE_S) as client:
        [task] = client.get("/tasks", params={"kind": "training"}).json()["tasks"]
        assert client.delete(f"/tasks/{task['id']}").is_success  # nobody waits for it


@pytest.mark.slow  # the training itself: tests/studio/executors/test_trainings.py
def test_readme_calls_train_a_voice_and_convert_with_it(curl, folder):
    before = curl("/models")
    mia = curl("/models/create")["model_id"]

    def train(epochs: str = "2") -> dict:
        return curl("/models/MODEL_ID/train", MODEL_ID=mia, epochs=epochs)

    assert train() == {"status": "training", "model_id": mia, "current_epoch": 0}
    seen = []

    def look() -> dict:
        seen.append(train())  # the same call again is how the published interface is polled
        return seen[-1]

    assert ended(look, "training") == {"status": "completed", "model_id": mia, "current_epoch": 2}
    epochs = [answer["current_epoch"] for answer in seen]
    assert epochs == sorted(epochs)
    assert train("1")["status"] == "completed"  # it has more than that: nothing starts

    listed = {model["id"]: model for model in curl("/models")["models"]}
    assert set(listed) == {mia} | {model["id"] for model in before["models"]}
    assert (listed[mia]["name"], listed[mia]["gender"], listed[mia]["genre"]) == ("Mia", "female", "jazz")
    assert converted(curl, folder, mia)["output_settings"]["model"] == mia


def test_readme_check_task_call_answers_an_unknown_task_with_a_sentence(curl):
    refused = curl("/check-task/TASK_ID", TASK_ID="nothing")
    assert refused["status"] == 404
    assert refused["detail"].endswith(".")
