"""Landlock (linux/landlock.h, since Linux 5.13): a process gives up files, TCP, signals and abstract sockets.

Its calls have the same numbers on every processor. What it forbids holds for this thread and those it starts.
"""

import os
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from engine.confinement.kernel import checked, give_up_privileges, system

_CREATE_RULES, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE, _READ, _LIST, _REMOVE_AND_MAKE = 1, 2, 4, 8, 0x1FF0
_REFER, _TRUNCATE, _CONTROL_DEVICE = 1 << 13, 1 << 14, 1 << 15  # since versions 2, 3, 5
_BIND_AND_CONNECT, _SOCKETS_AND_SIGNALS = 0b11, 0b11  # since versions 4, 6


def landlock_version() -> int:
    """Return which version this kernel has, 0 for none."""
    return max(0, system().syscall(_CREATE_RULES, None, 0, _ASK_VERSION))


def forbid_files(readable: Sequence[Path], writable: Sequence[Path]) -> bool:
    """Forbid this thread all files but these, and sockets and signals as far as this kernel can; false without it.

    readable: may be read, and listed where they are folders. writable: devices that may be written to as well.
    Raises OSError where the kernel has Landlock and yet refuses.
    """
    version = landlock_version()
    if version < 1:
        return False
    files = _EXECUTE | _WRITE | _READ | _LIST | _REMOVE_AND_MAKE
    files |= sum(right for right, since in ((_REFER, 2), (_TRUNCATE, 3), (_CONTROL_DEVICE, 5)) if version >= since)
    asked = struct.pack("<QQQ", files, _BIND_AND_CONNECT, _SOCKETS_AND_SIGNALS)
    asked = asked[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = checked(system().syscall(_CREATE_RULES, asked, len(asked), 0))
    try:
        _allow(rules, readable, _READ | _LIST)
        _allow(rules, writable, (_READ | _LIST | _WRITE | _CONTROL_DEVICE) & files)
        give_up_privileges()
        checked(system().syscall(_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)
    return True


def _allow(rules: int, paths: Iterable[Path], rights: int) -> None:
    """Allow what lies at these paths and beneath them; what is not there is left out."""
    for path in paths:
        with suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                here = rights if path.is_dir() else rights & ~_LIST
                checked(system().syscall(_ADD_RULE, rules, _BENEATH, struct.pack("<Qi", here, place), 0))
            finally:
                os.close(place)
