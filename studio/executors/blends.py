"""Blend two voices in a worker: render a preview of the new voice and store it."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, cast

from sqlalchemy import Connection

from engine.errors import VoiceError
from engine.progress import within
from engine.texts import tr
from engine.voices.card import CARD_FILE, VoiceCard, card_text
from studio.executors.job import Job
from studio.executors.retries import SHORT_PATIENCE_S, retry
from studio.store.catalogue import COMPLETED, VOICES, add_model, find_model, refuse_too_many, set_keys
from studio.store.records.voices import Blend, NewVoice
from studio.store.voice_folders import arriving, voice_folder

if TYPE_CHECKING:
    from engine.voices.voice import Voice

_PASSING_ID = "blend"  # until its final id is known
_RENDERING_SHARE = 0.95  # of the progress


def blend(job: Job) -> None:
    """Blend, render its preview, and end the task with the new voice. Raises what the engine and the studio raise."""
    from engine.conversion.preview import render_preview
    from engine.voices.blend import blend_voices
    from engine.voices.voice import save_voice

    asked = job.task.asked_as(Blend)
    job.heartbeat.report(0.0, tr("blending"))
    first, second = (_voice(job, model_id) for model_id in (asked.first, asked.second))
    blended = blend_voices(first, second, asked.share, asked.name, _PASSING_ID)
    preview, folder = job.folder / "preview.wav", job.folder / "voice"
    render_preview(blended, preview, within(job.heartbeat.report, 0.0, _RENDERING_SHARE))
    save_voice(blended, folder, preview)
    with arriving(job.context.storage, job.account, VOICES, folder) as arrive:
        job.publish(lambda connection: _added(job, connection, blended.card, arrive))


def _voice(job: Job, model_id: str) -> "Voice":
    context = job.context
    folder = retry(
        lambda: voice_folder(context.storage, find_model(context.database, job.account, model_id)), SHORT_PATIENCE_S
    )
    voice = context.voices.voice(folder)
    if voice.card.is_imported:
        raise VoiceError(tr("{name} is an imported RVC model, and cannot be blended.", name=voice.card.name))
    return cast("Voice", voice)


def _added(job: Job, connection: Connection, card: VoiceCard, arrive: Callable[[str], str]) -> NewVoice:
    """Add the row of the new voice, and store its files where the row says."""
    storage, account = job.context.storage, job.account
    refuse_too_many(connection, account.id, job.context.service)
    model = add_model(connection, storage, account, asdict(card), COMPLETED)
    key = arrive(model.id)
    set_keys(connection, model, voice_key=key)
    storage.put_bytes(card_text(replace(card, id=model.id)).encode(), f"{key}/{CARD_FILE}")
    return NewVoice(model.id)
