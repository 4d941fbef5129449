"""A live conversion in a process of its own: blocks go through a pipe, so that a crash ends one session and no more."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

import numpy as np

from engine.errors import EngineError, SettingsError
from engine.live.settings import LiveSettings
from engine.texts import numeral, tr
from studio.errors import Unavailable
from studio.executors.child import Child
from studio.store.records.codec import Json

if TYPE_CHECKING:
    from engine.live.session import Recorded  # loads torch

_START_S = 60.0  # until the networks are loaded, on a slow machine
_BLOCK_S = 5.0  # until a block is answered
_ENOUGH = 0.9  # of real time, from where on the machine is too slow
_GONE = tr("The live conversion has ended unexpectedly. Start it again.")
_RETRY_S = 5.0


Changes = Mapping[str, bool | int | float | str | None]  # of settings, `bypass`, `record`, or `voice` (its folder)
T = TypeVar("T")
Given = TypeVar("Given")


class Facts(TypedDict):
    """Of a session: sample rate, block, lag and reserve in samples, delay, and the share of real time it takes."""

    rate: int
    block: int
    lag: int
    reserve: int
    delay_ms: int
    work: float


class LiveProcess:
    """A converter in another process; one thread at a time converts. Raises EngineError if it cannot start.
    folder: where dry.wav, converted.wav and profile.safetensors are kept."""

    def __init__(self, voice: Path, settings: LiveSettings, rate: int, folder: Path, record: bool) -> None:
        self._child = Child("live conversion", _serve, voice, settings, rate, folder, record)
        self._lock = threading.Lock()
        try:
            self.facts = self._asked(_Session.begun, None, _START_S)
        except BaseException:
            self.close()
            raise

    def convert(self, block: bytes) -> tuple[bytes, Json]:
        """Convert a block of float32 samples; return as many, and what a display shows. Raises Unavailable."""
        return self._asked(_Session.convert, block, _BLOCK_S)

    def change(self, values: Changes) -> None:
        """Change settings, `bypass`, or `voice` (its folder), from one of the next blocks on; `record` begins then."""
        self._asked(_Session.change, dict(values), _BLOCK_S)

    def finish(self) -> "Recorded | None":
        """End the session and return what was recorded; None if nothing was."""
        try:
            return self._asked(_Session.finish, None, _START_S)
        finally:
            self.close()

    def close(self) -> None:
        """End the process at once."""
        self._child.end(1.0)

    @property
    def pid(self) -> int | None:
        return self._child.pid

    def _asked(self, what: Callable[["_Session", Given], T], given: Given, patience_s: float) -> T:
        """Return what a method of the session in the process returns."""
        with self._lock:
            try:
                kind, answer = cast(tuple[str, T], self._child.ask((what.__name__, given), patience_s))
            except (EOFError, OSError) as cause:
                raise Unavailable(_GONE, _RETRY_S, "live_ended") from cause
        if kind == "error":
            raise SettingsError(cast(str, answer))
        return answer


def _serve(
    pipe: Connection, voice: Path, settings: LiveSettings, rate: int, folder: Path, record: bool
) -> None:  # pragma: no cover - in a process of its own
    """Answer messages until the pipe ends."""
    import signal

    import torch

    from engine.live.pipe import real_time, short_searches

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends us
    torch.set_num_threads(1)
    with real_time():
        try:
            session = _Session(voice, settings, rate, folder, record)
        except EngineError as error:
            pipe.send(("error", str(error)))
            return
        with suppress(EOFError, OSError), short_searches():
            while True:
                kind, given = pipe.recv()
                try:
                    pipe.send(("done", getattr(session, kind)(given)))
                except EngineError as error:
                    pipe.send(("error", str(error)))
                if kind == "finish":
                    return


class _Session:
    """What runs in the process."""

    def __init__(self, voice: Path, settings: LiveSettings, rate: int, folder: Path, record: bool) -> None:
        from engine.live.converter import LiveConverter
        from engine.live.delay_measurement import warm_up
        from engine.live.session import Recording
        from engine.live.speaker import SpeakerProfile
        from engine.voices.voice import load_voice

        self._voice = load_voice(voice)
        work = warm_up(LiveConverter(self._voice, settings, rate, whole_blocks=True))
        if work > _ENOUGH:
            raise SettingsError(
                tr(
                    "This machine is too slow for blocks of {block_ms} ms: each would take {work} ms. Choose larger "
                    "blocks, or close other programs.",
                    block_ms=settings.block_ms,
                    work=numeral(work * settings.block_ms, ".0f"),
                )
            )
        self._folder, self._profile_path, profile = folder, folder / "profile.safetensors", None
        with suppress(SettingsError):
            profile = SpeakerProfile.load(self._profile_path)
        self._converter = LiveConverter(self._voice, settings, rate, profile, whole_blocks=True)
        self._recording = Recording(folder, self._voice, settings, rate) if record else None
        self._facts = Facts(
            rate=rate,
            block=self._converter.block,
            lag=self._converter.lag_samples,
            reserve=settings.reserve_ms * rate // 1000,
            delay_ms=round(1000 * self._converter.delay_s),
            work=round(work, 3),
        )

    def begun(self, _: None) -> Facts:
        return self._facts

    def convert(self, block: bytes) -> tuple[bytes, Json]:
        begun = time.perf_counter()
        samples = np.frombuffer(block, np.float32)
        converted = self._converter.convert(samples)
        if self._recording:
            self._recording.write(samples, converted)
        took = (time.perf_counter() - begun) * self._converter.rate / max(len(samples), 1)
        return converted.tobytes(), asdict(self._converter.meter) | {"work": round(took, 3)}

    def change(self, values: Changes) -> None:
        from engine.live.session import Recording
        from engine.voices.voice import load_voice

        values = dict(values)
        folder, bypass, record = (values.pop(name, None) for name in ("voice", "bypass", "record"))
        settings = self._converter.settings.changed(**values)
        if folder is not None:
            self._voice = load_voice(Path(str(folder)))
        is_bypassed = None if bypass is None else bool(bypass)
        self._converter.change(self._voice if folder is not None else None, settings, is_bypassed)
        if record and self._recording is None:
            self._recording = Recording(self._folder, self._voice, settings, self._converter.rate)

    def finish(self, _: None) -> "Recorded | None":
        profile = self._converter.profile
        if profile is not None:
            profile.save(self._profile_path)
        return self._recording.finish() if self._recording else None
