"""The network that separates songs, which is fetched on request: nothing is fetched by itself."""

from functools import partial
from pathlib import Path

from engine.errors import WrongFileError
from engine.pinned import PinnedFile
from engine.progress import Report
from engine.songs import separator_file
from engine.songs.separator_file import FETCH, accept_separator, separator_state, stored_separator
from engine.texts import tr
from studio.actions.fetches import Addition
from studio.errors import WrongState
from studio.settings.environment import Settings
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio


def separator(settings: Settings) -> Addition:
    """Return what lets songs be separated."""
    pinned, folder = separator_file.PINNED[0], settings.separators
    found, verified = partial(stored_separator, folder, pinned), partial(_verified, folder, pinned)
    return Addition(pinned, folder, found, verified, _put_in_place, f"{FETCH} --file FILE")


def refuse_without_separator(settings: Settings) -> None:
    """Raise WrongState if songs cannot be separated yet."""
    found = separator_state(settings.separators)
    if found.remedy:
        text = (
            tr(
                "Songs cannot be separated yet: {remedy} on the machine that serves this, or send the vocal and its "
                "backing.",
                remedy=found.remedy,
            )
        )
        raise WrongState(text, "no_separator")


def accept_file(studio: Studio, path: Path, report: Report) -> Path:
    """Store a file that the user has, if it is a pinned one. Raises WrongFileError, SeparationError, DiskFull."""
    refuse_full_disk(studio, separator_file.PINNED[0].size)
    return accept_separator(path, studio.settings.separators, report=report)


def _verified(folder: Path, pinned: PinnedFile) -> Path | None:
    path = stored_separator(folder, pinned)
    try:
        if path is not None:
            pinned.refuse_other(path)
    except WrongFileError:
        return None
    return path


def _put_in_place(studio: Studio, received: Path) -> Path:
    return received.replace(received.with_name(separator_file.PINNED[0].file_name))
