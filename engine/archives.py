"""Unpack ZIP files from untrusted sources: completely or not at all, and never outside the target folder.

Nothing a ZIP file declares is trusted. Names are made safe or rejected before the first byte is unpacked, and unpacked
bytes are counted as they come out, so a header that understates its size gains nothing. Silent recordings compress
well (64:1 is usual), so the total size is compared with that of the whole ZIP, and only beyond an allowance. The
attacks are those of Fifield, *A better zip bomb* (2019: overlapping files share their compressed bytes), and of the
'zip slip' reports of 2018 (names that climb out of the folder).
"""

import errno
import io
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from engine.errors import ArchiveError
from engine.files import LONGEST_NAME_BYTES, replacing, shown_name
from engine.spelling import composed
from engine.texts import ntr, numeral, tr
from engine.zip_names import names_of

_BLOCK = 1 << 20  # bytes unpacked at a time
_LARGEST_READ = 8 << 20  # bytes; the central directory is read in one piece, so this limits its size
_LEAST_ENTRY_BYTES = 30  # the local header before a file's data, without its name
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_JUNK = {"__macosx", ".ds_store", "thumbs.db"}
# Control characters, those that change the writing direction, lone surrogates, and those Windows allows in no name.
_UNWELCOME = re.compile('[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff<>:"|?*]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, IndexError)


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits beyond which a ZIP file is rejected."""

    most_files: int = 2_000
    most_bytes: int = 8 << 30  # of all files together, unpacked
    most_ratio: float = 200.0  # bytes unpacked for each byte of the ZIP file ...
    free_bytes: int = 64 << 20  # ... beyond these
    longest_path: int = 400  # characters
    deepest: int = 12  # levels: the folders above a file, and the file
    kept_free: int = 0  # bytes of the disk


def extract_archive(archive: Path, folder: Path, limits: ArchiveLimits = ArchiveLimits()) -> list[PurePosixPath]:
    """Unpack a ZIP file into the new folder `folder`, and return the relative paths of its files in their order.

    Names are composed (NFC), and characters that some systems do not allow become `_`. Files that macOS and Windows
    add are skipped, and so are empty folders. Raises ArchiveError, and leaves nothing behind, for a ZIP file that is
    damaged, encrypted, too large or unsafe, or that does not fit on the disk.
    """
    if folder.exists():
        raise ArchiveError(
            tr('"{name}" already exists; a ZIP file is unpacked only into a new folder.', name=folder.name)
        )
    if not archive.is_file():
        raise ArchiveError(tr('There is no file "{name}".', name=shown_name(archive)))
    try:
        with replacing(folder) as unfinished, archive.open("rb") as file:
            return _unpack(_BoundedReads(file), archive, unfinished, limits)
    except OSError as cause:  # of writing; errors in reading the ZIP file are handled below
        raise ArchiveError(
            tr(
                '"{name}" could not be unpacked: {strerror}.',
                name=shown_name(archive),
                strerror=cause.strerror or cause,
            )
        ) from cause


def begins_as_zip(path: Path) -> bool:
    """Return whether a file begins as a ZIP file does (PKWARE, .ZIP File Format Specification, 4.3). Raises OSError."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def safe_path(name: str) -> PurePosixPath | None:
    """Return a relative path that is safe on any system, or None for a name without a file ('', '.').

    Raises ArchiveError for a name that would leave its folder: absolute, with a drive letter, or with a part '..'.
    """
    name = composed(name).replace("\\", "/")
    if name.startswith("/") or re.match("[A-Za-z]:", name):
        raise ArchiveError(
            tr("{name} is an absolute path, which is not allowed; create the ZIP file again.", name=_quoted(name))
        )
    parts = []
    for part in name.split("/"):
        if part in ("", "."):
            continue
        if part.replace(" ", "") == "..":
            raise ArchiveError(
                tr("{name} would be written outside its folder; the ZIP file is not safe to open.", name=_quoted(name))
            )
        kept = _UNWELCOME.sub("_", part.rstrip(". ")) or "_"  # Windows drops dots and spaces at the end of a name
        parts.append(f"_{kept}" if _DEVICES.fullmatch(kept) else kept)
    return PurePosixPath(*parts) if parts else None


def is_junk(path: PurePosixPath) -> bool:
    """Return whether a file was added by macOS or Windows rather than by the user."""
    return path.name.startswith("._") or any(part.lower() in _JUNK for part in path.parts)


class _BoundedReads(io.RawIOBase):
    """The open ZIP file, with reads limited in size."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if size > _LARGEST_READ:
            raise zipfile.BadZipFile(tr("the list of contents is too long"))
        return self._file.read(_LARGEST_READ if size < 0 else size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _unpack(file: _BoundedReads, archive: Path, folder: Path, limits: ArchiveLimits) -> list[PurePosixPath]:
    """Check everything, then unpack everything into `folder`. Raises ArchiveError, or OSError where writing fails."""
    try:
        opened = zipfile.ZipFile(file)
    except _DAMAGED as cause:
        raise _not_whole(archive) from cause
    entries = _chosen(opened.infolist(), archive, limits)
    _refuse_overlaps(opened.infolist(), opened.start_dir, archive)
    archive_bytes = archive.stat().st_size
    budget = _Budget(archive, limits, archive_bytes)
    # may be false, but if even this is too much there is no point in starting
    promised_bytes = sum(entry.file_size for entry, _ in entries)
    budget.refuse_beyond(promised_bytes)
    folder.mkdir(parents=True)
    if promised_bytes + limits.kept_free > shutil.disk_usage(folder).free:
        text = tr(
            'Not enough disk space to unpack "{name}": it needs {promised_bytes}.',
            name=shown_name(archive),
            promised_bytes=_size(promised_bytes),
        )
        raise ArchiveError(text) from OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for entry, path in entries:
        _unpack_member(opened, entry, path, folder, budget)
    return [path for _, path in entries]


def _unpack_member(
    opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: PurePosixPath, folder: Path, budget: "_Budget"
) -> None:
    target, written = folder / path, 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as out:
        try:
            content = opened.open(entry)
        except _DAMAGED as cause:
            raise _damaged(budget.archive, path) from cause
        with content:
            while True:
                try:
                    block = content.read(_BLOCK)  # checks the contents' checksum at their end
                except _DAMAGED as cause:
                    raise _damaged(budget.archive, path) from cause
                if not block:
                    break
                budget.spend(len(block))
                out.write(block)
                written += len(block)
    if written != entry.file_size:
        raise _damaged(budget.archive, path)


class _Budget:
    """Count the bytes actually unpacked."""

    def __init__(self, archive: Path, limits: ArchiveLimits, archive_bytes: int) -> None:
        self.archive = archive
        self._limits = limits
        self._plausible_bytes = limits.free_bytes + limits.most_ratio * archive_bytes
        self._spent_bytes = 0

    def spend(self, count: int) -> None:
        self._spent_bytes += count
        self.refuse_beyond(self._spent_bytes)

    def refuse_beyond(self, count: int) -> None:
        if count > self._plausible_bytes:
            raise ArchiveError(
                tr(
                    '"{name}" would grow more than {most_ratio} times when unpacked, far more than recordings do; it '
                    "is not safe to open.",
                    name=shown_name(self.archive),
                    most_ratio=numeral(self._limits.most_ratio, "g"),
                )
            )
        if count > self._limits.most_bytes:
            raise ArchiveError(
                tr(
                    '"{name}" holds more than {most_bytes} unpacked; remove some files.',
                    name=shown_name(self.archive),
                    most_bytes=_size(self._limits.most_bytes),
                )
            )


def _chosen(
    entries: Sequence[zipfile.ZipInfo], archive: Path, limits: ArchiveLimits
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the files to unpack with their targets. Raises ArchiveError for the first unsafe or unreadable one."""
    chosen: list[tuple[zipfile.ZipInfo, PurePosixPath]] = []
    files: set[str] = set()
    folders: set[str] = set()
    for entry, name in zip(entries, names_of(entries), strict=True):
        path = safe_path(name)
        is_folder = name.endswith(("/", "\\"))
        _refuse_special(entry, name, is_folder, archive)
        if path is None or is_junk(path):
            continue
        _refuse_long(path, limits)
        folders.update(_key(parent) for parent in path.parents)
        if is_folder:
            folders.add(_key(path))
            continue
        _refuse_unreadable(entry, archive)
        if _key(path) in files:
            raise ArchiveError(
                tr(
                    '"{name}" holds {path} twice; rename or remove one of them.',
                    name=shown_name(archive),
                    path=_quoted(str(path)),
                )
            )
        files.add(_key(path))
        chosen.append((entry, path))
        if len(chosen) > limits.most_files:
            raise ArchiveError(
                ntr(
                    '"{name}" holds more than {most_files} file; remove some.',
                    '"{name}" holds more than {most_files} files; remove some.',
                    most_files=numeral(limits.most_files, ","),
                    name=shown_name(archive),
                )
            )
    for _, path in chosen:
        if _key(path) in folders:
            raise ArchiveError(
                tr(
                    'In "{name}", {path} is both a file and a folder; create the ZIP file again.',
                    name=shown_name(archive),
                    path=_quoted(str(path)),
                )
            )
    return chosen


def _key(path: PurePosixPath) -> str:
    """Return a key that is equal for names some systems treat as the same."""
    return composed(str(path).casefold())


def _refuse_special(entry: zipfile.ZipInfo, name: str, is_folder: bool, archive: Path) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) and not (is_folder and kind == stat.S_IFDIR):
        what = tr("a link to another file") if kind == stat.S_IFLNK else tr("not a regular file")
        raise ArchiveError(
            tr(
                'In "{name}", {entry} is {what}; create the ZIP file with the files themselves.',
                name=shown_name(archive),
                entry=_quoted(name),
                what=what,
            )
        )


def _refuse_unreadable(entry: zipfile.ZipInfo, archive: Path) -> None:
    if entry.flag_bits & _ENCRYPTED:
        raise ArchiveError(
            tr('"{name}" is protected by a password; create it again without one.', name=shown_name(archive))
        )
    if entry.compress_type not in _METHODS:
        raise ArchiveError(
            tr(
                '"{name}" uses an unsupported compression method; create it again with the usual method (Deflate) or '
                "without compression.",
                name=shown_name(archive),
            )
        )


def _refuse_long(path: PurePosixPath, limits: ArchiveLimits) -> None:
    too_long = len(str(path)) > limits.longest_path
    if too_long or any(len(part.encode("utf-8")) > LONGEST_NAME_BYTES for part in path.parts):
        raise ArchiveError(tr("The name {path} in the ZIP file is too long; shorten it.", path=_quoted(str(path))))
    if len(path.parts) > limits.deepest:
        raise ArchiveError(
            ntr(
                "{path} is more than {deepest} folder deep; move the files further up.",
                "{path} is more than {deepest} folders deep; move the files further up.",
                deepest=limits.deepest - 1,
                path=_quoted(str(path)),
            )
        )


def _refuse_overlaps(entries: Sequence[zipfile.ZipInfo], end: int, archive: Path) -> None:
    """Raise ArchiveError if two files share bytes of the ZIP file, or one reaches into the central directory."""
    places = sorted((entry.header_offset, entry.compress_size) for entry in entries)
    starts = [start for start, _ in places[1:]] + [end]
    for (start, size), following in zip(places, starts, strict=False):
        if start < 0 or start + _LEAST_ENTRY_BYTES + size > following:
            raise ArchiveError(
                tr('Files in "{name}" overlap; it is damaged or not safe to open.', name=shown_name(archive))
            )


def _not_whole(archive: Path) -> ArchiveError:
    with archive.open("rb") as file:
        begins_as_zip = file.read(2) == b"PK"
    if begins_as_zip:
        return ArchiveError(
            tr('"{name}" is damaged or incomplete; create it or upload it again.', name=shown_name(archive))
        )
    return ArchiveError(tr('"{name}" is not a ZIP file.', name=shown_name(archive)))


def _damaged(archive: Path, path: PurePosixPath) -> ArchiveError:
    return ArchiveError(
        tr(
            '{path} in "{name}" is damaged; create the ZIP file again.',
            path=_quoted(str(path)),
            name=shown_name(archive),
        )
    )


def _quoted(name: str) -> str:
    """Return an untrusted name in quotes, safe to show in a sentence."""
    shown = _UNWELCOME.sub("_", name)
    return f'"{shown[:60]}…"' if len(shown) > 60 else f'"{shown}"'


def _size(count: int) -> str:
    return (
        tr("{count} GB", count=numeral(count / (1 << 30), ".3g"))
        if count >= 1 << 30
        else tr("{count} MB", count=numeral(count / (1 << 20), ".3g"))
    )
