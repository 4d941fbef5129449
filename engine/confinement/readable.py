"""What a process that works on a stranger's file must be able to read: Python, its packages and the system's libraries.

Nothing that a user made is in these places, unless they put it there: not the working folder, not the home folder, and
of a project that is run from its folder only the packages that are imported.
"""

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store")
_SETTINGS = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_PROCESSORS = ("/proc/cpuinfo", "/proc/stat", "/sys/devices/system/cpu", "/sys/devices/system/node")
_MEMORY = ("/proc/meminfo", "/proc/sys/vm/overcommit_memory", "/sys/kernel/mm/transparent_hugepage")
_SYSTEM = (*_LIBRARIES, *_SETTINGS, *_DEVICES, *_PROCESSORS, *_MEMORY)
_OF_A_GPU = ("/usr/local", "/opt/rocm", "/usr/share/libdrm", "/proc/devices", "/proc/driver", "/proc/modules", "/sys")
_GPUS = ("nvidia*", "dri", "kfd", "nvidia-caps")  # in /dev: a GPU is used by writing to it
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def readable_paths(module: str, source: Path, device: str) -> list[Path]:
    """Return the files and folders that work on a file needs, and the file itself, as they are given and without links.

    module: the dotted name of what works on it. source: the file. device: "cpu", or a GPU as PyTorch names it.
    """
    found = [Path(one) for one in (*_SYSTEM, *(() if device == "cpu" else _OF_A_GPU))]
    found += [*python_paths(), *package_paths({"engine", module.partition(".")[0]}), *gpu_paths(device)]
    found += [Path(one) for name in _LIBRARY_PATHS for one in os.environ.get(name, "").split(os.pathsep) if one]
    there = [one.absolute() for one in [*found, source] if one.exists()]
    return _outermost([*there, *(Path(os.path.realpath(one)) for one in there)])


def python_paths() -> Iterator[Path]:
    """Yield the folders of Python's library, and those in which packages are installed."""
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield Path(sysconfig.get_path(name))
    yield Path(sysconfig.get_config_var("LIBDIR") or sys.base_prefix)
    for entry in map(Path, filter(None, sys.path)):
        if entry.is_file() or entry.name in ("site-packages", "dist-packages") or any(entry.glob("*.dist-info")):
            yield entry


def package_paths(names: Iterable[str]) -> Iterator[Path]:
    """Yield the folders of packages, wherever they are imported from."""
    for name in sorted(names):
        spec = find_spec(name)
        yield from map(Path, (spec and spec.submodule_search_locations) or ())


def gpu_paths(device: str) -> list[Path]:
    """Return the files by which a GPU is used, which need writing; none for the processor."""
    return [] if device == "cpu" else [one for name in _GPUS for one in Path("/dev").glob(name)]


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return paths without those that lie in another of them."""
    found = set(paths)
    return sorted(one for one in found if not found & set(one.parents))
