"""A live session: a converter, its thread, and the recordings of what went in and what came out."""

from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from engine.audio.files import AudioWriter
from engine.live.converter import LiveConverter
from engine.live.pipe import DevicePipe, PipeReport
from engine.live.settings import LiveSettings
from engine.progress import Report, no_report
from engine.provenance.statement import Statement, file_digest, record_digest
from engine.texts import tr
from engine.version import __version__
from engine.voices.voice import Voice

TOO_SLOW = 0.95  # of real time: a machine that needs more for its blocks cannot convert live


def live_statement(voice: Voice, settings: LiveSettings, source: Path | None = None) -> Statement:
    """Return what a live recording states about how it was made; source: the file that was converted, if it was one.

    >>> from engine import load_voice
    >>> live_statement(load_voice("koguchi"), LiveSettings()).settings["block_ms"]
    60
    """
    card = voice.card
    digest = file_digest(source) if source else None
    return Statement(card.id, card.name, record_digest(card.consent), asdict(settings), digest, __version__)


def convert_recording(
    samples: np.ndarray, rate: int, voice: Voice, settings: LiveSettings | None = None, report: Report = no_report
) -> tuple[np.ndarray, LiveConverter]:
    """Convert mono samples (n,) as they would be live, without the delay: float32 (n,), and the converter.

    `report` shows progress and may raise Cancelled.

    >>> from engine import load_voice, read_audio
    >>> vocal = read_audio("vocal.flac")
    >>> converted, live = convert_recording(vocal.mono(), vocal.rate, load_voice("koguchi"))
    >>> len(converted) == vocal.sample_count
    True
    """
    converter = LiveConverter(voice, settings, rate, whole_blocks=True)
    block, lag = converter.block, converter.lag_samples
    padded = np.pad(samples, (0, lag + -(len(samples) + lag) % block))
    pieces = []
    for first in range(0, len(padded), block):
        pieces.append(converter.convert(padded[first : first + block]))
        report((first + block) / len(padded), tr("converting"))
    return np.concatenate(pieces)[lag : lag + len(samples)], converter


@dataclass(frozen=True)
class Recorded:
    """How long a recording of a session is, and how it was made."""

    seconds: float
    settings: LiveSettings
    statement: Statement


class Recording:
    """Writes dry.wav and converted.wav into a folder, both from the first sample on."""

    def __init__(self, folder: Path, voice: Voice, settings: LiveSettings, rate: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._statement, self._settings, self._rate, self._count = live_statement(voice, settings), settings, rate, 0
        self.paths = folder / "dry.wav", folder / "converted.wav"
        self._writers = AudioWriter(self.paths[0], rate, 1), AudioWriter(self.paths[1], rate, 1, self._statement)

    def write(self, dry: np.ndarray, converted: np.ndarray) -> None:
        """Append blocks (n,). Raises AudioError, for instance where the disk is full."""
        self._count += len(dry)
        for writer, samples in zip(self._writers, (np.nan_to_num(dry), converted), strict=True):
            writer.write(samples[None])

    def finish(self) -> Recorded | None:
        """Close the files, and return what was recorded; None, and no files, if nothing was written."""
        for writer in self._writers:
            writer.__exit__(None if self._count else EOFError, None, None)
        if not self._count:
            return None
        return Recorded(self._count / self._rate, self._settings, self._statement)


class Performance:
    """Convert for a device, and record into a folder if it is given."""

    def __init__(self, converter: LiveConverter, voice: Voice, record: Path | None = None) -> None:
        self._pipe = DevicePipe(converter, converter.settings.reserve_ms)
        self._muted = False
        self._unwritten: deque[tuple[np.ndarray, np.ndarray]] = deque()
        self._recording = Recording(record, voice, converter.settings, converter.rate) if record else None

    @property
    def converter(self) -> LiveConverter:
        """The converter."""
        return self._pipe.converter

    @property
    def report(self) -> PipeReport:
        """What happened so far."""
        return self._pipe.report

    def __enter__(self) -> "Performance":
        self._pipe.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.__exit__()
        if self._recording:  # what was sung is kept, whatever ended it
            self.flush()
            self._recording.finish()

    @property
    def failure(self) -> BaseException | None:
        """What ended the conversion, if something did."""
        return self._pipe.failure

    def change(
        self, voice: Voice | None = None, settings: LiveSettings | None = None, bypass: bool | None = None
    ) -> None:
        """Change the conversion from the next block on."""
        self.converter.change(voice, settings, bypass)

    def mute(self, muted: bool) -> None:
        """Hold the input back, or let it through again."""
        self._muted = muted

    def exchange(self, block: np.ndarray) -> np.ndarray:
        """Hand in the next samples (n,), and return as many."""
        given = np.zeros_like(block) if self._muted else block
        converted = self._pipe.exchange(given)
        if self._recording:
            self._unwritten.append((given.copy(), converted.copy()))
        return converted

    def flush(self) -> None:
        """Write what has been recorded since; not from the device's thread, which must not wait for a disk."""
        while self._recording and self._unwritten:
            self._recording.write(*self._unwritten.popleft())
