"""Fixtures for trainings that have to be real but not long."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import soundfile

from engine.audio.files import Audio
from engine.features.clips import Clip, analyse_clip
from engine.training.history import Estimate

RATE = 44_100


def shorten_auditions(patch: pytest.MonkeyPatch, foreign: Path, analysed: Callable[..., Clip]) -> None:
    """Let trainings audition the recordings of a folder, analysed by `analysed`."""
    patch.setattr("engine.training.checkpoint_audition.FOREIGN", foreign)
    patch.setattr("engine.training.checkpoint_audition.analyse_clip", analysed)


def skip_estimates(patch: pytest.MonkeyPatch) -> None:
    """Let trainings begin without timing a few steps."""
    patch.setattr("engine.training.train._Training._estimate", lambda *_: Estimate(1.0, 1.0, 1.0))


@pytest.fixture(scope="session")
def short_foreign(tmp_path_factory, vocal) -> Path:
    """One second of somebody else to audition with, instead of the bundled recordings, which take longer."""
    folder = tmp_path_factory.mktemp("foreign")
    for name, hertz in (("speech-high", 120.0), ("singing-high", 230.0)):
        soundfile.write(folder / f"{name}.flac", vocal(1.0, hertz), RATE)
    return folder


@pytest.fixture(scope="session")
def analysed_once() -> Callable[..., Clip]:
    """`analyse_clip` that remembers: many trainings audition the same recordings."""
    known: dict[bytes, Clip] = {}

    def analysed(audio: Audio, name: str = "") -> Clip:
        key = audio.samples.tobytes() + name.encode()
        if key not in known:
            known[key] = analyse_clip(audio, name)
        return known[key]

    return analysed


@pytest.fixture(scope="module")
def short_auditions(short_foreign, analysed_once) -> Iterator[None]:
    """Evaluations of trainings take less time."""
    with pytest.MonkeyPatch.context() as patch:
        shorten_auditions(patch, short_foreign, analysed_once)
        yield


@pytest.fixture
def short_trainings(short_auditions, monkeypatch) -> None:
    """Trainings that begin without timing a few steps, too."""
    skip_estimates(monkeypatch)
