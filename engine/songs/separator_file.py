"""The networks that separate songs: a pinned list, and the check that a file is one of them.

A file counts by its SHA-256 alone, wherever it comes from; nothing else is ever loaded. Nothing is downloaded here.
"""

import hashlib
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from engine.errors import SeparationError
from engine.files import replacing
from engine.progress import Report, no_report

FOLDER = "separators"  # in the data folder
INSTALL = "pip install 'timbre-studio[separation]'"
FETCH = "python -m studio separation fetch"
_BLOCK = 1 << 22


@dataclass(frozen=True)
class SeparatorFile:
    """A file that separates vocals: what it is, where it comes from, and its exact contents.

    Attributes
    ----------
    name, file_name : str
        For people, and on the disk.
    size : int
        Bytes.
    sha256 : str
        Of its contents, in hexadecimal.
    url, licence, origin : str
        Where it comes from.
    """

    name: str
    file_name: str
    size: int
    sha256: str
    url: str
    licence: str
    origin: str

    @property
    def megabytes(self) -> int:
        """Size in millions of bytes."""
        return round(self.size / 1e6)


# Revision, size and checksum as other programs pin the same file; the machine this was written on could not fetch it.
HTDEMUCS_FT_VOCALS = SeparatorFile(
    name="htdemucs_ft vocals",
    file_name="htdemucs_ft_vocals_fp16weights.onnx",
    size=165_612_636,
    sha256="0cbe651f535415c9d26a7bb614f7d322dd5a080fa0298f2e50f478030a994dce",
    url=(
        "https://huggingface.co/StemSplitio/htdemucs-ft-vocals-onnx/resolve/"
        "2ef0d757d3e226d0da85fb8c71514f464fcabdd0/htdemucs_ft_vocals_fp16weights.onnx"
    ),
    licence="MIT",
    origin="Meta (facebookresearch/demucs), exported by StemSplit",
)
PINNED = (HTDEMUCS_FT_VOCALS,)


@dataclass(frozen=True)
class SeparatorState:
    """Whether songs can be separated.

    Attributes
    ----------
    file : SeparatorFile
        The one that is needed.
    package : str or None
        Version of demucs-onnx; None if it is missing.
    path : Path or None
        None until the file is fetched.
    """

    file: SeparatorFile
    package: str | None
    path: Path | None

    @property
    def remedy(self) -> str:
        """The next step, empty if songs can be separated."""
        return INSTALL if self.package is None else FETCH if self.path is None else ""


def separator_state(folder: Path | str) -> SeparatorState:
    """Return whether songs can be separated.

    Parameters
    ----------
    folder : Path or str
        Where the separator's file lies; its contents are not checked.

    Returns
    -------
    SeparatorState
        What is there, and the next step.

    Examples
    --------
    >>> separator_state("recordings").path is None
    True
    """
    folder = Path(folder)
    try:
        package = version("demucs-onnx")
    except PackageNotFoundError:
        package = None
    return SeparatorState(PINNED[0], package, stored_separator(folder))


def stored_separator(folder: Path, pinned: SeparatorFile | None = None) -> Path | None:
    """Return the file of a separator in `folder` if one of the right size lies there, unchecked; else None."""
    pinned = pinned or PINNED[0]
    path = folder / pinned.file_name
    return path if path.is_file() and path.stat().st_size == pinned.size else None


def checked_separator(folder: Path | str, pinned: SeparatorFile | None = None) -> Path:
    """Return the file of a separator, its checksum verified.

    Parameters
    ----------
    folder : Path or str
        Where it lies.
    pinned : SeparatorFile, optional
        Which one; by default the first that this program knows.

    Returns
    -------
    Path
        For OnnxSeparator.

    Raises
    ------
    SeparationError
        If it is missing, or another file.

    Examples
    --------
    >>> checked_separator("recordings")
    Traceback (most recent call last):
    engine.errors.SeparationError: Songs cannot be separated yet: ...
    """
    folder = Path(folder)
    pinned = pinned or PINNED[0]
    path = stored_separator(folder, pinned)
    if path is None:
        raise SeparationError(
            f"Songs cannot be separated yet: {FETCH} ({pinned.megabytes} MB), or give the vocal and its backing."
        )
    refuse_other(path, pinned)
    return path


def refuse_other(path: Path, pinned: SeparatorFile | None = None, report: Report = no_report) -> None:
    """Raise SeparationError unless the file is the pinned one to the bit."""
    pinned = pinned or PINNED[0]
    digest, done = hashlib.sha256(), 0
    try:
        if path.stat().st_size == pinned.size:
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    done += len(block)
                    report(done / pinned.size, "checking")
    except OSError as cause:
        raise SeparationError(f'"{path.name}" cannot be read: {cause.strerror or cause}.') from cause
    if digest.hexdigest() != pinned.sha256:
        raise SeparationError(
            f'"{path.name}" is not {pinned.name}: its checksum is another. It was not used; fetch it again.'
        )


def accept_separator(path: Path, folder: Path, pinned: SeparatorFile | None = None, report: Report = no_report) -> Path:
    """Copy a file that the user has into `folder`, if it is the pinned one. Raises SeparationError."""
    pinned = pinned or PINNED[0]
    refuse_other(path, pinned, report)
    target = folder / pinned.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(target, durable=True) as unfinished:
            shutil.copyfile(path, unfinished)
    except OSError as cause:
        raise SeparationError(f'"{target}" cannot be written: {cause.strerror or cause}.') from cause
    return target
