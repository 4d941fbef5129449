"""A studio of its own for each test, without workers, and recordings to give it."""

import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from engine.pinned import PinnedFile
from engine.provenance.statement import Statement
from engine.songs import separator_file
from engine.songs.separator_file import HTDEMUCS_FT_VOCALS
from studio.actions.analyses import start_analysis
from studio.actions.conversions.conversion import ConversionRequest, convert_again, convert_recording, start_conversion
from studio.settings.environment import load_settings
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account, create_account
from studio.store.studio import Studio, open_studio
from studio.store.tasks import Task, claim, complete, find
from tests.studio.actions.pinned_files import CONTENT, served

RATE = 16_000
KATHLEEN = ConversionRequest("kathleen", {"takes": 1})


@pytest.fixture
def studio(home: Path, database_url: str) -> Iterator[Studio]:
    service = ServiceSettings(database_url=database_url, models_per_account=5, trainings_per_account=2)
    opened = open_studio(load_settings(), service)
    yield opened
    opened.close()


@pytest.fixture
def other(studio: Studio) -> Account:
    """Somebody else."""
    return create_account(studio.database, "other")


@pytest.fixture
def recording(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file to be given away: seconds of a tone."""

    def make(seconds: float = 1.0, name: str = "vocal.wav") -> Path:
        time_s = np.arange(round(seconds * RATE)) / RATE
        soundfile.write(tmp_path / name, 0.2 * np.sin(2 * np.pi * 220 * time_s), RATE)
        return tmp_path / name

    return make


@pytest.fixture
def package(tmp_path: Path, recording: Callable[..., Path]) -> Callable[..., Path]:
    """Makes a zip of recordings."""

    def make(seconds: float = 12.0, **profile: Any) -> Path:
        with zipfile.ZipFile(tmp_path / "voice.zip", "w") as archive:
            archive.writestr("model.json", json.dumps({"name": "Mia"} | profile))
            archive.write(recording(seconds, "one.wav"), "audio/one.wav")
        return tmp_path / "voice.zip"

    return make


@pytest.fixture
def complete_task(studio: Studio, recording: Callable[..., Path]) -> Callable[..., None]:
    """Ends a conversion that was claimed, as a worker would: every take is a second of a tone, and take 2 is better.

    more: further parts of the result."""

    def end(task: Task, **more: Any) -> None:
        outputs = []
        for take in range(1, task.parameters["settings"].get("takes", 1) + 1):
            outputs.append(f"{task.parameters['input_key'].rpartition('/')[0]}/{task.fence}/take-{take}.wav")
            studio.storage.put_file(recording(1.0, f"take-{take}.wav"), outputs[-1])
        result = {
            "outputs": outputs,
            "output_settings": {"model": task.model_id, "transpose": -2, "vocal_style": "melodic"},
            "settings": task.parameters["settings"],
            "statement": asdict(Statement("kathleen", "Kathleen", None, {}, None, "0.9")),
            "scores": [{"pitch_accuracy": 0.8 if one == outputs[0] else 1.0, "voicing_error": 0.1} for one in outputs],
        }
        with studio.database.write() as connection:
            complete(connection, task, result | more)

    return end


@pytest.fixture
def converted(studio: Studio, recording: Callable[..., Path], complete_task: Callable[[Task], None]) -> str:
    """The id of a conversion of "my vocal.wav" to Kathleen, done, with two takes."""
    task_id = start_conversion(
        studio, studio.local, recording(), "my vocal.wav", ConversionRequest("kathleen", {"takes": 2})
    )
    task = claim(studio.database, "worker", ["conversion"], 60)
    assert task is not None
    complete_task(task)
    return task_id


@pytest.fixture
def pinned(monkeypatch) -> Iterator[PinnedFile]:
    """The network for vocals, which is a file of a server of its own."""
    with served() as url:
        one = replace(HTDEMUCS_FT_VOCALS, size=len(CONTENT), sha256=sha256(CONTENT).hexdigest(), url=url)
        monkeypatch.setattr(separator_file, "PINNED", (one,))
        yield one


@pytest.fixture
def finish(studio: Studio, complete_task: Callable[[Task], None]) -> Callable[[], str]:
    """Completes the next conversion."""

    def end() -> str:
        task = claim(studio.database, "worker", ["conversion"], 60)
        assert task is not None
        complete_task(task)
        return task.id

    return end


@pytest.fixture
def song(studio: Studio, recording: Callable[..., Path], finish: Callable[[], str]) -> str:
    """The id of a project: a recording of 3 s, converted, again in another voice, and its part from 1 s on."""
    file = recording(3.0)
    cycles = 220 * np.arange(3 * 16_000) / 16_000
    soundfile.write(file, 0.1 * sum(np.cos(2 * np.pi * one * cycles) / one for one in range(1, 20)), 16_000)
    analysis = start_analysis(studio, studio.local, file, "My song.wav")
    first = convert_recording(studio, studio.local, analysis, KATHLEEN)
    finish()
    convert_again(studio, studio.local, first, "koguchi")
    finish()
    convert_recording(studio, studio.local, analysis, KATHLEEN, (1.0, 3.0))
    finish()
    return find(studio.database, studio.local.id, first).recording or ""
