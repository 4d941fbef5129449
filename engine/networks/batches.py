"""Windows of several lengths in one batch: the shorter ones end in zeros, which the networks are told of."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


def together(rows: Sequence[Tensor], fill: float = 0.0) -> Tensor:
    """Return rows (n, ...) of several lengths as a batch (batch, longest, ...), filled up after the shorter ones."""
    return rows[0][None] if len(rows) == 1 else pad_sequence(list(rows), True, fill)


def inside(lengths: Sequence[int], device: torch.device) -> Tensor | None:
    """Return where windows of these lengths have frames, (batch, longest, 1), 0 or 1; None if all are as long."""
    if len(set(lengths)) == 1:
        return None
    return together([torch.ones(length, 1, device=device) for length in lengths])
