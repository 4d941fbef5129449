"""Previews of edits: the touched phrase of a take, rendered while it is being edited."""

import io
from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engine.conversion.pitch_edits import read_edits
from engine.cores import usable_cores
from engine.progress import no_report
from studio.actions.conversions.conversion import usable_voice_folder
from studio.actions.conversions.edits import edit_data_of, find_editable, origin_of
from studio.store.accounts import Account
from studio.store.records.codec import Record
from studio.store.records.conversion import Conversion, Edits
from studio.store.studio import Cost, Studio, costs

if TYPE_CHECKING:
    from engine.conversion.edit_preview import EditPreview  # loads torch


@dataclass(frozen=True, kw_only=True)
class PreviewedEdit(Record):
    """A stretch of an edited take. url: the sound itself, as WAV; start_s: where it begins in the take."""

    url: str
    start_s: float


@dataclass(frozen=True)
class _Edited:
    """A take that is edited; what opens it is not compared."""

    input_key: str
    edit_data_key: str
    number: int
    voice: Path
    studio: Studio = field(compare=False)


@costs(Cost.WARM)
def preview_edit(
    studio: Studio, account: Account, task_id: str, take: int, edits: Edits, start_s: float, end_s: float
) -> PreviewedEdit | None:
    """Return how the stretch of a take sounds with these edits, without effects; None where they change nothing of it.

    take: 1 for the first. No more is rendered than the stretch with what it changes around it, nothing is stored.
    Raises NotFound, WrongState, EditError, and SettingsError for edits that cannot be.
    """
    import soundfile

    heard = _preview_of(studio, account, task_id, take).render(read_edits(edits), start_s, end_s)
    if heard is None:
        return None
    wav = io.BytesIO()
    soundfile.write(wav, heard.audio.samples.T, heard.audio.rate, format="WAV", subtype="PCM_16")
    return PreviewedEdit(url=f"data:audio/wav;base64,{b64encode(wav.getvalue()).decode()}", start_s=heard.start_s)


@costs(Cost.WARM)
def prepare_preview(
    studio: Studio, account: Account, task_id: str, take: int, edits: Edits, start_s: float, end_s: float
) -> None:
    """Load and analyse what the preview of another edit of a stretch needs, so that it is heard sooner.

    Raises what `preview_edit` raises.
    """
    _preview_of(studio, account, task_id, take).prepare(read_edits(edits), start_s, end_s)


def _preview_of(studio: Studio, account: Account, task_id: str, take: int) -> "EditPreview":
    task = find_editable(studio, account, task_id)
    origin = origin_of(task, take)
    voice = usable_voice_folder(studio, account, task.model_id or "", no_report, studio.service.device)
    edited = _Edited(task.asked_as(Conversion).input_key, origin.edit_data_key, origin.number, voice, studio)
    return _opened(edited)[0]


@lru_cache(maxsize=1)  # in a process of its own, which ends soon after the last edit
def _opened(edited: _Edited) -> "tuple[EditPreview, TemporaryDirectory[str]]":
    """Return what renders a take, and the folder with its recording, which goes with it."""
    from engine.conversion.edit_preview import EditPreview
    from engine.voices.imported import load_any_voice

    studio = edited.studio
    folder = TemporaryDirectory(dir=studio.settings.work)
    source = studio.storage.fetch(edited.input_key, Path(folder.name))
    edit_data, voice = edit_data_of(studio, edited.edit_data_key), load_any_voice(edited.voice)
    threads = studio.service.threads or usable_cores()
    return EditPreview(source, edit_data, edited.number - 1, voice, studio.service.device, threads), folder
