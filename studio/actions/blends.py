"""Blend two voices: requested here, made by a worker."""

from engine.texts import tr
from engine.voices.card_rules import LONGEST_NAME
from studio.actions.new_voices import checked_name
from studio.actions.submission import Work, new_task, submit_work
from studio.errors import Invalid
from studio.store.accounts import Account
from studio.store.catalogue import find_usable, refuse_too_many
from studio.store.kinds import BLEND
from studio.store.records.voices import Blend
from studio.store.studio import Studio


def start_blend(studio: Studio, account: Account, first: str, second: str, share: float, name: str = "") -> str:
    """Queue a blend with `share` (0..1) of the second voice and the rest of the first; return the task's id.

    name: defaults to both names. Raises NotFound, WrongState for an untrained voice, Invalid, TooMany.
    """
    voices = [find_usable(studio.database, account, model_id) for model_id in (first, second)]
    if first == second:
        raise Invalid([("second", tr("Choose two different voices."))])
    if not 0.0 <= share <= 1.0:
        raise Invalid([("share", tr("The share must be from 0 to 1, not {share}.", share=share))])
    name = name.strip() or " and ".join(voice.name for voice in voices)[:LONGEST_NAME].strip()
    return submit_work(
        studio,
        new_task(account),
        Work(BLEND, Blend(first, second, share, checked_name(name))),
        check=lambda connection: refuse_too_many(connection, account.id, studio.service),
    )
