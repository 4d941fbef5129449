"""After which epochs a training is judged: often at the beginning, when much changes, and more rarely later."""

from dataclasses import dataclass

_LATER_RARER = 20  # the epochs so far divided by this are at least between two evaluations


@dataclass(frozen=True)
class EvaluationSchedule:
    """apart: epochs between two evaluations; growing: whether these become more with time."""

    apart: int
    growing: bool = True

    def is_due(self, epoch: int, last: int, epochs: int) -> bool:
        """Whether to evaluate after `epoch` of `epochs`, where the last evaluation was after epoch `last`."""
        if epoch >= epochs:
            return True
        if not self.growing:
            return epoch - last >= self.apart
        wanted = max(self.apart, epoch // _LATER_RARER)
        return epoch - last >= wanted and epochs - epoch > wanted // 2  # not just before the last one

    def count(self, epochs: int) -> int:
        """How many evaluations a training of so many epochs has, with the one before the first."""
        number, last = 1, 0
        for epoch in range(1, epochs + 1):
            if self.is_due(epoch, last, epochs):
                number, last = number + 1, epoch
        return number
