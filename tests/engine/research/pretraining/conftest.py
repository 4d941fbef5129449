"""A corpus of a few synthetic seconds, analysed as the real one is."""

import json
import multiprocessing.pool
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.analysis.envelope import BANDS, LOW_BANDS, measure_envelope, measure_level
from engine.analysis.pitch import detect_pitch
from engine.features.augmentations import AUGMENTATIONS
from engine.networks.listener import FEATURES
from engine.research.pretraining import feature_means, packed_features
from engine.research.pretraining.corpus import ClipEntry, Corpus, feature_frames
from engine.research.pretraining.feature_means import FeatureMeans, prepare_means
from engine.units import HOP, SAMPLE_RATE

FRAMES = 170
SPEAKERS = 10


@pytest.fixture(scope="session")
def corpus(tmp_path_factory, sing) -> Corpus:
    """Ten speakers with two clips of 1.7 s each; the last clip has half the bandwidth."""
    folder = tmp_path_factory.mktemp("corpus")
    arrays: dict[str, list[np.ndarray]] = {"audio": [], "envelope": [], "hertz": [], "voicing": []}
    entries, features = [], []
    for number in range(2 * SPEAKERS):
        samples = sing((FRAMES * HOP) / SAMPLE_RATE, hertz=100.0 + 10 * (number // 2), seed=number)[: FRAMES * HOP]
        pitch = detect_pitch(samples, SAMPLE_RATE)
        envelope = measure_envelope(samples, pitch)[:FRAMES]
        level = measure_level(envelope)
        arrays["audio"].append((samples * 32767).astype(np.int16))
        arrays["envelope"].append(envelope.astype(np.float16))
        arrays["hertz"].append(pitch.hertz[:FRAMES])
        arrays["voicing"].append(pitch.voicing[:FRAMES])
        features.append(simulated_features(envelope, level.nepers, number))
        entries.append(
            ClipEntry(
                **dict(path=f"clip{number}", group="librispeech_tc100_1utt", speaker=f"set/{number // 2}"),
                **dict(kind="speech", first_frame=number * FRAMES, frames=FRAMES),
                **dict(bands=BANDS if number < 2 * SPEAKERS - 1 else 90, nepers=level.nepers),
            )
        )
    for name, pieces in arrays.items():
        np.concatenate(pieces).tofile(folder / f"{name}.bin")
    np.concatenate(features, 1).tofile(folder / "listener_features.bin")
    (folder / "clips.json").write_text(json.dumps([asdict(entry) for entry in entries]))
    return Corpus(folder)


def simulated_features(envelope: np.ndarray, nepers: float, seed: int) -> np.ndarray:
    """Stands for the listener, to whom 34 s five times over would take too long: what the envelope holds in FEATURES
    numbers, with a speaker's and a augmentation's own offset, (AUGMENTATIONS, frames / 2 + 1, FEATURES)."""
    mixture = np.random.default_rng(0).standard_normal((LOW_BANDS, FEATURES)) / 4
    own = np.random.default_rng(seed // 2 + 1).standard_normal(FEATURES)
    rows = np.minimum(np.arange(feature_frames(len(envelope))) * 2, len(envelope) - 1)
    said = np.maximum(envelope[rows, :LOW_BANDS] - nepers, -8.0) @ mixture
    augmentations = np.random.default_rng(100 + seed).standard_normal((AUGMENTATIONS, 1, FEATURES))
    return (said + own + augmentations).astype(np.float16)


@pytest.fixture(scope="session")
def means(corpus) -> FeatureMeans:
    """Its means; measured by threads, which start at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_means, "working_processes", lambda: multiprocessing.pool.ThreadPool(1))
        return prepare_means(corpus, lambda fraction, message: None)


@pytest.fixture(scope="session")
def recordings(tmp_path_factory, sing) -> Path:
    """A corpus as files: four speakers with two recordings of 2.2 s each, and its manifest."""
    folder, rows = tmp_path_factory.mktemp("recordings"), ["path\tset\tspeaker\tkind\tseconds\toriginal_rate"]
    for number in range(8):
        samples = sing(2.2, hertz=110.0 + 30 * (number // 2), seed=number)
        soundfile.write(folder / f"{number}.flac", samples, SAMPLE_RATE)
        rows.append(f"{number}.flac\tlibrispeech_tc100_1utt\tspeaker{number // 2}\tspeech\t2.2\t44100")
    (folder / "manifest.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="session")
def threads_for_processes():
    """Recordings are analysed by threads, which start at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_features, "working_processes", lambda: multiprocessing.pool.ThreadPool(1))
        yield


@pytest.fixture(scope="session")
def packed(recordings, tmp_path_factory, threads_for_processes) -> Path:
    """All of these recordings, packed."""
    path = tmp_path_factory.mktemp("packed") / "features.safetensors"
    packed_features.pack(recordings, path, 10_000_000, lambda fraction, message: None)
    return path


@pytest.fixture
def out(tmp_path) -> Path:
    """An empty folder to train in."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"
