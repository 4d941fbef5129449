"""Values that hold arrays are one line of text."""

from dataclasses import dataclass, field

import numpy as np
import torch

from engine.reprs import Brief


@dataclass(frozen=True, repr=False)
class Held(Brief):
    curve: np.ndarray
    weights: torch.Tensor
    lines: list[dict[str, object]]
    text: str = "x" * 1000
    unseen: str = field(default="?", repr=False)


def test_brief_names_arrays_by_type_and_shape_wherever_they_lie():
    held = Held(np.zeros((3, 500), np.float32), torch.zeros(7), [{"epoch": np.zeros(900)}] * 400)
    shown = repr(held)
    assert shown.startswith("Held(curve=<float32 (3, 500)>, weights=<float32 (7,)>, lines=[{'epoch': <float64 (900,)>}")
    assert len(shown) < 300
    assert "\n" not in shown
    assert "unseen" not in shown
