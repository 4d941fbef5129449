"""A window on a graphics card, a pretended one (tests/engine/pretended_gpu.py): what is computed there stays there."""

import copy
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from engine.analysis.windows import cut_windows
from engine.conversion.renderer import Renderer, ShapedMelody
from engine.conversion.settings import ConversionSettings
from engine.features.analysed_windows import windows_together
from engine.features.survey import survey_recording
from engine.networks import spectral_frames
from engine.networks.base import BaseModel, load_base
from engine.units import SAMPLE_RATE
from engine.workers import Workers
from tests.engine.pretended_gpu import THERE, crossings, memory, pretended_gpu

NEAR_DB = -60.0  # of the processor's
MOST_BYTES = 1 << 30  # of a card, for a song
MOST_THREADS = 17  # that work for a conversion (engine/workers.py)


def difference_db(one: np.ndarray, other: np.ndarray) -> float:
    return float(10 * np.log10(np.square(one - other).mean() / np.square(other).mean() + 1e-30))


@pytest.fixture
def there() -> Iterator[BaseModel]:
    with pretended_gpu() as card:
        base = copy.deepcopy(load_base()).to(card)
        base.__dict__.pop("listener", None)  # which is no part of the module
        yield base


@pytest.mark.parametrize(
    "chosen",
    [{}, {"transpose": 3}, {"transpose": -2, "takes": 2, "likeness": 0.6, "retrieval": 0.5, "texture": 0.0}],
    ids=["as it is", "moved", "takes"],
)
@pytest.mark.parametrize("channels", [1, 2])
def test_renderer_leaves_a_gpu_once_for_each_take(sing, voice, there, left, monkeypatch, chosen, channels):
    monkeypatch.setattr(spectral_frames, "_IN_CACHE", 1000)
    settings = ConversionSettings(**{"transpose": 0} | chosen)
    recording = np.stack([sing(2.0, 220.0), 0.5 * np.roll(sing(2.0, 220.0), 300)])[:channels]
    melody = ShapedMelody(settings, float(settings.transpose))
    survey, window = survey_recording([recording], load_base()), next(cut_windows([recording]))
    expected = Renderer(load_base(), voice, survey, settings, melody).render(window)
    renderer = Renderer(there, voice.on(THERE), survey, settings, melody)
    analysed = renderer._windows.analyse_together([window.in_silence()])
    renderer._windows.analyse_together = lambda windows: analysed
    left.clear()
    with crossings() as crossed:
        found = renderer.render(window)
    assert left == ["cpu"] * settings.takes
    assert set(crossed) <= {"aten.to", "aten._to_copy"}  # nothing else crosses, and nothing is waited for
    assert crossed.count("aten.to") == 1 + 2 * settings.takes  # what was analysed there; each take there and back
    for one, other in zip(found, expected, strict=True):
        assert difference_db(one, other) < NEAR_DB


def rendered(base: BaseModel, recording: np.ndarray, voice, settings: ConversionSettings, together: int) -> np.ndarray:
    """The takes of a recording in windows of about two seconds, so many at once."""
    windows = list(cut_windows([recording], longest_s=2.0, shortest_s=1.5))
    assert len(windows) == 3
    assert len({window.frames for window in windows}) == 3
    survey = survey_recording([recording], load_base())
    renderer = Renderer(base, voice, survey, settings, ShapedMelody(settings, float(settings.transpose)))
    groups = [windows[first : first + together] for first in range(0, 3, together)]
    works = renderer._workers.in_order((renderer.rendered(group) for group in groups), together)
    return np.concatenate([np.concatenate(takes, 0) for group in works for takes in group], 1)


BATCHED = {"transpose": 2, "likeness": 0.6, "retrieval": 0.5, "formant_shift_semitones": 1.0}


def test_windows_in_a_batch_are_what_each_is_alone(sing, voice):
    recording, settings = np.stack([sing(6.5, 220.0), 0.5 * sing(6.5, 220.0)]), ConversionSettings(**BATCHED)
    alone = rendered(load_base(), recording, voice, settings, 1)
    assert alone.shape == recording.shape
    assert difference_db(rendered(load_base(), recording, voice, settings, 2), alone) < NEAR_DB


def test_windows_in_a_batch_on_a_gpu_are_the_processors_and_leave_it_once_for_all(sing, voice, there, left):
    recording, settings = sing(6.5, 220.0)[None], ConversionSettings(**BATCHED)
    found = rendered(there, recording, voice.on(THERE), settings, 3)
    assert set(left) == {"cpu"}
    # the voice's timbre once, the pitch of each of three windows, all else that is analysed, and the takes
    assert len(left) == 1 + 3 + 1 + settings.takes
    assert difference_db(found, rendered(load_base(), recording, voice, settings, 1)) < NEAR_DB


@pytest.mark.slow
def test_a_song_takes_a_gigabyte_of_a_card_at_most(sing, voice, there):
    """As many of the longest windows as are computed together, and what all others keep that may be under way."""
    together, settings = windows_together(THERE), ConversionSettings(transpose=3)
    recording = sing(19.7 * together)[None]
    survey = survey_recording([recording[:, : 8 * SAMPLE_RATE]], load_base())
    windows = list(cut_windows([recording], longest_s=18.0, shortest_s=17.9))[:together]
    assert max(window.frames for window in windows) > 2100
    with memory() as held:
        card, target = copy.deepcopy(load_base()).to(THERE), voice.on(THERE)
        card.__dict__.pop("listener", None)
        card.listener.eval()
        renderer = Renderer(card, target, survey, settings, ShapedMelody(settings, 3.0), workers=Workers(1))
        weights, analysed = held.now, renderer._analyse
        kept: list[int] = []

        def analyse(given):
            found = analysed(given)
            kept.append(held.now - weights)
            return found

        renderer._analyse = analyse
        list(renderer._workers.in_order([renderer.rendered(windows)], together))
        each = kept[0] // len(windows)
        assert held.peak > weights + kept[0] > weights
        assert held.peak + MOST_THREADS * each < MOST_BYTES


def test_survey_of_a_recording_is_the_same_from_a_gpu(sing, there):
    recording = sing(2.0)[None]
    found, expected = survey_recording([recording], there), survey_recording([recording], load_base())
    assert found.sustained.rows.device.type == found.timbre.device.type == found.feature_mean.device.type == "cpu"
    torch.testing.assert_close(found.timbre, expected.timbre, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.feature_mean, expected.feature_mean, atol=1e-3, rtol=0)
    assert found.style == expected.style
    assert recording.shape[1] == 2 * SAMPLE_RATE
