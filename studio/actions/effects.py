"""Effects on takes that are there already: heard at once, without converting again, and in the download or not."""

import hashlib
import json
from dataclasses import asdict
from typing import Any

from engine.effects.settings import Effects, effects_of
from engine.progress import no_report
from studio.actions.arrivals import workplace
from studio.actions.repeats import key_of_take
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Conversion, Rendered
from studio.store.studio import Studio
from studio.store.tasks import Task, find

_MOST_KEPT = 3  # versions of a take with effects that were tried; further ones are made again


def take_with_effects(
    studio: Studio, account: Account, task_id: str, take: int, effects: Effects, base_url: str, now_s: float
) -> dict[str, Any]:
    """Return the `url` of a take with these effects, and whether it has any (`is_wet`).

    take: 1 for the first. Raises NotFound, SettingsError for wrong effects, AudioError, DiskFull, Unavailable.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    url = studio.link(wet_take(studio, task, take, effects), base_url, now_s)
    return {"url": url, "is_wet": not effects_of(effects).is_off}


def load_effects(studio: Studio) -> None:
    """Load what the effects need, which takes seconds. Raises AudioError if it is not installed."""
    from engine.effects import chain

    chain.load_effects()


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
        from engine.effects.chain import apply_effects_to_file  # loads scipy.signal

        with workplace(studio) as folder:
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
