"""Drafts: recordings collected for a new voice until it is created."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from engine.audio.files import open_audio
from engine.audio.stems import cut_recording
from engine.audio.tracks import Track
from engine.datasets.dataset import LIMITS, MODEL_FILE, create_dataset, load_dataset
from engine.errors import EngineError
from engine.files import fitting_name, named, on_track
from engine.texts import ntr, numeral, tr
from engine.voices.profile import VoiceProfile, is_blank, profile_as_json, read_profile
from studio.actions.uploads import link_or_copy, refuse_large, scratch_folder
from studio.actions.voices.datasets import free_path, gather, gather_dataset, keep_dataset
from studio.actions.voices.voice import delete_model
from studio.errors import Invalid, NotFound, WrongState
from studio.settings.service import MEGABYTE
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import find_model
from studio.store.drafts import DRAFTS, Gathered, gathered_at, is_draft_id, new_draft_id, new_moment
from studio.store.records.codec import Json, Record
from studio.store.studio import Cost, Studio, costs


@dataclass(frozen=True)
class TrackChoice:
    """A recording of a draft that has several sound tracks, by its `id`; read: the number of the one that is read."""

    recording: str
    name: str
    read: int
    tracks: tuple[Track, ...]


@dataclass(frozen=True)
class DraftUpload:
    """The result of adding files: their draft, the contents of a model.json among them, a sentence for each file
    refused, and what there is to choose."""

    draft_id: str
    added: int
    values: Json
    refused: tuple[str, ...]
    choices: tuple[TrackChoice, ...] = ()


@dataclass(frozen=True)
class DraftRecording(Record):
    """A recording of a draft as it is shown."""

    id: str
    name: str
    duration_s: float
    url: str


# ---- gathered


@costs(Cost.APART)
def add_recordings(
    studio: Studio, account: Account, draft_id: str | None, files: Sequence[Path], now_s: float
) -> DraftUpload:
    """Copy files to a draft, or to a new one: recordings, zips of them, or a model.json.

    Raises NotFound for an unknown draft, DiskFull, Unavailable. Unreadable files are reported and left out.
    """
    draft_id = _known(draft_id) if draft_id else new_draft_id()
    values: dict[str, JsonValue] = {}
    refused: list[str] = []
    kept_free = studio.service.free_disk_mb * MEGABYTE
    with scratch_folder(studio) as scratch:
        gathered = scratch / "gathered"
        for number, file in enumerate(files):
            try:
                refuse_large(studio, file)
                values |= gather(file, scratch / f"zip-{number}", gathered, refused, kept_free)
            except EngineError as cause:
                refused.append(str(cause))
        added = sum(path.is_file() for path in gathered.rglob("*"))
        there = len(_recordings(studio, account, draft_id))
        if there + added > LIMITS.most_files:
            raise Invalid(
                [
                    (
                        "recordings",
                        ntr(
                            "A voice can have at most {most_files} recording.",
                            "A voice can have at most {most_files} recordings.",
                            most_files=numeral(LIMITS.most_files, ","),
                        ),
                    )
                ]
            )
        moment = new_moment(now_s)
        choices = tuple(_choices(gathered, moment))
        if added:
            studio.storage.push_folder(gathered, f"{_prefix(account, draft_id)}/{moment}")
        if values:
            studio.storage.put_bytes(json.dumps(values).encode(), f"{_prefix(account, draft_id)}/{MODEL_FILE}")
    return DraftUpload(draft_id, added, values, tuple(refused), choices)


def _choices(gathered: Path, moment: str) -> Iterator[TrackChoice]:
    for path in sorted(gathered.rglob("*")):
        if path.is_file():
            with open_audio(path) as source:
                if len(source.tracks) > 1:
                    place = f"{moment}/{path.relative_to(gathered).as_posix()}"
                    yield TrackChoice(place, path.name, source.track, source.tracks)


@costs(Cost.APART)
def choose_track(studio: Studio, account: Account, draft_id: str, recording: str, track: int) -> None:
    """Put one sound track of a recording, by its `id`, in the place of the recording. Raises NotFound, AudioError,
    DiskFull, Unavailable."""
    prefix = _prefix(account, _known(draft_id))
    found = gathered_at(f"{prefix}/{recording}", prefix)
    if found is None:
        raise NotFound(tr("This recording is not part of the draft."), "recording_not_found")
    name = PurePosixPath(found.name)
    with scratch_folder(studio) as scratch:
        whole = on_track(named(studio.storage.fetch(found.key, scratch / "fetched"), name.name), track)
        alone = scratch / fitting_name(f"{name.stem} {track}", ".flac")
        cut_recording(whole, alone)
        gather(alone, scratch / "zip", scratch / "gathered", [], studio.service.free_disk_mb * MEGABYTE)
        for made in (scratch / "gathered").rglob("*.flac"):  # one, in a folder that is named by its duration
            place = made.relative_to(scratch / "gathered").as_posix()
            studio.storage.put_file(made, f"{prefix}/{recording.partition('/')[0]}/{place}")
        studio.storage.delete(found.key)


def draft_view(studio: Studio, account: Account, draft_id: str, base_url: str, now_s: float) -> list[DraftRecording]:
    """Return the recordings of a draft in the order they were added.

    A deleted draft has none. Raises Unavailable.
    """
    found = _recordings(studio, account, draft_id) if is_draft_id(draft_id) else []
    return [DraftRecording(one.place, one.name, one.duration_s, studio.link(one.key, base_url, now_s)) for one in found]


def remove_recording(studio: Studio, account: Account, draft_id: str, recording: str) -> None:
    """Remove a recording from a draft by its `id`, if it is still there. Raises NotFound, Unavailable."""
    if gathered_at(recording, "") is None:
        raise NotFound(tr("This recording is not part of the draft."), "recording_not_found")
    studio.storage.delete(f"{_prefix(account, _known(draft_id))}/{recording}")


def drop_draft(studio: Studio, account: Account, draft_id: str) -> None:
    """Delete a draft with its recordings. Raises NotFound, Unavailable."""
    studio.storage.delete_below(_prefix(account, _known(draft_id)))


# ---- made into a voice, and taken back


@costs(Cost.APART)
def create_from_draft(
    studio: Studio, account: Account, draft_id: str | None, values: Mapping[str, object], confirmed: bool = True
) -> str:
    """Create an untrained voice from the recordings of a draft, and delete the draft; return the voice's id.

    values: fields of a profile; confirmed: whether the consent was. Raises Invalid with everything that is missing,
    ProfileError, DatasetError, TooMany, DiskFull, Unavailable; then the draft is unchanged.
    """
    recordings = refuse_incomplete(studio, account, draft_id, values, confirmed)
    assert draft_id is not None
    given = {**_stored(studio, account, draft_id).other, **values}
    read_profile(given)  # raises before anything is copied
    with scratch_folder(studio) as scratch:
        gathered = scratch / "recordings"
        for number, one in enumerate(recordings):
            target = free_path(gathered / one.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(studio.storage.fetch(one.key, scratch / str(number)), target)
        model_id = keep_dataset(studio, account, create_dataset(gathered, scratch / "dataset", given))
    drop_draft(studio, account, draft_id)
    return model_id


@costs(Cost.APART)
def reopen_as_draft(
    studio: Studio, account: Account, model_id: str, now_s: float, only_good: bool = False
) -> DraftUpload:
    """Turn an untrained voice back into a draft, so that it can be made from other recordings.

    only_good: leave out recordings that the data report advises against. Raises NotFound, WrongState for a voice that
    has been trained or is in use, DiskFull, Unavailable; then it is unchanged.
    """
    model = find_model(studio.database, account, model_id)
    if model.dataset_key is None or model.voice_key is not None or model.epoch:
        text = tr(
            "The voice '{model_id}' has been trained: create a new voice from other recordings.", model_id=model_id
        )
        raise WrongState(text, "model_trained")
    report = model.data_report or {}
    bad = {one["name"] for one in report.get("recordings", ()) if one["verdict"] == "fail"} if only_good else set()
    with scratch_folder(studio) as scratch:
        studio.storage.pull_folder(model.dataset_key, scratch / "dataset")
        dataset = load_dataset(scratch / "dataset")
        gathered, refused = scratch / "gathered", list[str]()
        gather_dataset(dataset, gathered, refused, bad)
        draft_id = new_draft_id()
        values = profile_as_json(dataset.profile)
        added = sum(path.is_file() for path in gathered.rglob("*"))
        if added:
            studio.storage.push_folder(gathered, f"{_prefix(account, draft_id)}/{new_moment(now_s)}")
        studio.storage.put_bytes(json.dumps(values).encode(), f"{_prefix(account, draft_id)}/{MODEL_FILE}")
    try:
        delete_model(studio, account, model_id)
    except BaseException:
        drop_draft(studio, account, draft_id)
        raise
    return DraftUpload(draft_id, added, values, tuple(refused))


def refuse_incomplete(
    studio: Studio, account: Account, draft_id: str | None, values: Mapping[str, object], confirmed: bool
) -> list[Gathered]:
    """Raise Invalid with everything that is missing for `create_from_draft`; return the recordings."""
    recordings = _recordings(studio, account, _known(draft_id)) if draft_id else []
    given = values.get("consent")
    consent = given if isinstance(given, Mapping) else {}
    problems = []
    if not recordings:
        problems.append(("recordings", tr("Add recordings first: drop files or a zip, or record here.")))
    if is_blank(values.get("name")):
        problems.append(("name", tr("Give the voice a name.")))
    if is_blank(consent.get("statement")):
        problems.append(("consent.statement", tr("Confirm that the person recorded has agreed to this voice.")))
    if is_blank(consent.get("by")):
        problems.append(("consent.by", tr("Enter the name of the person who agreed.")))
    if not confirmed:
        problems.append(("consent", tr("Tick the box: a voice needs the consent of the person heard.")))
    if problems:
        raise Invalid(problems)
    return recordings


# ---- what is there


def _recordings(studio: Studio, account: Account, draft_id: str) -> list[Gathered]:
    place = _prefix(account, draft_id)
    found = [gathered_at(key, place) for key in studio.storage.list_keys(place)]
    return sorted((one for one in found if one is not None), key=lambda one: (one.moment, one.name))


def _stored(studio: Studio, account: Account, draft_id: str) -> VoiceProfile:
    """Return what the model.json of a draft says, under the name of the draft if it says none."""
    try:
        values = json.loads(b"".join(studio.storage.read(f"{_prefix(account, draft_id)}/{MODEL_FILE}")))
    except NotFound:
        values = {}
    return read_profile({"name": draft_id} | values)


def _prefix(account: Account, draft_id: str) -> str:
    return f"{account_prefix(account)}{DRAFTS}/{draft_id}"


def _known(draft_id: str) -> str:
    if not is_draft_id(draft_id):
        raise NotFound(tr("These recordings have been deleted: add them again."), "draft_not_found")
    return draft_id
