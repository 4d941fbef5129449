"""Receive what voices are made of: temporary folders, limits, and errors with the owner's file names."""

import math
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.archives import begins_as_zip
from engine.errors import ArchiveError, DatasetError, EngineError, ProfileError, VoiceError
from engine.texts import tr
from studio.errors import Invalid, NotFound, naming
from studio.settings.service import MEGABYTE
from studio.store.free_space import refuse_full_disk
from studio.store.holds import hold
from studio.store.studio import Studio


@contextmanager
def workplace(studio: Studio) -> Iterator[Path]:
    """Create a temporary folder and delete it afterwards. Raises DiskFull if there is no room to spare."""
    refuse_full_disk(studio)
    place = studio.settings.work / "incoming" / secrets.token_hex(8)
    place.mkdir(parents=True)
    release = hold(place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        release()


def take_upload(studio: Studio, upload: Path, copy: Path) -> Path:
    """Link or copy a file uploaded on the page. Raises DiskFull, and Invalid if it is too large or the page has deleted
    it meanwhile."""
    refuse_large(studio, upload)
    refuse_full_disk(studio, upload.stat().st_size)
    take(upload, copy)
    return copy


@contextmanager
def borrowed(studio: Studio, key: str, gone: str) -> Iterator[Path]:
    """Link or copy a stored file, which may then be moved. Raises NotFound with the sentence `gone`."""
    with workplace(studio) as place:
        copy = place / "recording"
        try:
            take(studio.storage.fetch(key, place / "fetched"), copy)
        except NotFound as cause:
            raise NotFound(gone, "recording_gone") from cause
        yield copy


def take(file: Path, target: Path) -> None:
    """Hard-link a file, or copy it to another disk."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def refuse_large(studio: Studio, upload: Path) -> None:
    """Raise Invalid if the file is larger than one upload may be, or no longer exists."""
    most = studio.service.page_upload_mb
    try:
        size = upload.stat().st_size / MEGABYTE
    except FileNotFoundError as cause:
        raise Invalid([("recording", tr(
            '"{name}" has been deleted: add it again.',
            name=upload.name,
        ))], "upload_gone") from cause
    if most is not None and size > most:
        sentence = (
            tr(
                '"{name}" has {size} MB; the limit for one upload is {most} MB: upload less at once, or convert the '
                "recordings to flac or mp3.",
                name=upload.name, size=math.ceil(size), most=most,
            )
        )
        raise Invalid([("recording", sentence + studio.service.raised_by("largest_upload_mb"))], "too_large")


def seems_zip(upload: Path) -> bool:
    """Return whether a file begins as a zip, or is unreadable: the engine explains the errors of these best."""
    try:
        return begins_as_zip(upload)
    except OSError:
        return True


@contextmanager
def called(upload: Path, name: str) -> Iterator[None]:
    """Put `name` in place of the file's own name, which its owner does not know, in errors of the engine."""
    try:
        yield
    except ProfileError:
        raise  # names fields, not the file
    except (ArchiveError, DatasetError, VoiceError) as cause:
        kind: type[EngineError] = type(cause)
        raise kind(naming(cause, upload, name)) from cause
