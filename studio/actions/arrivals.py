"""What voices need that come in from outside: a place of their own until they are whole, and errors in their owner's
words."""

import math
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import ArchiveError, DatasetError, EngineError, ProfileError, VoiceError
from studio.errors import DiskFull, Invalid
from studio.settings.service import MEGABYTE
from studio.store.studio import Studio

_ZIP_BEGINS = b"PK\x03\x04"  # PKWARE, .ZIP File Format Specification, 4.3.7


@contextmanager
def workplace(studio: Studio) -> Iterator[Path]:
    """A new folder that is gone in the end."""
    place = studio.settings.work / "incoming" / secrets.token_hex(8)
    place.mkdir(parents=True)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def take_upload(studio: Studio, upload: Path, copy: Path) -> Path:
    """A copy of a file that was put into the page, which keeps its own for a while. Raises Invalid for one that is too
    large, or that the page has thrown away meanwhile."""
    refuse_large(studio, upload)
    return Path(shutil.copyfile(upload, copy))


def refuse_large(studio: Studio, upload: Path) -> None:
    """Raises Invalid for a file that is larger than what is taken at once, or that is not there any more."""
    most = studio.service.largest_upload_mb
    try:
        size = upload.stat().st_size / MEGABYTE
    except FileNotFoundError as cause:
        raise Invalid([("recording", f'"{upload.name}" is no longer here: add it again.')], "upload_gone") from cause
    if size > most:
        told = f'"{upload.name}" has {math.ceil(size)} MB; the limit for one upload is {most} MB: add less at once'
        raise Invalid([("recording", f"{told}, or convert the recordings to flac or mp3.")], "too_large")


def refuse_full_disk(studio: Studio) -> None:
    """Raises DiskFull where less room is left than the settings want to be kept free."""
    rooms = [shutil.disk_usage(studio.settings.data).free, studio.storage.free_bytes()]
    if any(room is not None and room < studio.service.free_disk_mb * MEGABYTE for room in rooms):
        raise DiskFull("There is not enough free space on the disk: delete something, then try again.")


def seems_zip(upload: Path) -> bool:
    """Whether a file is a zip, or begins as one, or cannot be read: the engine explains best what is wrong then."""
    try:
        with upload.open("rb") as file:
            return file.read(len(_ZIP_BEGINS)) == _ZIP_BEGINS or zipfile.is_zipfile(upload)
    except OSError:
        return True


@contextmanager
def called(upload: Path, name: str) -> Iterator[None]:
    """The engine's errors with this name for the file, which is called here as its owner has never seen it."""
    try:
        yield
    except ProfileError:
        raise  # it names fields
    except (ArchiveError, DatasetError, VoiceError) as cause:
        kind: type[EngineError] = type(cause)
        text = str(cause).replace(f'"{upload.name}"', name)
        raise kind(text[:1].upper() + text[1:]) from cause
