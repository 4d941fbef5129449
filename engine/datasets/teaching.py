"""An imported voice teaches one of this studio: it sings recordings, and its results are the new voice's recordings.

recordings --> convert with the imported voice, in several keys --> FLAC --> a data set like any other
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.conversion.convert import convert_file
from engine.conversion.settings import ConversionSettings
from engine.devices import AUTO
from engine.errors import DatasetError, VoiceError
from engine.files import UNFINISHED, TakesPaths
from engine.progress import Report, no_report
from engine.provenance.installation import Installation
from engine.texts import tr
from engine.voices.card import VoiceCard
from engine.voices.imported import AnyVoice, voice_of
from engine.voices.profile import TAUGHT_BY, Stated, forbids_derivatives

_SAMPLES = Path(__file__).parents[1] / "samples"
_BUNDLED = ("singing.flac", "speech.flac")  # the others are held out: each training is scored with them
_KEYS = (-5.0, 0.0, 4.0)  # semitones; together they cover two octaves
_CARRIED = ("gender", "age", "base_language", "genre", "licence")


@dataclass(frozen=True)
class TeachingSource(TakesPaths):
    """A recording that the imported voice sings.

    - path: one dry vocal
    - transpose: semitones by which it is sung higher
    """

    path: Path
    transpose: float = 0.0


def bundled_sources() -> list[TeachingSource]:
    """Return the bundled recordings, each in three keys: 43 s.

    Returns
    -------
    list of TeachingSource
        For `teach`.

    Examples
    --------
    >>> [(one.path.name, one.transpose) for one in bundled_sources()][:2]
    [('singing.flac', -5.0), ('singing.flac', 0.0)]
    """
    return [TeachingSource(_SAMPLES / name, key) for name in _BUNDLED for key in _KEYS]


def refuse_as_teacher(card: VoiceCard) -> None:
    """Raise VoiceError for a voice that is not imported, or whose licence forbids derivatives.

    >>> from engine import load_voice
    >>> refuse_as_teacher(load_voice("kathleen").card)
    Traceback (most recent call last):
    engine.errors.VoiceError: Kathleen is a voice of this studio already: only imported RVC models can teach one.
    """
    if not card.is_imported:
        raise VoiceError(
            tr("{name} is a voice of this studio already: only imported RVC models can teach one.", name=card.name)
        )
    if forbids_derivatives(card.licence):
        raise VoiceError(
            tr(
                'The licence of {name}, "{licence}", allows no derivatives, and a voice that it teaches is one.',
                name=card.name,
                licence=card.licence,
            )
        )


def taught_profile(card: VoiceCard, name: str = "") -> Stated:
    """Return the profile of the voice that an imported one teaches, as values of model.json.

    Licence, consent and what its owner says of the voice are carried over; its range is measured anew. name: by
    default that of the imported voice.
    """
    file, taught = (
        card.model.get("file", ""),
        tr("taught by {name}, imported from {value}", name=card.name, value=card.model.get("file", "")),
    )
    stated = "" if card.source == tr("imported from {file}", file=file) else card.source
    return {
        "name": name.strip() or card.name,
        **{field: value for field in _CARRIED if (value := getattr(card, field))},
        "description": card.description,
        "traits": list(card.traits),
        "source": f"{stated}; {taught}" if stated else taught,
        "consent": dict(card.consent),
        TAUGHT_BY: {"name": card.name, "file": file, "sha256": card.model.get("sha256", "")},
    }


def teaching_recordings(
    voice: AnyVoice | str | Path,
    sources: Sequence[TeachingSource],
    folder: Path | str,
    settings: ConversionSettings | None = None,
    report: Report = no_report,
    device: str = AUTO,
    installation: Installation | None = None,
) -> list[Path]:
    """Let an imported voice sing recordings, as 01-NAME.flac, 02-NAME.flac and so on.

    Parameters
    ----------
    voice : ImportedVoice, str or Path
        Loaded, or as `load_any_voice` takes it.
    sources : sequence of TeachingSource
        What it sings; each result is exactly as long as its source.
    folder : Path or str
        Which must not exist yet; after every error nothing is left of it.
    settings : ConversionSettings, optional
        Of all conversions, except transposition and takes.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.
    device, installation
        As for `convert_file`.

    Returns
    -------
    list of Path
        The files in `folder`.

    Raises
    ------
    DatasetError
        Without sources, or if the folder exists.
    VoiceError
        For a voice that may not teach, or without ContentVec.
    AudioError
        For a source that cannot be read.

    Examples
    --------
    >>> teaching_recordings("kathleen", bundled_sources(), "sung")
    Traceback (most recent call last):
    engine.errors.VoiceError: Kathleen is a voice of this studio already: only imported RVC models can teach one.
    """
    voice, folder = voice_of(voice), Path(folder)
    refuse_as_teacher(voice.card)
    if not sources:
        raise DatasetError(tr("There are no recordings for the imported voice to sing."))
    if folder.exists():
        raise DatasetError(
            tr('The folder "{name}" already exists; delete it first, or choose another name.', name=folder.name)
        )
    chosen, unfinished = settings or ConversionSettings(), folder.with_name(folder.name + UNFINISHED)
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a crash
    names = [f"{number:02d}-{source.path.stem}.flac" for number, source in enumerate(sources, 1)]
    try:
        unfinished.mkdir(parents=True)
        for number, (source, name) in enumerate(zip(sources, names, strict=True)):

            def converted(fraction: float, message: str, number: int = number) -> None:
                report(
                    (number + fraction) / len(sources),
                    tr("singing recording {number} of {sources}", number=number + 1, sources=len(sources)),
                )

            asked = replace(chosen, transpose=source.transpose, takes=1)
            convert_file(source.path, [unfinished / name], voice, asked, converted, device, installation)
        unfinished.rename(folder)
    except OSError as cause:
        raise DatasetError(
            tr("The recordings could not be written: {strerror}.", strerror=cause.strerror or cause)
        ) from cause
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return [folder / name for name in names]
