import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_decoder import PROSODY, EnvelopeDecoder, between_decoders, prosody_input
from engine.networks.timbre_encoder import TIMBRE


@pytest.fixture(scope="module")
def decoder() -> EnvelopeDecoder:
    torch.manual_seed(0)
    return EnvelopeDecoder().eval()


def test_envelope_decoder_returns_one_envelope_per_frame(decoder):
    output = decoder(torch.randn(2, 13, CONTENT), torch.randn(2, 13, PROSODY), torch.randn(2, TIMBRE))
    assert output.shape == (2, 13, BANDS)
    assert output.dtype == torch.float32


def test_envelope_decoder_uses_content_prosody_and_timbre(decoder):
    content, prosody, timbre = torch.randn(1, 13, CONTENT), torch.randn(1, 13, PROSODY), torch.randn(1, TIMBRE)
    output = decoder(content, prosody, timbre)
    for changed in ((content + 1, prosody, timbre), (content, prosody + 1, timbre), (content, prosody, timbre + 1)):
        assert (decoder(*changed) - output).abs().mean() > 1e-3


def test_envelope_decoder_depends_only_on_frames_within_receptive_frames(decoder):
    reach = EnvelopeDecoder.receptive_frames
    content = torch.randn(1, 2 * reach + 21, CONTENT, requires_grad=True)
    decoder(content, torch.zeros(1, 2 * reach + 21, PROSODY), torch.zeros(1, TIMBRE))[0, reach + 10].sum().backward()
    heard = content.grad[0].abs().sum(1).nonzero()[:, 0]
    assert heard.min() >= 10
    assert heard.max() <= 2 * reach + 10


def test_between_decoders_interpolates_weights_and_returns_the_ends_unchanged(decoder):
    torch.manual_seed(1)
    other = EnvelopeDecoder().eval()
    assert between_decoders(decoder, other, 0.0) is decoder
    assert between_decoders(decoder, other, 1.0) is other
    before = {name: value.clone() for name, value in decoder.state_dict().items()}
    mixed = between_decoders(decoder, other, 0.25)
    assert not mixed.training
    for name, value in mixed.state_dict().items():
        torch.testing.assert_close(value, 0.75 * before[name] + 0.25 * other.state_dict()[name])
        assert torch.equal(decoder.state_dict()[name], before[name])


def test_prosody_input_matches_known_values():
    semitones, voicing, loudness = torch.tensor([57.0, 69.0]), torch.tensor([0.0, 1.0]), torch.tensor([-2.0, -1000.0])
    wanted = torch.tensor([[0.0, -1.0, 0.0], [1.0, 1.0, -3.0]])
    torch.testing.assert_close(prosody_input(semitones, voicing, loudness), wanted)
