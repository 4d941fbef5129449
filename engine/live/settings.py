"""Settings of a live conversion: what can change while it runs, and what a session begins with."""

from dataclasses import dataclass, replace
from typing import Any

from engine.conversion.pitch_shaping import LARGEST_TRANSPOSE
from engine.errors import SettingsError
from engine.settings import check_settings, setting, text_setting, with_ranges
from engine.texts import tr
from engine.units import FRAME_RATE

STEP_MS = 20  # blocks are whole frames of the listener
LISTENER, STUDENT = "listener", "student"
SINGING, SPEECH = "melodic", "spoken"
_FIXED = ("block_ms", "look_ahead_ms", "reserve_ms", "content")  # for a whole session


@with_ranges
@dataclass(frozen=True)
class LiveSettings:
    """How to convert live. Raises SettingsError for a value outside its range.

    Examples
    --------
    >>> LiveSettings(block_ms=50)
    Traceback (most recent call last):
    engine.errors.SettingsError: block_ms must be a multiple of 20, not 50.
    """

    transpose: float = setting(
        0, -float(LARGEST_TRANSPOSE), float(LARGEST_TRANSPOSE), tr("Semitones up or down."), step=1
    )
    style: str = text_setting(SINGING, tr("Singing keeps the vowels of sustained notes steady."), (SINGING, SPEECH))
    accent: float = setting(
        0.8, 0.0, 1.0, tr("Whose pronunciation you hear: at 0 your own, which is clearer, at 1 the voice's.")
    )
    consonant_protection: float = setting(
        0.8, 0.0, 1.0, tr("Breaths and unvoiced consonants: at 0 the voice's, at 1 your own.")
    )
    texture: float = setting(
        1.0, 0.0, 1.0,
        tr("How much of your own breath, growl and rasp is kept, from the highest frequencies down: 0 is fully "
        "synthesised, 1 keeps all of it."),
    )  # fmt: skip
    formant_shift_semitones: float = setting(
        0.0, -6.0, 6.0, tr("Makes the voice sound smaller (up) or larger (down) without changing the notes.")
    )
    wet: float = setting(
        1.0, 0.0, 1.0, tr("How much of the new voice is heard: at 0 only your own, dry, at 1 only the new one.")
    )
    block_ms: int = setting(
        60, STEP_MS, 320, tr("Audio processed per block; longer costs less work and more delay."), step=STEP_MS
    )
    look_ahead_ms: int = setting(60, 30, 100, tr("How far ahead each frame can look; longer is clearer."), step=10)
    reserve_ms: int = setting(
        60,
        10,
        300,
        tr("Time for the conversion of a block; longer avoids gaps on a busy machine, shorter is less delay."),
        step=10,
    )
    content: str = text_setting(
        STUDENT,
        tr(
            "What reads the words: the listener, in blocks of 80 ms or more, or its student, which needs less work and "
            "allows shorter blocks, but is less clear."
        ),
        (LISTENER, STUDENT),
    )

    def __post_init__(self) -> None:
        """Check the values. Raises SettingsError, naming the setting and its range."""
        check_settings(self)
        for name, step in (("block_ms", STEP_MS), ("look_ahead_ms", 1000 // FRAME_RATE)):
            if getattr(self, name) % step:
                raise SettingsError(
                    tr(
                        "{name} must be a multiple of {step}, not {self}.",
                        name=name,
                        step=step,
                        self=getattr(self, name),
                    )
                )

    def changed(self, **values: Any) -> "LiveSettings":
        """Return the settings with other values, by name, for a running session.

        Raises SettingsError for values outside their range, and for settings that cannot change during a session.
        """
        settings = replace(self, **values)
        for name in _FIXED:
            if getattr(settings, name) != getattr(self, name):
                raise SettingsError(tr("{name} cannot change while a session runs: stop it first.", name=name))
        return settings

    @property
    def block_frames(self) -> int:
        """Frames that are converted at a time."""
        return self.block_ms * FRAME_RATE // 1000

    @property
    def look_ahead_frames(self) -> int:
        """Frames that are known after the one that is rendered."""
        return self.look_ahead_ms * FRAME_RATE // 1000
