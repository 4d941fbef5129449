"""What can go wrong in the engine, as sentences for the user.

EngineError            anything the user can understand and mend
|-- AudioError         a recording that cannot be read or written
|-- ArchiveError       a zip that is damaged, or not safe to open
|-- DatasetError       recordings that no voice can be made from
|   `-- ProfileError   a model.json that does not describe a voice, naming each field
|-- SettingsError      a value outside its range, naming the setting
|-- VoiceError         a voice that is unknown, damaged or not usable
|-- TrainingError      a training that cannot start or go on
|-- EditError          a take that cannot be edited
Cancelled              the caller asked to stop; not an error, so not an EngineError
"""

import errno
from collections.abc import Sequence

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class EngineError(Exception):
    """Base of all errors whose text is written for the user."""


class AudioError(EngineError):
    """A recording that cannot be read or written."""


class ArchiveError(EngineError):
    """A zip that is damaged, or that is not safe to open."""


class DatasetError(EngineError):
    """Recordings that no voice can be made from."""


class ProfileError(DatasetError):
    """A description of a voice with wrong fields; `problems` holds (field, message) for each of them."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(message for _, message in self.problems))


class SettingsError(EngineError):
    """A setting outside its range; the text names the setting and the range."""


class VoiceError(EngineError):
    """A voice that is unknown, damaged, or not usable."""


class TrainingError(EngineError):
    """A training that cannot start or cannot go on."""


class EditError(EngineError):
    """A take that cannot be edited, or not any more."""


class Cancelled(Exception):
    """Raised by a `report` callback, and passed through by the engine, when the caller wants to stop."""


def is_full_disk(error: BaseException | None) -> bool:
    """Whether an error, or one it was raised from, is that a disk has no room left."""
    while error is not None:
        # libraries written in Rust tell the system's errors as text only
        if getattr(error, "errno", None) in _NO_ROOM or any(f"(os error {one})" in str(error) for one in _NO_ROOM):
            return True
        error = error.__cause__
    return False
