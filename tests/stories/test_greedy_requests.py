"""Requests that would cost far more than they weigh, and what a killed service leaves: each did harm once."""

import io
import json
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.conversion.preview import SAMPLE
from studio.client import Client, ServiceError
from studio.executors.housekeeping import sweep
from studio.load.trial_service import TrialService
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import open_studio

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
KILLED_IN_A_MOVE = """
    import os, signal, sys
    from pathlib import Path
    import studio.store.storage as storage
    from studio.actions.voices.datasets import create_model
    from studio.settings.environment import Settings
    from studio.settings.service import ServiceSettings
    from studio.store.studio import open_studio

    studio = open_studio(Settings(Path(sys.argv[1])), ServiceSettings())
    real = storage._move
    def move(source, target):
        real(source, target)
        if target.parent.name == "datasets":
            os.kill(os.getpid(), signal.SIGKILL)
    storage._move = move
    create_model(studio, studio.local, Path(sys.argv[2]))
"""


def silence(minutes: float, channels: int, rate: int = 8000) -> bytes:
    """A flac of silence, which weighs next to nothing."""
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", rate, channels, "PCM_16", format="FLAC") as writing:
        for _ in range(round(minutes)):
            writing.write(np.zeros((60 * rate, channels), np.int16))
    return file.getvalue()


def zipped(recordings: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Mia"}))
        for name, recording in recordings.items():
            archive.writestr(f"audio/{name}", recording)
    return file.getvalue()


def refused(call) -> ServiceError:
    with pytest.raises(ServiceError) as refusal:
        call()
    return refusal.value


def test_service_refuses_conversions_and_voices_too_large_before_queueing_them(service: TrialService):
    large, voice = silence(40, 8), zipped({f"{n}.flac": silence(61, 1) for n in range(10)})
    assert len(large) + len(voice) < 3e6
    with Client(service.base_url, service.token("greedy")) as client:
        too_large = refused(lambda: client.convert(large, "kathleen"))
        assert (too_large.status, too_large.code) == (422, "conversion_too_large")
        assert "40 minutes x 8 (channels) x 1 (takes) make 320 minutes to render; the limit is 300" in str(too_large)
        fewer = refused(lambda: client.convert(silence(50, 2), "kathleen", generations_count=10))
        assert "ask for at most 3" in str(fewer)
        too_long = refused(lambda: client.create_model(voice))
        assert "10.2 hours of audio; at most 10" in str(too_long)
        task_id = client.convert(SAMPLE, "kathleen")
        assert client.task(task_id)["cost_minutes"] == pytest.approx(8.9 / 60, abs=0.01)
        client.cancel(task_id)


def test_sweep_removes_the_recordings_of_a_killed_create_model(tmp_path, monkeypatch):
    home, archive = tmp_path / "home", tmp_path / "mia.zip"
    archive.write_bytes(zipped({"one.flac": SAMPLE.read_bytes(), "two.flac": SAMPLE.read_bytes()}))
    program = textwrap.dedent(KILLED_IN_A_MOVE)
    killed = subprocess.run([sys.executable, "-c", program, home, archive], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(home.rglob("one.flac"))
    studio = open_studio(Settings(home), ServiceSettings())
    day_s = time.time() + 25 * 3600
    monkeypatch.setattr("studio.executors.housekeeping.time.time", lambda: day_s)
    sweep(studio.database, studio.storage, studio.service)
    studio.close()
    assert not list(home.rglob("one.flac"))
    assert not list(home.rglob("*.part"))
