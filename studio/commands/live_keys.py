"""Keys while a live conversion runs."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.voices.card import DEMO_VOICES, list_voices
from engine.voices.voice import load_voice

if TYPE_CHECKING:
    from engine.live.session import Performance
    from engine.voices.voice import Voice


class Keys:
    """Keys: t and g transpose up and down, b bypasses, n takes the next voice, p is push to talk, q ends."""

    def __init__(self, performance: "Performance", voice: "Voice") -> None:
        self._performance, self._voice = performance, voice.card.id
        self._bypassed, self._muted = False, False
        self._before: list[int | list[bytes | int]] | None = None

    def __enter__(self) -> "Keys":
        if sys.stdin.isatty():
            try:
                import termios
                import tty
            except ImportError:  # Windows
                return self
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def look(self) -> bool:
        """Do what the keys pressed since ask for; whether to go on."""
        return all([self.press(key) for key in self._pressed()])

    def press(self, key: str) -> bool:
        """Do what a key asks for; whether to go on."""
        performance, settings = self._performance, self._performance.converter.settings
        if key in "tg":
            step = 1.0 if key == "t" else -1.0
            try:
                performance.change(settings=settings.changed(transpose=settings.transpose + step))
            except EngineError:  # the end of the range
                return True
        elif key == "b":
            self._bypassed = not self._bypassed
            performance.change(bypass=self._bypassed)
        elif key == "p":
            self._muted = not self._muted
            performance.mute(self._muted)
        elif key == "n":
            ids = [card.id for card in list_voices(DEMO_VOICES)]
            self._voice = ids[(ids.index(self._voice) + 1) % len(ids)] if self._voice in ids else ids[0]
            performance.change(voice=load_voice(self._voice))
        return key != "q"

    def _pressed(self) -> str:
        if self._before is None:
            return ""
        import select

        keys = ""
        while select.select([sys.stdin], [], [], 0)[0]:
            keys += sys.stdin.read(1)
        return keys
