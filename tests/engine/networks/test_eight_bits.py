import numpy as np
import pytest
import torch
from torch import nn

from engine.networks.eight_bits import EightBitLinear, multiplies_eight_bits, paired

pytestmark = pytest.mark.skipif(torch.backends.quantized.engine == "none", reason="torch has no 8 bits here")


def steps_of(rows: int, inputs: int, seed: int = 0) -> torch.Tensor:
    """Whole numbers as a weight has them: mostly small ones, and some of 127."""
    numbers = 30 * np.random.default_rng(seed).standard_normal((rows, inputs))
    numbers[:, :3] = 127
    return torch.from_numpy(numbers.clip(-127, 127).astype(np.int8))


def test_paired_weights_never_add_up_to_more_than_16_bits_hold():
    """With inputs of 8 bits: 255 x 128 are 32,640, and 16 bits end at 32,767."""
    steps, scale = paired(steps_of(64, 512), torch.full((64,), 0.01))
    assert (steps[:, ::2].int() + steps[:, 1::2]).abs().max() <= 128
    torch.testing.assert_close(steps * scale[:, None], steps_of(64, 512) * 0.01, atol=0.0101, rtol=0)


def test_paired_weights_that_fit_stay_as_they_are():
    small = steps_of(8, 16).clamp(-60, 60)
    steps, scale = paired(small, torch.arange(1.0, 9.0))
    assert torch.equal(steps, small)
    assert torch.equal(scale, torch.arange(1.0, 9.0))


@pytest.mark.skipif(not multiplies_eight_bits(torch.device("cpu")), reason="8 bits are not used on this processor")
def test_layer_of_steps_adds_up_the_largest_products_whatever_the_processor():
    """A processor without VNNI cut the sums of neighbours off at 32,767: of 512 x 255 x 127 a half was left."""
    layer = EightBitLinear.of_steps(torch.full((16, 512), 127, dtype=torch.int8), torch.ones(16), None)
    inputs = torch.ones(1, 4, 512)
    inputs[:, 0, 0] = 0.0  # so that their range begins there
    found = layer(inputs)[:, 1:]
    torch.testing.assert_close(found, torch.full((1, 3, 16), 512 * 127.0), rtol=0.02, atol=0)


def test_layer_in_eight_bits_does_nearly_what_the_layer_does():
    torch.manual_seed(0)
    layer, inputs = nn.Linear(64, 32), torch.randn(2, 20, 64)
    with torch.inference_mode():
        wanted, found = layer(inputs), EightBitLinear.of(layer)(inputs)
    assert np.corrcoef(wanted.ravel(), found.ravel())[0, 1] > 0.999


def test_graphics_cards_do_not_multiply_eight_bits():
    assert not multiplies_eight_bits(torch.device("cuda"))
