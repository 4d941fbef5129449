"""Windows: cut a stream of samples at quiet points, with context on both sides, so that memory use stays constant.

Window edges lie on the frame grid, and windows also begin on the pitch detector's grid, so that a frame is analysed the
same way whichever window it falls in.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.analysis.loudness import measure_loudness, quietest_frame
from engine.audio.channels import fold
from engine.units import HOP, SAMPLE_RATE, frame_count

LONGEST_S, SHORTEST_S = 18.0, 10.0  # of a window's core
GRID_FRAMES = 8  # 80 ms: five hops of the pitch detector, eight of ours
CONTEXT_FRAMES = 168  # more than the receptive field of all networks to either side
_SILENCE_FRAMES = 4 * GRID_FRAMES  # around a recording that begins or ends in the middle of a sound
_EDGE_S = 0.02  # its first or last moment, against the loudest one of the window
_IN_SOUND_DB = 35.0  # below that one, down to which it is in the middle of a sound: the room is softer


@dataclass(frozen=True)
class Window:
    """Samples (channels, n) at SAMPLE_RATE, beginning at `first_frame` of the recording.

    The part to keep begins at frame `core_start` and ends before frame `core_stop` of the recording, or at its end if
    `last`. silence: frames of it that were added before the recording and after it.
    """

    samples: np.ndarray
    first_frame: int
    core_start: int
    core_stop: int
    last: bool
    silence: tuple[int, int] = (0, 0)

    @cached_property
    def voice(self) -> np.ndarray:
        """The voice that the channels hold, float32 (n,); see `fold`."""
        return fold(self.samples)

    def of(self, channels: list[int]) -> "Window":
        """Return the same window of some channels."""
        return self if len(channels) == len(self.samples) else replace(self, samples=self.samples[channels])

    def in_silence(self) -> "Window":
        """Return the same window with silence before or after it where the recording begins or ends in the middle of a
        sound: networks have learned what follows a pause, and not what follows nothing."""
        before = _SILENCE_FRAMES if self.first_frame == 0 and _begins_in_sound(self.samples) else 0
        after = _SILENCE_FRAMES if self.last and _begins_in_sound(self.samples[:, ::-1]) else 0
        if not (before or after):
            return self
        padded = np.pad(self.samples, ((0, 0), (before * HOP, after * HOP)))
        return replace(self, samples=padded, first_frame=self.first_frame - before, silence=(before, after))

    @property
    def given(self) -> slice:
        """The samples that are the recording's."""
        before, after = self.silence
        return slice(before * HOP, self.samples.shape[1] - after * HOP)

    @property
    def frames(self) -> int:
        """Number of frames of `samples`."""
        return frame_count(self.samples.shape[1])

    @property
    def core(self) -> slice:
        """The part to keep, in frames of the window."""
        return slice(self.core_start - self.first_frame, self.core_stop - self.first_frame)

    def later(self, frames: int) -> "Window":
        """Return the same window of a recording that begins so many frames earlier."""
        first, start, stop = self.first_frame + frames, self.core_start + frames, self.core_stop + frames
        return Window(self.samples, first, start, stop, self.last)

    @property
    def core_features(self) -> slice:
        """The part to keep, in the listener's frames: every second one, beginning with the window's first."""
        return slice((self.core.start + 1) // 2, (self.core.stop + 1) // 2)


def begin_of(core_start: int) -> int:
    """Return the frame where the window of a core beginning at `core_start` begins."""
    return max(0, core_start - CONTEXT_FRAMES) // GRID_FRAMES * GRID_FRAMES


def cut_windows(
    blocks: Iterable[np.ndarray], longest_s: float = LONGEST_S, shortest_s: float = SHORTEST_S
) -> Iterator[Window]:
    """Yield windows over blocks (channels, n) at SAMPLE_RATE, with cores that neither overlap nor leave gaps."""
    longest, shortest = round(longest_s * 100), round(shortest_s * 100)
    held: np.ndarray | None = None
    first = core = 0  # frames of the recording: start of the held samples, and of the next core
    for block in blocks:
        held = block if held is None else np.concatenate([held, block], 1)
        while held.shape[1] >= (core - first + longest + CONTEXT_FRAMES) * HOP + HOP:
            stop = first + _quiet_cut(held, core - first + shortest, core - first + longest)
            end = (stop - first + CONTEXT_FRAMES) * HOP
            yield Window(held[:, :end], first, core, stop, last=False)
            core = stop
            keep = begin_of(core)
            held, first = held[:, (keep - first) * HOP :], keep
    if held is not None and held.shape[1]:
        yield Window(held, first, core, first + frame_count(held.shape[1]), last=True)


def _begins_in_sound(samples: np.ndarray) -> bool:
    """Return whether the first moment of samples (channels, n) is not so much softer than the loudest one."""
    moment = min(round(_EDGE_S * SAMPLE_RATE), samples.shape[1])
    whole = samples[:, : samples.shape[1] // moment * moment]
    power = np.square(whole).reshape(len(whole), -1, moment).mean(2).max(0)
    return bool(power[0] > 0.0 and power[0] >= power.max() * 10.0 ** (-_IN_SOUND_DB / 10))


def _quiet_cut(samples: np.ndarray, start: int, stop: int) -> int:
    """Return the quietest frame of `samples` between two frames, by the loudest channel."""
    piece = samples[:, start * HOP : stop * HOP]
    loudness = np.max([measure_loudness(channel) for channel in piece], 0)
    smooth = np.convolve(loudness[: stop - start], np.ones(9) / 9, "same")
    return start + quietest_frame(smooth, 4, len(smooth) - 4)
