"""Cache recently used voices in memory; retrained or reimported ones are loaded again."""

import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import VoiceError
from engine.texts import tr
from engine.voices.card import CARD_FILE, WEIGHTS_FILE

if TYPE_CHECKING:
    from engine.voices.imported import AnyVoice

MOST_KEPT = 8  # of about 10 MB each
_TRIES, _PAUSE_S = 3, 0.3  # while a voice is replaced, it is briefly missing
_State = tuple[tuple[int, int, int], ...]


class VoiceCache:
    """The most recently used voices, at most `most`; several threads may ask at once."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._loading = most, threading.Lock()
        self._voices: OrderedDict[Path, tuple[_State, AnyVoice]] = OrderedDict()

    def voice(self, folder: Path) -> "AnyVoice":
        """Return the voice in a folder in its present state. Raises VoiceError."""
        for missing in range(_TRIES):
            try:
                with self._loading:
                    return self._voice(folder)
            except VoiceError:
                if missing == _TRIES - 1:
                    raise
                time.sleep(_PAUSE_S)
        raise AssertionError("unreachable")

    def _voice(self, folder: Path) -> "AnyVoice":
        from engine.voices.imported import load_any_voice  # loads torch

        state = _state(folder)
        state_kept, voice = self._voices.get(folder, (None, None))
        if voice is None or state is None or state != state_kept:
            voice = load_any_voice(folder)
            if state is None or _state(folder) != state:
                raise VoiceError(tr("The voice '{id}' was replaced while it was read; try again.", id=voice.card.id))
            self._voices[folder] = (state, voice)
        self._voices.move_to_end(folder)
        while len(self._voices) > self._most:
            self._voices.popitem(last=False)
        return voice


def _state(folder: Path) -> _State | None:
    """Return a value that changes with the voice in a folder; None if there is none."""
    try:
        stats = [(folder / name).stat() for name in (CARD_FILE, WEIGHTS_FILE)]
    except OSError:
        return None
    return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats)
