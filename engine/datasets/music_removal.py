"""Take the music out of recordings of a data set that have some: the voice learns the vocals, the originals stay.

audio/song.mp3 --> separator --> audio/song.mp3.flac, and originals/song.mp3 beside it
"""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.audio.files import AudioWriter, open_audio
from engine.datasets.dataset import AUDIO_FOLDER, MODEL_FILE, MUSIC, ORIGINALS_FOLDER, Dataset, load_dataset
from engine.datasets.report import DataReport
from engine.errors import AudioError, DatasetError
from engine.files import write_atomically, writing_errors
from engine.progress import Report, no_report
from engine.songs.separation import Separator, separate_file
from engine.texts import joined, ntr, tr
from engine.voices.profile import VoiceProfile, profile_text

_VOCAL = ".flac"


def with_music(dataset: Dataset, data_report: DataReport) -> list[Path]:
    """Return the recordings in which the report finds music, and from which none has been removed yet."""
    names = {one.name for one in data_report.recordings if any(found.code == MUSIC for found in one.findings)}
    places = {path: path.relative_to(dataset.folder / AUDIO_FOLDER) for path in dataset.recordings}
    cleaned = {_vocal_of(path.relative_to(dataset.folder / ORIGINALS_FOLDER)) for path in _originals(dataset)}
    return [path for path, place in places.items() if place.as_posix() in names and place not in cleaned]


def remove_music(
    dataset: Dataset, data_report: DataReport, separator: Separator, report: Report = no_report
) -> Dataset:
    """Put the vocals of recordings with music in their places, and say so in the profile; return the data set.

    A recording counts as done when its original lies in ORIGINALS_FOLDER, so that a removal that was cancelled goes on
    where it was. `report` may raise Cancelled. Raises DatasetError if no recording has music, or none a vocal in it,
    AudioError for a file that cannot be written.
    """
    found = with_music(dataset, data_report)
    if not found:
        raise DatasetError(tr("There is no music to remove: no recording has any, or it has been removed already."))
    done, reasons = 0, list[str]()
    for number, path in enumerate(found):

        def separating(fraction: float, message: str, number: int = number, path: Path = path) -> None:
            report((number + fraction) / len(found), tr("removing the music from {name}", name=path.name))

        try:
            _clean(dataset, path, separator, separating)
            done += 1
        except AudioError as cause:  # of one without a vocal
            reasons.append(str(cause))
    if not done:
        raise DatasetError(joined(" ", reasons))
    _say_so(dataset, separator.name)
    return load_dataset(dataset.folder)


def _clean(dataset: Dataset, path: Path, separator: Separator, report: Report) -> None:
    place = path.relative_to(dataset.folder / AUDIO_FOLDER)
    original = dataset.folder / ORIGINALS_FOLDER / place
    with TemporaryDirectory(dir=dataset.folder, prefix=".") as folder:
        vocal, alone = Path(folder) / "vocal.wav", Path(folder) / "alone.flac"
        separate_file(path, vocal, Path(folder) / "backing.wav", separator, report)
        with open_audio(vocal) as opened, AudioWriter(alone, opened.rate, opened.channels) as writer:
            for block in opened.blocks():
                writer.write(block)
        with writing_errors(original):
            original.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, original)
            os.replace(alone, _vocal_of(path))


def _vocal_of(path: Path) -> Path:
    """Return where the vocal of a recording lies; beside `song.mp3` there may be a `song.flac` of its own."""
    return path if path.suffix.lower() == _VOCAL else path.with_name(path.name + _VOCAL)


def _say_so(dataset: Dataset, separator: str) -> None:
    """Write into the profile what has been done, in place of what it said of that before."""
    count = len(_originals(dataset))
    said = ntr(
        "music removed from {count} recording with {separator}",
        "music removed from {count} recordings with {separator}",
        count=count,
        separator=separator,
    )
    profile = dataset.profile
    earlier = [one for one in profile.source.split("; ") if one and not one.endswith(f" with {separator}")]
    changed: VoiceProfile = replace(profile, source="; ".join([*earlier, str(said)]))
    with writing_errors(dataset.folder / MODEL_FILE):
        write_atomically(dataset.folder / MODEL_FILE, profile_text(changed), durable=True)


def _originals(dataset: Dataset) -> list[Path]:
    folder = dataset.folder / ORIGINALS_FOLDER
    return [path for path in folder.rglob("*") if path.is_file()]
