"""Between a sound device and a converter: blocks wait here for one another, and are dropped rather than queued."""

import threading
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from engine.live.converter import LiveConverter

_MOST_WAITING = 3  # blocks of input; older ones are dropped, so that the delay does not grow
_FADE_MS = 5.0  # where sound stops for want of samples, and where it goes on
_LISTED = 10_000  # conversion times that are kept


@dataclass
class PipeReport:
    """What happened so far: blocks converted, times (seconds) of the latest, and blocks that came too late."""

    converted: int = 0
    glitches: int = 0
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_LISTED))

    def share(self, quantile: float, block_s: float) -> float:
        """Return a quantile of the conversion time as a share of the block's duration; above 1 is too slow."""
        return float(np.quantile(self.seconds, quantile)) / block_s if self.seconds else 0.0


class DevicePipe:
    """Passes blocks from a device's callback to a converter on a thread of its own, and back.

    spare: blocks that are kept ready, so that a late one is not missed; each adds its duration to the delay.
    """

    def __init__(self, converter: LiveConverter, spare: int = 1) -> None:
        self.converter, self.report = converter, PipeReport()
        self._incoming: deque[np.ndarray] = deque()
        self._outgoing: deque[np.ndarray] = deque(np.zeros(converter.block, np.float32) for _ in range(spare))
        self._spare = spare
        self._last, self._resumes = 0.0, False
        self._late = 0  # blocks that were answered with silence, whose sound is skipped when it comes
        self._lock = threading.Condition()
        self._ends = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="live conversion", daemon=True)

    def __enter__(self) -> "DevicePipe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ends = True
            self._lock.notify()
        self._thread.join(5.0)

    def exchange(self, block: np.ndarray) -> np.ndarray:
        """Hand in a block and return one of the same length, at once. Raises what ended the conversion."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if len(self._incoming) >= _MOST_WAITING:
                self._incoming.popleft()
                self.report.glitches += 1
            self._incoming.append(block.astype(np.float32))
            self._lock.notify()
            while self._late and len(self._outgoing) > self._spare:  # back to the delay of before
                self._outgoing.popleft()
                self._late -= 1
            ready = self._outgoing.popleft() if self._outgoing else None
        return self._faded(ready, len(block))

    def _faded(self, block: np.ndarray | None, count: int) -> np.ndarray:
        """Return the block, or silence; the sound ends and begins without a step."""
        fade = min(round(_FADE_MS / 1000 * self.converter.rate), count)
        if block is None:
            self.report.glitches += 1
            self._late += 1
            silence = np.zeros(count, np.float32)
            silence[:fade] = self._last * np.linspace(1, 0, fade, dtype=np.float32)
            self._last = 0.0
            self._resumes = True
            return silence
        if self._resumes:
            block = block.copy()
            block[:fade] *= np.linspace(0, 1, fade, dtype=np.float32)
            self._resumes = False
        self._last = float(block[-1])
        return block

    def _run(self) -> None:
        try:
            while True:
                with self._lock:
                    while not self._incoming and not self._ends:
                        self._lock.wait(0.5)
                    if self._ends:
                        return
                    block = self._incoming.popleft()
                begun = time.perf_counter()
                converted = self.converter.convert(block)
                self.report.seconds.append(time.perf_counter() - begun)
                self.report.converted += 1
                with self._lock:
                    self._outgoing.append(converted)
        except Exception as failure:  # noqa: BLE001 - the device's thread raises it
            self._failure = failure
