"""Preview of a voice: the bundled recording, converted."""

from pathlib import Path

from engine.audio.files import read_audio, write_audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.progress import Report
from engine.voices.voice import Voice

SAMPLE = Path(__file__).parents[1] / "samples" / "singing.flac"


def render_preview(voice: Voice, target: Path, report: Report | None = None) -> None:
    """Convert the bundled recording with this voice and write it to `target`, whose suffix chooses the format.

    Raises AudioError if it cannot be written; `report` may raise Cancelled.

    >>> from engine import load_voice
    >>> render_preview(load_voice("kathleen"), Path("preview.wav"))
    """
    settings = ConversionSettings(transpose="auto")
    write_audio(target, convert(read_audio(SAMPLE), voice, settings, report).takes[0].audio)
