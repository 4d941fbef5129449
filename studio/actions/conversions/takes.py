"""Takes of a conversion as the page shows them, the best first, with names and stars."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from engine.conversion.settings import AUTO, BEST
from engine.effects.settings import Effects
from engine.spelling import composed
from engine.texts import ntr
from studio.actions.account import voice_name
from studio.actions.analysis_views import NamedRange
from studio.actions.conversions.views import DELETED, ConversionView, key_of_take
from studio.actions.voice_ends import range_of
from studio.errors import Invalid, NotFound
from studio.store.accounts import Account
from studio.store.catalogue import find_model
from studio.store.kinds import CONVERSION
from studio.store.records.codec import Record
from studio.store.records.conversion import Conversion, Rendered, Scores, Settings
from studio.store.studio import Studio
from studio.store.take_labels import TakeLabel, label_of, write_label
from studio.store.tasks import ACTIVE, Task, find, places, running_now, usual_seconds

_LEAST_PROGRESS = 0.05  # below this the remaining time would be a guess
LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class ShownTake(Record):
    """A take of a result; number: 1 for the first; mark: its `fidelity`."""

    number: int
    url: str
    scores: Scores
    mark: float | None
    name: str
    starred: bool


@dataclass(frozen=True, kw_only=True)
class ResultView(Record):
    """All that the page shows of a conversion.

    is_ending: whether it is being cancelled; left_s: until it ends; taken_s: since it began; ahead: conversions before
    it in the queue, and those that keep all workers busy; starts_in_s: roughly; settings: all of them once it is
    completed; asked_settings: as the controls show them; transpose, style: as the conversion chose them; takes: the
    best first; phrases: where each begins, in seconds; edited: the task whose take this one is an edit of; lanes: of a
    song, links by name; offset_s: how much later than the backing its vocal begins; faders: in dB by lane; parts: of a
    recording in several voices, their names and by how many semitones each was moved.
    """

    id: str
    state: str
    progress: float
    is_ending: bool
    message: str
    error: str | None
    created_at: float
    left_s: float | None
    taken_s: float | None
    ahead: int | None
    starts_in_s: float | None
    model: str | None
    voice: str | None
    untrained: bool
    range: NamedRange | None
    file_name: str
    preset: str
    effects: Effects
    settings: Settings
    asked_settings: Settings
    transpose: float | None
    style: str | None
    input_url: str | None
    takes: Sequence[ShownTake]
    phrases: Sequence[float]
    is_comp: bool
    edited: str | None
    note: str | None
    lanes: Mapping[str, str]
    offset_s: float
    faders: Mapping[str, float]
    notes: Sequence[str]
    warning: str | None
    parts: Sequence[tuple[str, float]]


def result_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> ResultView:
    """Return all that the page shows of a conversion. Raises NotFound."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    view = ConversionView(studio, task, base_url, now_s)
    asked, rendered, found = view.asked, view.rendered, view.rendered.output_settings
    waiting = places(studio.database, CONVERSION).get(task.id, 1) - 1 if task.state == "queued" else 0
    busy = _busy(studio) if task.state == "queued" else []
    return ResultView(
        id=task.id,
        state=task.state,
        progress=task.progress,
        is_ending=task.cancel_requested,
        message=task.message,
        error=task.error,
        created_at=task.created_at,
        left_s=_left_s(task, now_s),
        taken_s=None if task.started_at is None else max(0.0, now_s - task.started_at),
        ahead=waiting + len(busy) if task.state == "queued" else None,
        starts_in_s=_starts_in_s(studio, waiting, busy, now_s) if waiting or busy else None,
        model=task.model_id,
        voice=voice_name(studio.database, account, task),
        untrained=view.untrained,
        range=_range(studio, account, task.model_id or "", found.vocal_style if found else None),
        file_name=asked.file_name,
        preset=asked.preset,
        effects=asked.effects,
        settings=view.settings,
        asked_settings=_shown_settings(asked, rendered),
        transpose=found.transpose if found else None,
        style=found.vocal_style if found else None,
        input_url=view.input_url if view.has_files else None,
        takes=_takes(view) if view.has_files else [],
        phrases=list(rendered.phrase_starts_s),
        is_comp=asked.comp is not None,
        edited=asked.edit.of if asked.edit else None,
        note=rendered.unsigned if view.has_files else DELETED,
        lanes=view.lanes,
        offset_s=rendered.mix.offset_s if rendered.mix else 0.0,
        faders=asked.song.faders if asked.song else {},
        notes=list(rendered.notes or ()),
        warning=rendered.warning,
        parts=_parts(studio, account, asked, rendered),
    )


def _parts(studio: Studio, account: Account, asked: Conversion, rendered: Rendered) -> list[tuple[str, float]]:
    found, ours = [], {part.voice for part in asked.song.parts} if asked.song else set()
    for one in rendered.voices or ():
        if one.model in ours:
            with suppress(NotFound):
                found.append((find_model(studio.database, account, one.model or "").name, float(one.transpose)))
    return found if len(found) > 1 else []


def fidelity(scores: Scores) -> float | None:
    """Return one number to rank takes by, 0..1: the share of notes on pitch, less the share voiced in only one of
    recording and take; None if nothing is voiced."""
    on_the_note, voicing = scores.get("pitch_accuracy"), scores.get("voicing_error")
    if on_the_note is None:
        return None
    return float(max(0.0, on_the_note * (1.0 - (voicing or 0.0))))


def best_first(marks: Sequence[float | None]) -> list[int]:
    """Return the numbers of takes, from 1 on, best `fidelity` first."""
    # the first take has no variation, so it leads among equals
    return sorted(range(1, len(marks) + 1), key=lambda number: (-(marks[number - 1] or 0.0), number))


def _shown_settings(asked: Conversion, rendered: Rendered) -> dict[str, int | float | str]:
    """Return the requested settings; the best key as the semitones it was, which the controls of the page can show."""
    if asked.settings.get("transpose") != BEST:
        return dict(asked.settings)
    found = rendered.output_settings
    return {**asked.settings, "transpose": AUTO if found is None else found.transpose}


def _takes(view: ConversionView) -> list[ShownTake]:
    takes: list[ShownTake] = [
        ShownTake(
            number=take.number,
            url=view.link(take.key),
            scores=take.scores,
            mark=fidelity(take.scores),
            name=take.label.name,
            starred=take.label.starred,
        )
        for take in view.takes
    ]
    return [takes[number - 1] for number in best_first([take.mark for take in takes])]


def _left_s(task: Task, now_s: float) -> float | None:
    if task.state not in ACTIVE or task.started_at is None:
        return None
    return _remaining_s(task.started_at, task.progress, now_s)


def _remaining_s(started_at: float, progress: float, now_s: float) -> float | None:
    """Return the seconds until a running conversion ends, by its progress so far; None at its beginning."""
    if progress < _LEAST_PROGRESS:
        return None
    return max(0.0, now_s - started_at) * (1.0 - progress) / progress


def _busy(studio: Studio) -> list[tuple[float, float]]:
    """Return start and progress of the running conversions if one must end before the next can start; else none."""
    running = running_now(studio.database, CONVERSION)
    return running if studio.service.executor == "local" and len(running) >= studio.service.conversions_at_once else []


def _starts_in_s(studio: Studio, waiting: int, busy: list[tuple[float, float]], now_s: float) -> float | None:
    """Return the seconds until a worker is free, which pass as the running conversions go on."""
    usual_s = usual_seconds(studio.database, CONVERSION)
    left_s = []
    for started_at, progress in busy:
        by_usual_s = None if usual_s is None else max(0.0, started_at + usual_s - now_s)
        one_s = _remaining_s(started_at, progress, now_s)
        left_s.append(by_usual_s if one_s is None else one_s)
    known_s = [one for one in left_s if one is not None]
    if len(known_s) < len(left_s) or (waiting and usual_s is None):
        return None
    # further workers, where their number is open, share the cores: together they are as quick as one
    workers = (studio.service.conversion_workers or 1) if studio.service.executor == "local" else 1
    return min(known_s, default=0.0) + (usual_s or 0.0) * waiting / max(workers, 1)


def _range(studio: Studio, account: Account, model_id: str, style: str | None) -> NamedRange | None:
    """Return the range of the voice where it does what the recording does, as the fit has it."""
    try:
        voice = range_of(studio, account, model_id, style == "melodic" if style else None)
    except NotFound:  # deleted meanwhile
        return None
    if voice.low is None or voice.high is None:
        return None
    label = f"{voice.name} \u2248" if voice.estimated else voice.name  # about: see what the fit says
    return NamedRange(low=voice.low, high=voice.high, label=label)


@dataclass(frozen=True, kw_only=True)
class LabelledTake(Record):
    """The name and the star of a take."""

    number: Annotated[int, Field(ge=1)]
    name: str
    starred: bool


def label_take(
    studio: Studio, account: Account, task_id: str, take: int, name: str | None = None, starred: bool | None = None
) -> LabelledTake:
    """Give a take a name, "" for none, and a star, or take it away; None leaves them as they are.

    take: 1 for the first. Returns {number, name, starred}. Raises NotFound, and Invalid for a name that is no line of
    text or has more than LONGEST_NAME characters.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    key_of_take(task, take)
    before = label_of(task, take)
    wanted = TakeLabel(
        before.name if name is None else _checked(name), before.starred if starred is None else bool(starred)
    )
    with studio.database.write() as connection:
        write_label(connection, task, take, wanted)
    return LabelledTake(number=take, name=wanted.name, starred=wanted.starred)


def _checked(name: str) -> str:
    name = composed(" ".join(name.split()))
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise Invalid(
            [
                (
                    "name",
                    ntr(
                        "name must be a line of text of at most {longest_name} character.",
                        "name must be a line of text of at most {longest_name} characters.",
                        longest_name=LONGEST_NAME,
                    ),
                )
            ]
        )
    return name
