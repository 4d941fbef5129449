"""A corpus of a few synthetic seconds, analysed as the real one is."""

import json
import multiprocessing.pool
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from engine.base import WEIGHTS
from engine.envelope import BANDS, measure_envelope, measure_level
from engine.frames import HOP, SAMPLE_RATE
from engine.pitch import detect_pitch
from engine.pretraining import adverse_clips
from engine.pretraining.adverse_clips import AdverseCorpus, prepare_adversity
from engine.pretraining.corpus import ClipEntry, Corpus

FRAMES = 170
SPEAKERS = 10


@pytest.fixture(scope="session")
def corpus(tmp_path_factory, sing) -> Corpus:
    """Ten speakers with two clips of 1.7 s each; the last clip has half the bandwidth."""
    folder = tmp_path_factory.mktemp("corpus")
    arrays: dict[str, list[np.ndarray]] = {"audio": [], "envelope": [], "hertz": [], "voicing": []}
    entries = []
    for number in range(2 * SPEAKERS):
        samples = sing((FRAMES * HOP) / SAMPLE_RATE, hertz=100.0 + 10 * (number // 2), seed=number)[: FRAMES * HOP]
        pitch = detect_pitch(samples, SAMPLE_RATE)
        envelope = measure_envelope(samples, pitch)[:FRAMES]
        level = measure_level(envelope)
        arrays["audio"].append((samples * 32767).astype(np.int16))
        arrays["envelope"].append(envelope.astype(np.float16))
        arrays["hertz"].append(pitch.hertz[:FRAMES])
        arrays["voicing"].append(pitch.voicing[:FRAMES])
        entries.append(
            ClipEntry(
                path=f"clip{number}", group="librispeech_tc100_1utt", speaker=f"set/{number // 2}", kind="speech",
                first_frame=number * FRAMES, frames=FRAMES, bands=BANDS if number < 2 * SPEAKERS - 1 else 90,
                nepers=level.nepers, mean=level.mean.tolist(),
            )
        )  # fmt: skip
    for name, pieces in arrays.items():
        np.concatenate(pieces).tofile(folder / f"{name}.bin")
    np.random.default_rng(0).integers(-1, 40, 2 * SPEAKERS * FRAMES).astype(np.int8).tofile(folder / "phones.bin")
    (folder / "clips.json").write_text(json.dumps([asdict(entry) for entry in entries]))
    return Corpus(folder)


@pytest.fixture
def out(tmp_path) -> Path:
    """An empty folder to train in."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture(scope="session")
def adverse(corpus, tmp_path_factory) -> AdverseCorpus:
    """Its clips under adversity, and what the shipped base hears of them; made by threads, which start at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adverse_clips, "working_processes", lambda: multiprocessing.pool.ThreadPool(2))
        folder = tmp_path_factory.mktemp("adverse")
        return prepare_adversity(corpus, WEIGHTS / "base.safetensors", folder, 11, lambda fraction, message: None)
