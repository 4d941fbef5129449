"""What an encoder puts before the sound to get going, in files that do not say it in the way FFmpeg obeys.

An M4A has it in an edit list, or in a comment of iTunes (iTunSMPB), an MP3 in the header of LAME. ADTS, fragmented
files and those of some tools say nothing; but FFmpeg's own encoder of AAC leaves its name in the first packet, and its
priming is one packet. Layers II and III of MPEG without a header have what their encoder took, which nobody knows.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import av

from engine.files import shown_name
from engine.texts import tr

_FFMPEG, _FFMPEG_PRIMING = b"Lavc", 1024  # samples
_LAYERS = {"mp3", "mp2"}
# where it may not be stated
_UNSTATED = {"mov": {"aac"}, "aac": {"aac"}, "mp3": _LAYERS, "wav": _LAYERS, "mpegts": {"aac", *_LAYERS}}


@dataclass(frozen=True)
class Priming:
    """samples: to leave out at the start; count: of all that follow, where a comment says so; is_known: whether the
    file, or its encoder, says how many; is_taken: whether FFmpeg leaves them out, but keeps the time stamps.
    """

    samples: int = 0
    count: int | None = None
    is_known: bool = True
    is_taken: bool = False


def priming_of(
    container: str, codec: str, first: "av.Packet[av.AudioStream] | None", metadata: Mapping[str, str]
) -> Priming:
    """Return the priming of a track by its first packet and the comments of the file."""
    if first is None or codec not in _UNSTATED.get(container, ()) or (first.pts or 0) < 0:
        return Priming()
    if first.has_sidedata("skip_samples"):
        return Priming(count=_itunes_count(metadata), is_taken=container == "mov")
    if codec == "aac" and (not first.pts or container == "mpegts") and _FFMPEG in bytes(first):
        return Priming(_FFMPEG_PRIMING)
    return Priming(is_known=False)


def _itunes_count(metadata: Mapping[str, str]) -> int | None:
    """Return the samples of the sound by the comment of iTunes: after zeros, priming and padding, in hexadecimals."""
    with suppress(ValueError, IndexError):
        return int(metadata.get("iTunSMPB", "").split()[3], 16) or None
    return None


def timing_note(path: Path) -> str:
    """Return what to say of a file whose priming is not known, where its time matters."""
    return tr(
        '"{name}" does not say how much silence its encoder put before the sound, so it may begin 20 to 50 ms late. '
        "Check by ear that it is in time with the others; if not, move it, or export it as WAV.",
        name=shown_name(path),
    )
