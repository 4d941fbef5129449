"""Live sessions of the page: a ticket lets one browser in, one session a visitor; recordings go to the history."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.conversion.settings import ConversionSettings
from engine.cores import usable_cores
from engine.errors import SettingsError
from engine.live.settings import SINGING, SPEECH, LiveSettings
from engine.progress import no_report
from engine.settings import from_values, refuse_unknown
from engine.texts import ntr, numeral, tr
from studio.actions.conversions.conversion import DEMO, usable_voice_folder
from studio.actions.recordings import origin_of_file
from studio.actions.submission import new_task
from studio.actions.voice_ends import VoiceEnds, card_of, ends_of
from studio.errors import Invalid, TooMany, Unauthorised
from studio.executors.core_shares import LIVE, CoreShares
from studio.executors.live import Changes, LiveProcess
from studio.settings.service import LARGEST_LIVE_MESSAGE
from studio.store.accounts import Account, account_of_id
from studio.store.catalogue import Model, all_models, find_usable
from studio.store.free_space import TAKE_BYTES, refuse_full_disk
from studio.store.kinds import CONVERSION
from studio.store.records.codec import Json, Record, written
from studio.store.records.conversion import Conversion, OutputSettings, Rendered
from studio.store.studio import Studio
from studio.store.tasks import submit

if TYPE_CHECKING:
    from engine.live.session import Recorded  # loads torch

_RECORDING_BYTES = 2 * TAKE_BYTES * 3600.0  # of a long session
_TICKET_S = 60.0
_MOST_WAITING = 16  # sockets that have a ticket, and no session yet
_BUSY_RETRY_S = 30.0
_LEFT_S = 10.0  # until a session ends whose browser is gone
_PROFILES = "live"  # folder in the work folder, with one per account
_LIVE_NAME = tr("Live session.wav")
_RUNNING = tr("A live session is running already: stop it first.")
_BUSY = tr("This machine is busy with somebody else's live session: try again later.")
_WHILE_SINGING = tuple(
    "transpose formant_shift_semitones accent consonant_protection texture wet style bypass voice record".split()
)


@dataclass(frozen=True, kw_only=True)
class LiveVoice(Record):
    """A voice that can convert live. ends: its range in each style."""

    id: str
    name: str
    untrained: bool
    ends: Mapping[str, VoiceEnds]


@dataclass(frozen=True)
class Ticket:
    """What a visitor may do, once, within a minute."""

    account: Account
    model: str
    settings: LiveSettings
    record: bool
    until: float  # of time.monotonic


class LiveSession:
    """A session that runs: blocks in, blocks out, and at the end a place in the history.

    is_left: its browser is gone; over: nothing runs any more.
    """

    def __init__(self, studio: Studio, ended: Callable[["LiveSession"], None], ticket: Ticket, rate: int) -> None:
        self._studio, self._ended = studio, ended
        self.is_left, self.over = False, threading.Event()
        self.account = ticket.account
        self._folder = studio.settings.work / _PROFILES / ticket.account.id
        self._folder.mkdir(parents=True, exist_ok=True)
        folder = self._voice_folder(ticket.model)
        self._process = LiveProcess(folder, ticket.settings, rate, self._folder, ticket.record)
        self.facts = self._process.facts
        self._model = ticket.model  # that is heard
        self._recorded_model = ticket.model if ticket.record else None  # when the recording began

    @property
    def pid(self) -> int | None:
        """The process that converts."""
        return self._process.pid

    def convert(self, block: bytes) -> tuple[bytes, Json]:
        """Convert a block of float32 samples. Raises Invalid for another length, Unavailable when the process died."""
        if len(block) != 4 * self.facts["block"]:
            raise Invalid(
                [
                    (
                        "block",
                        ntr("A block has {block} sample.", "A block has {block} samples.", block=self.facts["block"]),
                    )
                ],
                "live_block",
            )
        return self._process.convert(block)

    def change(self, given: Changes) -> None:
        """Change settings or voice while it runs. Raises SettingsError, NotFound, Invalid."""
        if unknown := set(given) - set(_WHILE_SINGING):
            name = sorted(unknown)[0]
            raise Invalid([(name, tr("{name} cannot be changed while you sing.", name=name))], "live_change")
        if given.get("record") is False:
            raise Invalid([("record", tr("A recording ends with its session: press Stop."))], "live_change")
        values = dict(given)
        if "voice" in values:
            values["voice"] = str(self._voice_folder(str(values["voice"])))
        if "record" in values:
            refuse_full_disk(self._studio, _RECORDING_BYTES)
        self._process.change(values)
        self._model = str(given.get("voice", self._model))
        if "record" in values:
            self._recorded_model = self._recorded_model or self._model

    def finish(self) -> str | None:
        """End the session; return the task in the history that holds the recording, if there is one.

        Raises NotFound if the account has been deleted meanwhile.
        """
        self.is_left = True
        try:
            recorded = self._process.finish()
        finally:
            self._ended(self)
        account_of_id(self._studio.database, self.account.id)
        return self._store_session(recorded, self._recorded_model or self._model) if recorded else None

    def abandon(self) -> None:
        """End the session at once; nothing is kept."""
        self._process.close()
        self._ended(self)

    def _voice_folder(self, model: str) -> Path:
        studio, account = self._studio, self.account
        if find_usable(studio.database, account, model, untrained=True).is_untrained:  # which takes the networks
            return studio.apart(account, usable_voice_folder, account, model, no_report, "cpu").result()
        return usable_voice_folder(studio, account, model, no_report, "cpu")

    def _store_session(self, recorded: "Recorded", model: str) -> str:
        """Put a finished conversion into the history."""
        studio, account = self._studio, self.account
        new = new_task(account)
        dry, converted = self._folder / "dry.wav", self._folder / "converted.wav"
        voice = find_usable(studio.database, account, model, untrained=True)
        live = asdict(recorded.settings)
        known = asdict(ConversionSettings())
        settings = known | {name: value for name, value in live.items() if name in known}
        key, transpose, untrained = f"{new.prefix}/input.wav", settings["transpose"], voice.is_untrained
        whose = {"model_account": DEMO if voice.is_demo else account.id, **asdict(origin_of_file(dry))}
        asked = Conversion(key, {"transpose": transpose}, _LIVE_NAME, live=live, untrained=untrained, **whose)
        outputs, output_settings = (f"{new.prefix}/live-1.wav",), OutputSettings(model, transpose, live["style"])
        statement, seconds = recorded.statement, recorded.seconds
        rendered = Rendered(outputs, output_settings, settings, untrained, statement=statement, seconds=seconds)
        studio.storage.put_file(dry, asked.input_key)
        studio.storage.put_file(converted, rendered.outputs[0])
        try:
            with studio.database.write() as connection:
                submit(
                    connection,
                    account.id,
                    CONVERSION,
                    written(asked),
                    model_id=model,
                    task_id=new.id,
                    cost=0.0,
                    result=written(rendered),
                )
        except BaseException:
            studio.storage.delete_below(new.prefix)
            raise
        return new.id


class LiveSessions:
    """The tickets and sessions of this process. cores: of which each session keeps its own, if they are shared."""

    def __init__(self, studio: Studio, cores: CoreShares | None = None) -> None:
        self._studio, self._cores = studio, cores
        self._places: dict[str, int] = {}  # in the file of shares, by account
        self._tickets: dict[str, Ticket] = {}
        self._running: dict[str, LiveSession] = {}  # by account
        self._waiting: set[str] = set()  # accounts whose socket has not said yet what it wants
        self._opening: set[str] = set()
        self._lock = threading.Lock()  # sessions are opened by threads

    def ticket(self, account: Account, model: str, given: Mapping[str, object], record: bool) -> str:
        """Return a secret that opens one session. Raises SettingsError, NotFound, TooMany, DiskFull."""
        refuse_unknown(LiveSettings, given)
        settings = from_values(LiveSettings, given)
        find_usable(self._studio.database, account, model, untrained=True)
        self._await_left(account)
        self._refuse_another(account)
        if record:
            refuse_full_disk(self._studio, _RECORDING_BYTES)
        now = time.monotonic()
        self._tickets = {
            secret: one for secret, one in self._tickets.items() if one.until > now and one.account.id != account.id
        }
        secret = secrets.token_urlsafe(32)
        self._tickets[secret] = Ticket(account, model, settings, record, now + _TICKET_S)
        return secret

    @contextmanager
    def admitted(self, secret: str) -> Iterator[Ticket]:
        """Take a ticket, whose socket waits for its session until the block ends. Raises Unauthorised, TooMany."""
        ticket = self._tickets.pop(secret, None)
        if ticket is None or ticket.until < time.monotonic():
            raise Unauthorised(tr("Press Start again: this session was not asked for, or too long ago."), "live_ticket")
        account_id = ticket.account.id
        if account_id in self._waiting:
            raise TooMany(_RUNNING, _BUSY_RETRY_S, "live_running")
        if len(self._waiting) >= _MOST_WAITING:
            raise TooMany(_BUSY, _BUSY_RETRY_S, "live_busy")
        self._waiting.add(account_id)
        try:
            yield ticket
        finally:
            self._waiting.discard(account_id)

    def open(self, ticket: Ticket, rate: int) -> "LiveSession":
        """Begin the session of a ticket; takes seconds. Raises TooMany, SettingsError, and as the engine does."""
        block_ms = ticket.settings.block_ms
        if 4 + 4 * (rate * block_ms // 1000) > LARGEST_LIVE_MESSAGE:
            raise SettingsError(
                tr(
                    "Blocks of {block_ms} ms at {rate} samples a second are too large: choose smaller ones.",
                    block_ms=block_ms,
                    rate=numeral(rate, ","),
                )
            )
        account = ticket.account
        self._await_left(account)
        with self._lock:
            self._refuse_another(account)
            self._opening.add(account.id)
        try:
            if self._cores:
                self._places[account.id] = self._cores.enter(LIVE)
            session = LiveSession(self._studio, self.ended, ticket, rate)
            self._running[account.id] = session
            return session
        except BaseException:
            self._give_cores_back(account)
            raise
        finally:
            self._opening.discard(account.id)

    def ended(self, session: "LiveSession") -> None:
        """Forget a session."""
        if self._running.get(session.account.id) is session:
            self._give_cores_back(session.account)
            del self._running[session.account.id]
        session.over.set()

    def _give_cores_back(self, account: Account) -> None:
        place = self._places.pop(account.id, None)
        if self._cores and place is not None:
            self._cores.leave(place)

    def _await_left(self, account: Account) -> None:
        """Wait for the end of a session that is ending: whoever reloads the page can begin again at once."""
        session = self._running.get(account.id)
        if session is not None and session.is_left:
            session.over.wait(_LEFT_S)

    def _refuse_another(self, account: Account) -> None:
        if account.id in self._running or account.id in self._opening:
            raise TooMany(_RUNNING, _BUSY_RETRY_S, "live_running")
        if len(self._running) + len(self._opening) >= max(1, usable_cores() - 1):
            raise TooMany(_BUSY, _BUSY_RETRY_S, "live_busy")

    def voices(self, account: Account) -> list[LiveVoice]:
        """Return the voices that can convert, in the order of their cards."""
        return [
            self._voice(model)
            for model in sorted(all_models(self._studio.database, account), key=lambda model: model.is_demo)
            if (model.voice_key is not None or model.is_demo or model.is_usable_untrained)
            and not model.is_earlier
            and model.card.kind != "rvc"
        ]

    def _voice(self, model: Model) -> LiveVoice:
        card = card_of(self._studio, model)
        ends = {style: ends_of(model, card, style == SINGING) for style in (SINGING, SPEECH)}
        return LiveVoice(id=model.id, name=model.name, untrained=model.is_usable_untrained, ends=ends)
