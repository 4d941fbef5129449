"""Write files and folders atomically."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = ".part"  # ending of a file or folder that is still being written
_NAME_KEPT = 60  # characters of the final name; at four bytes each they fit into a file name with the rest


@contextmanager
def replacing(path: Path, durable: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` for a new file or folder; it replaces `path` once the block succeeds.

    If the block fails, nothing is left behind. durable: the contents survive a power cut. Raises OSError.
    """
    unfinished = path.with_name(f".{path.name[:_NAME_KEPT]}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        yield unfinished
        if durable:
            sync_to_disk(unfinished)
        os.replace(unfinished, path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes | str, durable: bool = False) -> None:
    """Write bytes, or text as UTF-8, so that `path` never holds a partial file. Raises OSError."""
    with replacing(path, durable) as unfinished:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)


def sync_to_disk(path: Path) -> None:
    """Make the contents of a file, or the names in a folder, survive a power cut."""
    if path.is_symlink() or (os.name == "nt" and path.is_dir()):  # these cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
