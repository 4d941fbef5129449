"""Schedule of evaluations: frequent at the beginning, when much changes, and rarer later."""

from dataclasses import dataclass

_LATER_RARER = 20  # the epochs so far divided by this are the least distance of two evaluations


@dataclass(frozen=True)
class EvaluationSchedule:
    """Epochs between two evaluations, and whether their number grows with time."""

    apart: int
    growing: bool = True

    def is_due(self, epoch: int, last: int, epochs: int) -> bool:
        """Return whether to evaluate after `epoch` of `epochs`, given the epoch of the last evaluation."""
        if epoch >= epochs:
            return True
        if not self.growing:
            return epoch - last >= self.apart
        wanted = max(self.apart, epoch // _LATER_RARER)
        return epoch - last >= wanted and epochs - epoch > wanted // 2  # not just before the last one

    def count(self, epochs: int) -> int:
        """Count the evaluations of a training of `epochs`, including the one before the first epoch."""
        number, last = 1, 0
        for epoch in range(1, epochs + 1):
            if self.is_due(epoch, last, epochs):
                number, last = number + 1, epoch
        return number
