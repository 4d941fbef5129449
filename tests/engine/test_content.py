import torch

from engine.content import CONTENT, ContentEncoder, content_input
from engine.envelope import BANDS, LOW_BANDS


def test_content_of_each_frame_has_unit_variance():
    content = ContentEncoder().eval()(torch.randn(2, 50, LOW_BANDS))
    assert content.shape == (2, 50, CONTENT)
    torch.testing.assert_close(content.mean(2), torch.zeros(2, 50), atol=1e-3, rtol=0)
    torch.testing.assert_close(content.var(2, correction=0), torch.ones(2, 50), atol=1e-2, rtol=0)


def test_a_frame_depends_only_on_frames_within_the_stated_reach():
    encoder = ContentEncoder().eval()
    reach = ContentEncoder.receptive_frames
    sequence = torch.randn(1, 2 * reach + 21, LOW_BANDS, requires_grad=True)
    encoder(sequence)[0, reach + 10].square().sum().backward()
    heard = sequence.grad[0].abs().sum(1).nonzero()[:, 0]
    assert heard.min() >= 10
    assert heard.max() <= 2 * reach + 10


def test_only_training_adds_noise():
    encoder = ContentEncoder()
    sequence = torch.randn(1, 30, LOW_BANDS)
    encoder.eval()
    torch.testing.assert_close(encoder(sequence), encoder(sequence), atol=0, rtol=0)
    encoder.train()
    assert (encoder(sequence) != encoder(sequence)).any()


def test_level_and_colour_of_a_recording_are_not_heard():
    envelope, mean = torch.rand(2, 30, BANDS) * 2 - 4, torch.rand(2, BANDS) * 2 - 4
    colour = torch.rand(2, BANDS) * 0.1
    heard = content_input(envelope, 0.0, mean)
    assert heard.shape == (2, 30, LOW_BANDS)
    torch.testing.assert_close(content_input(envelope + 1.5, 1.5, mean), heard, atol=1e-5, rtol=0)
    torch.testing.assert_close(content_input(envelope + colour[:, None], 0.0, mean + colour), heard, atol=1e-5, rtol=0)


def test_digital_silence_is_limited():
    silent = torch.full((1, 3, BANDS), -1000.0)
    torch.testing.assert_close(
        content_input(silent, 0.0, torch.zeros(1, BANDS)), torch.full((1, 3, LOW_BANDS), -8 / 1.5)
    )
