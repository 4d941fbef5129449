"""The context of a running task, and publishing its results."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from engine.audio.files import open_audio
from engine.errors import AudioError
from engine.files import named, on_track
from engine.provenance.installation import Installation
from engine.texts import tr
from engine.units import in_words
from studio.errors import Invalid, LeaseLost, NotFound, StudioError, Unavailable
from studio.executors.heartbeat import Heartbeat, Stopping
from studio.executors.retries import LONG_PATIENCE_S, SHORT_PATIENCE_S, retry
from studio.executors.voice_cache import VoiceCache
from studio.settings.environment import Settings, installation_of
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.accounts import Account, account_of_id, account_prefix
from studio.store.catalogue import Model, find_model
from studio.store.database import Database
from studio.store.records.analysis import Analysis
from studio.store.records.codec import written
from studio.store.records.conversion import Conversion
from studio.store.storage import Storage

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from engine.workers import Threads  # loads torch

_RETRY_S = 5.0


@dataclass(frozen=True)
class WorkerContext:
    """The context of a worker process, for any task. number: its index here, to spread workers over GPUs.
    threads: cores that it may use, a number or what gives it now; None: all."""

    settings: Settings
    service: ServiceSettings
    database: Database
    storage: Storage
    voices: VoiceCache
    stopping: Stopping
    log: "FilteringBoundLogger"
    number: int = 0
    threads: "Threads | None" = None

    @property
    def installation(self) -> Installation:
        return installation_of(self.settings, self.service)

    @property
    def device(self) -> str:
        """Return the device to compute on, as the engine names it. Raises SettingsError if it does not work."""
        from engine.devices import working_device

        return working_device(self.service.device).of_several(self.number).identifier

    def keep_to_share(self) -> None:
        """Have torch, in this thread, compute on as many cores as this process may use now."""
        if self.threads is None:
            return
        import torch

        now = self.threads() if callable(self.threads) else self.threads
        if now != torch.get_num_threads():
            torch.set_num_threads(now)


@dataclass(frozen=True)
class Job:
    """A running task. `folder`: its own temporary folder."""

    context: WorkerContext
    task: tasks.Task
    heartbeat: Heartbeat
    folder: Path
    log: "FilteringBoundLogger"

    @cached_property
    def account(self) -> Account:
        return account_of_id(self.context.database, self.task.account_id)

    @property
    def output_prefix(self) -> str:
        """Return the prefix of this attempt's results in the storage; each attempt has its own."""
        return f"{account_prefix(self.account)}tasks/{self.task.id}/{self.task.fence}"

    def publish(
        self,
        result: object | Callable[[Connection], object],
        also: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        """Complete the task with its result, and run `also` in the same transaction. Raises LeaseLost, Unavailable.
        result: the record of its kind, or a function that returns it within that transaction."""

        def write() -> None:
            with self.context.database.write() as connection:
                values = result(connection) if callable(result) else result
                tasks.complete(connection, self.task, written(values))
                also(connection)

        try:
            retry(write, LONG_PATIENCE_S)
        except LeaseLost:
            if not retry(self.is_published, LONG_PATIENCE_S):  # else an earlier try was committed, but its answer lost
                raise

    @contextmanager
    def tolerate(self, event: str) -> Iterator[None]:
        """Log what the studio or its storage fails with in the body, which the task can do without."""
        try:
            yield
        except StudioError as trouble:
            self.log.warning(event, reason=str(trouble))

    def recording(self, asked: Conversion | Analysis) -> Path:
        """Fetch the recording of the task, which texts call what its owner does. Raises NotFound."""
        storage = self.context.storage
        try:
            source = retry(lambda: storage.fetch(asked.input_key, self.folder), SHORT_PATIENCE_S)
        except NotFound as cause:
            raise NotFound(tr("The recording has been deleted: add it again."), "recording_gone") from cause
        return on_track(named(source, asked.file_name or tr("the recording")), asked.track)

    def store(self, path: Path) -> str:
        """Store a file, or the files of a folder, as a result of this attempt; return its key, or their prefix."""
        storage = self.context.storage
        key = self.output_prefix if path.is_dir() else f"{self.output_prefix}/{path.name}"
        put = storage.push_folder if path.is_dir() else storage.put_file
        try:
            retry(lambda: put(path, key), SHORT_PATIENCE_S)
        except NotFound as cause:  # moved, but lost when the storage failed: render it again
            text = tr("The result could not be stored. Try again.")
            raise Unavailable(text, _RETRY_S, "storage_unreachable") from cause
        return key

    def fetch_as(self, key: str, name: str) -> Path:
        """Fetch a stored file into a folder of its own, since several may have the same name. Raises NotFound."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        return retry(lambda: self.context.storage.fetch(key, place), SHORT_PATIENCE_S)

    def refuse_too_long(self, path: Path, takes: int) -> None:
        """Measure a recording, as its header, checked on upload, may be wrong. Raises Invalid, and AudioError if it
        holds nothing."""
        service = self.context.service
        with open_audio(path) as source:
            most_minutes = min(
                service.longest_audio_minutes, service.largest_conversion_minutes / (source.channels * takes)
            )
            longest, samples = most_minutes * 60 * source.rate, 0
            for block in source.blocks():
                samples += block.shape[1]
                if samples > longest:
                    longest_said = in_words(60 * most_minutes)
                    text = tr("The recording is longer than {longest_said}, the limit here.", longest_said=longest_said)
                    text += service.raised_by("longest_audio_minutes")
                    raise Invalid([("audio", text)], "audio_too_long")
        if samples == 0:
            raise AudioError(tr("The recording contains no audio."))

    def model(self) -> Model:
        """Return the current row of the task's voice. Raises NotFound."""
        context = self.context
        return retry(lambda: find_model(context.database, self.account, self.task.model_id or ""), SHORT_PATIENCE_S)

    def is_published(self) -> bool:
        """Return whether the task was completed by this attempt."""
        try:
            now = tasks.find(self.context.database, self.task.account_id, self.task.id)
        except NotFound:
            return False
        return now.state == "completed" and now.fence == self.task.fence
