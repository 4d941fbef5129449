"""Unpacking a zip that may come from anyone: all of it or nothing, and never outside its folder.

Nothing a zip says about itself is believed. Names are made safe or refused before the first byte is unpacked; what is
unpacked is counted as it comes out, so a header that promises little gains nothing. Recordings compress well when they
are silent (64:1 is usual), so the sum of all files is held against the size of the whole zip, and only beyond an
allowance. The attacks are those of Fifield, *A better zip bomb* (2019: files that overlap share their compressed
bytes), and of the 'zip slip' reports of 2018 (names that climb out of the folder).
"""

import io
import re
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from engine.errors import ArchiveError
from engine.files import replacing

_BLOCK = 1 << 20  # bytes unpacked at a time
_LARGEST_READ = 8 << 20  # bytes; the list of contents is read in one piece, so this bounds how long it can be
_LONGEST_PART_BYTES = 255  # what file systems hold as one name
_LEAST_ENTRY_BYTES = 30  # before a file's data stand its name and this much
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_UTF8_NAME = 0x800
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_JUNK = {"__macosx", ".ds_store", "thumbs.db"}
# Control characters, those that turn the direction of writing, lone surrogates, and what Windows allows in no name.
_UNWELCOME = re.compile('[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff<>:"|?*]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, IndexError)


@dataclass(frozen=True)
class ArchiveLimits:
    """How much of a zip is unpacked before it is refused."""

    most_files: int = 2_000
    most_bytes: int = 8 << 30  # of all files together, unpacked
    most_ratio: float = 200.0  # bytes unpacked for each byte of the zip ...
    free_bytes: int = 64 << 20  # ... beyond these
    longest_path: int = 400  # characters
    deepest: int = 12  # folders above a file, and the file


def extract_archive(archive: Path, folder: Path, limits: ArchiveLimits = ArchiveLimits()) -> list[PurePosixPath]:
    """Unpack a zip into the new folder `folder`, and give the paths of its files below that, in the zip's order.

    Names are those of the zip in composed form (NFC), with characters some systems cannot hold replaced by `_`; what
    macOS and Windows add by themselves is left out, and so are empty folders. Raises ArchiveError, and leaves nothing
    behind, for a zip that is damaged, encrypted, too large, or unsafe, and where the disk cannot hold it.
    """
    if folder.exists():
        raise ArchiveError(f'"{folder.name}" is there already; a zip is unpacked into a new folder only.')
    if not archive.is_file():
        raise ArchiveError(f'There is no file "{archive.name}".')
    try:
        with replacing(folder) as unfinished, archive.open("rb") as file:
            return _unpack(_BoundedReads(file), archive, unfinished, limits)
    except OSError as cause:  # of writing; what goes wrong in reading the zip is told apart below
        raise ArchiveError(f'"{archive.name}" could not be unpacked: {cause.strerror or cause}.') from cause


def safe_path(name: str) -> PurePosixPath | None:
    """A relative path that is safe to create on any system; None for a name that stands for no file ('', '.').

    Raises ArchiveError for a name that would leave its folder: absolute, with a drive, or with a part '..'.
    """
    name = unicodedata.normalize("NFC", name).replace("\\", "/")
    if name.startswith("/") or re.match("[A-Za-z]:", name):
        raise ArchiveError(f"{_quoted(name)} is a path on another computer, not a name inside a zip; make it anew.")
    parts = []
    for part in name.split("/"):
        if part in ("", "."):
            continue
        if part.replace(" ", "") == "..":
            raise ArchiveError(f"{_quoted(name)} would be written outside its folder; the zip is not safe to open.")
        kept = _UNWELCOME.sub("_", part.rstrip(". ")) or "_"  # Windows drops dots and spaces at the end of a name
        parts.append(f"_{kept}" if _DEVICES.fullmatch(kept) else kept)
    return PurePosixPath(*parts) if parts else None


def is_junk(path: PurePosixPath) -> bool:
    """Whether a file was added by macOS or Windows, and not by the user."""
    return path.name.startswith("._") or any(part.lower() in _JUNK for part in path.parts)


class _BoundedReads(io.RawIOBase):
    """The zip's file, which refuses to be read in pieces so large that they could not be honest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if size > _LARGEST_READ:
            raise zipfile.BadZipFile("the list of contents is too long")
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
    """Check all, then unpack all into `folder`. Raises ArchiveError, or OSError for what cannot be written."""
    try:
        opened = zipfile.ZipFile(file)
    except _DAMAGED as cause:
        raise _not_whole(archive) from cause
    entries = _chosen(opened.infolist(), archive, limits)
    _refuse_overlaps(opened.infolist(), opened.start_dir, archive)
    archive_bytes = archive.stat().st_size
    budget = _Budget(archive, limits, archive_bytes)
    promised_bytes = sum(
        entry.file_size for entry, _ in entries
    )  # may be a lie, but why start if even this is too much
    budget.refuse_beyond(promised_bytes)
    folder.mkdir(parents=True)
    if promised_bytes > shutil.disk_usage(folder).free:
        raise ArchiveError(
            f'The disk has no room to unpack "{archive.name}", which needs {_size(promised_bytes)}; free some first.'
        )
    for entry, path in entries:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        _unpack_one(opened, entry, target, budget)
    return [path for _, path in entries]


def _unpack_one(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, budget: "_Budget") -> None:
    written = 0
    with target.open("xb") as out:
        try:
            content = opened.open(entry)
        except _DAMAGED as cause:
            raise _damaged(budget.archive, entry) from cause
        with content:
            while True:
                try:
                    block = content.read(_BLOCK)  # checks the contents' checksum at their end
                except _DAMAGED as cause:
                    raise _damaged(budget.archive, entry) from cause
                if not block:
                    break
                budget.spend(len(block))
                out.write(block)
                written += len(block)
    if written != entry.file_size:
        raise _damaged(budget.archive, entry)


class _Budget:
    """Counts what has really come out of a zip."""

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
                f'"{self.archive.name}" would grow more than {self._limits.most_ratio:g} times in unpacking, as no zip '
                "of recordings does; it is not safe to open."
            )
        if count > self._limits.most_bytes:
            raise ArchiveError(
                f'"{self.archive.name}" holds more than {_size(self._limits.most_bytes)} when unpacked; leave out some.'
            )


def _chosen(
    entries: Sequence[zipfile.ZipInfo], archive: Path, limits: ArchiveLimits
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The files to unpack and where to. ArchiveError for the first that is unsafe or cannot be read."""
    chosen: list[tuple[zipfile.ZipInfo, PurePosixPath]] = []
    files: set[str] = set()
    folders: set[str] = set()
    for entry in entries:
        name = _name_of(entry)
        path = safe_path(name)
        is_folder = name.endswith(("/", "\\"))
        _refuse_special(entry, is_folder, archive)
        if path is None or is_junk(path):
            continue
        _refuse_long(path, limits)
        folders.update(_key(parent) for parent in path.parents)
        if is_folder:
            folders.add(_key(path))
            continue
        _refuse_unreadable(entry, archive)
        if _key(path) in files:
            raise ArchiveError(f'"{archive.name}" holds {_quoted(str(path))} twice; rename or remove one of them.')
        files.add(_key(path))
        chosen.append((entry, path))
        if len(chosen) > limits.most_files:
            raise ArchiveError(f'"{archive.name}" holds more than {limits.most_files:,} files; leave out some.')
    for _, path in chosen:
        if _key(path) in folders:
            raise ArchiveError(
                f'In "{archive.name}", {_quoted(str(path))} is a file and a folder at once; make the zip anew.'
            )
    return chosen


def _name_of(entry: zipfile.ZipInfo) -> str:
    """The name as it was written: macOS writes UTF-8 without saying so."""
    name = entry.orig_filename
    if entry.flag_bits & _UTF8_NAME:
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def _key(path: PurePosixPath) -> str:
    """The same for names that some systems take for the same."""
    return unicodedata.normalize("NFC", str(path).casefold())


def _refuse_special(entry: zipfile.ZipInfo, is_folder: bool, archive: Path) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) and not (is_folder and kind == stat.S_IFDIR):
        what = "a link to another file" if kind == stat.S_IFLNK else "no ordinary file"
        raise ArchiveError(
            f'In "{archive.name}", {_quoted(_name_of(entry))} is {what}; make the zip anew with the files themselves.'
        )


def _refuse_unreadable(entry: zipfile.ZipInfo, archive: Path) -> None:
    if entry.flag_bits & _ENCRYPTED:
        raise ArchiveError(f'"{archive.name}" is protected by a password; make the zip anew without one.')
    if entry.compress_type not in _METHODS:
        raise ArchiveError(
            f'"{archive.name}" is compressed in a way this program does not read; make the zip anew with the usual '
            "method (Deflate) or without compression."
        )


def _refuse_long(path: PurePosixPath, limits: ArchiveLimits) -> None:
    too_long = len(str(path)) > limits.longest_path
    if too_long or any(len(part.encode("utf-8")) > _LONGEST_PART_BYTES for part in path.parts):
        raise ArchiveError(f"The name {_quoted(str(path))} in the zip is too long; shorten it.")
    if len(path.parts) > limits.deepest:
        raise ArchiveError(
            f"{_quoted(str(path))} lies in more than {limits.deepest - 1} folders inside each other; "
            "move the files further up."
        )


def _refuse_overlaps(entries: Sequence[zipfile.ZipInfo], end: int, archive: Path) -> None:
    """ArchiveError where two files share bytes of the zip, or one reaches into the list of contents."""
    places = sorted((entry.header_offset, entry.compress_size) for entry in entries)
    starts = [start for start, _ in places[1:]] + [end]
    for (start, size), following in zip(places, starts, strict=False):
        if start < 0 or start + _LEAST_ENTRY_BYTES + size > following:
            raise ArchiveError(f'Files in "{archive.name}" overlap each other; it is damaged or not safe to open.')


def _not_whole(archive: Path) -> ArchiveError:
    with archive.open("rb") as file:
        begins_as_zip = file.read(2) == b"PK"
    if begins_as_zip:
        return ArchiveError(f'"{archive.name}" is damaged or cut short; make the zip, or load it, again.')
    return ArchiveError(f'"{archive.name}" is not a zip.')


def _damaged(archive: Path, entry: zipfile.ZipInfo) -> ArchiveError:
    return ArchiveError(f'{_quoted(_name_of(entry))} in "{archive.name}" is damaged; make the zip, or load it, again.')


def _quoted(name: str) -> str:
    """A name that may be anything, fit to be shown in a sentence."""
    shown = _UNWELCOME.sub("_", name)
    return f'"{shown[:60]}…"' if len(shown) > 60 else f'"{shown}"'


def _size(count: int) -> str:
    return f"{count / (1 << 30):.3g} GB" if count >= 1 << 30 else f"{count / (1 << 20):.3g} MB"
