"""The networks that separate songs: a pinned list, and the check that a file is one of them."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from engine.errors import SeparationError
from engine.files import make_private_folder, replacing
from engine.pinned import PinnedFile
from engine.progress import Report, no_report
from engine.texts import tr

FOLDER = "separators"  # in the data folder
FETCH = "timbre-studio separation fetch"

# Revision, size and checksum as other programs pin the same file; the machine this was written on could not fetch it.
HTDEMUCS_FT_VOCALS = PinnedFile(
    name="htdemucs_ft vocals",
    file_name="htdemucs_ft_vocals_fp16weights.onnx",
    size=165_612_636,
    sha256="0cbe651f535415c9d26a7bb614f7d322dd5a080fa0298f2e50f478030a994dce",
    url=(
        "https://huggingface.co/StemSplitio/htdemucs-ft-vocals-onnx/resolve/"
        "2ef0d757d3e226d0da85fb8c71514f464fcabdd0/htdemucs_ft_vocals_fp16weights.onnx"
    ),
    licence="MIT",
    origin=tr("Meta (facebookresearch/demucs), exported by StemSplit"),
)
PINNED = (HTDEMUCS_FT_VOCALS,)


@dataclass(frozen=True)
class SeparatorState:
    """Whether songs can be separated.

    - file: the one that is needed
    - path: none until the file is fetched
    """

    file: PinnedFile
    path: Path | None

    @property
    def remedy(self) -> str:
        """The next step, empty if songs can be separated."""
        return FETCH if self.path is None else ""


def separator_state(folder: Path | str) -> SeparatorState:
    """Return whether songs can be separated.

    Parameters
    ----------
    folder : Path or str
        Where the separator's file lies; its contents are not checked.

    Returns
    -------
    SeparatorState
        What is installed, and the next step.

    Examples
    --------
    >>> separator_state("recordings").path is None
    True
    """
    return SeparatorState(PINNED[0], stored_separator(Path(folder)))


def missing_separator(pinned: PinnedFile = PINNED[0]) -> str:
    """Return what to do while there is no separator, of songs as of recordings whose music is to be removed."""
    return tr(
        "A vocal cannot be separated from its music yet: run {fetch} where the studio runs ({megabytes} MB), or give "
        "the vocal without its music.",
        fetch=FETCH,
        megabytes=pinned.megabytes,
    )


def stored_separator(folder: Path, pinned: PinnedFile | None = None) -> Path | None:
    """Return the file of a separator in `folder` if one of the right size lies there, unchecked; else None."""
    pinned = pinned or PINNED[0]
    path = folder / pinned.file_name
    return path if path.is_file() and path.stat().st_size == pinned.size else None


def checked_separator(folder: Path | str, pinned: PinnedFile | None = None) -> Path:
    """Return the file of a separator, its checksum verified.

    Parameters
    ----------
    folder : Path or str
        Where it lies.
    pinned : PinnedFile, optional
        Which one; by default the first that this program knows.

    Returns
    -------
    Path
        For OnnxSeparator.

    Raises
    ------
    SeparationError
        If it is missing.
    WrongFileError
        If it is another file.

    Examples
    --------
    >>> checked_separator("recordings")
    Traceback (most recent call last):
    engine.errors.SeparationError: A vocal cannot be separated from its music yet: ...
    """
    folder = Path(folder)
    pinned = pinned or PINNED[0]
    path = stored_separator(folder, pinned)
    if path is None:
        raise SeparationError(missing_separator(pinned))
    pinned.refuse_other(path)
    return path


def accept_separator(path: Path, folder: Path, pinned: PinnedFile | None = None, report: Report = no_report) -> Path:
    """Copy a file that the user has into `folder`, if it is the pinned one. Raises WrongFileError, SeparationError."""
    pinned = pinned or PINNED[0]
    pinned.refuse_other(path, report)
    target = folder / pinned.file_name
    try:
        make_private_folder(folder)
        with replacing(target, durable=True) as unfinished:
            shutil.copyfile(path, unfinished)
    except OSError as cause:
        raise SeparationError(
            tr('"{target}" cannot be written: {strerror}.', target=target, strerror=cause.strerror or cause)
        ) from cause
    return target
