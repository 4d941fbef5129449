"""Write files and folders atomically, under names that fit; call them in texts what their owners do."""

import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from hashlib import sha256
from itertools import count
from pathlib import Path

from engine.errors import AudioError, SettingsError, is_full_disk
from engine.texts import tr

if sys.platform == "win32":
    from pathlib import WindowsPath as OwnPath
else:
    from pathlib import PosixPath as OwnPath

LONGEST_NAME_BYTES = 255  # of file systems, for one name
_ROOM_BYTES = 15  # that a name of ours leaves for what is written beside it: .take10, .backing
UNFINISHED = ".part"  # ending of a file or folder that is still being written
_NAME_SHOWN = 40  # characters
_NAME_KEPT = 60  # characters of the final name; at four bytes each they fit into a file name with the rest


class NamedPath(OwnPath):
    """A path whose file has another name in texts than on the disk, such as the one it was sent with, or of whose sound
    tracks a certain one is read."""

    shown = ""
    track: int | None = None


def named(path: Path, name: str) -> Path:
    """Return a path whose file is called so in texts, by whatever opens it; other paths made of it are not.

    >>> shown_name(named(Path("tasks/3/input.wav"), "Ave Maria.wav"))
    'Ave Maria.wav'
    """
    return _remembering(path, name, track_of(path))


def on_track(path: Path | str, track: int | None) -> Path:
    """Return a path that makes any function read this sound track; paths derived from it lose the choice.

    Parameters
    ----------
    path : Path or str
        A file with several sound tracks.
    track : int, optional
        1 is the first; None leaves the choice to the file (see `engine.audio.tracks`).

    Returns
    -------
    Path
        For any function that takes the path of a recording.

    Examples
    --------
    >>> track_of(on_track("film.mkv", 2))
    2
    """
    path = as_path(path)
    return _remembering(path, path.shown if isinstance(path, NamedPath) else "", track)


def track_of(path: Path) -> int | None:
    """Return the sound track that `on_track` gave a path."""
    return path.track if isinstance(path, NamedPath) else None


def _remembering(path: Path, name: str, track: int | None) -> Path:
    made = NamedPath(path)
    made.shown, made.track = name, track
    return made


def shown_name(path: Path, without: str = "") -> str:
    """Return what texts call a file: the name that `named` gave it; without one `without`, by default its own."""
    return (isinstance(path, NamedPath) and path.shown) or without or path.name


def as_path(path: Path | str) -> Path:
    """Return a path as it is, with its name in texts, or that of a string."""
    return path if isinstance(path, Path) else Path(path)


def shortened(text: str, most_bytes: int) -> str:
    """Cut a text so that it has at most so many bytes in UTF-8, between two characters."""
    return text.encode(errors="surrogateescape")[:most_bytes].decode(errors="ignore").strip()


def fitting_name(stem: str, ending: str, most_bytes: int = LONGEST_NAME_BYTES - _ROOM_BYTES) -> str:
    """Return a file name that file systems take: a stem, shortened where it must be, and an ending that stays whole.

    What is cut off is told apart by a digest, so that other names stay other names.

    >>> fitting_name("vocal", ".koguchi.wav")
    'vocal.koguchi.wav'
    >>> fitting_name(300 * "x", ".wav")[224:]
    'xxx~0d4e2ca9.wav'
    """
    if len(os.fsencode(stem + ending)) <= most_bytes:
        return stem + ending
    ending = f"~{sha256(os.fsencode(stem)).hexdigest()[:8]}{ending}"
    return shortened(stem, most_bytes - len(os.fsencode(ending))) + ending


def beside(path: Path, ending: str) -> Path:
    """Return a path beside `path`, which ends otherwise; its name is that of `path` without the suffix, shortened where
    it must be.

    >>> beside(Path("vocal.koguchi.wav"), ".take2.wav").name
    'vocal.koguchi.take2.wav'
    """
    return path.with_name(fitting_name(path.stem, ending, LONGEST_NAME_BYTES))


def numbered(path: Path) -> Iterator[Path]:
    """Yield the path, and then others beside it without end.

    >>> names = numbered(Path("vocal.wav"))
    >>> next(names).name, next(names).name
    ('vocal.wav', 'vocal-2.wav')
    """
    yield path
    for number in count(2):
        yield beside(path, f"-{number}{path.suffix}")


def refuse_overwriting(source: Path, targets: Sequence[Path]) -> None:
    """Raise SettingsError if one of the targets is the recording itself, or has a name that is too long.

    >>> refuse_overwriting(Path("vocal.flac"), [Path("vocal.flac")])
    Traceback (most recent call last):
    engine.errors.SettingsError: The result would overwrite the recording: choose another file name.
    """
    with names_that_fit():
        if any(target.exists() and source.exists() and target.samefile(source) for target in targets):
            raise SettingsError(tr("The result would overwrite the recording: choose another file name."))


@contextmanager
def names_that_fit() -> Iterator[None]:
    """Raise SettingsError for a name that is too long for the file system. Other errors pass.

    >>> with names_that_fit():
    ...     Path(300 * "x").exists()
    Traceback (most recent call last):
    engine.errors.SettingsError: The name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" is too long for the disk: ...
    """
    try:
        yield
    except OSError as cause:
        if cause.errno != errno.ENAMETOOLONG:
            raise
        shown = f"{Path(str(cause.filename)).name[:_NAME_SHOWN]}…"
        raise SettingsError(
            tr(
                'The name "{shown}" is too long for the disk: give a shorter one, and for a result choose it with -o.',
                shown=shown,
            )
        ) from cause


def make_private_folder(folder: Path) -> None:
    """Make a folder that only this user can open, and those above it that are missing; others stay as they are.

    Raises OSError.

    >>> make_private_folder(Path("voices/mia"))
    >>> oct(Path("voices").stat().st_mode)[-3:]
    '700'
    """
    try:
        folder.mkdir(mode=0o700)  # of its own: rights that a folder hands down to what is in it, umask does not take
    except FileNotFoundError:
        if folder.parent == folder:
            raise
        make_private_folder(folder.parent)
        make_private_folder(folder)
    except OSError:
        if not folder.is_dir():
            raise


def close_to_others(file: Path, home: Path) -> None:
    """Take the rights of others from a file that was made in `home`; one that a link leads to elsewhere keeps them.

    Nothing is raised where that cannot be: the file is another user's, or its file system knows no rights.
    """
    with suppress(OSError):
        found = file.lstat()
        is_own = stat.S_ISREG(found.st_mode) and file.resolve().is_relative_to(home.resolve())
        if is_own and found.st_mode & 0o077:
            file.chmod(found.st_mode & 0o700)


def is_open_to_others(folder: Path) -> bool:
    """Return whether other users of this machine can open a folder: its rights, and those of the folders above, say so.

    >>> make_private_folder(Path("voices"))
    >>> is_open_to_others(Path("voices"))
    False
    """
    if os.name == "nt":  # rights are lists there
        return False
    place = folder.resolve()
    return bool(place.stat().st_mode & 0o077) and all(one.stat().st_mode & 0o011 for one in place.parents)


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


@contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Turn a system error in writing `path` into an AudioError that gives the reason.

    >>> with writing_errors(Path("nowhere/a.txt")):
    ...     Path("nowhere/a.txt").write_text("")
    Traceback (most recent call last):
    engine.errors.AudioError: The folder "...nowhere" does not exist.
    """
    folder = path.absolute().parent
    try:
        yield
    except OSError as error:
        if is_full_disk(error):
            raise AudioError(tr('The disk is full, so "{name}" was not written.', name=path.name)) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise AudioError(tr('The folder "{folder}" is not writable.', folder=folder)) from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and folder.is_dir():  # such as /proc
            raise AudioError(
                tr('No files can be written to the folder "{folder}": choose another one.', folder=folder)
            ) from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise AudioError(tr('The folder "{folder}" does not exist.', folder=folder)) from error
        raise AudioError(
            tr('"{name}" could not be written: {strerror}.', name=path.name, strerror=error.strerror or error)
        ) from error


def write_atomically(path: Path, content: bytes | str, durable: bool = False) -> None:
    """Write bytes, or text as UTF-8, so that `path` never holds a partial file. Raises OSError.

    >>> write_atomically(Path("notes.txt"), "A4")
    >>> Path("notes.txt").read_text()
    'A4'
    """
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


class TakesPaths:
    """A frozen dataclass whose fields for paths accept text too, so that `Lane("vocal.flac")` is one of a Path."""

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if "Path" in str(one.type):
                object.__setattr__(self, one.name, _as_paths(value))


def _as_paths(value: object) -> object:
    if isinstance(value, str):
        return Path(value)
    return tuple(map(_as_paths, value)) if isinstance(value, list | tuple) else value
