import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.networks.content_encoder import CONTENT, ContentEncoder, mix_content
from engine.networks.listener import FEATURES


@pytest.fixture(scope="module")
def encoder() -> ContentEncoder:
    """One that has learned nothing, but knows how its features vary."""
    torch.manual_seed(0)
    encoder = ContentEncoder().eval().requires_grad_(False)
    encoder.usual.copy_(torch.randn(FEATURES))
    encoder.between.copy_(torch.rand(FEATURES) + 0.5)
    encoder.within.copy_(4 * torch.rand(FEATURES) + 0.5)
    return encoder


def features(count: int, batch: int = 2, seed: int = 0) -> torch.Tensor:
    return torch.randn(batch, count, FEATURES, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=15)
@given(count=st.integers(1, 40), frames=st.integers(1, 90))
def test_content_encoder_returns_unit_variance_content_for_every_frame(encoder, count, frames):
    content = encoder(features(count).half(), torch.zeros(2, FEATURES), frames)
    assert content.shape == (2, frames, CONTENT)
    assert content.dtype == torch.float32
    torch.testing.assert_close(content.mean(2), torch.zeros(2, frames), atol=1e-3, rtol=0)
    torch.testing.assert_close(content.var(2, correction=0), torch.ones(2, frames), atol=1e-2, rtol=0)


def test_content_encoder_ignores_the_colour_of_speaker_and_microphone(encoder):
    heard, mean, colour = features(25), torch.randn(2, FEATURES), torch.randn(2, FEATURES)
    content = encoder(heard, mean, 50)
    torch.testing.assert_close(encoder(heard + colour[:, None], mean + colour, 50), content, atol=1e-4, rtol=0)
    assert (encoder(heard + colour[:, None], mean, 50) - content).abs().mean() > 0.1


def test_content_encoder_scales_features_by_their_standard_deviations(encoder):
    heard, mean, scale = features(25), torch.randn(2, FEATURES), torch.rand(FEATURES) + 0.5
    content = encoder(heard, mean, 50)
    scaled = ContentEncoder().eval()
    scaled.load_state_dict(encoder.state_dict() | {"within": encoder.within * scale.square()})
    with torch.inference_mode():
        torch.testing.assert_close(scaled(heard * scale, mean * scale, 50), content, atol=1e-4, rtol=0)


def test_content_encoder_limits_features_to_six_standard_deviations(encoder):
    heard, mean = features(25), torch.zeros(2, FEATURES)
    burst, limit = heard.clone(), heard.clone()
    burst[:, 12, 7], limit[:, 12, 7] = 500.0, 6.0 * float(encoder.within[7].sqrt())
    torch.testing.assert_close(encoder(burst, mean, 50), encoder(limit, mean, 50), atol=1e-4, rtol=0)


def test_content_encoder_responds_in_place_and_reaches_13_frames(encoder):
    """Three blocks of width 7, dilated 1, 1 and 2: 12 frames; between two features lies their mean."""
    heard, mean = features(60, batch=1), torch.zeros(1, FEATURES)
    moved = heard.clone()
    moved[:, 30] += 1.0
    difference = (encoder(moved, mean, 120) - encoder(heard, mean, 120)).abs().mean(2)[0]
    assert difference.argmax() == 60
    assert difference.nonzero()[:, 0].tolist() == list(range(60 - 13, 60 + 14))


def test_content_encoder_adds_noise_only_in_training(encoder):
    heard, mean = features(15), torch.zeros(2, FEATURES)
    content = encoder(heard, mean, 30)
    torch.testing.assert_close(encoder(heard, mean, 30), content, atol=0, rtol=0)
    noisy = encoder.train()(heard, mean, 30)
    encoder.eval()
    assert (noisy - content).std() == pytest.approx(0.15, rel=0.05)


# ---- the mean


@pytest.mark.parametrize("sounds", [1.0, 3.0, 10.0, 30.0])
def test_likeliest_mean_beats_the_plain_and_the_usual_mean(encoder, sounds):
    random = np.random.default_rng(int(sounds))
    usual, between, within = (value.numpy() for value in (encoder.usual, encoder.between, encoder.within))
    speakers = usual + np.sqrt(between) * random.standard_normal((100, FEATURES))
    plain = speakers + np.sqrt(within / sounds) * random.standard_normal((100, FEATURES))
    found = encoder.likeliest_mean(torch.from_numpy(plain).float(), sounds).numpy()
    error = np.square(found - speakers).mean()
    assert error < np.square(plain - speakers).mean()
    assert error < np.square(usual - speakers).mean()
    assert error == pytest.approx(float((between * within / (sounds * between + within)).mean()), rel=0.05)


def test_likeliest_mean_moves_from_the_usual_to_the_own_mean_with_more_sounds(encoder):
    mean = encoder.usual + 1.0
    moved = [float((encoder.likeliest_mean(mean, sounds) - encoder.usual).mean()) for sounds in (1e-6, 1, 10, 1e6)]
    assert moved == sorted(moved)
    assert moved[0] == pytest.approx(0.0, abs=1e-4)
    assert moved[-1] == pytest.approx(1.0, abs=1e-4)


def test_likeliest_mean_keeps_the_usual_value_of_features_equal_across_speakers():
    encoder = ContentEncoder()
    encoder.between[3] = 0.0
    found = encoder.likeliest_mean(torch.full((2, FEATURES), 5.0), torch.tensor([[1.0], [3.0]]))
    assert found[:, 3].tolist() == [0.0, 0.0]
    assert found[:, 4].tolist() == [2.5, 3.75]  # 1 / (1 + 1 / sounds) of 5


# ---- mixtures


@settings(max_examples=30)
@given(strength=st.floats(0.0, 1.0), seed=st.integers(0, 99))
def test_mix_content_lies_between_both_contents_with_unit_variance(strength, seed):
    random = torch.Generator().manual_seed(seed)
    one, other = torch.nn.functional.layer_norm(torch.randn(2, 9, CONTENT, generator=random), (CONTENT,))
    mixed = mix_content(one, other, strength)
    torch.testing.assert_close(mixed.var(1, correction=0), torch.ones(9), atol=1e-2, rtol=0)
    alike = torch.nn.functional.cosine_similarity
    assert (alike(mixed, one) >= alike(other, one) - 1e-4).all()
    assert (alike(mixed, other) >= alike(one, other) - 1e-4).all()


def test_mix_content_returns_the_first_at_strength_0_and_the_other_at_1():
    one, other = torch.nn.functional.layer_norm(torch.randn(2, 9, CONTENT), (CONTENT,))
    torch.testing.assert_close(mix_content(one, other, 0.0), one, atol=1e-4, rtol=0)
    torch.testing.assert_close(mix_content(one, other, 1.0), other, atol=1e-4, rtol=0)
    each = mix_content(one, other, torch.tensor([0.0, 1.0] * 4 + [0.0])[:, None])
    torch.testing.assert_close(each[::2], one[::2], atol=1e-4, rtol=0)
    torch.testing.assert_close(each[1::2], other[1::2], atol=1e-4, rtol=0)
