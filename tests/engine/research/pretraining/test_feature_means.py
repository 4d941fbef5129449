import copy
import multiprocessing.pool
import shutil
from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.envelope import ACTIVE_NEPERS, frame_loudness
from engine.features.augmentations import AUGMENTATIONS
from engine.features.feature_mean import count_sounds
from engine.networks.listener import FEATURES
from engine.research.pretraining import feature_means as module
from engine.research.pretraining.corpus import Corpus
from engine.research.pretraining.feature_means import prepare_means

FRAMES = 170  # of each clip


def quiet(fraction: float, message: str) -> None:
    pass


@pytest.fixture
def copied(corpus, tmp_path, monkeypatch) -> Corpus:
    """The same corpus, of which nothing has been measured."""
    monkeypatch.setattr(module, "working_processes", lambda: multiprocessing.pool.ThreadPool(1))
    shutil.copytree(corpus.folder, tmp_path / "corpus", ignore=shutil.ignore_patterns("means.npz"))
    return Corpus(tmp_path / "corpus")


def active_of(corpus: Corpus, number: int) -> np.ndarray:
    """Of each of the listener's frames of a clip, whether it is one that counts."""
    clip = corpus.clips[number]
    envelope = corpus.envelope[clip.first_frame : clip.first_frame + clip.frames].astype(np.float32)
    return (frame_loudness(envelope) > clip.nepers + ACTIVE_NEPERS)[::2]


@pytest.mark.parametrize("number", [0, 7, 19])
def test_prepare_means_averages_loud_frames_of_each_clip_and_augmentation(corpus, means, number):
    active = active_of(corpus, number)
    assert 10 < active.sum() < len(active)
    for augmentation in range(AUGMENTATIONS):
        features = corpus.listener_features[augmentation, corpus.first_feature[number] :][: len(active)][active].astype(
            np.float64
        )
        np.testing.assert_allclose(means.mean[number, augmentation], features.mean(0), atol=1e-3)
    clip = corpus.clips[number]
    rows = slice(clip.first_frame, clip.first_frame + clip.frames)
    envelope = corpus.envelope[rows].astype(np.float32)
    assert means.sounds[number] == count_sounds(envelope, np.array(corpus.voicing[rows]), clip.nepers)


def test_prepare_means_weights_clips_of_equal_length_equally(corpus, means):
    """They are of the same length, so each counts alike."""
    count = len(corpus.clips)
    np.testing.assert_allclose(means.usual, means.mean.mean((0, 1)), atol=1e-3)
    spread = [
        corpus.listener_features[0, corpus.first_feature[number] :][:85][active_of(corpus, number)]
        .astype(np.float64)
        .var(0)
        for number in range(count)
    ]
    np.testing.assert_allclose(means.within, np.mean(spread, 0), rtol=1e-3, atol=1e-6)
    assert (means.between > 0).all()
    assert means.usual.shape == means.between.shape == means.within.shape == (FEATURES,)


def test_prepare_means_weights_clips_by_length(copied, means):
    part = copy.copy(copied)
    for frames, shares in ((FRAMES, (0.5, 0.5)), (3 * FRAMES, (0.25, 0.75))):
        part.clips = [copied.clips[0], replace(copied.clips[1], frames=frames)]
        module._measure_all(part, copied.folder / "means.npz", quiet)
        found = prepare_means(part, quiet)
        np.testing.assert_allclose(found.usual, np.average(means.mean[:2].mean(1), 0, shares), atol=1e-3)


def test_prepare_means_reduces_variance_between_by_variance_within(copied):
    """Where all say other things alike, their means differ by what few sounds happen to be."""
    features = np.random.default_rng(0).standard_normal((AUGMENTATIONS, len(copied.clips), 86, FEATURES))
    features[:] = features[:, :, :1]  # of each clip one sound alone, and that is its mean
    features.astype(np.float16).tofile(copied.folder / "listener_features.bin")
    found = prepare_means(Corpus(copied.folder), quiet)
    np.testing.assert_allclose(found.within, 1e-6)
    one = found.between.mean()
    features += np.random.default_rng(1).standard_normal(features.shape) * 3.0
    features.astype(np.float16).tofile(copied.folder / "listener_features.bin")
    (copied.folder / "means.npz").unlink()
    found = prepare_means(Corpus(copied.folder), quiet)
    np.testing.assert_allclose(found.within.mean(), 9.0, rtol=0.05)
    assert found.between.mean() < one


def test_prepare_means_reads_existing_means_without_measuring_again(copied, monkeypatch):
    told = []
    first = prepare_means(copied, lambda fraction, message: told.append(fraction))
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert sorted(path.name for path in copied.folder.glob("means*")) == ["means.npz"]
    monkeypatch.setattr(module, "working_processes", None)
    again = prepare_means(copied, quiet)
    for name, value in vars(first).items():
        np.testing.assert_array_equal(getattr(again, name), value)
