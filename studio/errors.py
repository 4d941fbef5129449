"""Errors of the studio, as sentences for the user; each has a stable `code` for programs."""

from collections.abc import Sequence
from typing import ClassVar

from engine.errors import EngineError
from engine.texts import joined, tr


class StudioError(EngineError):
    """Base of the studio's own errors; `code` tells programs which it is."""

    default_code: ClassVar[str] = "error"

    def __init__(self, text: str, code: str | None = None) -> None:
        super().__init__(text)
        self.code = code or self.default_code


class Unauthorised(StudioError):
    """No token, or one that is unknown, expired or revoked."""

    default_code = "unauthorised"


class NotFound(StudioError):
    """It does not exist, or belongs to another account; the two are not distinguished."""

    default_code = "not_found"


class WrongState(StudioError):
    """What is asked for cannot be done in the state that the task or the voice is in."""

    default_code = "wrong_state"


class TooLarge(StudioError):
    """More bytes than are taken."""

    default_code = "too_large"


class NotReadable(StudioError):
    """A file that is not what it should be: no audio, no zip."""

    default_code = "not_readable"


class Invalid(StudioError):
    """Fields that are missing or wrong; `problems` holds (field, message) for each of them."""

    default_code = "invalid"

    def __init__(self, problems: Sequence[tuple[str, str]], code: str | None = None) -> None:
        super().__init__(joined(" ", [message for _, message in problems]), code)
        self.problems = tuple(problems)


class _Later(StudioError):
    """What may work if it is tried again after `retry_after_s`."""

    def __init__(self, text: str, retry_after_s: float, code: str | None = None) -> None:
        super().__init__(text, code)
        self.retry_after_s = retry_after_s


class TooMany(_Later):
    """More than a limit of the account, or of the whole service, allows."""

    default_code = "too_many"


class Unavailable(_Later):
    """Not possible at this moment: the service ends, the database is busy, the storage is out of reach."""

    default_code = "unavailable"


class DiskFull(StudioError):
    """There is no room left for what is asked."""

    default_code = "disk_full"

    def __init__(
        self, text: str = tr("The disk is full. Free some space and try again."), code: str | None = None
    ) -> None:
        super().__init__(text, code)


class LeaseLost(Exception):
    """The task is no longer this worker's: another one has it, or it has ended. Nothing more may be written for it."""
