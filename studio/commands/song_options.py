"""What `convert` is told of a song beside its voice."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import SettingsError
from engine.songs.parts import KEEP, read_parts
from engine.texts import tr

if TYPE_CHECKING:  # the engine takes a moment to load
    from engine.songs.parts import Part

KEEP_BACKING = "keep"


@dataclass(frozen=True)
class SongOptions:
    """The options of a song, and of a recording in several voices."""

    separate: bool = False
    backing: str | None = None  # a file, or KEEP_BACKING
    offset: float | None = None
    parts: Sequence[str] = ()  # "1:42 koguchi"
    stems: Sequence[str] = ()  # "FILE=VOICE"
    vocal_db: float = 0.0

    @property
    def is_mixed(self) -> bool:
        """Whether there is something to mix."""
        return self.separate or self.backing is not None

    @property
    def is_used(self) -> bool:
        """Whether any of the options is given."""
        return self.is_mixed or bool(self.parts or self.stems or self.vocal_db or self.offset is not None)

    def check(self, recordings: Sequence[Path], takes: int, effects: str | None) -> None:
        """Raise SettingsError for options that need others, or do not go with a song."""
        if not self.is_mixed and (self.offset is not None or self.stems or self.vocal_db):
            raise SettingsError(tr("--offset, --stem and --vocal-db need --backing FILE or --separate."))
        if self.backing == KEEP_BACKING and not self.separate:
            raise SettingsError(tr("--backing keep needs --separate: the backing is what is left of the song."))
        if len(recordings) > 1:
            raise SettingsError(
                tr("A song, or a recording in several voices, is one recording: convert one at a time.")
            )
        if takes > 1:
            raise SettingsError(tr("A song, or a recording in several voices, is made in one take: leave --takes out."))
        if effects not in (None, "off"):
            raise SettingsError(tr("Effects are for a vocal alone: convert the vocal with them, then use `mix`."))

    def voices(self, first: str) -> list[str]:
        """Return the voices that are named, `first` before those of parts and stems. Raises SettingsError."""
        texts = (*self.parts, *(stem.rpartition("=")[2] for stem in self.stems if "=" in stem))
        named = (first, *(part.voice for text in texts for part in read_parts(text)))
        return [one for one in dict.fromkeys(named) if one != KEEP]

    def parts_with(self, voice: str) -> "tuple[Part, ...]":
        """Return the parts of the lead, which begins in this voice."""
        return read_parts(", ".join([voice, *self.parts]))
