"""Between a sound device and a converter: sound waits here as briefly as it can, and is dropped rather than queued."""

import gc
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import numpy as np

from engine.live.converter import LiveConverter

_GROWTH = 1.0  # of a block: by so much gaps may lengthen the delay, so that a slower machine has no others
_MOST_WAITING = 3  # blocks of input; older ones are dropped, so that the delay does not grow
_FADE_MS = 5.0  # where sound stops for want of samples, and where it goes on
_LISTED = 10_000  # conversion times that are kept
_CALM_S = 5.0  # without a gap, after which the delay may get shorter again
_QUIET = 3e-3  # peak of sound that can be left out unheard
_PRIORITY = 5  # of a real-time thread: above all usual ones, below those of the system's sound


@dataclass
class PipeReport:
    """What happened so far: blocks converted, times (seconds) of the latest, and gaps or losses of sound."""

    converted: int = 0
    glitches: int = 0
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_LISTED))

    def share(self, quantile: float, block_s: float) -> float:
        """Return a quantile of the conversion time as a share of the block's duration; above 1 is too slow."""
        return float(np.quantile(list(self.seconds), quantile)) / block_s if self.seconds else 0.0


class DevicePipe:
    """Passes sound from a device's callback to a converter on a thread of its own, and back.

    The device may hand in pieces of up to a block, short ones for a short delay; the converter gets whole blocks, and
    has `reserve_ms` for each. The delay, besides the converter's lag, is a block, the reserve, and the device's own
    piece; after gaps up to _GROWTH blocks more, until it is quiet and conversions fit into the reserve again.
    """

    def __init__(self, converter: LiveConverter, reserve_ms: float) -> None:
        self.converter, self.report = converter, PipeReport()
        self._reserve_s = reserve_ms / 1000
        self._incoming: deque[tuple[float, np.ndarray]] = deque()  # each with the time when it was there
        self._collected = np.zeros(0, np.float32)
        self._outgoing = np.zeros(converter.block + round(self._reserve_s * converter.rate), np.float32)
        self._last, self._starved = 0.0, False
        self._late = 0  # samples that were answered with silence: the delay has grown by them
        self._growth = round(_GROWTH * converter.block)
        self._calm = 0  # samples since the last gap
        self._waits: deque[float] = deque(maxlen=round(_CALM_S * converter.rate / converter.block))
        self._lock = threading.Condition()
        self._ends = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="live conversion", daemon=True)
        self._searched = ExitStack()

    def __enter__(self) -> "DevicePipe":
        self._searched.enter_context(short_searches())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ends = True
            self._lock.notify()
        self._thread.join(5.0)
        self._searched.close()

    @property
    def failure(self) -> BaseException | None:
        """What ended the conversion, if something did."""
        return self._failure

    def exchange(self, piece: np.ndarray) -> np.ndarray:
        """Hand in samples (n,) and return as many, at once. Raises what ended the conversion, once it has faded out."""
        count, block = len(piece), self.converter.block
        with self._lock:
            if self._failure is not None and self._starved:
                raise self._failure
            self._collected = np.concatenate([self._collected, piece.astype(np.float32)])
            while len(self._collected) >= block:
                self._incoming.append((time.perf_counter(), self._collected[:block]))
                self._collected = self._collected[block:]
                self._lock.notify()
            while len(self._incoming) > _MOST_WAITING:
                self._incoming.popleft()
                self._late = max(0, self._late - block)  # it will not come
                self.report.glitches += 1
            skipped = max(0, min(self._late - self._allowed(count), len(self._outgoing) - count))
            self._late -= skipped
            ready = self._outgoing[skipped : skipped + count]
            self._outgoing = self._outgoing[skipped + count :]
            self._late += count - len(ready)
            self._calm = self._calm + count if len(ready) == count else 0
        return self._without_steps(ready, count, skipped > 0)

    def _allowed(self, count: int) -> int:
        """Return by how many samples the delay may be longer: less only where nobody hears the sound that is left out.

        count: samples that are wanted now. At most so many are left out in the quiet, so that pauses keep their length.
        """
        rate = self.converter.rate
        quiet = float(np.abs(self._outgoing[: 2 * count]).max(initial=0.0)) < _QUIET
        if not quiet or self._calm < _CALM_S * rate:
            return self._growth
        needed = round((max(self._waits, default=0.0) - self._reserve_s) * rate)
        return max(needed, self._late - count, 0)

    def _without_steps(self, ready: np.ndarray, count: int, skipped: bool) -> np.ndarray:
        """Return so many samples; where they end early, or go on elsewhere, the sound fades instead of jumping."""
        fade = round(_FADE_MS / 1000 * self.converter.rate)
        result = np.zeros(count, np.float32)
        result[: len(ready)] = ready
        if (self._starved or skipped) and len(ready):
            reach = min(fade, len(ready))
            rise = np.linspace(0, 1, reach, dtype=np.float32)
            result[:reach] = result[:reach] * rise + self._last * (1 - rise)
        last = float(ready[-1]) if len(ready) else self._last
        missing = count - len(ready)
        if missing:
            reach = min(fade, missing)
            result[len(ready) :][:reach] = last * np.linspace(1, 0, reach + 1, dtype=np.float32)[1:]
            self.report.glitches += not self._starved  # a gap counts once
        self._starved = missing > 0
        self._last = float(result[-1]) if count else self._last
        return result

    def _run(self) -> None:
        try:
            with real_time():
                while (next_one := self._next()) is not None:
                    self._convert(*next_one)
        except Exception as failure:  # noqa: BLE001 - the device's thread raises it
            self._failure = failure

    def _next(self) -> tuple[float, np.ndarray] | None:
        """Wait for a block, with the time when it was there; None at the end."""
        with self._lock:
            while not self._incoming and not self._ends:
                self._lock.wait(0.5)
            return None if self._ends else self._incoming.popleft()

    def _convert(self, arrived: float, block: np.ndarray) -> None:
        begun = time.perf_counter()
        converted = self.converter.convert(block)
        ended = time.perf_counter()
        self.report.seconds.append(ended - begun)
        with self._lock:
            self._waits.append(ended - arrived)
            self._outgoing = np.concatenate([self._outgoing, converted])
            self.report.converted += 1


def ask_for_real_time() -> "tuple[int, os.sched_param] | None":
    """Put this thread before all usual ones, as audio programs do, where the system lets the user (Linux: rtprio).

    Returns its scheduling before; None where nothing changed.

    >>> from threading import Thread
    >>> thread = Thread(target=ask_for_real_time)  # a device's callback asks once, for as long as its thread lives
    >>> thread.start()
    >>> thread.join()
    """
    if not hasattr(os, "sched_setscheduler"):
        return None
    with suppress(OSError):
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(_PRIORITY))
        return before
    return None


@contextmanager
def real_time() -> Iterator[None]:
    """Ask for real time for a while.

    >>> with real_time():
    ...     print("in time")  # what must not be late
    in time
    """
    before = ask_for_real_time()
    try:
        yield
    finally:
        if before is not None:
            os.sched_setscheduler(0, *before)


@contextmanager
def short_searches() -> Iterator[None]:
    """Leave what there is by now out of Python's searches for garbage for a while: through all of it one takes 0.1 s,
    in which nothing is converted.

    >>> with short_searches():
    ...     print("in time")  # what must not be late
    in time
    """
    is_first = not gc.get_freeze_count()  # otherwise somebody has left it out for longer
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if is_first:
            gc.unfreeze()
