"""Convert a recording, or again one that is already here: stored at once, converted by a worker."""

import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath

from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.audio.stems import cut_recording
from engine.conversion.settings import AUTO, by_style
from engine.effects.settings import OFF, Effects, effects_of, plain_effects
from engine.files import on_track, track_of
from engine.progress import Report
from engine.texts import tr
from studio.actions.account import name_of_take, preferences_of
from studio.actions.analyses import analysed_recording, start_analysis
from studio.actions.conversions.songs import SongRequest, check_song, song_again
from studio.actions.conversions.views import CompletedConversion, ConversionView, UnfinishedConversion, key_of_take
from studio.actions.recordings import (
    Origin,
    check_recording,
    origin_of,
    origin_of_file,
    refuse_too_costly,
    refuse_without_consent,
    shown_name,
    suffix_of,
)
from studio.actions.rvc_models import refuse_unconfined, refuse_without_contentvec
from studio.actions.submission import Work, new_task, refuse_what_cannot_wait, submit_work
from studio.actions.uploads import stored_copy
from studio.errors import Invalid, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import Model, find_usable
from studio.store.idempotency import Idempotency, answered
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Conversion, Rendered, Settings
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import ACTIVE, Task, find
from studio.store.voice_folders import untrained_folder, voice_folder

DEMO = "demo"  # account of the demo voices
_SEEDS = 2**31
_NO_VOCAL_TO_HARMONIZE = tr(
    "This song came as a full mix, so there is no vocal to harmonize: add its vocal and its backing as two files."
)
_GONE = tr("Its recording has been deleted: add it again.")


@dataclass(frozen=True)
class ConversionRequest:
    """The voice and the settings of a conversion.

    settings: fields of ConversionSettings; omitted ones come from the preset, or with `auto` from the preset for the
    recording's style. untrained: whether a voice without a training is accepted; a trained voice ignores it.
    effects: the name of a preset of EffectSettings, or its fields. song: what else to make of it, if anything.
    form: of the takes' files; a song's are all of the published form.
    """

    model: str
    settings: Settings
    preset: str = AUTO
    untrained: bool = False
    effects: Effects = OFF
    song: SongRequest | None = None
    form: ResultFormat = PUBLISHED


@dataclass(frozen=True)
class CheckedConversion:
    """A request that can be carried out with a recording; cost: seconds x channels x takes, those of a song's files
    included."""

    request: ConversionRequest
    voice: Model
    file_name: str
    cost: float


@costs(Cost.START)
def start_conversion(
    studio: Studio,
    account: Account,
    audio: Path,
    file_name: str,
    request: ConversionRequest,
    *,
    origin: Origin | None = None,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> str:
    """Check a conversion, move its recording into the storage and queue it; return the task's id.

    origin: what the recording is a part or a copy of; by default it is a recording of its own. Of several sound tracks
    the one is converted that `on_track` gave the path. Raises as `check_conversion` and `submit_conversion` do; then
    nothing is left behind.
    """
    if known := answered(studio, account, idempotency):
        return str(known["task_id"])
    refuse_what_cannot_wait(studio, account, CONVERSION)
    checked = check_conversion(studio, account, audio, file_name, request)
    return submit_conversion(
        studio, account, audio, checked, origin=origin, idempotency=idempotency, request_id=request_id
    )


def check_conversion(
    studio: Studio, account: Account, audio: Path, file_name: str, request: ConversionRequest
) -> CheckedConversion:
    """Check all that can be checked before a worker has it.

    Raises SettingsError for a setting out of range, NotFound for an unknown voice, WrongState for an untrained one,
    NotReadable for a file that is not audio, Invalid for a recording that is too long, Unavailable.
    """
    voice = _check_request(studio, account, request)
    length, takes = check_recording(audio, file_name, studio.service), int(request.settings.get("takes", 1))
    refuse_too_costly(length, takes, studio.service)
    cost = length.channel_seconds * takes
    if request.song is not None:
        has_effects = not effects_of(request.effects).is_off
        cost += check_song(studio, account, request.song, takes, has_effects, request.untrained)
    return CheckedConversion(request, voice, file_name, cost)


def refuse_in_vain(studio: Studio, account: Account, request: ConversionRequest) -> None:
    """Raise what `start_conversion` would raise now, as far as that is known without the recording."""
    refuse_what_cannot_wait(studio, account, CONVERSION)
    _check_request(studio, account, request)


def submit_conversion(
    studio: Studio,
    account: Account,
    audio: Path,
    checked: CheckedConversion,
    *,
    origin: Origin | None = None,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> str:
    """Move the recording of a conversion into the storage and queue it; return the task's id.

    Raises TooMany, Unavailable, DiskFull; then nothing is left behind.
    """
    task, request, song = new_task(account), checked.request, checked.request.song
    asked = Conversion(
        input_key=f"{task.prefix}/input{suffix_of(checked.file_name, audio)}",
        file_name=shown_name(checked.file_name),
        preset=request.preset,
        settings=dict(request.settings),
        effects=plain_effects(request.effects),
        model_account=DEMO if checked.voice.is_demo else account.id,
        untrained=checked.voice.is_untrained,
        song=None if song is None else song.record(task.prefix),
        form=None if request.form == PUBLISHED else request.form,
        track=track_of(audio),
        **asdict(origin or origin_of_file(audio)),
    )
    files = {asked.input_key: audio}
    if song is not None and asked.song is not None:
        files |= {asked.song.keys[name]: sent.path for name, sent in song.files.items()}
    work = Work(CONVERSION, asked, request.model, checked.cost, request_id)
    return submit_work(studio, task, work, files=files, idempotency=idempotency)


def _check_request(studio: Studio, account: Account, request: ConversionRequest) -> Model:
    """Check all that can be checked without the recording; return the voice."""
    by_style(request.preset, request.settings)
    effects_of(request.effects)
    if request.song is not None and request.form != PUBLISHED:
        raise Invalid([("rate", tr("A song is made at 44100 Hz with 24 bits: leave rate and bits out."))])
    voice = find_usable(studio.database, account, request.model, request.untrained)
    refuse_without_consent(studio, voice.card.consent)
    refuse_without_contentvec(voice)
    refuse_unconfined(studio, voice.card.kind)
    return voice


def usable_voice_folder(studio: Studio, account: Account, model_id: str, report: Report, device: str) -> Path:
    """Return the folder of a voice that can convert; an untrained one is first made from its recordings.

    `report` may raise Cancelled; device: computes the untrained voice. Raises as `find_usable` and `untrained_folder`
    do.
    """
    model = find_usable(studio.database, account, model_id, untrained=True)
    refuse_without_consent(studio, model.card.consent)
    refuse_without_contentvec(model)
    refuse_unconfined(studio, model.card.kind)
    if model.is_untrained:
        return untrained_folder(studio.storage, account, model, report, device)
    return voice_folder(studio.storage, model)


@costs(Cost.ROW)
def conversion_view(
    studio: Studio, account: Account, task_id: str, base_url: str, now_s: float
) -> CompletedConversion | UnfinishedConversion:
    """Return the task exactly as the published interface shows it. Raises NotFound."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    if task.state in ACTIVE:
        return UnfinishedConversion(status="in_progress")
    if task.state != "completed":
        return UnfinishedConversion(status="failed")
    return ConversionView(studio, task, base_url, now_s).published()


def convert_recording(
    studio: Studio,
    account: Account,
    recording: str,
    request: ConversionRequest,
    stretch: tuple[float, float] | None = None,
) -> str:
    """Queue the conversion of an analysed recording; return the task's id.

    The voice may be untrained. recording: the id of its analysis. stretch: the part to convert, in seconds; default:
    all of it; the times of a song are those of the whole recording. Raises NotFound, SettingsError for an invalid
    stretch, and what `start_conversion` raises.
    """
    with analysed_recording(studio, account, recording) as (copy, file_name, origin):
        if stretch is not None:
            cut = copy.with_name("cut.wav")
            cut_recording(copy, cut, *stretch)
            copy, file_name, origin = cut, f"{PurePath(file_name).stem}.wav", origin.from_second(stretch[0])
            request = replace(request, song=request.song and request.song.from_second(stretch[0]))
        request = replace(request, untrained=True, form=preferences_of(studio.database, account).form)
        return start_conversion(studio, account, copy, file_name, request, origin=origin)


def convert_again(studio: Studio, account: Account, task_id: str, model: str | None = None) -> str:
    """Queue a conversion again with the settings it was started with, optionally with another voice.

    The voice may be untrained. Returns the new task's id. Raises NotFound, also if the recording has been deleted, and
    what `start_conversion` raises.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    asked = task.asked_as(Conversion)
    with stored_copy(studio, asked.input_key, _GONE) as copy, song_again(studio, task, model) as song:
        voice, form = model or task.model_id or "", asked.form or PUBLISHED
        request = ConversionRequest(voice, asked.settings, asked.preset, True, asked.effects, song, form)
        copy = on_track(copy, asked.track)
        return start_conversion(studio, account, copy, asked.file_name, request, origin=_origin(task))


def harmonize(studio: Studio, account: Account, task_id: str, harmony: str, key: str, model: str | None = None) -> str:
    """Queue a double or a harmony of a finished conversion, in its voice or another one; return the new task's id.

    harmony, key: as settings of a conversion. It is a conversion of the same recording with the same settings, in one
    take that varies in its own way. Raises NotFound, also if the recording has been deleted, WrongState, and what
    `start_conversion` raises.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    asked, found = task.asked_as(Conversion), task.result_as(Rendered).output_settings
    if task.state != "completed" or found is None:
        raise WrongState(tr("Harmonies can be added once the conversion has finished."), "not_done")
    if asked.song is not None and asked.song.separate:
        raise WrongState(_NO_VOCAL_TO_HARMONIZE, "not_a_vocal")
    seed = secrets.randbelow(_SEEDS)  # no two doubles are alike
    sung = {"transpose": found.transpose, "takes": 1, "seed": seed, "harmony": harmony, "harmony_key": key}
    settings = {**asked.settings, **sung}
    with stored_copy(studio, asked.input_key, _GONE) as copy:
        request = ConversionRequest(model or task.model_id or "", settings, asked.preset, True)
        copy = on_track(copy, asked.track)
        return start_conversion(studio, account, copy, asked.file_name, request, origin=_origin(task))


def look_at_recording(studio: Studio, account: Account, task_id: str) -> str:
    """Analyse the recording of a conversion; return the id of the analysis. Raises NotFound, TooMany."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    asked = task.asked_as(Conversion)
    with stored_copy(studio, asked.input_key, _GONE) as copy:
        return start_analysis(studio, account, on_track(copy, asked.track), asked.file_name, _origin(task))


def look_at_take(studio: Studio, account: Account, task_id: str, take: int) -> str:
    """Analyse a take of a conversion, of a song its vocal; return the id of the analysis. Raises NotFound, TooMany.

    take: 1 for the first.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    key = (task.result_as(Rendered).lanes or {}).get("vocal") or key_of_take(task, take)
    name = name_of_take(studio.database, account, task, take, PurePath(key).suffix[1:])
    with stored_copy(studio, key, _GONE) as copy:
        return start_analysis(studio, account, copy, name)


def _origin(task: Task) -> Origin | None:
    """Return the origin of a conversion's recording; one of an earlier version is a project by itself."""
    return origin_of(task.asked_as(Conversion)) or (Origin(task.recording) if task.recording else None)
