"""What all parts of pretraining share: averaged weights, a log, checkpoints, the learning rate, files of weights."""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from engine.files import write_atomically
from engine.progress import Report
from engine.training.checkpoint import load_checkpoint, save_checkpoint

Parts = Mapping[str, nn.Module | torch.optim.Optimizer]  # by their names in checkpoints


class TrainingRun:
    """Checkpoint and log of one training; resumes from the checkpoint if there is one."""

    def __init__(
        self, path: Path, plan: Any, averaged: nn.Module, parts: Parts, report: Report, every: tuple[int, int]
    ) -> None:
        """Load `parts` from the checkpoint at `path`, where they are stored by name; the log lies beside it.

        plan: settings of the training, with `steps`; every: steps between two log lines and between two checkpoints.
        """
        self.path, self.plan, self.averaged, self.parts, self.report = path, plan, averaged, parts, report
        self.log_every, self.save_every = every
        self.average = {name: value.detach().clone() for name, value in averaged.state_dict().items()}
        self.first_step, seconds = 0, 0.0
        if (state := load_checkpoint(path)) is not None:
            for name, part in parts.items():
                part.load_state_dict(state[name])
            self.average = {name: value.to(self.average[name].device) for name, value in state["average"].items()}
            self.first_step, seconds = state["step"], state["seconds"]
        self._started = time.monotonic() - seconds
        self._sums: dict[str, float | Tensor] = {}
        self._counted = 0

    def update_average(self, keep: float) -> None:
        """Move the averaged weights towards the current ones, keeping a share `keep` of them."""
        with torch.no_grad():
            for name, value in self.averaged.state_dict().items():
                self.average[name].lerp_(value, 1 - keep)

    def record(
        self,
        step: int,
        figures: Mapping[str, float | Tensor],
        validate: Callable[[], dict[str, float]] = dict,
        **more: float,
    ) -> None:
        """Add the figures of a step to the means; write a log line, validate and save when it is time.

        more: values of this step for the log line.
        """
        for name, value in figures.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._counted += 1
        if not self._is_due(step, self.log_every):
            return
        seconds = time.monotonic() - self._started
        line = {"step": step + 1, "seconds": round(seconds, 1)} | more
        line |= {name: round(float(total) / self._counted, 4) for name, total in self._sums.items()}
        if self._is_due(step, self.save_every):
            line |= validate()
            state: dict[str, Any] = {name: part.state_dict() for name, part in self.parts.items()}
            state |= {"average": self.average, "step": step + 1, "seconds": seconds, "plan": asdict(self.plan)}
            save_checkpoint(self.path, state)
        with self.path.with_suffix(".jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")
        self.report((step + 1) / self.plan.steps, " ".join(f"{name} {value}" for name, value in line.items()))
        self._sums, self._counted = {}, 0

    def _is_due(self, step: int, every: int) -> bool:
        return (step + 1) % every == 0 or step + 1 == self.plan.steps


def learning_rate(plan_rate: float, step: int, steps: int, cool_down: float) -> float:
    """Short warm-up, constant, then down to zero along a cosine over the last share of the steps."""
    rate = plan_rate * min(1.0, (step + 1) / 200)
    left = (steps - step) / max(1.0, cool_down * steps)
    return rate if left >= 1 else rate * (0.5 - 0.5 * math.cos(math.pi * max(left, 0.0)))


def set_learning_rate(rate: float, *optimizers: torch.optim.Optimizer) -> None:
    """Set the learning rate of every parameter group."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def save_weights(path: Path, weights: Mapping[str, Tensor], card: Mapping[str, Any]) -> None:
    """Save half-precision safetensors at `path` with the card as JSON beside it, each written atomically."""
    halves = {name: tensor.detach().cpu().half().contiguous() for name, tensor in weights.items()}
    write_atomically(path, save(halves))
    text = json.dumps(card, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path.with_suffix(".json"), text.encode())
