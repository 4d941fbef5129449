"""The voices that a command may name: found in the folders of this machine, before anything heavy is loaded."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from engine.errors import SettingsError
from engine.spelling import nearest
from engine.texts import tr
from studio.settings.environment import load_service_settings, load_settings

_DEMO = Path(__file__).parents[2] / "engine" / "weights" / "voices"  # as engine.voices.card has it, which loads more


def refuse_unknown_voice(voice: str) -> None:
    """Raise SettingsError for a voice that is not there, with the one that was probably meant.
    Where voices are kept on another machine, whoever loads the voice finds out."""
    if _are_elsewhere() or voice in (known := list(voice_ids())):
        return
    if meant := nearest(voice, known):
        raise SettingsError(
            tr(
                "There is no voice '{voice}': did you mean {meant}? `timbre-studio voices` lists them.",
                voice=voice,
                meant=meant,
            )
        )
    raise SettingsError(tr("There is no voice '{voice}'. `timbre-studio voices` lists them.", voice=voice))


def may_be_voice(text: str) -> bool:
    """Return whether a text is the id of a voice, or was probably meant to be one."""
    return _are_elsewhere() or nearest(text, list(voice_ids())) is not None


def _are_elsewhere() -> bool:
    service = load_service_settings()
    return bool(service.database_url or service.storage_url)


def complete_voice(beginning: str) -> list[str]:
    """Return the ids that begin so, for the shell's completion."""
    return sorted({one for one in voice_ids() if one.startswith(beginning)})


def voice_ids() -> Iterator[str]:
    """Yield the ids of the demo voices, the user's own, and those that have recordings alone."""
    settings = load_settings()
    for folder in (_DEMO, settings.voices, settings.datasets):
        with suppress(OSError):
            yield from (home.name for home in folder.iterdir() if home.is_dir() and not home.name.startswith("."))
