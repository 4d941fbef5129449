"""The voices of each account as rows: state, description, and location in the storage.

    pending --train--> training --> completed | failed          a stopped training: the state before it

A voice completed on an earlier base is pending again. In any state, a voice that has recordings but no model of this
base can convert *untrained*, if the caller allows it.

The page, the service and the command line all read and write these rows. The demo voices are shared by all accounts
and have no rows.

Functions that take a Connection join the caller's transaction.
"""

import functools
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

from sqlalchemy import ColumnElement, Connection, and_, case, delete, exists, func, select, update
from sqlalchemy import tuple_ as row_of
from typing_extensions import TypedDict, Unpack

from engine.spelling import folded
from engine.texts import as_data, from_data, joined, ntr, tr
from engine.voices.card import DEMO_VOICES, VoiceCard, earlier_voice, list_voices, new_identifier
from engine.voices.card_rules import FORMAT, is_identifier
from studio.errors import Invalid, NotFound, TooMany, WrongState
from studio.languages.stored import read_text, stored_text
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account, account_prefix
from studio.store.database import AnyRow, Database, Now, insert_or_keep
from studio.store.paging import cursor_after, sort_values
from studio.store.records.cards import Card, ReportedData, Voice, card_of, known_card, published, stated
from studio.store.records.codec import Json
from studio.store.storage import Storage
from studio.store.tables import LONGEST_FOLDED, models, tasks


class VoiceFilters(TypedDict, total=False):
    """Values that listed voices must have; None for any."""

    genre: str | None
    gender: str | None
    age: str | None
    voice_type: str | None
    base_language: str | None


PENDING, TRAINING, COMPLETED, FAILED = "pending", "training", "completed", "failed"
VOICES, DATASETS, TRAININGS, PACKAGES = "voices", "datasets", "trainings", "packages"
MOST_LISTED = 1000
_KEPT = (*(one.name for one in fields(Voice)), "licence", "source", "consent", "consent_seal", "format", "kind")
_NARROWED = tuple(VoiceFilters.__annotations__)
_LENGTHS = {name: models.c[name].type.length for name in _NARROWED}  # type: ignore[attr-defined]
_NOT_READY = {
    PENDING: tr("The voice '{model_id}' is not trained yet: train it first."),
    TRAINING: tr("The voice '{model_id}' is still being trained: it can be used once training has finished."),
    FAILED: tr("The voice '{model_id}' is not ready, as its training failed: train it again."),
}
_TRIES = 8
_LATER_S = 30.0  # by then one may have been deleted


@dataclass(frozen=True)
class Model:
    """A voice as its row was when read, except that PENDING stands for a voice to be trained again.
    Times are seconds since 1970; a demo voice has account_id ""."""

    account_id: str
    id: str
    name: str
    state: str  # pending, training, completed, failed
    card: Card  # the published fields, licence, source, consent with its seal, and format
    voice_key: str | None
    dataset_key: str | None
    training_key: str | None
    epoch: int
    epochs: int  # total requested for the finished voice
    failure_told: bool
    data_report: ReportedData | None
    error: str | None
    created_at: float
    updated_at: float

    @property
    def is_earlier(self) -> bool:
        """Whether its model was made on an earlier base: it cannot convert and is not COMPLETED."""
        return self.voice_key is not None and (self.card.format or 1) < FORMAT

    @property
    def must_be_trained_again(self) -> bool:
        """Whether it is such a voice and no training is active or has just failed."""
        return self.is_earlier and self.state == PENDING

    @property
    def is_untrained(self) -> bool:
        """Whether it has recordings but no model of this base yet."""
        return self.dataset_key is not None and (self.voice_key is None or self.is_earlier)

    @property
    def too_little(self) -> str | None:
        """The reason its recordings, as far as examined, cannot make a voice; None if they can."""
        findings = (self.data_report or {}).get("findings") or ()
        return next(
            (joined(" ", (one["reason"], one["remedy"])) for one in findings if one["code"] == "too_little"), None
        )

    @property
    def is_usable_untrained(self) -> bool:
        """Whether it can convert, but only untrained."""
        return self.is_untrained and self.too_little is None

    @property
    def is_demo(self) -> bool:
        """Whether it came with the program and is shared by all accounts."""
        return not self.account_id

    @property
    def stated(self) -> Mapping[str, object]:
        """The descriptive fields of a card, without measured ones that are unknown."""
        return stated(self.card)

    def stated_on(self, card: VoiceCard) -> VoiceCard:
        """Return a card that says what is stated of this voice."""
        return replace(card, **self.stated)  # type: ignore[arg-type]

    @property
    def published(self) -> Voice:
        """The fields of the published interface's voice model, exactly."""
        return published(self.card)


# ---- lookup


def find_model(database: Database, account: Account, model_id: str) -> Model:
    """Return the account's voice with this id, in any state, or the demo voice. Raises NotFound."""
    if is_identifier(model_id):
        with database.read() as connection:
            row = connection.execute(select(models).where(_named(account.id, model_id))).one_or_none()
        if row is not None:
            return _model(row)
        for voice in _demo_voices():
            if voice.id == model_id:
                return voice
    raise NotFound(
        tr("There is no voice '{model_id}'. GET /models lists the voices you can use.", model_id=model_id),
        "model_not_found",
    )


def find_usable(database: Database, account: Account, model_id: str, untrained: bool = False) -> Model:
    """Return a voice that can convert. Raises NotFound, and WrongState for one that must be trained first.
    untrained: whether a voice that `is_untrained` is accepted, if it has enough recordings."""
    model = find_model(database, account, model_id)
    if untrained and model.is_untrained:
        if model.too_little:
            raise WrongState(model.too_little, "model_not_ready")
        return model
    if model.must_be_trained_again:
        raise WrongState(earlier_voice(model_id), "model_not_ready")
    if model.state != COMPLETED:
        raise WrongState(_NOT_READY[model.state].format(model_id=model_id), "model_not_ready")
    return model


def locked_model(connection: Connection, account_id: str, model_id: str) -> Model:
    """Return the account's voice, locked until the caller's transaction ends. Raises NotFound."""
    # SQLite has one writer at a time and no FOR UPDATE
    row = connection.execute(select(models).where(_named(account_id, model_id)).with_for_update()).one_or_none()
    if row is None:
        raise NotFound(tr("There is no such voice."), "model_not_found")
    return _model(row)


def list_models(
    database: Database,
    account: Account,
    *,
    q: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    **filters: Unpack[VoiceFilters],
) -> tuple[list[Voice], str | None]:
    """Return the published fields of usable voices, the account's own and the demo voices, by name; and the `cursor` of
    the next page. q: words to find in their texts. Raises Invalid."""
    if limit is not None and not 1 <= limit <= MOST_LISTED:
        raise Invalid(
            [("limit", tr("limit must be 1 to {most_listed}, not {limit}.", most_listed=MOST_LISTED, limit=limit))]
        )
    after = None if cursor is None else sort_values(cursor, str, str)
    wanted = {name: str(value) for name, value in filters.items() if value is not None}
    words = folded(q).split() if q else []
    own = select(models.c.folded_name, models.c.id, models.c.card).where(
        models.c.account_id == account.id,
        models.c.state == COMPLETED,
        _is_of_this_base(),
        *(models.c[name] == value for name, value in wanted.items()),
        *(models.c.texts.contains(word, autoescape=True) for word in words),
    )
    if after is not None:
        own = own.where(row_of(models.c.folded_name, models.c.id) > row_of(*after))
    own = own.order_by(models.c.folded_name, models.c.id)
    demo = [voice for voice in _demo_voices() if _is_meant(voice, wanted, words, after)]
    taken = select(models.c.id).where(models.c.account_id == account.id, models.c.id.in_([voice.id for voice in demo]))
    with database.read() as connection:
        rows = connection.execute(own if limit is None else own.limit(limit + 1)).all()
        hidden = set(connection.scalars(taken)) if demo else set()
    found = [((row.folded_name, row.id), published(known_card(row.card))) for row in rows]
    found += [(_sort_values(voice), voice.published) for voice in demo if voice.id not in hidden]
    found.sort(key=lambda one: one[0])
    if limit is None or len(found) <= limit:
        return [voice for _, voice in found], None
    return [voice for _, voice in found[:limit]], cursor_after(*found[limit - 1][0])


def all_models(database: Database, account: Account) -> list[Model]:
    """Return all voices of the account in any state, and the demo voices, by name."""
    with database.read() as connection:
        own = [_model(row) for row in connection.execute(select(models).where(models.c.account_id == account.id))]
    taken = {model.id for model in own}
    found = own + [voice for voice in _demo_voices() if voice.id not in taken]
    return sorted(found, key=_sort_values)


def names_of(database: Database, account: Account, model_ids: Collection[str]) -> dict[str, str]:
    """Map ids of voices to their names, omitting deleted ones."""
    named = {voice.id: voice.name for voice in _demo_voices() if voice.id in model_ids}
    own = select(models.c.id, models.c.name).where(models.c.account_id == account.id, models.c.id.in_(model_ids))
    with database.read() as connection:
        return named | {row.id: row.name for row in connection.execute(own)}


def count_models(connection: Connection, account_id: str) -> int:
    counted = select(func.count()).select_from(models).where(models.c.account_id == account_id)
    return connection.scalar(counted) or 0


def refuse_too_many(connection: Connection, account_id: str, service: ServiceSettings) -> None:
    """Raise TooMany if the account has reached its limit of voices."""
    most = service.models_per_account
    if count_models(connection, account_id) >= most:
        hint = service.raised_by("models_per_account")
        text = ntr(
            "There is already {most} voice: delete it to create another.{hint}",
            "There are already {most} voices: delete one to create another.{hint}",
            most=most,
            hint=hint,
        )
        raise TooMany(text, _LATER_S, "too_many_models")


# ---- create, change, delete


def add_model(
    connection: Connection,
    storage: Storage,
    account: Account,
    card: Mapping[str, object],
    state: str,
    *,
    dataset_key: str | None = None,
    voice_key: str | None = None,
) -> Model:
    """Create a voice; its id, made from its name, differs from all voices and folders that the account sees.
    card: the fields of a profile or of a card; the name is required."""
    taken = set(connection.scalars(select(models.c.id).where(models.c.account_id == account.id)))
    taken |= {voice.id for voice in _demo_voices()} | _folders(storage, account)
    for _ in range(_TRIES):
        identifier = new_identifier(str(card["name"]), taken)
        values = described({**card, "id": identifier}) | {
            "account_id": account.id,
            "id": identifier,
            "state": state,
            "dataset_key": dataset_key,
            "voice_key": voice_key,
            "created_at": Now(),
            "updated_at": Now(),
        }
        row = connection.execute(insert_or_keep(connection, models).values(values).returning(models)).one_or_none()
        if row is not None:
            return _model(row)
        taken.add(identifier)  # taken meanwhile
    raise AssertionError(f"{_TRIES} ids were taken concurrently")


def set_keys(
    connection: Connection, model: Model, *, dataset_key: str | None = None, voice_key: str | None = None
) -> None:
    """Record where in the storage a voice or its recordings are."""
    given = {"dataset_key": dataset_key, "voice_key": voice_key}
    _change(connection, model.account_id, model.id, **{name: key for name, key in given.items() if key is not None})


def describe(connection: Connection, account_id: str, model_id: str, card: Mapping[str, object]) -> None:
    """Replace the description of a voice; card: the fields of `Model.card`; the name is required."""
    _change(connection, account_id, model_id, **described(card))


def report_completed(connection: Connection, account_id: str, model_id: str, report: Mapping[str, object]) -> None:
    """Record the data report of a voice, as plain values."""
    _change(connection, account_id, model_id, data_report=plain_report(report))


def training_begun(connection: Connection, account_id: str, model_id: str, epoch: int | None = None) -> None:
    """Record that a voice is queued for training, or in training; epoch: which it continues from, if that is known."""
    known = {} if epoch is None else {"epoch": epoch}
    _change(connection, account_id, model_id, state=TRAINING, error=None, failure_told=0, **known)


def training_reached(connection: Connection, model: Model, epoch: int, training_key: str | None = None) -> None:
    """Record the progress of a training in epochs; training_key: its latest checkpoint. Raises NotFound for one of a
    voice that was deleted."""
    place = {}
    if training_key is not None:
        _refuse_deleted(connection, model)
        place = {"training_key": training_key}
    _change(connection, model.account_id, model.id, epoch=epoch, **place)


def training_completed(
    connection: Connection, model: Model, card: VoiceCard, voice_key: str, epoch: int, epochs: int
) -> None:
    """Record a trained voice below `voice_key`; epochs: the total requested. Raises NotFound if it was deleted."""
    _refuse_deleted(connection, model)
    _change(
        connection,
        model.account_id,
        model.id,
        **described(asdict(card) | {"id": model.id}),
        state=COMPLETED,
        error=None,
        failure_told=0,
        voice_key=voice_key,
        epoch=epoch,
        epochs=epochs,
    )


def training_failed(connection: Connection, account_id: str, model_id: str, error: str) -> None:
    """Record a failed training; its progress is kept for the next."""
    _change(connection, account_id, model_id, state=FAILED, error=stored_text(error), failure_told=0)


def training_stopped(connection: Connection, account_id: str, model_id: str) -> None:
    """Record a cancelled training: the state before it returns, unless another training of the voice is queued."""
    waits = exists().where(
        tasks.c.account_id == account_id,
        tasks.c.model_id == model_id,
        tasks.c.kind == "training",
        tasks.c.state.in_(("queued", "running")),
    )
    usable = and_(models.c.voice_key.is_not(None), _is_of_this_base())
    before = case((waits, TRAINING), (usable, COMPLETED), else_=PENDING)
    connection.execute(
        update(models)
        .where(_named(account_id, model_id), models.c.state == TRAINING)
        .values(state=before, updated_at=Now())
    )


def training_forgotten(connection: Connection, account_id: str, model_id: str) -> None:
    """Record that a training's progress was deleted; the voice made from it stays."""
    state = case((models.c.voice_key.is_not(None), COMPLETED), else_=PENDING)
    _change(connection, account_id, model_id, state=state, error=None, epoch=0, epochs=0, training_key=None)


def take_failure_report(connection: Connection, account_id: str, model_id: str) -> bool:
    """Return whether to report now that a training failed or was stopped: true on the first call only. The next call
    may start again."""
    unreported = and_(_named(account_id, model_id), models.c.state != TRAINING, models.c.failure_told == 0)
    return connection.execute(update(models).where(unreported).values(failure_told=1)).rowcount == 1


def remove_model(connection: Connection, take_away: Callable[[str], None], account: Account, model: Model) -> None:
    """Delete a voice's row, last in a transaction within `Storage.deleting`; its `take_away` gets the prefixes of the
    voice's files. Raises NotFound if it is already gone."""
    if not _delete_row(connection, account, model.id, model.name):
        raise NotFound(tr("There is no such voice."), "model_not_found")
    for place in _places(account, model):
        take_away(place)


def _refuse_deleted(connection: Connection, model: Model) -> None:
    """Raise NotFound for a voice deleted during its training, so that it neither returns nor replaces a namesake."""
    if connection.scalar(select(models.c.created_at).where(_named(model.account_id, model.id))) != model.created_at:
        raise NotFound(tr("The voice was deleted during its training."), "model_not_found")


def clear_deleted(database: Database, storage: Storage, account: Account, model: Model) -> None:
    """If a voice was deleted, delete what was stored of it since."""
    with database.write() as connection:  # no namesake arrives meanwhile
        if connection.scalar(select(models.c.id).where(_named(account.id, model.id))) is None:
            for place in _places(account, model):
                storage.delete_below(place)


def _places(account: Account, model: Model) -> list[str]:
    """Return the prefixes of a voice's files."""
    prefix = account_prefix(account)
    places = {f"{prefix}{kind}/{model.id}" for kind in (VOICES, DATASETS, TRAININGS, PACKAGES)}
    return sorted(places | {key for key in (model.voice_key, model.dataset_key) if key is not None})


# ---- rows


def _model(row: AnyRow) -> Model:
    values = {one.name: row._mapping[one.name] for one in fields(Model)}
    said = {"card": known_card(row.card), "error": read_text(row.error), "data_report": from_data(row.data_report)}
    model = Model(**values | said | {"failure_told": bool(row.failure_told)})
    if model.is_earlier and model.state == COMPLETED:  # its epochs belong to a training that cannot continue
        return replace(model, state=PENDING, epoch=0, epochs=0)
    return model


def _is_of_this_base() -> ColumnElement[bool]:
    """Select completed voices that can convert. Early cards lacked the format."""
    return models.c.card["format"].as_integer() >= FORMAT


def _named(account_id: str, model_id: str) -> ColumnElement[bool]:
    return and_(models.c.account_id == account_id, models.c.id == model_id)


def _change(connection: Connection, account_id: str, model_id: str, **values: object) -> None:
    connection.execute(update(models).where(_named(account_id, model_id)).values(updated_at=Now(), **values))


def _delete_row(connection: Connection, account: Account, model_id: str, name: str) -> bool:
    """Delete a voice's row and keep its name in its tasks; return whether there was one."""
    if connection.execute(delete(models).where(_named(account.id, model_id))).rowcount == 0:
        return False
    of_it = and_(tasks.c.account_id == account.id, tasks.c.model_id == model_id, tasks.c.model_name.is_(None))
    connection.execute(update(tasks).where(of_it).values(model_name=name))
    return True


def described(card: Mapping[str, object]) -> dict[str, object]:
    """Return the columns that describe a voice."""
    kept = {name: card.get(name) for name in _KEPT}
    name, traits = str(card["name"]), card.get("traits")
    kept |= {
        "description": card.get("description") or "",
        "traits": list(traits) if isinstance(traits, list | tuple) else [],
    }
    narrowed = {name: value if _fits(name, value := card.get(name)) else None for name in _NARROWED}
    return {"name": name, "card": kept, "folded_name": name_sort_key(name), "texts": _texts(kept), **narrowed}


def _fits(name: str, value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LENGTHS[name]


def plain_report(report: Mapping[str, object]) -> Json:
    """Return a report that both databases can store: non-finite numbers become null."""
    plain: Json = json.loads(json.dumps(as_data(report)), parse_constant=lambda word: None)
    return plain


@functools.cache
def _demo_voices() -> tuple[Model, ...]:
    """Return the demo voices, which do not change while the program runs."""
    return tuple(
        Model("", card.id, card.name, COMPLETED, card_of(card), None, None, None, 0, 0, False, None, None, 0.0, 0.0)
        for card in list_voices(DEMO_VOICES)
    )


# ---- lists


def _is_meant(voice: Model, wanted: Mapping[str, object], words: Sequence[str], after: tuple[str, str] | None) -> bool:
    """Return whether a voice without a row matches a list's filters."""
    said = _texts(vars(voice.card))
    return (
        all(getattr(voice.card, name) == value for name, value in wanted.items())
        and all(word in said for word in words)
        and (after is None or _sort_values(voice) > after)
    )


def _texts(card: Mapping[str, object]) -> str:
    """Return all searchable text, folded."""
    traits = card.get("traits")
    listed = traits if isinstance(traits, list | tuple) else ()
    texts = [card.get("id"), card.get("name"), card.get("description"), *listed]
    return folded("\n".join(str(text) for text in texts if text))


def _sort_values(model: Model) -> tuple[str, str]:
    return name_sort_key(model.name), model.id


def name_sort_key(name: str) -> str:
    """Return what a voice is sorted by: its name without case and accents."""
    return folded(name)[:LONGEST_FOLDED]


# ---- folders


def _folders(storage: Storage, account: Account) -> set[str]:
    """Return the names of the account's folders, complete or damaged."""
    found: set[str] = set()
    for kind in (VOICES, DATASETS, TRAININGS, PACKAGES):
        folder = storage.folder(f"{account_prefix(account)}{kind}")
        found |= {entry.name for entry in os.scandir(folder)} if folder and folder.is_dir() else set()
    return found
