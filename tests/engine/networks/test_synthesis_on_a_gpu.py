"""The synthesizer and the excitations on another device: a pretended one, which refuses numpy and operations on tensors
of two devices, and computes what the processor does, but of all frames at once."""

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS, measure_envelope
from engine.analysis.pitch import Pitch
from engine.networks.excitation import noise_at, pulse_train
from engine.networks.spectral_frames import cut_frames
from engine.networks.synthesizer import Synthesizer, synthesize
from engine.units import HOP
from tests.engine.pretended_gpu import THERE, pretended_gpu

FRAMES = 151


@pytest.fixture(scope="module")
def song(sing) -> np.ndarray:
    return sing(1.5, 220.0)


@pytest.fixture(scope="module")
def pitch() -> Pitch:
    return Pitch(np.full(FRAMES, 220.0, np.float32), np.linspace(0.0, 1.0, FRAMES, dtype=np.float32))


def converted(samples: np.ndarray, pitch: Pitch, hertz: np.ndarray, device: torch.device, in_step: bool) -> np.ndarray:
    """A recording in its own envelope at another pitch."""
    torch.manual_seed(0)
    synthesizer = Synthesizer().eval().to(device)
    envelope = torch.from_numpy(measure_envelope(samples, pitch)).to(device)
    known, share = torch.ones(BANDS, device=device), torch.ones(FRAMES, BANDS, device=device)
    with torch.inference_mode():
        cut = cut_frames(torch.from_numpy(samples).to(device), FRAMES)
        voicing = torch.from_numpy(pitch.voicing).to(device)
        residual = synthesizer.residual(cut, envelope, voicing, share[:, 0], known)
        recorded = synthesizer.recorded(cut, envelope, pitch, share).at_pitch(hertz, 0.3, in_step)
    return synthesize(synthesizer, envelope, Pitch(hertz, pitch.voicing), 0, 0.3, 0, residual, recorded)


def edited(pitch: Pitch) -> np.ndarray:
    hertz = pitch.hertz.copy()
    hertz[60:110] *= 1.1
    return hertz


@pytest.mark.parametrize(
    ("wanted", "in_step"),
    [
        *((lambda pitch: pitch.hertz, False), (lambda pitch: pitch.hertz * np.float32(1.2), False)),
        *((lambda pitch: pitch.hertz * np.float32(0.8), False), (edited, True)),
    ],
    ids=["as it is", "up", "down", "edited"],
)
def test_synthesize_leaves_a_gpu_once_and_gives_the_processors_bytes(song, pitch, left, wanted, in_step):
    hertz = wanted(pitch)
    expected = converted(song, pitch, hertz, torch.device("cpu"), in_step)
    assert left == []
    with pretended_gpu():
        found = converted(song, pitch, hertz, THERE, in_step)
    assert left == ["cpu"]
    assert np.array_equal(found, expected)


def test_synthesizer_gives_windows_in_a_batch_what_each_gives_alone(song, pitch):
    """Within rounding: products of larger matrices add up in another order."""
    synthesizer = Synthesizer().eval()
    generator = np.random.default_rng(0)
    alone, parts = [], []
    with torch.inference_mode():
        for number in range(3):
            samples = (song * generator.uniform(0.5, 1.0)).astype(np.float32)
            hertz = pitch.hertz * np.float32(1.0 + 0.1 * number)
            envelope = torch.from_numpy(measure_envelope(samples, pitch))
            cut, share = cut_frames(samples, FRAMES), torch.ones(FRAMES, BANDS)
            voicing = torch.from_numpy(pitch.voicing)
            residual = synthesizer.residual(cut, envelope, voicing, share[:, 0], share[0])
            recorded = synthesizer.recorded(cut, envelope, pitch, share).at_pitch(hertz, 0.3)
            pulses, _ = pulse_train(torch.from_numpy(hertz)[None], 0.3)
            noise = torch.from_numpy(noise_at(0, (FRAMES - 1) * HOP, number))[None]
            frames = envelope[None], torch.from_numpy(hertz)[None], voicing[None]
            parts.append((*frames, pulses, noise, residual, recorded))
            alone.append(synthesizer(*parts[-1]))
        *tensors, residuals, excitations = zip(*parts, strict=True)
        together = synthesizer(
            *(torch.cat(one) for one in tensors),
            type(residuals[0]).stacked(residuals),
            type(excitations[0]).stacked(excitations),
        )
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=0)
