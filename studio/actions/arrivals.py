"""What voices need that come in from outside: a place of their own until they are whole, and errors in their owner's
words."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import ArchiveError, DatasetError, EngineError, ProfileError, VoiceError
from studio.studio import Studio


@contextmanager
def workplace(studio: Studio) -> Iterator[Path]:
    """A new folder that is gone in the end."""
    place = studio.settings.work / "incoming" / secrets.token_hex(8)
    place.mkdir(parents=True)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def called(upload: Path, name: str) -> Iterator[None]:
    """The engine's errors with this name for the file, which is called here as its owner has never seen it."""
    try:
        yield
    except ProfileError:
        raise  # it names fields
    except (ArchiveError, DatasetError, VoiceError) as cause:
        kind: type[EngineError] = type(cause)
        raise kind(str(cause).replace(f'"{upload.name}"', name)) from cause
