"""Preview and trial of a voice: the bundled recording, converted."""

from pathlib import Path

import numpy as np

from engine.audio.files import Audio, read_audio, write_audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.errors import VoiceError
from engine.progress import Report
from engine.texts import tr
from engine.voices.imported import AnyVoice

SAMPLE = Path(__file__).parents[1] / "samples" / "singing.flac"
_TRIAL_S = 1.5
_SILENT, _LOUDEST = 1e-3, 30.0  # peaks, full scale being 1: takes of real voices are between 0.1 and 2


def render_preview(voice: AnyVoice | str | Path, target: Path | str, report: Report | None = None) -> None:
    """Convert the bundled recording with a voice.

    Parameters
    ----------
    voice : Voice, ImportedVoice, str or Path
        Loaded, or as `load_any_voice` takes it.
    target : Path or str
        The suffix selects its format.
    report : callable, optional
        Receives the progress (0..1, message) and may raise Cancelled.

    Raises
    ------
    AudioError
        If it cannot be written.
    VoiceError
        For a voice that is unknown or damaged.

    Examples
    --------
    >>> render_preview("kathleen", "preview.wav")
    """
    settings = ConversionSettings(transpose="auto")
    write_audio(target, convert(read_audio(SAMPLE), voice, settings, report).takes[0].audio)


def refuse_senseless(voice: AnyVoice) -> None:
    """Render a moment with a voice that came from elsewhere: its weights may be numbers and yet make no sound.

    Raises VoiceError if the take holds NaN or infinity, is silent, or is far louder than any recording.

    >>> from engine import load_voice
    >>> refuse_senseless(load_voice("kathleen"))
    """
    sample = read_audio(SAMPLE)
    moment = Audio(sample.samples[:, : round(_TRIAL_S * sample.rate)], sample.rate)
    with np.errstate(all="ignore"):
        take = convert(moment, voice, ConversionSettings(transpose="auto")).takes[0].audio.samples
    if not _SILENT < float(np.abs(take).max()) < _LOUDEST:  # also NaN
        raise VoiceError(
            tr(
                "The weights of the voice '{id}' produce no usable sound: export it again on a machine where it works.",
                id=voice.card.id,
            )
        )
