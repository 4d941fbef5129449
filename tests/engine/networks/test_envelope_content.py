import pytest
import torch

from engine.analysis.envelope import BANDS, LOW_BANDS
from engine.errors import VoiceError
from engine.networks import envelope_content as module
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_content import EnvelopeContentEncoder, envelope_input, load_envelope_content

CPU = torch.device("cpu")


@pytest.mark.parametrize("frames", [1, 7, 60])
def test_envelope_content_encoder_normalises_each_frame_to_unit_variance(frames):
    content = EnvelopeContentEncoder().eval()(torch.randn(2, frames, LOW_BANDS))
    assert content.shape == (2, frames, CONTENT)
    torch.testing.assert_close(content.mean(2), torch.zeros(2, frames), atol=1e-3, rtol=0)
    torch.testing.assert_close(content.var(2, correction=0), torch.ones(2, frames), atol=1e-2, rtol=0)


def test_envelope_input_removes_the_mean_colour_of_loud_frames():
    random = torch.Generator().manual_seed(0)
    envelope = torch.rand(2, 40, BANDS, generator=random) - 0.5
    colour = 0.5 * torch.rand(2, 1, BANDS, generator=random)
    heard = envelope_input(envelope)
    assert heard.shape == (2, 40, LOW_BANDS)
    torch.testing.assert_close(heard.mean(1), torch.zeros(2, LOW_BANDS), atol=1e-5, rtol=0)
    torch.testing.assert_close(envelope_input(envelope + colour), heard, atol=1e-5, rtol=0)
    torch.testing.assert_close(heard, (envelope - envelope.mean(1, keepdim=True))[..., :LOW_BANDS] / 1.5)


def test_envelope_input_ignores_silence_in_the_mean_and_limits_it():
    envelope = torch.cat([torch.linspace(-1.0, 1.0, BANDS).expand(1, 30, -1), torch.full((1, 30, BANDS), -30.0)], 1)
    heard = envelope_input(envelope)[0]
    assert heard[:30].abs().max() < 0.01
    expected = (-8.0 - torch.linspace(-1.0, 1.0, BANDS)[:LOW_BANDS]) / 1.5
    torch.testing.assert_close(heard[30:], expected.expand(30, -1), atol=0.02, rtol=0)
    assert torch.isfinite(envelope_input(torch.full((1, 5, BANDS), -1000.0))).all()


def test_envelope_input_passes_gradients_but_not_through_the_mean():
    envelope = (torch.rand(1, 20, BANDS) - 0.5).requires_grad_()
    envelope_input(envelope)[0, 3, 5].backward()
    assert envelope.grad.nonzero().tolist() == [[0, 3, 5]]
    torch.testing.assert_close(envelope.grad[0, 3, 5], torch.tensor(1 / 1.5))


def test_load_envelope_content_loads_the_shipped_encoder_frozen():
    encoder = load_envelope_content(CPU)
    assert not encoder.training
    assert not any(parameter.requires_grad for parameter in encoder.parameters())


def test_load_envelope_content_reports_missing_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WEIGHTS", tmp_path)
    with pytest.raises(VoiceError, match=r"envelope_content\.safetensors are missing or damaged"):
        load_envelope_content(CPU)
