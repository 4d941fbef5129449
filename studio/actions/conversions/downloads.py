"""Takes as files: with other effects, in other formats, under readable names."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import PurePath

from engine.audio.stems import cut_recording
from engine.effects.settings import Effects, effects_of
from engine.progress import no_report
from engine.texts import tr
from studio.actions.account import FORMATS, name_of_take, preferences_of
from studio.actions.conversions.views import key_of_take
from studio.actions.uploads import scratch_folder
from studio.errors import Invalid, NotFound
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.records.codec import Absent, Record
from studio.store.records.conversion import Conversion, Rendered
from studio.store.storage import StoredFile
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import Task, find

_MOST_KEPT = 3  # versions of a take with effects that were tried; further ones are made again


@dataclass(frozen=True, kw_only=True)
class TakeWithEffects(Record):
    """A take with effects; is_wet: whether they do anything."""

    url: str
    is_wet: bool


@costs(Cost.APART)
def take_with_effects(
    studio: Studio, account: Account, task_id: str, take: int, effects: Effects, base_url: str, now_s: float
) -> TakeWithEffects:
    """Return a take with these effects.

    take: 1 for the first. Raises NotFound, SettingsError for wrong effects, AudioError, DiskFull, Unavailable.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    url = studio.link(wet_take(studio, task, take, effects), base_url, now_s)
    return TakeWithEffects(url=url, is_wet=not effects_of(effects).is_off)


@costs(Cost.APART)
def load_effects(studio: Studio, account: Account) -> None:
    """Load what the effects need, which takes seconds. Raises AudioError if it is not installed."""
    from engine.effects import processing

    processing.load_effects()


def wet_take(studio: Studio, task: Task, take: int, effects: Effects | None) -> str:
    """Return the key of a take with these effects instead of its own; None: with its own. It is made if need be.

    The chain is applied to the take without effects, so nothing is applied twice. Raises as `take_with_effects`.
    """
    own = key_of_take(task, take)
    if effects is None:
        return own
    chosen = effects_of(effects)
    if chosen == effects_of(task.asked_as(Conversion).effects):
        return own
    dry = key_of_take(task, take, dry=True)
    if chosen.is_off:
        return dry
    place, _, name = dry.rpartition("/")
    begin = f"{place}/tried-{name.removesuffix('.wav')}-"
    key = f"{begin}{hashlib.sha256(json.dumps(asdict(chosen)).encode()).hexdigest()[:16]}.wav"
    if studio.storage.head(key) is None:
        from engine.effects.processing import apply_effects_to_file  # loads scipy.signal

        with scratch_folder(studio) as folder:
            made = folder / "wet.wav"
            source = studio.storage.fetch(dry, folder)
            statement = task.result_as(Rendered).statement
            apply_effects_to_file(source, made, chosen, no_report, statement, studio.installation)
            _forget_earlier(studio, place, begin)
            studio.storage.put_file(made, key)
    return key


def _forget_earlier(studio: Studio, place: str, begin: str) -> None:
    """Delete the oldest versions that were tried, with their copies in other formats."""
    stored = [studio.storage.head(key) for key in studio.storage.list_keys(place) if key.startswith(begin)]
    for old in sorted((one for one in stored if one), key=lambda one: one.modified_s)[: -_MOST_KEPT + 1]:
        studio.storage.delete(old.key)


@costs(Cost.APART)
def take_download(
    studio: Studio,
    account: Account,
    task_id: str,
    take: int,
    kind: str,
    base_url: str,
    now_s: float,
    effects: Effects | None = None,
) -> dict[str, str]:
    """Return the `url` and `name` of a take in this format, which is made on first request and kept beside the take.

    take: 1 for the first; effects: instead of its own. Names and mp3 are as the account prefers them. Raises NotFound,
    Invalid for a format not in FORMATS, DiskFull, Unavailable.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    kbps = preferences_of(studio.database, account).mp3_kbps
    key = stored_take(studio, task, take, kind, effects=effects, mp3_kbps=kbps)
    return {"url": studio.link(key, base_url, now_s), "name": name_of_take(studio.database, account, task, take, kind)}


@costs(Cost.APART)
def first_take(studio: Studio, account: Account, task_id: str, kind: str) -> StoredFile:
    """Return the first take of a completed conversion in this format. Raises as `take_download`, also Invalid
    for one that has failed or was cancelled, with the reason."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    if task.state != "completed":
        raise Invalid([("file", task.error or tr("The conversion was cancelled."))], task.error_code or task.state)
    found = studio.storage.head(stored_take(studio, task, 1, kind))
    if found is None:
        raise NotFound(tr("The takes of this conversion have been deleted."), "file_not_found")
    return found


def stored_take(
    studio: Studio, task: Task, take: int, kind: str, *, effects: Effects | None = None, mp3_kbps: int = 0
) -> str:
    """Return the key of a take in this format, made on first request. Raises as `take_download`."""
    if kind not in FORMATS:
        raise Invalid([("format", tr("The formats are {formats}, not {kind}.", formats=", ".join(FORMATS), kind=kind))])
    original = wet_take(studio, task, take, effects)
    rate = f".{mp3_kbps}" if kind == "mp3" and mp3_kbps else ""
    key = str(PurePath(original).with_suffix(f"{rate}.{kind}"))
    if key != original and studio.storage.head(key) is None:
        with scratch_folder(studio) as scratch:
            made = scratch / f"take.{kind}"
            statement = task.result_as(Rendered).statement
            source = studio.storage.fetch(original, scratch)
            cut_recording(source, made, statement=statement, installation=studio.installation, mp3_kbps=mp3_kbps)
            studio.storage.put_file(made, key)
    return key


@dataclass(frozen=True, kw_only=True)
class OfferedFile(Record):
    """A format that is offered, with the link once it is made."""

    label: str
    url: Absent[str] = None
    name: Absent[str] = None


def offered(preferred: str = FORMATS[0]) -> list[OfferedFile]:
    """Return the downloads <timbre-player> offers, the preferred format first; all are made on request."""
    return [OfferedFile(label=one) for one in (preferred, *(other for other in FORMATS if other != preferred))]
