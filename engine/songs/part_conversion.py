"""Convert stretches of a recording, each to its voice.

The stretches of each voice are converted together, so that all of them get the same transposition and are measured as
one singer, and laid back where they were. They meet in the quietest place within a second of the time given, in a short
cross-fade; every sample stays where it was.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from engine.analysis.loudness import measure_loudness, quietest_frame
from engine.analysis.style import Style
from engine.audio.cross_fades import cross_fade, rise
from engine.audio.files import AudioWriter, open_audio
from engine.audio.headroom import Headroom, Lowered, Metered
from engine.audio.session_metadata import place_of
from engine.audio.streams import Reader, at_engine_rate
from engine.conversion.convert import convert_file
from engine.conversion.settings import Chosen
from engine.devices import AUTO
from engine.errors import SettingsError
from engine.features.survey import Survey
from engine.files import as_path
from engine.progress import Report, no_report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement, file_digest, record_digest
from engine.songs.parts import KEEP, Part, checked_parts, clock
from engine.songs.separation import float_file
from engine.texts import joined, tr
from engine.units import HOP, SAMPLE_RATE
from engine.voices.imported import AnyVoice
from engine.workers import Threads

_SEARCH_S = 1.0  # on both sides of the time given, for a quiet place
_AROUND = SAMPLE_RATE // 2  # samples converted on both sides of a stretch, for its edges
_FADE = 1324  # samples: 30 ms
_BLOCK = 1 << 17

VoiceNamed = Callable[[str], AnyVoice]


@dataclass(frozen=True)
class PartsConversion:
    """A recording in several voices.

    - joins_s: where the voices change, in seconds
    - transposes: semitones of each voice
    - styles: style of what each voice sings or speaks
    - statement: what the result states of how it was made
    - unsigned: why it has no content credentials
    - notes_warning: on notes beyond the range, or sung in another octave
    - level_warning: on levels above full scale
    - lowered_db: by how much the result is softer than the recording, because that is above full scale
    """

    joins_s: list[float]
    transposes: dict[str, float]
    styles: dict[str, Style]
    statement: Statement
    unsigned: str | None
    notes_warning: str | None = None
    level_warning: str | None = None
    lowered_db: float = 0.0


@dataclass(frozen=True)
class Work:
    """Where and for whom a song is computed.

    - device: auto, cpu, or a GPU such as cuda or mps
    - installation: signs the content credentials; by default that of the environment
    - warn: receives a sentence where something is wrong with a recording, before it is converted
    - threads: as for `convert`
    """

    device: str = AUTO
    installation: Installation | None = None
    warn: Callable[[str], None] = lambda sentence: None
    threads: Threads | None = None


@dataclass(frozen=True)
class _Stretch:
    voice: str
    start: int  # samples at SAMPLE_RATE
    stop: int

    def around(self, count: int) -> tuple[int, int]:
        """Return the samples that are converted, of a recording of `count`."""
        return max(0, self.start - _AROUND), min(count, self.stop + _AROUND)


def convert_parts(
    source: Path | str,
    target: Path | str,
    parts: Sequence[Part],
    voice_named: VoiceNamed,
    settings: Chosen | None = None,
    report: Report = no_report,
    work: Work | None = None,
    surveyed: Callable[[Survey], None] = Survey.refuse_silence,
) -> PartsConversion:
    """Convert a file, each part to its voice; as long as the source, at SAMPLE_RATE.

    Parameters
    ----------
    source : Path or str
        One vocal.
    target : Path or str
        The suffix selects its format.
    parts : sequence of Part
        As `read_parts` returns them.
    voice_named : callable
        Returns the voice with an id, such as `load_voice`.
    settings, report
        As in `convert_file`.
    work : Work, optional
        Where and for whom it is computed.
    surveyed : callable
        As of `convert_file`; of several voices' stretches it receives those that say most of the recording, once all
        are
        converted.

    Returns
    -------
    PartsConversion
        Where the voices change, and how they were made.

    Raises
    ------
    SettingsError
        For parts that begin after the end, and as `convert_file`.
    AudioError, VoiceError
        As `convert_file`.

    Examples
    --------
    >>> from engine import load_voice, read_parts
    >>> parts = read_parts("kathleen, 0:01.5 keep")
    >>> convert_parts("vocal.flac", "kathleen.wav", parts, load_voice).transposes
    {'kathleen': ...}
    """
    source, target = as_path(source), Path(target)
    parts, work = checked_parts(parts), work or Work()
    count, headroom = _measured(source)
    _refuse_beyond(parts, count)
    stretches = _stretches(parts, quiet_joins(source, [part.start_s for part in parts[1:]]), count)
    if len(stretches) == 1 and stretches[0].voice != KEEP:
        only = voice_named(parts[0].voice)
        whole = convert_file(
            source, [target], only, settings, report, work.device, work.installation, work.threads, surveyed
        )
        name = stretches[0].voice
        of_file = (whole.statement, whole.unsigned, whole.notes_warning, headroom.warning, headroom.lowered_db)
        return PartsConversion([], {name: whole.transpose}, {name: whole.style}, *of_file)
    voices = {name: voice_named(name) for name in dict.fromkeys(one.voice for one in stretches) if name != KEEP}
    transposes: dict[str, float] = {}
    styles: dict[str, Style] = {}
    surveys: list[Survey] = []
    statements, warnings, done = [], [], 0
    with TemporaryDirectory(dir=target.parent, prefix=".parts-") as folder:
        place, gathered = Path(folder), Path(folder, "gathered.wav")
        for name, voice in voices.items():
            length = sum(one.stop - one.start for one in stretches if one.voice == name)
            _gather(source, gathered, [one for one in stretches if one.voice == name], count, headroom)

            def share(fraction: float, message: str, done: int = done, length: int = length) -> None:
                report((done + fraction * length) / count, message)

            # the whole is signed instead
            off = replace(work.installation or Installation.from_environment(), signs=False)
            sung = [place / f"{name}.wav"]
            found = convert_file(gathered, sung, voice, settings, share, work.device, off, work.threads, surveys.append)
            transposes[name], styles[name] = found.transpose, found.style
            statements.append(found.statement)
            warnings.append(found.notes_warning)
            done += length
        if surveys:
            surveyed(min(surveys, key=_uninformative))
        statement = _statement(statements, voices, stretches, source)
        with open_audio(source) as opened:
            channels = opened.channels
        with AudioWriter(target, SAMPLE_RATE, channels, statement, work.installation, place_of(source)) as writer:
            for piece in _assembled(source, place, stretches, count, headroom):
                writer.write(piece)
    joins_s = [one.start / SAMPLE_RATE for one in stretches[1:]]
    notes_warning = joined(" ", filter(None, warnings)) or None
    return PartsConversion(
        joins_s, transposes, styles, statement, writer.unsigned, notes_warning, headroom.warning, headroom.lowered_db
    )


def _refuse_beyond(parts: Sequence[Part], count: int) -> None:
    for part in parts[1:]:
        if part.start_s >= count / SAMPLE_RATE:
            raise SettingsError(
                tr(
                    "The part from {start_s} begins after the end, at {count}.",
                    start_s=clock(part.start_s),
                    count=clock(count / SAMPLE_RATE),
                )
            )


def _uninformative(survey: Survey) -> tuple[bool, bool, bool]:
    """Return how little stretches say of a recording, since a voice may rest in them: whether they are silent, whether
    there is no voice in them, and whether nothing is wrong with it."""
    dryness = survey.dryness
    assert dryness is not None  # it was made of a recording
    return survey.is_silent, dryness.presence.warning is not None, dryness.warning is None


def quiet_joins(source: Path, wanted_s: Sequence[float]) -> list[int]:
    """Return the quietest place within a second of each time, in samples at SAMPLE_RATE; times must rise."""
    joins = []
    with open_audio(source) as opened:
        reader = Reader(at_engine_rate(opened), opened.channels)
        held, first = np.zeros((opened.channels, 0), np.float32), 0
        for number, time_s in enumerate(wanted_s):
            # half way to its neighbours at most, so that the joins stay in order
            near_s = min([_SEARCH_S, *(abs(time_s - other) / 2 for other in _neighbours(wanted_s, number))])
            start, stop = (max(0, round((time_s + side * near_s) * SAMPLE_RATE)) for side in (-1, 1))
            if start > first + held.shape[1]:
                reader.skip_to(start)
                held, first = held[:, :0], reader.position
            held, first = held[:, max(0, start - first) :], max(first, start)
            held = np.concatenate([held, reader.read(max(0, stop - first - held.shape[1]))], axis=1)
            loudness = np.max([measure_loudness(channel) for channel in held[:, : stop - first]], axis=0)
            smooth = np.convolve(np.pad(loudness, 4, "edge"), np.ones(9) / 9, "valid")
            joins.append(first + quietest_frame(smooth, 0, max(1, len(smooth) - 1)) * HOP)
    return joins


def _neighbours(times_s: Sequence[float], number: int) -> list[float]:
    return [times_s[other] for other in (number - 1, number + 1) if 0 <= other < len(times_s)]


def _stretches(parts: Sequence[Part], joins: Sequence[int], count: int) -> list[_Stretch]:
    """Return the stretches, neighbours in the same voice as one."""
    found: list[_Stretch] = []
    for part, start, stop in zip(parts, [0, *joins], [*joins, count], strict=True):
        if found and found[-1].voice == part.voice:
            found[-1] = replace(found[-1], stop=stop)
        else:
            found.append(_Stretch(part.voice, start, stop))
    return found


def _measured(source: Path) -> tuple[int, Headroom]:
    """Return how many samples a file has at SAMPLE_RATE, and its headroom."""
    with open_audio(source) as opened:
        metered = Metered(opened)
        return sum(block.shape[1] for block in at_engine_rate(metered)), metered.headroom


def _gather(source: Path, target: Path, stretches: Sequence[_Stretch], count: int, headroom: Headroom) -> None:
    """Write the stretches of one voice, each with what surrounds it, one after the other."""
    with ExitStack() as stack:
        opened = stack.enter_context(open_audio(source))
        file = stack.enter_context(float_file(target, opened.channels))
        for stretch in stretches:
            start, stop = stretch.around(count)
            # the surroundings of two stretches may overlap, and a reader only goes forward
            again = stack.enter_context(open_audio(source))
            reader = Reader(at_engine_rate(Lowered(again, headroom.lowered_db)), again.channels)
            reader.skip_to(start)
            while reader.position < stop and (piece := reader.read(min(_BLOCK, stop - reader.position))).shape[1]:
                file.write(piece.T)


def _assembled(
    source: Path, place: Path, stretches: Sequence[_Stretch], count: int, headroom: Headroom
) -> Iterator[np.ndarray]:
    """Yield the stretches one after the other, cross-faded where they meet."""
    fade = rise(_FADE)
    gathered = dict.fromkeys((one.voice for one in stretches), 0)  # samples of earlier stretches in the voice's file
    tail: np.ndarray | None = None
    with ExitStack() as stack:
        readers = {}
        for name in gathered:
            opened = stack.enter_context(open_audio(source if name == KEEP else place / f"{name}.wav"))
            lowered = Lowered(opened, headroom.lowered_db if name == KEEP else 0.0)
            readers[name] = Reader(at_engine_rate(lowered), opened.channels)
        for stretch in stretches:
            reader, (around, end) = readers[stretch.voice], stretch.around(count)
            first = stretch.start - (_FADE // 2 if tail is not None else 0)
            rest = min(count, stretch.stop + _FADE // 2) - first
            kept = 0 if stretch.stop == count else _FADE
            reader.skip_to(first if stretch.voice == KEEP else gathered[stretch.voice] + first - around)
            gathered[stretch.voice] += end - around
            if tail is not None:
                head = reader.read(_FADE)
                rest -= _FADE
                yield cross_fade(tail, head, fade)
            while rest > kept and (piece := reader.read(min(_BLOCK, rest - kept))).shape[1]:
                rest -= piece.shape[1]
                yield piece
            tail = reader.read(kept)


def _statement(
    statements: Sequence[Statement], voices: dict[str, AnyVoice], stretches: Sequence[_Stretch], source: Path
) -> Statement:
    """Return what the whole states: that of its voice, or all voices with their stretches."""
    parts = [asdict(Part(round(one.start / SAMPLE_RATE, 3), one.voice)) for one in stretches]
    first = statements[0] if statements else None
    if first is None:
        raise SettingsError(tr("All parts are kept as they are: give at least one of them a voice."))
    consents = {name: record_digest(voice.card.consent) or "" for name, voice in voices.items()}
    return replace(
        first,
        voice=" ".join(voices),
        voice_name=", ".join(voice.card.name for voice in voices.values()),
        consent_sha256=first.consent_sha256 if len(voices) == 1 else record_digest(consents),
        settings={**first.settings, "parts": parts},
        source_sha256=file_digest(source),
    )
