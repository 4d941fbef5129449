"""Store files in the data folder or an S3-compatible storage, behind the same few methods.
A key is a path with "/" between its parts: voices/mia/card.json. Files appear whole, in one step. Errors are
Unavailable, DiskFull and NotFound, also for an invalid key. obstore reads the credentials from the AWS variables."""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError
from obstore.store import LocalStore, S3Store

from engine.errors import SettingsError, is_full_disk
from engine.files import UNFINISHED, make_private_folder, replacing, sync_to_disk
from engine.texts import tr
from studio.errors import DiskFull, NotFound, StudioError, Unavailable
from studio.settings.environment import READ_ONLY, VANISHED

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Config

T = TypeVar("T")
UNREACHABLE = "storage_unreachable"
BLOCK = 1 << 20  # bytes per read
LONGEST_KEY = 1024  # bytes of UTF-8, the limit of S3
WORK_FOLDER = "work"
GONE = "gone-"  # prefix of folders being deleted
_RETRY_S = 5.0
_AT_ONCE = 8  # files transferred at once
_ODD = re.compile(r"[\x00-\x1f\x7f%\\]|[\ud800-\udfff]")
_OS_ERROR = re.compile(r"\(os error (\d+)\)")  # as obstore reports it
_S3_OPTIONS = ("endpoint", "region")


@dataclass(frozen=True)
class StoredFile:
    """A file's metadata. `etag` is quoted, as in HTTP; time: seconds since 1970."""

    key: str
    size: int  # bytes
    etag: str
    modified_s: float


class _Stored:
    """What both storages do through obstore. `scratch`: a folder for transfers."""

    def __init__(self, store: LocalStore | S3Store, data: Path) -> None:
        self._store = store
        self.scratch = data / WORK_FOLDER

    def head(self, key: str) -> StoredFile | None:
        """Return the metadata of the file with this key; None if there is none."""
        try:
            with _understood():
                return _stored(obstore.head(self._store, checked(key)))
        except NotFound:
            return None

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield bytes start..stop of a file (stop excluded; None: to its end), in blocks of at most BLOCK.
        Raises NotFound at once, not at the first block. Reading ends with Unavailable if the file changes."""
        stored = self.head(key)
        if stored is None:
            raise NotFound(tr("There is no such file."), "file_not_found")
        return self._blocks(stored, max(start, 0), stored.size if stop is None else min(stop, stored.size))

    def _blocks(self, stored: StoredFile, start: int, stop: int) -> Iterator[bytes]:
        for begin in range(start, stop, BLOCK):
            with _understood():
                part = obstore.get(
                    self._store,
                    stored.key,
                    options={"range": (begin, min(begin + BLOCK, stop)), "if_match": stored.etag},
                ).bytes()
            yield bytes(part)

    def list_keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys of all files below a prefix, in any order."""
        with _understood():
            for some in obstore.list(self._store, checked(prefix.rstrip("/"))):
                yield from (one["path"] for one in some if not _is_unfinished(one["path"]))

    def delete(self, key: str) -> None:
        with suppress(NotFound), _understood():
            obstore.delete(self._store, checked(key))


class ObjectStorage(_Stored):
    """A storage of objects, such as S3: files are copied to it and from it."""

    def folder(self, prefix: str) -> Path | None:
        """Return None: there are no folders."""
        return None

    def free_bytes(self) -> int | None:
        """Return None: nobody knows."""
        return None

    def check(self) -> None:
        """Check that the storage answers. Raises SettingsError if it never will, Unavailable."""
        try:
            with _understood():
                for _ in obstore.list(self._store, chunk_size=1):
                    break
        except Unavailable as trouble:
            if "NoSuchBucket" in str(trouble.__cause__):
                raise SettingsError(tr("The storage has no such bucket. Create it, or choose another.")) from trouble
            raise

    def put_file(self, content: Path | bytes, key: str) -> None:
        """Store a file, which may be moved, or a small one's contents."""
        checked(key)
        try:
            with _understood():
                obstore.put(self._store, key, content)
        except NotFound as cause:
            if isinstance(content, Path) and not content.exists():
                raise
            raise Unavailable(tr("The storage has no such bucket."), _RETRY_S, UNREACHABLE) from cause

    put_bytes = put_file

    def copy(self, key: str, target: str) -> None:
        """Copy a stored file to a second key; later changes to either leave the other alone. Raises NotFound."""
        with _understood():
            obstore.copy(self._store, checked(key), checked(target))

    def push_folder(self, folder: Path, prefix: str) -> None:
        """Store all files of a folder, which may be moved, below a prefix."""
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
        _at_once(lambda path: self.put_file(path, f"{prefix}/{_as_key(path.relative_to(folder))}"), files)

    def fetch(self, key: str, folder: Path) -> Path:
        """Return a path to the file with this key: the stored file itself, or a copy in `folder`."""
        return self._download(key, folder / checked(key).rpartition("/")[2])

    def pull_folder(self, prefix: str, folder: Path) -> None:
        """Copy all files below a prefix into a folder. Raises NotFound if there are none."""
        below = f"{prefix.rstrip('/')}/"
        keys = list(self.list_keys(prefix))
        if not keys:
            raise NotFound(tr("There are no such files."), "file_not_found")
        _at_once(lambda key: self._download(key, folder / _as_path(key.removeprefix(below))), keys)

    def _download(self, key: str, path: Path) -> Path:
        blocks = self.read(key)
        with _understood():
            path.parent.mkdir(parents=True, exist_ok=True)
        with _new_file(path) as unfinished, unfinished.open("wb") as file:
            for block in blocks:
                file.write(block)
        return path

    def delete_below(self, prefix: str) -> None:
        keys = list(self.list_keys(prefix))
        if keys:
            with suppress(NotFound), _understood():
                obstore.delete(self._store, keys)

    @contextmanager
    def deleting(self) -> Iterator[Callable[[str], None]]:
        """Yield a function to call with each prefix to delete once the block succeeds.
        Folders are moved away at once, so that nothing uses them any more, and restored if the block fails."""
        prefixes: list[str] = []
        yield prefixes.append
        for prefix in prefixes:
            self.delete_below(prefix)


class FolderStorage(_Stored):
    """A storage in a folder: files are moved into it and read in place."""

    def __init__(self, root: Path) -> None:
        self._root = root
        with _understood():
            super().__init__(LocalStore(root, mkdir=True), root)

    def folder(self, prefix: str) -> Path:
        """Return the real folder of a prefix, existing or not."""
        return self._root / checked(prefix.rstrip("/"))

    def free_bytes(self) -> int:
        with _understood():
            return shutil.disk_usage(self._root).free

    def check(self) -> None:
        """Check that the folder is writable. Raises SettingsError."""
        if not os.access(self._root, os.W_OK | os.X_OK):
            raise SettingsError(tr('Nothing can be written to "{root}": choose another data folder.', root=self._root))

    def put_bytes(self, data: bytes, key: str) -> None:
        with self._unfinished(key) as unfinished:
            unfinished.write_bytes(data)
            sync_to_disk(unfinished)

    def put_file(self, path: Path, key: str) -> None:
        """Move a file into the storage, or copy it from another disk."""
        with self._unfinished(key) as unfinished:
            _move(path, unfinished)
            sync_to_disk(unfinished)

    def copy(self, key: str, target: str) -> None:
        """Hard-link a file where possible, as stored files never change; else copy it."""
        original = self.fetch(key, self.scratch)
        with self._unfinished(target) as unfinished:
            try:
                unfinished.hardlink_to(original)
            except OSError:
                shutil.copyfile(original, unfinished)
                sync_to_disk(unfinished)

    def push_folder(self, folder: Path, prefix: str) -> None:
        """Move a folder to the prefix in one step, replacing an existing one."""
        target = self.folder(prefix)
        _make(target.parent)
        with _new_file(target) as unfinished:
            _move(folder, unfinished)
            for path in (*unfinished.rglob("*"), unfinished):
                sync_to_disk(path)
            self.delete_below(prefix)
        with _understood():
            sync_to_disk(target.parent)

    def fetch(self, key: str, folder: Path) -> Path:
        """Return the stored file itself, which must not be changed. Raises NotFound."""
        path = self._root / checked(key)
        if not path.is_file():
            raise NotFound(tr("There is no such file."), "file_not_found")
        return path

    def pull_folder(self, prefix: str, folder: Path) -> None:
        """Copy a folder. Raises NotFound if it does not exist."""
        with _understood():
            shutil.copytree(self.folder(prefix), folder, dirs_exist_ok=True)

    def delete_below(self, prefix: str) -> None:
        """Delete a folder: it disappears at once, then its files are deleted."""
        with self.deleting() as take_away:
            take_away(prefix)

    @contextmanager
    def deleting(self) -> Iterator[Callable[[str], None]]:
        """Delete likewise; `studio.executors.housekeeping` clears folders that a crash has left behind."""
        moved: list[tuple[Path, Path]] = []

        def take_away(prefix: str) -> None:
            place, aside = self.folder(prefix), self.folder(f"{WORK_FOLDER}/{GONE}{secrets.token_hex(8)}")
            with suppress(NotFound), _understood():
                make_private_folder(self.scratch)
                place.rename(aside)
                moved.append((place, aside))

        try:
            yield take_away
        except BaseException:
            for place, aside in reversed(moved):
                aside.rename(place)
            raise
        for _, aside in moved:
            shutil.rmtree(aside, ignore_errors=True)

    @contextmanager
    def _unfinished(self, key: str) -> Iterator[Path]:
        target = self._root / checked(key)
        _make(target.parent)
        with _new_file(target) as unfinished:
            yield unfinished
        with _understood():
            sync_to_disk(target.parent)


Storage = ObjectStorage | FolderStorage  # with the same methods, which nobody has to tell apart


def open_storage(url: str, data: Path, create: bool = True) -> Storage:
    """Return the storage at `url` (s3://BUCKET/PREFIX?endpoint=...&region=...), or the data folder if it is empty.
    It is not contacted yet: see `check`. create: whether missing folders are made. Raises SettingsError."""
    if create:
        _make(data / WORK_FOLDER)
    if url:
        return _open_s3(url, data)
    if not data.is_dir():
        raise Unavailable(VANISHED, _RETRY_S, UNREACHABLE)
    return FolderStorage(data)


def checked(key: str) -> str:
    """Return a valid key; raises NotFound for one that is invalid or leaves the storage."""
    parts = key.split("/")
    odd = any(ord(letter) < 32 or letter in "\\\x7f" or "\ud800" <= letter <= "\udfff" for letter in key)
    if odd or any(part in ("", ".", "..") for part in parts) or len(key.encode("utf-8", "replace")) > LONGEST_KEY:
        raise NotFound(tr("There is no such file."), "file_not_found")
    return key


def _open_s3(url: str, data: Path) -> ObjectStorage:
    try:
        parsed = urlsplit(url)
        options = dict(parse_qsl(parsed.query, strict_parsing=bool(parsed.query)))
    except ValueError as cause:
        raise SettingsError(
            tr("The storage's address is not valid: it must be s3://BUCKET/PREFIX?endpoint=...")
        ) from cause
    if parsed.scheme != "s3" or not parsed.netloc or "@" in parsed.netloc or ":" in parsed.netloc:
        raise SettingsError(tr("The storage must be s3://BUCKET/PREFIX?endpoint=..., with the keys in AWS_ variables."))
    if unknown := [name for name in options if name not in _S3_OPTIONS]:
        raise SettingsError(
            tr(
                "The storage's address may have {s3_options}, not {unknown}.",
                s3_options=" and ".join(_S3_OPTIONS),
                unknown=", ".join(unknown),
            )
        )
    config = cast("S3Config", options)
    try:
        store = S3Store(
            parsed.netloc,
            prefix=parsed.path.strip("/") or None,
            config=config,
            client_options={
                "allow_http": options.get("endpoint", "").startswith("http://"),
                "connect_timeout": "5s",
                "timeout": "60s",  # of one request: a block read, a part written
            },
            # longer failures are the caller's to wait for or report
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=20)},
        )
    except (BaseError, ValueError) as cause:
        raise SettingsError(
            tr("The storage's address cannot be used: it must be s3://BUCKET/PREFIX?endpoint=...")
        ) from cause
    return ObjectStorage(store, data)


def _stored(meta: "ObjectMeta") -> StoredFile:
    return StoredFile(meta["path"], meta["size"], meta["e_tag"] or '""', meta["last_modified"].timestamp())


# ---- names


def _as_key(path: Path) -> str:
    """Turn a relative path into the end of a key, percent-encoding what keys cannot hold."""
    return _ODD.sub(lambda found: quote(found[0], safe="", errors="surrogateescape"), path.as_posix())


def _as_path(key: str) -> Path:
    parts = [unquote(part, errors="surrogateescape") for part in key.split("/")]
    if any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
        raise NotFound(tr("There is no such file."), "file_not_found")
    return Path(*parts)


def _is_unfinished(key: str) -> bool:
    name = key.rpartition("/")[2]
    return name.startswith(".") and name.endswith(UNFINISHED)


# ---- files


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """Yield a path to write to; the file then replaces `target` in one step, or leaves no trace."""
    with _understood(), replacing(target) as unfinished:
        yield unfinished


def _make(folder: Path) -> None:
    """Make a folder of the storage; a file in the way is an error of it."""
    with _understood():
        try:
            make_private_folder(folder)
        except (FileExistsError, NotADirectoryError) as cause:
            raise Unavailable(tr("There is a file where the storage needs a folder."), _RETRY_S, UNREACHABLE) from cause


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as cause:
        if cause.errno != errno.EXDEV:
            raise
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        (shutil.rmtree if source.is_dir() else os.unlink)(source)


def _at_once(action: Callable[[T], object], things: Iterable[T]) -> None:
    """Apply an action to several items in parallel; raise the first error after those already running."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting = [pool.submit(action, thing) for thing in things]
        try:
            for one in waiting:
                one.result()
        finally:
            for one in waiting:
                one.cancel()


# ---- errors


@contextmanager
def _understood() -> Iterator[None]:
    try:
        yield
    except StudioError:
        raise
    except FileNotFoundError as cause:
        raise NotFound(tr("There is no such file."), "file_not_found") from cause
    except (BaseError, OSError) as cause:
        raise _trouble(cause) from cause


def _trouble(cause: Exception) -> StudioError:
    if is_full_disk(cause):
        return DiskFull()
    number = cause.errno if isinstance(cause, OSError) else int((_OS_ERROR.findall(str(cause)) or ["0"])[0])
    if number in (errno.ENOTDIR, errno.EISDIR):  # a file instead of a folder, or vice versa
        return NotFound(tr("There is no such file."), "file_not_found")
    if isinstance(cause, PreconditionError):
        return Unavailable(tr("The file was replaced while it was being read. Try again."), _RETRY_S, UNREACHABLE)
    if number in (errno.EROFS, errno.EACCES, errno.EPERM) and isinstance(cause, OSError):
        return Unavailable(READ_ONLY, _RETRY_S, UNREACHABLE)
    if isinstance(cause, PermissionDeniedError | UnauthenticatedError | PermissionError):
        text = tr("The storage denies access. The operator of the service must check its permissions and credentials.")
        return Unavailable(text, _RETRY_S, UNREACHABLE)
    return Unavailable(tr("The storage cannot be reached. Try again in a moment."), _RETRY_S, UNREACHABLE)
