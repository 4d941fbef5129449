"""Mix lanes again: a converted vocal at the loudness and the place its original had, with the backing.

A converted vocal has the place in the stereo field and the tail of its original already (engine/audio/channels.py,
engine/conversion/renderer.py follow its level frame by frame); here it gets its loudness over the whole recording
(ITU-R BS.1770-4), so that it stands to the backing as the original did. Then the sum is kept below the ceiling by one
gain for all of it, measured at four times the rate (BS.1770-4, annex 2): a limiter would change the balance.

Files are read in up to three passes, a block at a time: measure the loudness, measure the peak, write.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import scipy

from engine.analysis.programme_loudness import LoudnessMeter
from engine.audio.files import AudioWriter, open_audio
from engine.audio.headroom import Metered
from engine.audio.session_metadata import SessionPlace, place_of
from engine.audio.streams import Reader, Source, at_engine_rate
from engine.errors import AudioError, SettingsError
from engine.files import TakesPaths, shown_name
from engine.progress import Report, no_report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement, of_several
from engine.settings import check_settings, setting, with_ranges
from engine.texts import ntr, tr
from engine.units import SAMPLE_RATE

CEILING_DB = -1.0  # true peak; EBU R 128 leaves as much for lossy formats
LARGEST_CORRECTION_DB = 12.0  # of a converted vocal's loudness
SILENT_DB = -60.0  # a fader as far down as this is closed
_BLOCK = 1 << 17  # samples mixed at a time
_OVERSAMPLING = 4
_TAPS_AROUND = 24  # samples on both sides that the interpolation of a peak needs


@with_ranges
@dataclass(frozen=True)
class Fader:
    """One lane's level, and whether it sounds.

    - mute: whether it is silent
    - solo: whether only lanes that are soloed sound
    """

    gain_db: float = setting(0.0, SILENT_DB, 12.0, tr("Level of the lane relative to its original."), step=0.5)
    mute: bool = False
    solo: bool = False
    pan: float = setting(0.0, -1.0, 1.0, tr("Place in the stereo field: -1 is left, 1 is right."), step=0.1)

    def __post_init__(self) -> None:
        """Raise SettingsError for a gain outside its range."""
        check_settings(self)

    @property
    def gain(self) -> float:
        """The gain as a factor, 0 when it is muted or closed."""
        return 0.0 if self.mute or self.gain_db <= SILENT_DB else 10.0 ** (self.gain_db / 20.0)

    def sides(self, channels: int) -> np.ndarray:
        """Return what each channel of the mix is multiplied by, float64 (channels, 1), of the same power wherever the
        lane is.

        1 in the middle; only a stereo mix has places.
        """
        if channels != 2:
            return np.ones((channels, 1))
        angle = np.pi / 4 * (1.0 + self.pan)
        return np.sqrt(2.0) * np.array([[np.cos(angle)], [np.sin(angle)]])


@dataclass(frozen=True)
class Lane(TakesPaths):
    """A recording in the mix.

    - path: its file
    - fader: its level, and whether it sounds
    - offset: samples at SAMPLE_RATE by which it begins after the start of the others; negative if before
    - original: the recording it was converted from; it gets the same loudness
    - statement: what it states, if it is synthetic
    """

    path: Path
    fader: Fader = field(default_factory=Fader)
    offset: int = 0
    original: Path | None = None
    statement: Statement | None = None


@dataclass(frozen=True)
class Mix:
    """What a mix did.

    - sample_count: its length in samples at SAMPLE_RATE
    - gain_db: of the whole, in dB
    - corrections_db: the loudness correction of each lane, in dB
    - unsigned: why it carries no content credentials, if it should
    """

    sample_count: int
    gain_db: float
    corrections_db: list[float]
    unsigned: str | None = None


def mix_files(
    lanes: Sequence[Lane],
    target: Path | str,
    stems: Sequence[Path | str] = (),
    report: Report = no_report,
    installation: Installation | None = None,
) -> Mix:
    """Mix lanes, from the first lane's beginning to the last lane's end, at SAMPLE_RATE.

    Parameters
    ----------
    lanes : sequence of Lane
        A mono lane goes to all channels.
    target : Path or str
        The mix; the suffix selects its format.
    stems : sequence of Path or str
        As many as lanes, or none: each lane as it is in the mix. Together they are the mix, unless a lane is muted.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.
    installation : Installation, optional
        Signs the content credentials; by default that of the environment.

    Returns
    -------
    Mix
        What it did; the files appear together at the end.

    Raises
    ------
    SettingsError
        If no lane sounds.
    AudioError
        If a lane cannot be read or written, or their channels do not fit.

    Examples
    --------
    >>> mix_files([Lane(Path("vocal.flac")), Lane(Path("vocal.flac"), Fader(-6))], "mix.wav").sample_count
    132300
    """
    target, stems = Path(target), [Path(stem) for stem in stems]
    faders = audible([lane.fader for lane in lanes])
    if not any(fader.gain for fader in faders):
        raise SettingsError(tr("The mix is silent: raise a fader, or unmute a lane."))
    if stems and len(stems) != len(lanes):
        raise ValueError(f"{len(lanes)} lanes need as many stems, not {len(stems)}")
    channels = common_channels([(shown_name(lane.path), channels_of(lane.path)) for lane in lanes])
    if channels == 1 and any(fader.pan for fader in faders):
        channels = 2
    corrections_db = [_correction_db(lane) for lane in lanes]
    gains = [
        fader.gain * 10.0 ** (correction_db / 20.0) * fader.sides(channels)
        for fader, correction_db in zip(faders, corrections_db, strict=True)
    ]
    report(0.3, tr("mixing"))
    peak = TruePeak(channels)
    count = 0
    for blocks in _together(lanes, channels):
        peak.push(sum_of(blocks, gains))
        count += blocks[0].shape[1]
        report(min(0.6, 0.3 + count / (count + 60 * SAMPLE_RATE) * 0.3), tr("mixing"))
    gain_db = min(0.0, CEILING_DB - peak.db())
    scaled = [gain * 10.0 ** (gain_db / 20.0) for gain in gains]
    with ExitStack() as stack:
        sounding = [lane.statement for lane, fader in zip(lanes, faders, strict=True) if lane.statement and fader.gain]
        statement = of_several(sounding) if sounding else None
        place = _place_of(lanes)
        writer = stack.enter_context(AudioWriter(target, SAMPLE_RATE, channels, statement, installation, place))
        exported = [
            stack.enter_context(AudioWriter(path, SAMPLE_RATE, channels, lane.statement, installation, place))
            for path, lane in zip(stems, lanes, strict=False)
        ]
        written = 0
        for blocks in _together(lanes, channels):
            writer.write(sum_of(blocks, scaled))
            for stem, block, gain in zip(exported, blocks, scaled, strict=False):
                stem.write(block * gain.astype(np.float32))
            written += blocks[0].shape[1]
            report(0.6 + 0.4 * written / max(count, 1), tr("mixing"))
    return Mix(count, gain_db, corrections_db, writer.unsigned)


def audible(faders: Sequence[Fader]) -> list[Fader]:
    """Return the faders as they count: where one is soloed, all that are not are muted.

    >>> [fader.mute for fader in audible([Fader(solo=True), Fader()])]
    [False, True]
    """
    soloed = any(fader.solo for fader in faders)
    return [replace(fader, mute=fader.mute or (soloed and not fader.solo), solo=False) for fader in faders]


def common_channels(found: Sequence[tuple[str, int]]) -> int:
    """Return how many channels a mix of these has, (file name, channels) each. Raises AudioError if they do not fit.

    >>> common_channels([("vocal.wav", 1), ("backing.wav", 2)])
    2
    """
    named = {channels: name for name, channels in found}
    several = sorted(set(named) - {1})
    if len(several) > 1:
        few, many = several[:2]
        raise AudioError(
            ntr(
                '"{narrow}" has {few} channel and "{wide}" has {many} channels: give both in mono or stereo.',
                '"{narrow}" has {few} channels and "{wide}" has {many} channels: give both in mono or stereo.',
                few=few,
                narrow=named[few],
                wide=named[many],
                many=many,
            )
        )
    return several[0] if several else 1


def channels_of(path: Path) -> int:
    """Return how many channels a file has. Raises AudioError."""
    with open_audio(path) as source:
        return source.channels


def programme_lufs(path: Path) -> float | None:
    """Measure the loudness of a file (ITU-R BS.1770-4); None for silence. Raises AudioError."""
    with open_audio(path) as source:
        return _lufs(source)


def _lufs(source: Source) -> float | None:
    meter = LoudnessMeter(source.rate, source.channels)
    for block in source.blocks(_BLOCK):
        meter.push(block)
    return meter.lufs()


def sum_of(blocks: Sequence[np.ndarray], gains: Sequence[np.ndarray]) -> np.ndarray:
    """Add blocks (channels, n) at these gains (channels, 1), float32."""
    total = np.zeros_like(blocks[0])
    for block, gain in zip(blocks, gains, strict=True):
        if gain.any():
            total += block * gain.astype(np.float32)
    return total


class TruePeak:
    """The highest level between samples too, measured at four times the rate."""

    def __init__(self, channels: int) -> None:
        self._last = np.zeros((channels, 2 * _TAPS_AROUND), np.float32)
        self._peak = 0.0

    def push(self, samples: np.ndarray) -> None:
        """Add the next samples, float32 (channels, n)."""
        joined = np.concatenate([self._last, samples], axis=1)
        self._last = joined[:, -2 * _TAPS_AROUND :]
        highest = float(np.abs(joined).max(initial=0.0))
        if 2.0 * highest > self._peak:  # between samples it is hardly ever 6 dB higher
            # at its ends, where samples are cut off, the interpolation rings; they overlap with the next ones
            edge = _OVERSAMPLING * _TAPS_AROUND
            between = scipy.signal.resample_poly(joined, _OVERSAMPLING, 1, axis=1)[:, edge:-edge]
            self._peak = max(self._peak, highest, float(np.abs(between).max(initial=0.0)))

    def db(self) -> float:
        """Return the peak so far in dB of full scale."""
        return 20.0 * float(np.log10(max(self._peak, 1e-6)))


def _place_of(lanes: Sequence[Lane]) -> SessionPlace | None:
    """Return where a mix lies in the session of the first lane that has a place in one."""
    first = min(0, *(lane.offset for lane in lanes))
    found = ((lane, place_of(lane.path)) for lane in lanes)
    return next((place.at(SAMPLE_RATE).from_sample(first - lane.offset) for lane, place in found if place), None)


def _correction_db(lane: Lane) -> float:
    """Return what brings a converted lane to the loudness of its original; 0 for others, and where one is silent."""
    if lane.original is None:
        return 0.0
    with open_audio(lane.original) as source:
        metered = Metered(source)
        wanted, found = _lufs(metered), programme_lufs(lane.path)
    if wanted is None or found is None:
        return 0.0
    lowered_db = metered.headroom.lowered_db  # when it was converted
    return float(np.clip(wanted - found, -LARGEST_CORRECTION_DB, LARGEST_CORRECTION_DB + lowered_db))


def _together(lanes: Sequence[Lane], channels: int) -> Iterator[list[np.ndarray]]:
    """Yield what all lanes hold at the same time, (channels, n) each, until the last has ended."""
    first = min(0, *(lane.offset for lane in lanes))
    with ExitStack() as stack:
        readers = []
        for lane in lanes:
            source = stack.enter_context(open_audio(lane.path))
            readers.append(
                Reader(_later(at_engine_rate(source), source.channels, lane.offset - first), source.channels)
            )
        while True:
            pieces = [reader.read(_BLOCK) for reader in readers]
            longest = max(piece.shape[1] for piece in pieces)
            if not longest:
                return
            yield [
                np.broadcast_to(np.pad(piece, ((0, 0), (0, longest - piece.shape[1]))), (channels, longest))
                for piece in pieces
            ]


def _later(blocks: Iterator[np.ndarray], channels: int, samples: int) -> Iterator[np.ndarray]:
    """Yield silence of so many samples, then the blocks."""
    for start in range(0, samples, _BLOCK):
        yield np.zeros((channels, min(_BLOCK, samples - start)), np.float32)
    yield from blocks
