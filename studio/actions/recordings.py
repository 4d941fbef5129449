"""Check and name the recordings that users provide."""

from pathlib import Path, PurePath

from engine.audio.decoders import recognise_container
from engine.audio.files import open_audio
from engine.datasets.dataset import AUDIO_SUFFIXES
from engine.errors import AudioError
from engine.units import in_words
from studio.errors import Invalid, NotReadable

_PROBED_SAMPLES = 1 << 16
_LONGEST_NAME = 200
# of the containers that browsers may play
_SUFFIXES = {
    "wav": ".wav", "flac": ".flac", "ogg": ".ogg", "mp3": ".mp3", "aac": ".aac", "aiff": ".aiff", "mov": ".m4a",
    "matroska": ".webm",
}  # fmt: skip


def check_recording(audio: Path, file_name: str, longest_minutes: float) -> None:
    """Raise NotReadable if the file is not audio, Invalid if it is too long according to its header."""
    try:
        with open_audio(audio) as source:
            if source.duration_s and source.duration_s > longest_minutes * 60:
                length, longest = in_words(source.duration_s), in_words(60 * longest_minutes)
                text = f"The recording is {length} long; the limit is {longest}: use a shorter one."
                raise Invalid([("audio", text)], "audio_too_long")
            next(iter(source.blocks(_PROBED_SAMPLES)), None)
    except AudioError as cause:
        # the engine's error has the name of the stored file, not the user's
        text = str(cause).replace(f'"{audio.name}"', f'"{shown_name(file_name) or "The recording"}"')
        raise NotReadable(text, "audio_not_readable") from cause


def suffix_of(file_name: str, audio: Path) -> str:
    """Return a file suffix that browsers can play: that of the name if it is an audio suffix, else that of the
    container; empty if neither is audio."""
    suffix = PurePath(file_name).suffix.lower()
    if suffix in AUDIO_SUFFIXES:
        return suffix
    try:
        return _SUFFIXES.get(recognise_container(audio), "")
    except AudioError:
        return ""


def shown_name(file_name: str) -> str:
    """Return a recording's name as it is stored and shown.

    Browsers, and many libraries, send a quotation mark in a file name as %22 (WHATWG HTML, multipart/form-data).
    """
    return PurePath(file_name).name.replace("%22", '"')[:_LONGEST_NAME]
