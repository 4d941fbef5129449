"""A window on a graphics card, a pretended one (tests/engine/pretended_gpu.py): what is computed there stays there."""

import copy
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from engine.analysis.windows import cut_windows
from engine.conversion.renderer import Renderer, ShapedMelody
from engine.conversion.settings import ConversionSettings
from engine.features.survey import survey_recording
from engine.networks import spectral_frames
from engine.networks.base import BaseModel, load_base
from engine.units import SAMPLE_RATE
from tests.engine.pretended_gpu import THERE, pretended_gpu

NEAR_DB = -60.0  # of the processor's


@pytest.fixture
def there() -> Iterator[BaseModel]:
    with pretended_gpu() as card:
        yield copy.deepcopy(load_base()).to(card)


@pytest.mark.parametrize(
    "chosen",
    [{}, {"transpose": 3}, {"transpose": -2, "takes": 2, "likeness": 0.6, "retrieval": 0.5, "texture": 0.0}],
    ids=["as it is", "moved", "takes"],
)
def test_renderer_leaves_a_gpu_once_for_each_take(sing, voice, there, left, monkeypatch, chosen):
    monkeypatch.setattr(spectral_frames, "_IN_CACHE", 1000)
    settings = ConversionSettings(**{"transpose": 0} | chosen)
    recording, melody = sing(2.0, 220.0)[None], ShapedMelody(settings, float(settings.transpose))
    survey, window = survey_recording([recording], load_base()), next(cut_windows([recording]))
    expected = Renderer(load_base(), voice, survey, settings, melody).render(window)
    renderer = Renderer(there, voice.on(THERE), survey, settings, melody)
    analysed = renderer._windows.analyse(window.in_silence())
    renderer._windows.analyse = lambda window: analysed
    left.clear()
    found = renderer.render(window)
    assert left == ["cpu"] * settings.takes
    for one, other in zip(found, expected, strict=True):
        difference = np.square(one - other).mean() / np.square(other).mean()
        assert 10 * np.log10(difference + 1e-30) < NEAR_DB


def test_survey_of_a_recording_is_the_same_from_a_gpu(sing, there):
    recording = sing(2.0)[None]
    found, expected = survey_recording([recording], there), survey_recording([recording], load_base())
    assert found.sustained.rows.device.type == found.timbre.device.type == found.feature_mean.device.type == "cpu"
    torch.testing.assert_close(found.timbre, expected.timbre, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.feature_mean, expected.feature_mean, atol=1e-3, rtol=0)
    assert found.style == expected.style
    assert recording.shape[1] == 2 * SAMPLE_RATE
