"""Where `live` plays beside its output: a second one to hear oneself on, and a tone that shows where a cable ends."""

from collections import deque
from contextlib import ExitStack
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import EngineError
from engine.texts import tr
from studio.commands.wording import say

if TYPE_CHECKING:
    from sounddevice import OutputStream

Device = int | str | None
_TONE_HZ, _TONE_LEVEL, _TONE_S, _FADE_S = 440.0, 0.1, 2.0, 0.02
_MOST_WAITING = 6  # pieces: two devices have two clocks, and what one is late is left out


class SecondOutput:
    """Plays what it is given; silence where nothing has come."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._waiting: deque[np.ndarray] = deque(maxlen=_MOST_WAITING)
        self._stream: OutputStream | None = None

    def give(self, samples: np.ndarray) -> None:
        """Take the next samples (n,); from the thread of another device."""
        self._waiting.append(samples.copy())

    def open(self, stack: ExitStack, sounddevice: ModuleType, rate: int, count: int) -> None:
        """Open the device, in pieces of `count` samples, and start it. Raises EngineError."""

        def callback(outdata: np.ndarray, *_: object) -> None:
            outdata[:, 0] = self._waiting.popleft() if self._waiting else 0

        try:
            opening = partial(sounddevice.OutputStream, samplerate=rate, blocksize=count, channels=1, dtype="float32")
            self._stream = stack.enter_context(opening(latency="low", device=self._device, callback=callback))
        except (sounddevice.PortAudioError, ValueError) as cause:
            raise EngineError(tr("The second output cannot be used: {cause}.", cause=cause)) from cause

    def look(self) -> None:
        """Say it, once, if the device is gone."""
        if self._stream is not None and not self._stream.active:
            self._stream = None
            say(tr("The second output was disconnected. Start again to hear yourself on it."))


def play_tone(sounddevice: ModuleType, device: Device) -> None:
    """Play a tone of two seconds on an output: another program shows whether it arrives. Raises EngineError."""
    try:
        found = sounddevice.query_devices(device, "output")
        rate = int(found["default_samplerate"])
        time_s = np.arange(round(_TONE_S * rate)) / rate
        fade = np.minimum(1, np.minimum(time_s, time_s[::-1]) / _FADE_S)
        say(tr("A tone is playing on {name}: you should see a level in the other program.", name=str(found["name"])))
        tone = (_TONE_LEVEL * fade * np.sin(2 * np.pi * _TONE_HZ * time_s)).astype(np.float32)
        sounddevice.play(tone, rate, device=device, blocking=True)
    except (sounddevice.PortAudioError, ValueError) as cause:
        raise EngineError(
            tr("The sound device cannot be used: {cause}. --devices lists all of them.", cause=cause)
        ) from cause
