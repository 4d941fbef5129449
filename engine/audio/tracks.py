"""The sound tracks of a file, as films, phones and recorders of screens write several; which of them is read.

The default one is, which players play, unless it is silent or its encoding cannot be read, and another one is better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from av.container import InputContainer
from av.stream import Disposition

from engine.audio.containers import Container
from engine.errors import AudioError
from engine.files import shown_name, track_of
from engine.provenance.statement import file_digest
from engine.texts import Text, ntr, tr

SEVERAL = ("mov", "matroska", "ogg", "mpegts")  # containers that can have more than one
SILENT_PEAK = 1e-3  # -60 dB: a track that nowhere reaches it holds no voice, while another does
MOST_TRACKS = 64


@dataclass(frozen=True)
class Track:
    """A sound track of a file.

    - number: 1 is the first sound track of the file
    - encoding: in words
    - is_readable: whether it can be decoded
    - is_default: whether players play it unless they are told otherwise
    - title, language: as in the file; empty if unknown
    - channels: how many it has; 0 if that is not known
    """

    number: int
    encoding: str
    is_readable: bool
    is_default: bool = False
    title: str = ""
    language: str = ""
    channels: int = 0


@dataclass(frozen=True)
class Choice:
    """The track that is read, by its number, and why, if nobody asked for it and there are several."""

    number: int = 1
    note: str | None = None


def tracks_in(opened: InputContainer, container: Container) -> tuple[Track, ...]:
    """Return the sound tracks of an opened file."""
    tracks = []
    for number, stream in enumerate(opened.streams.audio[:MOST_TRACKS], 1):
        codec = stream.codec_context.codec if stream.codec_context else None
        channels = stream.codec_context.channels if stream.codec_context else 0
        tracks.append(
            Track(
                number,
                codec.long_name if codec else tr("an unknown encoding"),
                codec is not None and codec.canonical_name in container.codecs and channels > 0,
                bool(stream.disposition & Disposition.default),
                stream.metadata.get("title", ""),
                stream.metadata.get("language", "").replace("und", ""),
                channels,
            )
        )
    return tuple(tracks)


def choose(path: Path, tracks: Sequence[Track], wanted: int | None, is_silent: Callable[[int], bool]) -> Choice:
    """Return which track is read: the one that is wanted, or the best.

    is_silent: whether the track of a number is. Raises AudioError for a track that is not there.
    """
    if wanted is not None:
        if not 1 <= wanted <= max(1, len(tracks)):
            raise AudioError(
                ntr(
                    '"{name}" has {count} sound track, so there is no track {wanted}.',
                    '"{name}" has {count} sound tracks, so there is no track {wanted}.',
                    count=len(tracks),
                    name=shown_name(path),
                    wanted=wanted,
                )
            )
        return Choice(wanted)
    if len(tracks) < 2:
        return Choice()
    first = next((track for track in tracks if track.is_default), tracks[0])
    readable = sorted((track for track in tracks if track.is_readable), key=lambda track: track.number != first.number)
    if not readable:
        return Choice(first.number)
    if len(readable) > 1 and is_silent(readable[0].number):
        sounding = next((track for track in readable[1:] if not is_silent(track.number)), None)
        if sounding is not None:
            return Choice(
                sounding.number,
                _note(path, tracks, sounding, tr("track {number} is silent", number=readable[0].number)),
            )
    if readable[0] is not first:
        why = tr("track {number} holds {encoding}, which cannot be read", number=first.number, encoding=first.encoding)
        return Choice(readable[0].number, _note(path, tracks, readable[0], why))
    return Choice(first.number, _note(path, tracks, first))


def track_digest(path: Path) -> str:
    """Return the digest of a file, with the sound track that was chosen of several by `on_track`."""
    track = track_of(path)
    return file_digest(path) + (f"-track-{track}" if track else "")


def _note(path: Path, tracks: Sequence[Track], track: Track, why: Text | str = "") -> str:
    if why:
        return tr(
            '"{name}" has {count} sound tracks. Track {number} is read, since {why}.',
            name=shown_name(path),
            count=len(tracks),
            number=track.number,
            why=why,
        )
    return tr(
        '"{name}" has {count} sound tracks. Track {number}, the one that players play, is read; choose another if it '
        "is not the voice.",
        name=shown_name(path),
        count=len(tracks),
        number=track.number,
    )
