"""Comping: one take out of several, phrase by phrase, joined where the recording is quiet.

All takes of a recording are equally long and keep its timing, so a join needs no alignment, only a place and a
cross-fade. The place is the quietest moment between two phrases. The cross-fade keeps the power whatever the takes have
in common there: with gains 1 - t and t and the correlation r of two takes, the sum has (1 - t)² + t² + 2 t (1 - t) r
times the power of one of them, by whose root it is divided (Fink, Holters and Zölzer, "Signal-matched
power-complementary cross-fading and dry-wet mixing", DAFx 2016). Equal takes (r = 1) are thus faded linearly, unrelated
ones (r = 0) with equal power.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from engine.analysis.loudness import SILENCE_DB, quietest_frame
from engine.analysis.phrases import Phrase
from engine.audio.files import Audio, AudioWriter, Recording, audio_of, open_audio
from engine.audio.session_metadata import place_of
from engine.audio.streams import BLOCK_S, Reader, Source, at_engine_rate
from engine.errors import EditError, SettingsError
from engine.progress import Report, no_report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.texts import ntr, numeral, tr
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE, decibels, in_words

FADE_S = 0.03
_SHORTEST_PART_S = 2 * FADE_S
_SAME_LENGTH_S = 0.1  # what encoders add to a file
_LEAST_LIKENESS = 0.6  # of levels: takes of a recording reach 0.88, with effects 0.80, those of others 0.33
_LEAST_CHANGE_DB = 2.0  # standard deviation of levels that tell recordings apart
_HEARD_DB = 50.0  # below the loudest frame
_SMOOTH_FRAMES = 5  # a join lies in this much quiet, not in one low frame
_LEAST_CORRELATION = 0.0  # of opposite phases, whose sum could only be raised to full power by raising its noise


@dataclass(frozen=True)
class CompPart:
    """From `start_s` to the next part, this take sounds.

    - start_s: where it begins, in seconds
    - take: the first take is 0
    """

    start_s: float
    take: int


def joins(phrases: Sequence[Phrase], loudness_db: np.ndarray) -> list[float]:
    """Find where the part of each phrase begins: in the quietest moment before it.

    Parameters
    ----------
    phrases : sequence of Phrase
        Of the recording, in order of time.
    loudness_db : float (frames,)
        Of the recording, in dB of full scale.

    Returns
    -------
    list of float
        Seconds, the first is 0.

    Examples
    --------
    >>> level = np.full(300, -60.0)
    >>> level[20:100] = level[180:280] = -20.0
    >>> joins([Phrase(0.2, 1.0), Phrase(1.8, 2.8)], level)
    [0.0, 1.4]
    """
    smooth = np.convolve(loudness_db, np.ones(_SMOOTH_FRAMES) / _SMOOTH_FRAMES, "same")
    found = [0.0]
    for before, after in pairwise(phrases):
        start, stop = round(before.end_s * FRAME_RATE), round(after.start_s * FRAME_RATE) + 1
        found.append(quietest_frame(np.round(smooth, 1), start, stop) / FRAME_RATE)
    return found


def parts_of(starts_s: Sequence[float], choice: Sequence[int]) -> list[CompPart]:
    """Return the parts for a take chosen for each phrase; neighbours of the same take are one part.

    Parameters
    ----------
    starts_s : sequence of float
        Where the parts of the phrases begin, as `joins` returns it.
    choice : sequence of int
        A take for each phrase; the first take is 0.

    Returns
    -------
    list of CompPart
        For `comp` and `comp_files`.

    Raises
    ------
    SettingsError
        If there is not exactly one choice for each phrase.

    Examples
    --------
    >>> parts_of([0.0, 1.4, 3.0], [1, 1, 0])
    [CompPart(start_s=0.0, take=1), CompPart(start_s=3.0, take=0)]
    """
    if len(choice) != len(starts_s):
        count = len(starts_s)
        raise SettingsError(
            ntr(
                "Choose one take for each phrase: the recording has {count} phrase, not {choice}.",
                "Choose one take for each phrase: the recording has {count} phrases, not {choice}.",
                count=count,
                choice=len(choice),
            )
        )
    parts = [CompPart(start_s, take) for start_s, take in zip(starts_s, choice, strict=True)]
    return [part for number, part in enumerate(parts) if number == 0 or part.take != parts[number - 1].take]


def comp(takes: Sequence[Recording], parts: Sequence[CompPart]) -> Audio:
    """Make one take out of several, exactly as long as they are.

    Parameters
    ----------
    takes : sequence of Audio, Path, str or pair (samples, rate)
        Takes of one recording.
    parts : sequence of CompPart
        In order of time, the first from 0 s.

    Returns
    -------
    Audio
        With the rate and the channels of the takes.

    Raises
    ------
    EditError
        If the takes differ in length, rate or channels.
    SettingsError
        For a part that is unknown, too short, or not in order.
    AudioError
        For a take that cannot be read.

    Examples
    --------
    >>> takes = [Audio(np.full((1, 44_100), level, np.float32), 44_100) for level in (0.1, 0.3)]
    >>> one = comp(takes, [CompPart(0.0, 0), CompPart(0.5, 1)])
    >>> one.sample_count, [round(float(sample), 1) for sample in one.samples[0, [0, -1]]]
    (44100, [0.1, 0.3])
    """
    held = [audio_of(take) for take in takes]
    rate = _refuse_unlike(held)
    return Audio(np.concatenate(list(_pieces(held, parts)), 1), rate, held[0].statement)


def comp_files(
    takes: Sequence[Path | str],
    parts: Sequence[CompPart],
    target: Path | str,
    report: Report = no_report,
    statement: Statement | None = None,
    installation: Installation | None = None,
) -> str | None:
    """Write one take out of several files of any length.

    Parameters
    ----------
    takes : sequence of Path or str
        Takes of one recording.
    parts : sequence of CompPart
        In order of time, the first from 0 s.
    target : Path or str
        The suffix selects its format.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled; then nothing is written.
    statement, installation
        As in AudioWriter.

    Returns
    -------
    str or None
        Why it carries no content credentials, if it should.

    Raises
    ------
    EditError, SettingsError
        As `comp`; then nothing is written.
    AudioError
        For a file that cannot be read or written.

    Examples
    --------
    >>> from engine import write_audio
    >>> takes = ["take-1.wav", "take-2.wav"]
    >>> for path, level in zip(takes, (0.1, 0.3)):
    ...     write_audio(path, Audio(np.full((1, 44_100), level, np.float32), 44_100))
    >>> comp_files(takes, [CompPart(0.0, 0), CompPart(0.5, 1)], "comp.wav")
    >>> Path("comp.wav").exists()
    True
    """
    with ExitStack() as stack:
        sources = [stack.enter_context(open_audio(path)) for path in takes]
        rate = _refuse_unlike(sources)
        writer = stack.enter_context(
            AudioWriter(target, rate, sources[0].channels, statement, installation, place_of(sources[0].path))
        )
        written, length_s = 0, sources[0].duration_s
        for piece in _pieces(sources, parts):
            writer.write(piece)
            written += piece.shape[1]
            report(min(1.0, written / rate / length_s) if length_s else 0.5, tr("comping"))
    return writer.unsigned


def refuse_other_recordings(recording: Path, takes: Sequence[Path]) -> None:
    """Raise EditError for a take of another recording: one that is not as long, or is loud where this one is quiet.

    Takes follow the loudness of their recording, also with effects. Of a recording whose loudness hardly changes only
    the length tells. Raises AudioError for a file that cannot be read.

    >>> refuse_other_recordings(Path("vocal.flac"), [Path("vocal.flac")])
    """
    own = _levels_db(recording)
    for take in takes:
        found = _levels_db(take)
        if abs(len(found) - len(own)) > _SAME_LENGTH_S * FRAME_RATE:
            raise EditError(
                tr(
                    '"{name}" lasts {found} and "{recording}" {own}: choose takes of this recording.',
                    name=take.name,
                    found=in_words(len(found) / FRAME_RATE),
                    recording=recording.name,
                    own=in_words(len(own) / FRAME_RATE),
                )
            )
        if _likeness(own, found) < _LEAST_LIKENESS:
            raise EditError(
                tr(
                    '"{name}" is a take of a different recording from "{recording}": choose takes of the same '
                    "recording.",
                    name=take.name,
                    recording=recording.name,
                )
            )


def _levels_db(path: Path) -> np.ndarray:
    """Measure the level of each frame, float64 (frames,)."""
    levels = []
    with open_audio(path) as source:
        reader = Reader(at_engine_rate(source), source.channels)
        while (block := reader.read(BLOCK_S * SAMPLE_RATE)).shape[1]:
            power = np.square(block, dtype=float).mean(0)
            frames = np.pad(power, (0, -len(power) % HOP)).reshape(-1, HOP)
            levels.append(decibels(np.sqrt(frames.mean(1)), SILENCE_DB))
    return np.concatenate(levels) if levels else np.zeros(0)


def _likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Return the correlation of two curves of levels; 1 where one of them says nothing."""
    count = min(len(one), len(other))
    heard = [np.maximum(levels[:count], levels.max(initial=SILENCE_DB) - _HEARD_DB) for levels in (one, other)]
    if min(levels.std() if count else 0.0 for levels in heard) < _LEAST_CHANGE_DB:
        return 1.0
    return float(np.corrcoef(*heard)[0, 1])


def _refuse_unlike(takes: Sequence[Source]) -> int:
    if not takes:
        raise EditError(tr("Give the takes to choose from."))
    if len({(take.rate, take.channels) for take in takes}) > 1:
        raise EditError(tr("The takes differ in sample rate or channels: they are not takes of one recording."))
    return takes[0].rate


def _pieces(takes: Sequence[Source], parts: Sequence[CompPart]) -> Iterator[np.ndarray]:
    """Yield samples (channels, n) of the comp. All takes are read to the end, so that unequal lengths are found."""
    _refuse_wrong_parts(parts, len(takes))
    rate = takes[0].rate
    half, block = round(FADE_S * rate / 2), BLOCK_S * rate
    streams = _Streams(takes, block)
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        if following is None:
            while (pieces := streams.read(block)).shape[2]:
                yield pieces[part.take]
            return
        stop = round(following.start_s * rate) - half
        while streams.position < stop:
            yield streams.read(min(block, stop - streams.position), whole=True)[part.take]
        both = streams.read(2 * half, whole=True)
        yield _cross_fade(both[part.take], both[following.take])


class _Streams:
    """The takes, read together: (takes, channels, n)."""

    def __init__(self, takes: Sequence[Source], block: int) -> None:
        self._readers = [Reader(take.blocks(block), take.channels) for take in takes]
        self.position = 0

    def read(self, count: int, whole: bool = False) -> np.ndarray:
        """Return the next samples; whole: all `count` of them must be there. Raises EditError, SettingsError."""
        pieces = [reader.read(count) for reader in self._readers]
        lengths = {piece.shape[1] for piece in pieces}
        if len(lengths) > 1:
            raise EditError(tr("The takes are not equally long: they are not takes of one recording."))
        if whole and lengths != {count}:
            raise SettingsError(
                ntr(
                    "A part begins after the end of the takes, which are {position} sample long.",
                    "A part begins after the end of the takes, which are {position} samples long.",
                    position=self.position,
                )
            )
        self.position += count
        return np.stack(pieces)


def _refuse_wrong_parts(parts: Sequence[CompPart], takes: int) -> None:
    starts = [part.start_s for part in parts]
    if not parts or starts[0] != 0.0:
        raise SettingsError(tr("The first part must begin at 0 s."))
    if any(not round(later - earlier, 6) >= _SHORTEST_PART_S for earlier, later in pairwise(starts)):  # to the sample
        raise SettingsError(
            tr(
                "The parts must be in order of time, and at least {shortest_part_s} s long.",
                shortest_part_s=numeral(_SHORTEST_PART_S, "g"),
            )
        )
    for part in parts:
        if not 0 <= part.take < takes:
            raise SettingsError(tr("There is no take {take}: there are {takes}.", take=part.take + 1, takes=takes))


def _cross_fade(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Fade from one take to the other, (channels, n) each, at equal power for the correlation that they have."""
    rise = (np.arange(before.shape[1]) + 0.5) / before.shape[1]
    energy = float(np.sqrt(np.square(before, dtype=float).sum() * np.square(after, dtype=float).sum()))
    common = float((before.astype(float) * after).sum()) / energy if energy else 1.0
    common = max(common, _LEAST_CORRELATION)
    power = (1 - rise) ** 2 + rise**2 + 2 * rise * (1 - rise) * common
    return ((before * (1 - rise) + after * rise) / np.sqrt(power)).astype(np.float32)
