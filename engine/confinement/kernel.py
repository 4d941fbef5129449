"""Calls of the Linux kernel that Python has no function for."""

import ctypes
import os

_NO_NEW_PRIVILEGES = 38


def system() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def checked(answer: int) -> int:
    """Return the answer of a call. Raises OSError where it says that the call failed."""
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def give_up_privileges() -> None:
    """Let nothing that this process starts have more rights than it has, which the limits below require."""
    checked(system().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
