import pytest
import torch

from engine.analysis.envelope import BANDS, LOW_BANDS
from engine.devices import in_halves
from engine.networks.timbre_encoder import TIMBRE, TimbreEncoder, timbre_input


@pytest.fixture(scope="module")
def encoder() -> TimbreEncoder:
    torch.manual_seed(0)
    return TimbreEncoder().eval()


def test_timbre_encoder_returns_one_vector_for_any_length(encoder):
    for frames in (1, 7, 100):
        assert encoder(torch.randn(3, frames, LOW_BANDS)).shape == (3, TIMBRE)


def test_timbre_encoder_treats_batch_rows_independently(encoder):
    recordings = torch.randn(3, 40, LOW_BANDS) - 2
    alone = torch.cat([encoder(recording[None]) for recording in recordings])
    torch.testing.assert_close(encoder(recordings), alone, atol=1e-4, rtol=1e-4)


def test_timbre_encoder_mostly_ignores_trailing_silence(encoder):
    voice = torch.rand(1, 200, LOW_BANDS) * 2 - 1
    silence = torch.full((1, 200, LOW_BANDS), -8.0)
    alone, padded = encoder(voice), encoder(torch.cat([voice, silence], 1))
    other = encoder(torch.rand(1, 200, LOW_BANDS) * torch.linspace(0, 4, LOW_BANDS) - 3)
    assert (alone - padded).norm() < 0.2 * (alone - other).norm()


def test_timbre_encoder_returns_single_precision_in_halves(encoder, halves):
    """Or a cosine of two timbres would have eight bits."""
    recordings = torch.randn(2, 40, LOW_BANDS, generator=torch.Generator().manual_seed(1)) - 2
    expected = encoder(recordings)
    with in_halves(recordings.device):
        timbre = encoder(recordings)
    assert timbre.dtype is torch.float32
    torch.testing.assert_close(timbre, expected, atol=0.02 if halves else 0, rtol=0)
    assert torch.equal(timbre, expected) is not halves


def test_timbre_input_ignores_the_level_of_a_recording():
    envelope = torch.rand(2, 30, BANDS) * 2 - 4
    heard = timbre_input(envelope, 0.0)
    assert heard.shape == (2, 30, LOW_BANDS)
    torch.testing.assert_close(timbre_input(envelope + 1.5, 1.5), heard, atol=1e-5, rtol=0)
    assert timbre_input(torch.full((1, 1, BANDS), -1000.0), 0.0).min() == -8.0
