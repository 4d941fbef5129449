"""Blend two voices: requested here, made by a worker."""

from engine.voices.card_rules import LONGEST_NAME
from studio.actions.new_voices import checked_name
from studio.errors import Invalid, TooMany
from studio.store.accounts import Account
from studio.store.catalogue import find_usable, refuse_too_many
from studio.store.studio import Studio
from studio.store.tasks import submit, waiting_and_running

KIND = "blend"
MOST_AT_ONCE = 4  # queued or running blends per account
_LATER_S = 10.0


def start_blend(studio: Studio, account: Account, first: str, second: str, share: float, name: str = "") -> str:
    """Queue a blend with `share` (0..1) of the second voice and the rest of the first; return the task's id.

    name: defaults to both names. Raises NotFound, WrongState for an untrained voice, Invalid, TooMany.
    """
    voices = [find_usable(studio.database, account, model_id) for model_id in (first, second)]
    if first == second:
        raise Invalid([("second", "Choose two different voices.")])
    if not 0.0 <= share <= 1.0:
        raise Invalid([("share", f"The share must be from 0 to 1, not {share}.")])
    name = name.strip() or " and ".join(voice.name for voice in voices)[:LONGEST_NAME].strip()
    name = checked_name(name)
    parameters = {"first": first, "second": second, "share": share, "name": name}
    with studio.database.write() as connection:
        if waiting_and_running(connection, account.id, KIND) >= MOST_AT_ONCE:
            text = f"{MOST_AT_ONCE} blends are already queued or running: wait until one has finished."
            raise TooMany(text, _LATER_S, "queue_full")
        refuse_too_many(connection, account.id, studio.service)
        task_id = submit(connection, account.id, KIND, parameters)
        studio.submitted(connection, task_id)
    studio.wake()
    return task_id
