"""The inputs of a sound device or a recording: which of them is converted, and whether it is the one that sounds."""

import numpy as np

from engine.errors import EngineError
from engine.texts import tr

# as studio/page/static/inputs.js has them
_SOUNDS_DB = -50.0  # mean level of a piece from which on somebody sings
_APART_DB = 25.0  # a silent input lies so far below the one that sounds: two microphones in a room do not
_AFTER_S, _MEMORY_S = 1.0, 3.0  # of sound


class Inputs:
    """What is converted of several inputs, and which of them sound. Raises EngineError if there are fewer.

    count: how many inputs there are; number: the one to convert, from 1, None for the mean of all; rate: in Hz.

    >>> inputs = Inputs(2, 1, 48_000)
    >>> inputs.take(np.stack([np.zeros(96_000), np.ones(96_000)])).any()
    np.False_
    >>> print(inputs.complaint)
    Input 1 is silent; your microphone is in input 2: choose Input 2.
    """

    def __init__(self, count: int, number: int | None, rate: int) -> None:
        if number is not None and number > count:
            raise EngineError(
                tr(
                    "There is no input {number}: the microphone or recording has {count}. Choose another input.",
                    number=number,
                    count=count,
                )
            )
        self._number, self._rate = number, rate
        self._powers, self._sounded_s = np.zeros(count), 0.0

    def take(self, piece: np.ndarray) -> np.ndarray:
        """Return the samples (n,) to convert of a piece (inputs, n)."""
        powers = np.mean(np.square(piece, dtype=np.float64), axis=1) if piece.size else self._powers
        if powers.max() > 10 ** (_SOUNDS_DB / 10):
            seconds = piece.shape[1] / self._rate
            self._powers += min(1.0, seconds / _MEMORY_S) * (powers - self._powers)
            self._sounded_s += seconds
        return piece[self._number - 1] if self._number is not None else piece.mean(axis=0, dtype=piece.dtype)

    @property
    def sounding(self) -> int:
        """The number of the input that sounds most."""
        return int(self._powers.argmax()) + 1

    @property
    def complaint(self) -> str | None:
        """What is wrong with the choice, and what to choose instead; None if nothing is, or nobody has sung yet."""
        if self._sounded_s < _AFTER_S:
            return None
        silent = self._powers < self._powers.max() * 10 ** (-_APART_DB / 10)
        sounding = self.sounding
        if self._number is not None:
            return (
                tr(
                    "Input {silent} is silent; your microphone is in input {sounding}: choose Input {sounding}.",
                    silent=self._number,
                    sounding=sounding,
                )
                if silent[self._number - 1]
                else None
            )
        if silent.any() and silent.sum() == len(silent) - 1:
            return tr(
                "Your microphone is in input {sounding}, and the mix with the silent inputs makes it softer: choose "
                "Input {sounding}.",
                sounding=sounding,
            )
        return None
