"""Datasets: the recordings of one voice and its profile, checked and copied into a folder of their own.

The source is a ZIP file, a folder, or separate files. A ZIP file or folder holds model.json, at its root or in a
top-level folder, and the recordings in the folder audio beside it; without a model.json all its recordings are used.
Every imported dataset has the same layout:

    model.json      the profile
    audio/          the recordings, in their original sub-folders
    originals/      recordings whose music was removed, as they were; their vocals are in audio/
    left_out.json   files of the source that are not used, each with the reason, if there are any
    report.json     written later: the data report, its picture, ...
    training/       ... checkpoints and auditions
    untrained/      ... the voice before training, until it is trained
    clips/          ... and analysed recordings, which may be deleted
"""

import json
import os
import posixpath
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from engine.archives import ArchiveLimits, begins_as_zip, extract_archive, is_junk, safe_path
from engine.audio.containers import AUDIO_SUFFIXES
from engine.datasets.left_out import NOT_AUDIO, LeftOut, read_left_out, why_no_recording, write_left_out
from engine.errors import DatasetError, ProfileError
from engine.files import UNFINISHED, as_path, fitting_name, shown_name, write_atomically
from engine.reprs import Brief
from engine.texts import joined, ntr, numeral, tr
from engine.voices.profile import VoiceProfile, merge_values, profile_text, read_profile

MODEL_FILE = "model.json"
AUDIO_FOLDER = "audio"
MUSIC = "accompaniment"  # the finding of recordings from which music can be removed
ORIGINALS_FOLDER = "originals"  # of recordings in AUDIO_FOLDER whose music was removed
REPORT_FILE = "report.json"
TRAINING_FOLDER = "training"
UNTRAINED_FOLDER = "untrained"
CACHE_FOLDER = "clips"

LARGEST_MODEL_FILE = 1_000_000  # bytes
LIMITS = ArchiveLimits()  # for ZIP files and folders
_MOST_LOOKED_AT = 50 * LIMITS.most_files  # files of any kind in a folder, so that nobody imports a whole disk
_UNPACKED = "unpacked"
_READ = tr("supported formats are {audio_suffixes}", audio_suffixes=", ".join(AUDIO_SUFFIXES))


@dataclass(frozen=True, repr=False)
class Dataset(Brief):
    """The recordings of one voice.

    - folder: where all its files are
    - profile: who it is, as model.json says
    - recordings: below `folder`, in natural order (2.wav before 10.wav)
    - left_out: what else was found, and why it is not a recording
    """

    folder: Path
    profile: VoiceProfile
    recordings: tuple[Path, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def cache(self) -> Path:
        """The folder for analysed recordings."""
        return self.folder / CACHE_FOLDER


@dataclass(frozen=True)
class _Brought:
    """A source file: its path, its place in the ZIP file or folder it came from, and why it is no recording, if so."""

    path: Path
    place: PurePosixPath
    why_not: str = ""


def create_dataset(
    source: Path | str | Sequence[Path | str],
    folder: Path | str,
    given: Mapping[str, object] | None = None,
    kept_free: int = 0,
) -> Dataset:
    """Copy recordings of one voice into a new folder, to make a voice of them.

    Parameters
    ----------
    source : Path or str, or several
        A ZIP file, a folder, or separate files.
    folder : Path or str
        Which must not exist yet.
    given : mapping, optional
        Values of the profile, such as {"name": "Mia"}, instead of those of model.json.
    kept_free : int
        Bytes of the disk that a ZIP file must not take when it is unpacked.

    Returns
    -------
    Dataset
        For `examined` and `train_dataset`.

    Raises
    ------
    ArchiveError
        For an unsafe ZIP file; nothing is left of `folder` then.
    ProfileError
        For an invalid or missing field; nothing is left of `folder` then.
    DatasetError
        For anything else; `folder` is removed then.

    Examples
    --------
    >>> dataset = create_dataset("recordings", "mia", {"name": "Mia"})
    >>> dataset.profile.name, [recording.name for recording in dataset.recordings]
    ('Mia', ['one.flac', 'two.flac'])
    >>> create_dataset("recordings", "mia", {"name": "Mia"})
    Traceback (most recent call last):
    engine.errors.DatasetError: The dataset "mia" already exists; delete it first, or choose another name.
    """
    folder = Path(folder)
    paths = [as_path(one) for one in ([source] if isinstance(source, str | os.PathLike) else source)]
    if folder.exists() or folder.is_symlink():
        raise DatasetError(
            tr('The dataset "{name}" already exists; delete it first, or choose another name.', name=folder.name)
        )
    unfinished = folder.with_name(folder.name + UNFINISHED)
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a crash
    try:
        label, brought, may_move = _bring(paths, unfinished / _UNPACKED, replace(LIMITS, kept_free=kept_free))
        home = _home(label, brought)
        values = {} if home is None else _read_model_file(home.path)
        profile = read_profile(merge_values(values, given or {}))
        places = _apart(_recordings(label, brought, home))
        left_out = _left_out(brought, home)
        for place, recording in places.items():
            target = unfinished / AUDIO_FOLDER / place
            target.parent.mkdir(parents=True, exist_ok=True)
            (os.replace if may_move else shutil.copyfile)(recording.path, target)
        write_left_out(unfinished, left_out)
        shutil.rmtree(unfinished / _UNPACKED, ignore_errors=True)
        write_atomically(unfinished / MODEL_FILE, profile_text(profile), durable=True)
        unfinished.rename(folder)
    except OSError as cause:
        raise DatasetError(
            tr("The recordings could not be imported: {strerror}.", strerror=cause.strerror or cause)
        ) from cause
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return load_dataset(folder)


def load_dataset(folder: Path | str) -> Dataset:
    """Load the recordings that `create_dataset` put into a folder.

    Parameters
    ----------
    folder : Path or str
        Where it lies.

    Returns
    -------
    Dataset
        Its profile and recordings.

    Raises
    ------
    DatasetError
        If there is none.
    ProfileError
        If its profile is damaged.

    Examples
    --------
    >>> create_dataset("recordings", "mia", {"name": "Mia"}) == load_dataset("mia")
    True
    """
    folder = Path(folder)
    if not (folder / MODEL_FILE).is_file():
        raise DatasetError(
            tr('"{name}" is not a dataset: it has no {model_file}.', name=folder.name, model_file=MODEL_FILE)
        )
    audio = folder / AUDIO_FOLDER
    try:
        profile = read_profile(_read_model_file(folder / MODEL_FILE))
        places = [place for place, is_link in _walk(audio) if not is_link and not why_no_recording(audio / place)]
    except OSError as cause:
        raise DatasetError(
            tr('The dataset "{name}" cannot be read: {strerror}.', name=folder.name, strerror=cause.strerror or cause)
        ) from cause
    if not places:
        raise DatasetError(tr('"{name}" has no recordings left; create it again.', name=folder.name))
    recordings = tuple(audio / place for place in sorted(places, key=_natural))
    return Dataset(folder, profile, recordings, read_left_out(folder))


# ---- sources ----


def _bring(paths: Sequence[Path], unpacked: Path, limits: ArchiveLimits) -> tuple[str, list[_Brought], bool]:
    """Return the source's name for messages, its files, and whether they may be moved."""
    if not paths:
        raise DatasetError(tr("There are no recordings; choose a ZIP file, a folder, or audio files."))
    for path in paths:
        if not (path.is_file() or path.is_dir()):
            raise DatasetError(tr('There is no file or folder "{name}".', name=shown_name(path)))
    if len(paths) > 1 or not (paths[0].is_dir() or _is_zip(paths[0]) or why_no_recording(paths[0])):
        if all(path.is_file() for path in paths):
            return tr("The selection"), _loose(paths), False
        if len(paths) > 1:
            raise DatasetError(tr("Folders cannot be combined; choose one ZIP file, one folder, or audio files."))
    path = paths[0]
    if path.is_dir():
        return f'"{path.resolve().name}"', _of_folder(path), False
    if not _is_zip(path):
        raise DatasetError(
            tr('"{name}" is not a ZIP file, folder or recording; {read}.', name=shown_name(path), read=_READ)
        )
    unpacked.parent.mkdir(parents=True)
    places = extract_archive(path, unpacked, limits)
    return f'"{shown_name(path)}"', [_brought(unpacked / place, place) for place in places], True


def _loose(paths: Sequence[Path]) -> list[_Brought]:
    """Treat separate files as if they were in the folder audio, with model.json beside it."""
    zips = [path for path in paths if _is_zip(path)]
    if zips:
        raise DatasetError(
            tr('"{name}" is a ZIP file among other files; choose one ZIP file, or audio files.', name=zips[0].name)
        )
    brought = []
    for path in paths:
        name = _safe(path.name)
        brought.append(_brought(path, name if _is_model_file(name) else AUDIO_FOLDER / name))
    return brought


def _of_folder(folder: Path) -> list[_Brought]:
    """Return the files in a folder. Links within it are skipped, since their targets are included anyway."""
    brought = []
    root = folder.resolve()
    for place, is_link in _walk(root):
        if not is_link:
            brought.append(_brought(root / place, _safe(str(place))))
        elif not (root / place).resolve().is_relative_to(root):
            raise DatasetError(
                tr(
                    '"{name}" in "{folder}" links to a file outside the folder; put the file itself there.',
                    name=_safe(place.name),
                    folder=root.name,
                )
            )
        if len(brought) > _MOST_LOOKED_AT:
            raise DatasetError(
                ntr(
                    '"{name}" holds more than {most_looked_at} file; choose the folder with the recordings.',
                    '"{name}" holds more than {most_looked_at} files; choose the folder with the recordings.',
                    most_looked_at=numeral(_MOST_LOOKED_AT, ","),
                    name=root.name,
                )
            )
    return brought


def _walk(folder: Path) -> Iterator[tuple[PurePosixPath, bool]]:
    """Yield the relative paths of files and links below `folder`, and whether each is a link.

    Links are not followed; files added by the system, pipes and the like are skipped.
    """

    def refuse(error: OSError) -> None:
        raise error

    for here, folders, files in os.walk(folder, onerror=refuse):
        for name in sorted(folders + files):
            path = Path(here, name)
            place = PurePosixPath(path.relative_to(folder).as_posix())
            if not is_junk(place) and (path.is_symlink() or path.is_file()):
                yield place, path.is_symlink()


def _safe(name: str) -> PurePosixPath:
    """Turn a name from this disk, where drives and backslashes mean nothing, into one valid on any system."""
    return safe_path("./" + name.replace("\\", "_")) or PurePosixPath("_")


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip" or begins_as_zip(path)


def _brought(path: Path, place: PurePosixPath) -> _Brought:
    return _Brought(path, place, NOT_AUDIO if is_junk(place) else why_no_recording(path))


def _is_model_file(place: PurePosixPath) -> bool:
    return place.name.lower() == MODEL_FILE


# ---- selection ----


def _home(label: str, brought: Sequence[_Brought]) -> _Brought | None:
    """Return the model.json at the root or in a top-level folder; None if there is none at all."""
    cards = sorted(
        (one for one in brought if _is_model_file(one.place)), key=lambda one: (len(one.place.parts), one.place)
    )
    if not cards:
        return None
    depth = len(cards[0].place.parts)
    if depth > 2:
        raise DatasetError(
            tr(
                '{label} has its {model_file} in "{parent}"; put it at the root or in a top-level folder, and the '
                "recordings into the folder {audio_folder} beside it.",
                label=label,
                model_file=MODEL_FILE,
                parent=cards[0].place.parent,
                audio_folder=AUDIO_FOLDER,
            )
        )
    if len(cards) > 1 and len(cards[1].place.parts) == depth:
        raise DatasetError(
            tr(
                '{label} holds more than one {model_file}: "{first}" and "{second}"; import one voice at a time.',
                label=label,
                model_file=MODEL_FILE,
                first=cards[0].place,
                second=cards[1].place,
            )
        )
    return cards[0]


def _recordings(label: str, brought: Sequence[_Brought], home: _Brought | None) -> list[_Brought]:
    """Return the recordings to use, each with its place in the dataset's audio folder."""
    found = [one for one in brought if not one.why_not]
    above = _common_folder([one.place for one in found])
    if home is not None:
        above = len(home.place.parts)
        elsewhere = len(found)
        found = [one for one in found if _lies_in_audio(one.place, home.place.parent)]
        if elsewhere and not found:
            raise DatasetError(
                ntr(
                    "{label} has {elsewhere} recording, but none in the folder {audio_folder} beside {model_file}; "
                    "move them there.",
                    "{label} has {elsewhere} recordings, but none in the folder {audio_folder} beside {model_file}; "
                    "move them there.",
                    elsewhere=elsewhere,
                    label=label,
                    audio_folder=AUDIO_FOLDER,
                    model_file=MODEL_FILE,
                )
            )
    if not found:
        raise DatasetError(
            tr(
                "{label} holds no recordings: {read}; found instead: {brought}.",
                label=label,
                read=_READ,
                brought=_census(brought),
            )
        )
    if len(found) > LIMITS.most_files:
        raise DatasetError(
            ntr(
                "{label} holds more than {most_files} recording; remove some.",
                "{label} holds more than {most_files} recordings; remove some.",
                most_files=numeral(LIMITS.most_files, ","),
                label=label,
            )
        )
    if sum(one.path.stat().st_size for one in found) > LIMITS.most_bytes:
        raise DatasetError(
            tr(
                "{label} holds more than {most_bytes} GB of recordings; remove some.",
                label=label,
                most_bytes=LIMITS.most_bytes >> 30,
            )
        )
    return [replace(one, place=PurePosixPath(*one.place.parts[above:])) for one in found]


def _left_out(brought: Sequence[_Brought], home: _Brought | None) -> list[LeftOut]:
    """Return what is not used: of files beside a model.json, which may be anything, only the recordings."""
    root = PurePosixPath() if home is None else home.place.parent
    depth = len(root.parts)
    left_out = []
    for one in brought:
        name, reason = one.place, one.why_not
        if _lies_in_audio(one.place, root):
            name = PurePosixPath(*one.place.parts[depth + 1 :])
        elif home is not None:
            is_for_use = not reason and one.place.parts[depth] not in (TRAINING_FOLDER, UNTRAINED_FOLDER, CACHE_FOLDER)
            reason = (
                tr("This file is left out, since it lies outside the folder {audio_folder}.", audio_folder=AUDIO_FOLDER)
                if is_for_use
                else ""
            )
        if reason and not _is_model_file(one.place):
            left_out.append(LeftOut(str(name), reason))
    return left_out


def _lies_in_audio(place: PurePosixPath, home: PurePosixPath) -> bool:
    depth = len(home.parts)
    return place.is_relative_to(home) and place.parts[depth].lower() == AUDIO_FOLDER


def _common_folder(places: Sequence[PurePosixPath]) -> int:
    """Count the parent folders that all files share."""
    return len(PurePosixPath(posixpath.commonpath([str(place.parent) for place in places])).parts) if places else 0


def _apart(recordings: Sequence[_Brought]) -> dict[PurePosixPath, _Brought]:
    """Give the recordings places that are distinct on every system."""
    places: dict[PurePosixPath, _Brought] = {}
    taken: set[str] = set()
    for one in sorted(recordings, key=lambda one: _natural(one.place)):
        place, number = one.place, 1
        while str(place).casefold() in taken:
            number += 1
            place = one.place.with_name(fitting_name(one.place.stem, f"-{number}{one.place.suffix}"))
        taken.add(str(place).casefold())
        places[place] = one
    return places


def _census(brought: Sequence[_Brought]) -> str:
    """Count the files by suffix, such as '3 .txt, 1 .pdf'."""
    others = [one.place for one in brought if not _is_model_file(one.place)]
    counts = Counter(place.suffix.lower() or tr("without a suffix") for place in others)
    listed = [joined(" ", (str(count), suffix)) for suffix, count in counts.most_common(5)]
    return joined(tr(", "), listed) or tr("nothing")


def _natural(place: PurePosixPath) -> tuple[list[list[str | int]], str]:
    """Return a key for natural order: 2.wav before 10.wav, regardless of case."""
    pieces = [re.split(r"(\d+)", part.casefold()) for part in place.parts]
    return [[int(text) if at % 2 else text for at, text in enumerate(piece)] for piece in pieces], str(place)


# ---- model.json ----


def _read_model_file(path: Path) -> dict[str, JsonValue]:
    """Read the object in a model.json. Raises ProfileError for the field 'model.json' if there is none."""
    with path.open("rb") as file:
        content = file.read(LARGEST_MODEL_FILE + 1)
    if len(content) > LARGEST_MODEL_FILE:
        raise _unreadable(
            tr(
                "model.json is larger than {largest_model_file} MB, too large for a profile.",
                largest_model_file=LARGEST_MODEL_FILE // 1000000,
            )
        )
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as cause:
        raise _unreadable(tr("model.json is not encoded in UTF-8; save it as UTF-8.")) from cause
    except json.JSONDecodeError as cause:
        raise _unreadable(
            tr(
                "model.json is not valid JSON in line {lineno}, column {colno}; correct it there.",
                lineno=cause.lineno,
                colno=cause.colno,
            )
        ) from cause
    except (ValueError, RecursionError) as cause:
        text = tr("model.json holds numbers too long, or lists nested too deep, to be read; remove them.")
        raise _unreadable(text) from cause
    if not isinstance(values, dict):
        raise _unreadable(tr('model.json must hold one object, such as {"name": "Anna"}.'))
    return values


def _unreadable(sentence: str) -> ProfileError:
    return ProfileError([(MODEL_FILE, sentence)])
