import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.analysis.envelope import measure_envelope, measure_level
from engine.analysis.pitch import Pitch
from engine.analysis.windows import Window, cut_windows
from engine.audio.files import read_audio
from engine.audio.resampling import resample
from engine.features import recording_content as module
from engine.features.augmentations import AUGMENTATIONS
from engine.features.feature_mean import measure_feature_mean
from engine.features.recording_content import RecordingContent
from engine.networks.base import BaseModel, load_base
from engine.networks.content_encoder import CONTENT
from engine.networks.listener import FEATURES, Listener, listen
from engine.units import SAMPLE_RATE, frame_count
from tests.halves import forced_halves

SPEECH = Path(__file__).parents[3] / "engine" / "samples" / "speech.flac"


@pytest.fixture(scope="module")
def base(listener) -> BaseModel:
    """The listener that ships with networks that have learned nothing."""
    torch.manual_seed(0)
    return BaseModel(listener)


def envelope_of(mid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of samples that are taken for unvoiced: their envelope and voicing."""
    frames = frame_count(len(mid))
    pitch = Pitch(np.full(frames, 150.0, np.float32), np.zeros(frames, np.float32))
    return measure_envelope(mid, pitch), pitch.voicing


def content_of(base: BaseModel, samples: np.ndarray, augmentations: int, longest_s: float = 18.0) -> np.ndarray:
    content, frames = RecordingContent(base, augmentations), 0
    for window in cut_windows([samples[None]], longest_s, longest_s / 2):
        content.add(window, window.samples[0], *envelope_of(window.samples[0]))
        frames = window.core_stop
    return content.finish(frames)


@pytest.mark.parametrize("augmentations", [0, 1, 3])
def test_recording_content_covers_every_frame_in_every_augmentation(base, sing, augmentations):
    content = content_of(base, sing(1.3), augmentations)
    assert content.shape == (augmentations, frame_count(round(1.3 * SAMPLE_RATE)), CONTENT)
    assert content.dtype == np.float16
    if augmentations:
        variance = content.astype(np.float32).var(2)
        np.testing.assert_allclose(variance, 1.0, atol=0.02)


def test_recording_content_without_augmentations_needs_no_listener(sing):
    silent = BaseModel(Listener())
    silent.listener = None
    assert content_of(silent, sing(0.3), 0).shape == (0, 31, CONTENT)


def test_recording_content_of_one_window_equals_the_content_of_the_base(base, sing):
    samples = sing(1.5)
    envelope, voicing = envelope_of(samples)
    features = listen(base.listener, samples)[: len(samples) // 882 + 1]
    mean = measure_feature_mean(base.content, features, envelope, voicing, measure_level(envelope).nepers)
    with torch.inference_mode():
        expected = base.content(torch.from_numpy(features)[None], mean[None], len(envelope))[0].numpy()
    np.testing.assert_allclose(content_of(base, samples, 1)[0], expected, atol=5e-3)


def test_recording_content_with_more_augmentations_keeps_the_first_ones(base, sing):
    samples = sing(1.0)
    few, many, again = (content_of(base, samples, augmentations) for augmentations in (2, AUGMENTATIONS, AUGMENTATIONS))
    np.testing.assert_allclose(few.astype(float), many[:2], atol=5e-3)
    np.testing.assert_array_equal(many, again)
    for one, other in itertools.pairwise(many):
        assert np.abs(one.astype(float) - other).mean() > 0.01


def test_recording_content_in_halves_is_nearly_that_in_single_precision(sing, halves):
    samples = sing(0.7, hertz=210.0)
    with forced_halves(False):
        exact = content_of(load_base(), samples, 2).astype(float)
    found = content_of(load_base(), samples, 2).astype(float)
    np.testing.assert_array_equal(found[0], exact[0])  # the recording itself
    if halves:
        assert 0 < np.abs(found[1] - exact[1]).mean() < 0.01  # of numbers whose variance is 1
    else:
        np.testing.assert_array_equal(found[1], exact[1])


def test_recording_content_cut_into_short_windows_stays_aligned():
    """Each frame once, at its own time, and heard nearly as in the whole, however the recording is cut."""
    audio = read_audio(SPEECH)
    samples = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    whole, cut = (content_of(load_base(), samples, 1, longest_s)[0].astype(float) for longest_s in (18.0, 1.0))
    assert whole.shape == cut.shape == (frame_count(len(samples)), CONTENT)
    inner = slice(5, -5)
    likeness = {lag: (whole[inner] * np.roll(cut, lag, 0)[inner]).mean() for lag in range(-4, 5)}
    assert max(likeness, key=likeness.__getitem__) == 0
    assert likeness[0] > 0.85


def window_of(first: int, core: tuple[int, int], frames: int, last: bool) -> Window:
    return Window(np.zeros((1, (frames - 1) * 441), np.float32), first, *core, last)


@pytest.mark.parametrize("kept", [100, 300])
def test_recording_content_takes_the_feature_mean_from_the_beginning(base, monkeypatch, kept):
    """Two windows, whose features are all 1 and all 3: the first alone decides, or both together."""
    monkeypatch.setattr(module, "KEPT_FRAMES", kept)
    told = []
    monkeypatch.setattr(
        module, "measure_feature_mean", lambda encoder, heard, *_: (told.append(heard), torch.zeros(FEATURES))[1]
    )
    constant = iter([np.full((151, FEATURES), 1.0, np.float16), np.full((151, FEATURES), 3.0, np.float16)])
    monkeypatch.setattr(module, "augmented_features", lambda *_: next(constant))
    content = RecordingContent(base, 1)
    envelope, voicing = np.zeros((301, 108), np.float32), np.zeros(301, np.float32)
    content.add(window_of(0, (0, 201), 301, False), np.zeros(132_300, np.float32), envelope, voicing)
    content.add(window_of(100, (201, 401), 301, True), np.zeros(132_300, np.float32), envelope, voicing)
    assert content.finish(401).shape == (1, 401, CONTENT)
    [heard] = told
    # frames 0 to 200 hold features 0 to 100, those from 201 on 101 to 200
    assert [int((heard[:, 0] == value).sum()) for value in (1.0, 3.0)] == ([101, 0] if kept == 100 else [101, 100])
