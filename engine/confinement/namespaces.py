"""Namespaces of Linux: a process without network, with a root that holds what it may read, and nothing else.

Root makes them itself; another user in a user namespace, where the system gives users one. Both need that this process
has one thread.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from engine.confinement.kernel import checked, system

_MOUNT, _NAMES, _IPC, _USER, _NETWORK = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x40000000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_KEPT = 0b1111  # read only, no set-user-id, no devices, no programs: what the mount has already
_DETACH = 2
_CALLS_OF_PIVOT = {"x86_64": 155, "aarch64": 41}
_OLD = "old"


def leave_namespaces() -> bool:
    """Leave those of the system, and return whether that was possible."""
    own = _MOUNT | _NAMES | _IPC | _NETWORK
    if os.geteuid() == 0 and system().unshare(own) == 0:
        return True
    if os.geteuid() == 0:  # in a container that limits it: a user of its own is worth more (see users.py)
        return False
    user, group = os.geteuid(), os.getegid()
    if system().unshare(_USER | own) < 0:
        system().unshare(_USER | _NETWORK)  # of these at least, where it can
        return False
    with suppress(OSError):  # what needs no names of users works without
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def change_root(paths: Sequence[Path]) -> bool:
    """Let these paths be all there is, read only, where they are; return whether that was possible.

    paths: none in another. Until all of them are there nothing has changed. Needs `leave_namespaces` before.
    """
    call = _CALLS_OF_PIVOT.get(os.uname().machine)
    if call is None:
        return False
    with suppress(OSError):
        _mount("none", "/", _RECURSIVE | _PRIVATE)
        places = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in paths]
        root = _made_root(places)
        for _, place in places:
            os.close(place)
        checked(system().syscall(call, os.fsencode(root), os.fsencode(root / _OLD)))
        os.chdir("/")
        checked(system().umount2(b"/" + _OLD.encode(), _DETACH))
        with suppress(OSError):  # what nobody may write to anyway
            Path("/", _OLD).rmdir()
            _mount("none", "/", _REMOUNT | _BIND | _READ_ONLY)
        return True
    return False


def _made_root(places: Sequence[tuple[Path, int]]) -> Path:
    """Return a folder in memory with these paths beneath it. Raises OSError, and then leaves none."""
    root = Path("/tmp")  # noqa: S108 - every system has it, and this process alone sees what lies over it
    _mount("none", str(root), 0, "tmpfs", "size=4m,mode=755")
    try:
        (root / _OLD).mkdir()
        for path, place in places:
            target = root / path.relative_to("/")
            _stand_in(target, Path(f"/proc/self/fd/{place}").is_dir())
            _mount(f"/proc/self/fd/{place}", str(target), _BIND | _RECURSIVE)
            flags = os.statvfs(target).f_flag & _KEPT
            with suppress(OSError):  # a device, or what is read only by itself
                _mount("none", str(target), _REMOUNT | _BIND | _READ_ONLY | flags)
        (root / "proc").mkdir(exist_ok=True)
        (root / "proc" / "self").symlink_to(str(os.getpid()))
    except OSError:
        system().umount2(os.fsencode(root), _DETACH)
        raise
    return root


def _stand_in(target: Path, is_folder: bool) -> None:
    """Make what something can be mounted on."""
    (target if is_folder else target.parent).mkdir(parents=True, exist_ok=True)
    if not is_folder:
        target.touch()


def _mount(source: str, target: str, flags: int, kind: str | None = None, data: str | None = None) -> None:
    words = [None if one is None else one.encode() for one in (source, target, kind, data)]
    checked(system().mount(words[0], words[1], words[2], flags, words[3]))
