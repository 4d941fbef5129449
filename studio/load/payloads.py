"""What attacks send: archives, recordings and texts that are not what they say, or far larger than they look."""

import io
import stat
import struct
import zipfile
from collections.abc import Mapping
from functools import cache

import numpy as np
import soundfile

from studio.commands.demo import bundled_sample

_BOMB_MB = 200
_MINUTES = 61.0  # of silence, which weighs next to nothing


def sample() -> bytes:
    """A recording of speech."""
    return bundled_sample().read_bytes()


@cache
def silence(minutes: float = _MINUTES, channels: int = 1, rate: int = 8_000) -> bytes:
    """A flac of silence."""
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", rate, channels, "PCM_16", format="FLAC") as writing:
        for _ in range(round(minutes)):
            writing.write(np.zeros((60 * rate, channels), np.int16))
    return file.getvalue()


@cache
def bomb(name: str = "voice.safetensors") -> bytes:
    """A zip whose one file is a thousand times as large."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, archive.open(name, "w") as one:
        for _ in range(_BOMB_MB):
            one.write(bytes(1 << 20))
    return file.getvalue()


def zipped(files: Mapping[str, bytes], link: str = "") -> bytes:
    """A zip of files; link: one of them is a symbolic link to its content."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = ((stat.S_IFLNK if name == link else stat.S_IFREG) | 0o644) << 16
            archive.writestr(entry, content)
    return file.getvalue()


def changed(package: bytes, **files: bytes) -> bytes:
    """A package with other contents in some files: suffix=content."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        for name in archive.namelist():
            suffix = name.rpartition(".")[2]
            found[name] = files.get(suffix, archive.read(name))
    return zipped(found)


def endless_wav() -> bytes:
    """A WAV that says it has four gigabytes in 65,535 channels."""
    head = b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 3, 65_535, 4_000_000_000, 0, 0, 64)
    return head + b"data\xff\xff\xff\xff" + bytes(1000)


def running_pickle() -> bytes:
    """A .pth of old whose unpickling would run a program."""
    return b"cos\nsystem\n(S'exit 1'\ntR."


def deep_json(depth: int = 20_000) -> str:
    """Lists in lists."""
    return "[" * depth + "]" * depth
