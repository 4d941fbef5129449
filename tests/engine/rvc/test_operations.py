import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from engine.rvc import operations
from engine.rvc.configuration import from_checkpoint
from engine.rvc.generator import Generator
from engine.rvc.operations import multiplications_per_s, refuse_much_work
from engine.rvc.sandbox import ModelFileError
from tests.engine.rvc.models import checkpoint_of

BLOCKS = [1025, 32, 192, 192, 768, 2, 6, 3, 0.0, "1", [3, 7, 11], [[1, 3, 5]] * 3]
PUBLISHED = {  # upsampling, its kernels, rate
    "v1 at 32 kHz": ([10, 4, 2, 2, 2], [16, 16, 4, 4, 4], 32_000),
    "v1 at 48 kHz": ([10, 6, 2, 2, 2], [16, 16, 4, 4, 4], 48_000),
    "at 40 kHz": ([10, 10, 2, 2], [16, 16, 4, 4], 40_000),
    "v2 at 32 kHz": ([10, 8, 2, 2], [20, 16, 4, 4], 32_000),
    "v2 at 48 kHz": ([12, 10, 2, 2], [24, 20, 4, 4], 48_000),
}


def published(name):
    upsampling, kernels, rate = PUBLISHED[name]
    version = "v1" if name.startswith("v1") else "v2"
    return from_checkpoint([*BLOCKS, upsampling, 512, kernels, 109, 256, rate], version, 1, 109)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models_of_rvc_are_far_below_the_limit(name):
    assert 25e9 < multiplications_per_s(published(name)) < operations.MOST_PER_S / 3


@pytest.mark.parametrize("case", ["v1", "v2", "v2-32k", "v1-no-pitch"])
def test_multiplications_are_those_that_torch_counts(case, monkeypatch):
    """Of one second, without what this counts besides: softmax, frames at the edges of pieces, longer windows."""
    monkeypatch.setattr(operations, "_ATTENDED_FRAMES", 100)
    monkeypatch.setattr(operations, "_SOFTMAX", 0)
    monkeypatch.setattr(operations, "reach_frames", lambda _: 0)
    content = checkpoint_of(case)
    of = from_checkpoint(content["config"], content["version"], content["f0"], 3)
    generator = Generator(of).eval()
    frames = torch.ones(1, 100)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        generator(torch.ones(1, 100, of.content), frames, torch.ones(1, of.latent, 100), torch.ones(1, of.sample_rate))
    positions = 4 * 100 * 21 * of.hidden * of.layers  # relative ones, which are few
    speakers = 2 * of.speaker_width * (of.upsampling_channels + 4 * 6 * of.hidden)  # once, not for each frame
    counted = (counter.get_total_flops() - positions - speakers) / 2
    assert multiplications_per_s(of) == pytest.approx(counted, rel=0.02)


def test_wide_blocks_at_the_rate_of_the_samples_are_refused_with_figures():
    of = from_checkpoint([*BLOCKS[:10], [15], [[1] * 10], [400], 256, [400], 1, 256, 40_000], "v2", 1, 1)
    weights = sum(one.numel() for one in _on_paper(of).parameters())
    assert weights < 35e6  # about as many as a model of RVC has
    with pytest.raises(ModelFileError, match=r'"a\.pth" declares networks of 2\d\d billion') as caught:
        refuse_much_work("a.pth", multiplications_per_s(of))
    assert caught.value.code == "too_large"


def _on_paper(of) -> nn.Module:
    with torch.device("meta"):
        return Generator(of)
