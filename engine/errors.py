"""Errors of the engine, each with a message for the user.

EngineError            anything the user can understand and fix
|-- AudioError         a recording that cannot be read or written
|-- ArchiveError       a ZIP file that is damaged or unsafe to open
|-- DatasetError       recordings that cannot be used to make a voice
|   `-- ProfileError   a model.json with invalid fields, each of them named
|-- SettingsError      a value outside its range, with the setting named
|-- VoiceError         a voice that is unknown, damaged or unusable
|-- TrainingError      a training run that cannot start or continue
|-- EditError          a take that cannot be edited
|-- SeparationError    a song that cannot be separated here
|-- WrongFileError     a fetched file that is not the pinned one
|-- ProvenanceError    keys or credentials that cannot be used
Cancelled              the caller asked to stop; not an error, so not an EngineError
"""

import copyreg
import errno
from collections.abc import Sequence
from typing import Any

from engine.texts import joined

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class EngineError(Exception):
    """Base class of all errors with a message for the user."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pass to another process as it is, whatever its kind is made from."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class AudioError(EngineError):
    """A recording that cannot be read or written."""


class ArchiveError(EngineError):
    """A ZIP file that is damaged or unsafe to open."""


class DatasetError(EngineError):
    """Recordings that cannot be used to make a voice."""


class ProfileError(DatasetError):
    """A voice profile with invalid fields; `problems` holds a (field, message) pair for each."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__(joined(" ", [message for _, message in self.problems]))


class SettingsError(EngineError):
    """A setting outside its range; the message names the setting and the range."""


class VoiceError(EngineError):
    """A voice that is unknown, damaged or unusable."""


class TrainingError(EngineError):
    """A training run that cannot start or continue."""


class EditError(EngineError):
    """A take that cannot be edited, or no longer can."""


class SeparationError(EngineError):
    """A song that cannot be separated here."""


class WrongFileError(EngineError):
    """A fetched file that is not the pinned one, or cannot be read."""


class ProvenanceError(EngineError):
    """Signing keys that cannot be used, or credentials that cannot be written or checked."""


class Cancelled(Exception):
    """Raised by a `report` callback to stop the work; the engine lets it through."""


def is_full_disk(error: BaseException | None) -> bool:
    """Return whether an error, or any of its causes, is a full disk."""
    while error is not None:
        # libraries written in Rust report system errors as text only
        if getattr(error, "errno", None) in _NO_ROOM or any(f"(os error {one})" in str(error) for one in _NO_ROOM):
            return True
        error = error.__cause__
    return False
