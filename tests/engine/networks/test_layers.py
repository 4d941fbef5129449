import pytest
import torch

from engine.networks.layers import ConvNextBlock, FrameConvolution, moving_average, receptive_frames


@pytest.mark.parametrize(("width", "dilation", "groups"), [(1, 1, 1), (5, 1, 1), (7, 3, 4)])
def test_frame_convolution_keeps_the_frame_count(width, dilation, groups):
    output = FrameConvolution(4, 8, width, dilation, groups)(torch.randn(2, 11, 4))
    assert output.shape == (2, 11, 8)


@pytest.mark.parametrize("frames", [1, 2, 7, 12, 50])
@pytest.mark.parametrize("dilation", [1, 2, 3, 4])
@pytest.mark.parametrize("groups", [1, 8])
def test_frame_convolution_equals_the_torch_convolution(frames, dilation, groups):
    layer, sequence = FrameConvolution(8, 8, 7, dilation, groups), torch.randn(2, frames, 8)
    expected = layer.convolution(sequence.transpose(1, 2)).transpose(1, 2)
    torch.testing.assert_close(layer(sequence), expected, atol=1e-5, rtol=1e-5)


def test_frame_convolution_is_centred():
    layer = FrameConvolution(1, 1, 5)
    torch.nn.init.constant_(layer.convolution.weight, 1.0)
    torch.nn.init.zeros_(layer.convolution.bias)
    impulse = torch.zeros(1, 11, 1)
    impulse[0, 5] = 1.0
    assert layer(impulse)[0, :, 0].tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("condition", [0, 6])
def test_convnext_block_with_zero_scale_is_the_identity(condition):
    block = ConvNextBlock(8, condition=condition)
    torch.nn.init.zeros_(block.scale)
    sequence = torch.randn(2, 9, 8)
    given = torch.randn(2, condition) if condition else None
    torch.testing.assert_close(block(sequence, given), sequence)


def test_convnext_block_condition_changes_every_frame_of_its_own_row_only():
    block = ConvNextBlock(8, condition=6)
    sequence, condition = torch.randn(2, 9, 8), torch.randn(2, 6)
    other = condition.clone()
    other[1] += 1.0
    changed = (block(sequence, condition) != block(sequence, other)).any(2)
    assert changed.tolist() == [[False] * 9, [True] * 9]


@pytest.mark.parametrize("dilations", [(1,), (1, 2), (3, 1, 2)])
def test_receptive_frames_matches_the_reach_of_a_stack(dilations):
    reach = receptive_frames(dilations, 5)
    stack = torch.nn.Sequential(FrameConvolution(3, 3, 5), *(ConvNextBlock(3, dilation=d) for d in dilations))
    sequence = torch.randn(1, 4 * reach + 1, 3, requires_grad=True)
    stack(sequence)[0, 2 * reach].sum().backward()
    heard = sequence.grad[0].abs().sum(1).nonzero()[:, 0]
    assert (heard.min().item(), heard.max().item()) == (reach, 3 * reach)


def test_moving_average_keeps_constant_curves_up_to_the_ends():
    torch.testing.assert_close(moving_average(torch.full((7, 2), 3.0), 20), torch.full((7, 2), 3.0))


def test_moving_average_turns_a_pulse_into_the_window():
    curves = torch.zeros(21, 1)
    curves[10] = 1.0
    average = moving_average(curves, 3)[:, 0]
    assert (average > 1e-6).nonzero()[:, 0].tolist() == list(range(7, 14))
    assert average.sum() == pytest.approx(1.0)
    assert average.argmax() == 10
    torch.testing.assert_close(average, average.flip(0))


def test_moving_average_ignores_frames_without_weight():
    curves, weight = torch.tensor([[1.0], [100.0], [1.0]]), torch.tensor([[1.0], [1e-6], [1.0]])
    torch.testing.assert_close(moving_average(curves, 2, weight), torch.ones(3, 1), atol=1e-3, rtol=0)
