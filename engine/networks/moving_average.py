"""A moving average of curves over frames."""

import torch
from torch import Tensor
from torch.nn import functional


def moving_average(curves: Tensor, frames: int, weight: Tensor | None = None) -> Tensor:
    """Curves (frames, n) under a Hann window that reaches so many frames to each side; at the ends, what there is.

    weight: (frames, 1), above zero: how much each frame counts.
    """
    weight = torch.ones(len(curves), 1, device=curves.device) if weight is None else weight
    window = torch.hann_window(2 * frames + 3, periodic=False, device=curves.device)[None, None, 1:-1]
    columns = torch.cat([curves * weight, weight], 1).T[:, None]
    sums = functional.conv1d(columns, window, padding=frames)[:, 0].T
    return sums[:, :-1] / sums[:, -1:]
