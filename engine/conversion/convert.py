"""Convert a performance to another voice.

`convert` takes a recording in memory, `convert_file` a file of any length. Both survey the whole recording, then
render it window by window.

    recording --> survey (level, timbre, pitch, style) ------------------+
        |                                                                v
        +--> windows --> analyse --> shape pitch --> decode --> synthesize --> match loudness --> place --> cross-fade
"""

import html
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from engine.analysis.keys import find_key
from engine.analysis.pitch import Pitch
from engine.analysis.style import Style
from engine.analysis.windows import Window, cut_windows
from engine.audio.files import Audio, AudioWriter, Recording, audio_of, open_audio
from engine.audio.headroom import Lowered, Metered
from engine.audio.players import players
from engine.audio.result_files import at_result_rate, rate_of_results
from engine.audio.result_format import SOURCE
from engine.audio.session_metadata import place_of
from engine.audio.streams import Source, at_engine_rate
from engine.conversion.edit_data import EditData
from engine.conversion.harmony import NONE, furthest
from engine.conversion.key_fit import best_key_for, fitting_key
from engine.conversion.note_limits import notes_beyond
from engine.conversion.renderer import Renderer, ShapedMelody
from engine.conversion.rendering_step import share_of_own
from engine.conversion.rvc_renderer import renderer_for
from engine.conversion.settings import BEST, REFUSE, ConversionSettings, chosen_by
from engine.conversion.settings import Chosen as Chosen
from engine.devices import AUTO, memory_of, working_device
from engine.errors import SettingsError
from engine.features.analysed_windows import KEPT_FRAMES, AnalysedWindows
from engine.features.survey import Survey, survey_recording
from engine.files import as_path, refuse_overwriting
from engine.networks.base import BaseModel, load_base
from engine.progress import Report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement, file_digest, record_digest
from engine.texts import joined, ntr, numeral, tr
from engine.units import HOP, SAMPLE_RATE
from engine.version import __version__
from engine.voices.imported import AnyVoice, networks_digest, voice_of
from engine.voices.voice import Voice
from engine.workers import Threads, Workers, in_groups

_ANALYSING = tr("analysing")
_SURVEY_WORK, _TAKE_WORK = 0.6, 0.4  # measured, in parts of a conversion with one take


@dataclass(frozen=True, eq=False)
class Take:
    """One converted performance.

    - audio: at the rate that was asked for, with the length and the channels of the recording
    - seed: of its variation and its noise
    - rendered: the same at SAMPLE_RATE, as it was rendered: what edits go on from
    """

    audio: Audio
    seed: int
    rendered: Audio


@dataclass(frozen=True, eq=False, repr=False)
class Conversion:
    """The result of `convert`.

    - takes: the first is the plain conversion
    - transpose: semitones that they are above the recording
    - style: of the recording: melodic, rhythmic or spoken
    - edit_data: for `edit_take`
    - warning: what the user should know of the recording and of its notes
    - lowered_db: by how much all takes are softer than the recording, because it is above full scale
    """

    takes: list[Take]
    transpose: float
    style: Style
    edit_data: EditData
    warning: str | None = None
    lowered_db: float = 0.0

    def __repr__(self) -> str:
        return f"Conversion({_described(len(self.takes), self.style, self.transpose)})"

    def _repr_html_(self) -> str:
        """Return the takes side by side with their players, which notebooks show."""
        shown = {
            tr("Take {number}", number=number): take.audio._repr_html_() or html.escape(repr(take.audio))
            for number, take in enumerate(self.takes, 1)
        }
        return players(shown, _described(len(self.takes), self.style, self.transpose))


@dataclass(frozen=True, eq=False, repr=False)
class FileConversion:
    """The result of `convert_file`.

    - paths: the files of the takes
    - transpose: semitones that they are above the recording
    - style: of the recording: melodic, rhythmic or spoken
    - settings: with which they were made
    - edit_data: for `edit_file`
    - statement: what the takes say of how they were made
    - unsigned: why they carry no content credentials
    - warning: what the user should know of the recording and of its notes
    - notes_warning: the part of it on notes: beyond the range, or sung in another octave
    - lowered_db: by how much all takes are softer than the recording, because it is above full scale
    """

    paths: list[Path]
    transpose: float
    style: Style
    settings: ConversionSettings
    edit_data: EditData
    statement: Statement
    unsigned: str | None = None
    warning: str | None = None
    notes_warning: str | None = None
    lowered_db: float = 0.0

    def __repr__(self) -> str:
        names = ", ".join(str(path) for path in self.paths)
        return f"FileConversion({_described(len(self.paths), self.style, self.transpose)}: {names})"


def _described(takes: int, style: Style, transpose: float) -> str:
    """Describe a conversion in a few words."""
    return tr(
        "{takes}, {style}, transposed by {semitones}",
        takes=ntr("{count} take", "{count} takes", count=takes),
        style=style,
        semitones=ntr("{count} semitone", "{count} semitones", count=numeral(transpose, "+g")),
    )


def convert(
    recording: Recording,
    voice: AnyVoice | str | Path,
    settings: Chosen | None = None,
    report: Report | None = None,
    device: str = AUTO,
    threads: Threads | None = None,
    rate: int | str = SOURCE,
) -> Conversion:
    """Convert a recording in memory to another voice.

    Parameters
    ----------
    recording : Audio, Path, str, open file or pair (samples, rate)
        One dry vocal, sung or spoken, of up to 8 channels.
    voice : Voice, ImportedVoice, str or Path
        Loaded, or as `load_any_voice` takes it: an id, a name, a package.
    settings : ConversionValues, ConversionSettings or callable, optional
        Single settings by their names, such as {"takes": 2}: the others come from the preset for the style of the
        recording, and the transposition is the one that fits the voice. ConversionSettings decide everything. A
        function returns them for the style.
    report : callable, optional
        Receives the progress (0..1, message) and may raise Cancelled.
    device : str
        auto, cpu, or a GPU such as cuda or mps.
    threads : int or callable, optional
        How many windows of the recording are converted at once, or a function that is asked before each further one; by
        default as many as there are cores, or as torch was given. The samples are the same for any number.
    rate : int or str
        Of the takes, in hertz: 44100, 48000, or source, the rate of the recording, but at least 44100.

    Returns
    -------
    Conversion
        Each take has the length and the channels of the recording.

    Raises
    ------
    AudioError
        If it is not a recording, or the file cannot be read.
    VoiceError
        For a voice that is unknown or damaged.
    SettingsError
        For a setting outside its range, notes that a shift moves beyond the range, and a device that does not work or
        runs out of memory.

    Examples
    --------
    >>> conversion = convert("vocal.flac", "koguchi", {"takes": 2})
    >>> conversion
    Conversion(2 takes, melodic, transposed by +0 semitones)
    >>> [take.audio.duration_s for take in conversion.takes]
    [3.0, 3.0]
    """
    audio, voice, chosen = audio_of(recording), voice_of(voice), chosen_by(settings)
    takes, result_rate = 1 if callable(settings) else chosen("melodic").takes, rate_of_results(rate, audio)
    progress = _Progress(report, audio.duration_s, takes)
    with Workers(threads) as workers:
        renderer, transpose = _surveyed(lambda: nullcontext(audio), voice, chosen, progress, device, workers)
        kept = zip(*_rendered(audio, renderer, progress, workers), strict=True)
    source = sha256(audio.samples.tobytes()).hexdigest()
    statement = statement_for(voice, replace(renderer.settings, transpose=transpose), source)
    place = audio.place and audio.place.at(SAMPLE_RATE)
    made = [
        take_at(Audio(np.concatenate(pieces, 1), SAMPLE_RATE, statement, place), seed, result_rate, audio)
        for pieces, seed in zip(kept, renderer.seeds, strict=True)
    ]
    warning = _joined(*audio.notes, _warning(renderer, transpose))
    lowered_db = renderer.survey.headroom.lowered_db
    return Conversion(made, transpose, renderer.survey.style, _edit_data(renderer, transpose), warning, lowered_db)


def convert_file(
    source: Path | str,
    targets: Path | str | Sequence[Path | str],
    voice: AnyVoice | str | Path,
    settings: Chosen | None = None,
    report: Report | None = None,
    device: str = AUTO,
    installation: Installation | None = None,
    threads: Threads | None = None,
    surveyed: Callable[[Survey], None] = Survey.refuse_silence,
) -> FileConversion:
    """Convert a file of any length to another voice, in memory that does not grow with the length.

    Parameters
    ----------
    source : Path or str
        One dry vocal, sung or spoken, of up to 8 channels.
    targets : Path or str, or several
        One file for each take, replaced if it exists; the suffix of each chooses its format.
    voice, settings, report, device
        As for `convert`.
    installation : Installation, optional
        Signs the takes' content credentials; by default that of the environment.
    threads : int or callable, optional
        As for `convert`.
    surveyed : callable
        Receives what is known of the recording before it is converted, and may raise; by default it refuses silence.

    Returns
    -------
    FileConversion
        The files, which appear together at the end, whole or not at all.

    Raises
    ------
    AudioError
        For a file that is silent or cannot be read or written.
    VoiceError
        For a voice that is unknown or damaged.
    SettingsError
        If the targets are not as many as the takes, and as `convert`.

    Examples
    --------
    >>> convert_file("vocal.flac", "koguchi.wav", "koguchi")
    FileConversion(1 take, melodic, transposed by +0 semitones: koguchi.wav)
    """
    source, voice, by_recording = as_path(source), voice_of(voice), chosen_by(settings)
    paths = [Path(one) for one in ([targets] if isinstance(targets, str | os.PathLike) else targets)]
    if not callable(settings):
        _refuse_other_count(by_recording("melodic"), paths)
    refuse_overwriting(source, paths)
    with open_audio(source) as opened:
        progress = _Progress(report, opened.duration_s, len(paths))
    with Workers(threads) as workers, ExitStack() as stack:
        opening = partial(open_audio, source)
        renderer, transpose = _surveyed(opening, voice, by_recording, progress, device, workers)
        surveyed(renderer.survey)
        chosen = renderer.settings
        _refuse_other_count(chosen, paths)
        statement = statement_for(voice, replace(chosen, transpose=transpose), file_digest(source))
        place = place_of(source)
        writers = [
            stack.enter_context(AudioWriter(target, SAMPLE_RATE, opened.channels, statement, installation, place))
            for target in paths
        ]
        for pieces in _rendered(stack.enter_context(opening()), renderer, progress, workers):
            for writer, piece in zip(writers, pieces, strict=True):
                writer.write(piece)
    unsigned = next((writer.unsigned for writer in writers if writer.unsigned), None)
    edit_data = _edit_data(renderer, transpose)
    notes = _joined(*opened.notes, _warning(renderer, transpose))
    told = (notes, _notes_warning(renderer, transpose), renderer.survey.headroom.lowered_db)
    return FileConversion(paths, transpose, renderer.survey.style, chosen, edit_data, statement, unsigned, *told)


def take_at(rendered: Audio, seed: int, rate: int, recording: Audio) -> Take:
    """Return a take of a recording at a rate in hertz."""
    return Take(at_result_rate(rendered, rate, recording), seed, rendered)


def statement_for(voice: AnyVoice, settings: ConversionSettings, source_sha256: str | None) -> Statement:
    """Return what takes of this voice state about how they were made."""
    card = voice.card
    return Statement(card.id, card.name, record_digest(card.consent), asdict(settings), source_sha256, __version__)


def _surveyed(
    opened: Callable[[], AbstractContextManager[Source]],
    voice: AnyVoice,
    chosen_by_style: Callable[[Style], ConversionSettings],
    progress: "_Progress",
    device: str,
    workers: Workers,
) -> tuple[Renderer, float]:
    """Survey a recording, which `opened` gives to be read from its beginning; return what renders it, and the
    transposition."""
    base = base_on(device)
    survey, analysed = _survey(opened, base, progress, workers)
    chosen = chosen_by_style(survey.style)
    if survey.dryness and not survey.dryness.is_close:
        chosen = replace(chosen, texture=0.0)  # or the room and the others would be kept as well (EXPERIMENTS)
    transpose = chosen_transpose(chosen, survey, voice)
    if chosen.harmony != NONE:
        chosen = replace(chosen, harmony_key=chosen_key(chosen, survey))
    if chosen.notes_out_of_range == REFUSE:
        notes_beyond(survey.seconds_of_notes, transpose, furthest(chosen.harmony)).refuse()
    melody = ShapedMelody(chosen, transpose, chosen.harmony_key)
    renderer = renderer_for(base, voice.on(base.device), survey, chosen, melody, analysed=analysed, workers=workers)
    return renderer, transpose


def _survey(
    opened: Callable[[], AbstractContextManager[Source]], base: BaseModel, progress: "_Progress", workers: Workers
) -> tuple[Survey, AnalysedWindows]:
    """Survey a recording; once more, and lower, where it proves to be above full scale."""
    lowered_db = 0.0
    while True:
        analysed = AnalysedWindows(base.listener, KEPT_FRAMES, workers=workers)
        with opened() as source:
            metered = Metered(source)
            lowered = Lowered(metered, lowered_db)
            survey = survey_recording(at_engine_rate(lowered), base, progress.surveyed, analysed, workers)
        if metered.headroom.lowered_db == lowered_db:
            return replace(survey, headroom=metered.headroom), analysed
        lowered_db = metered.headroom.lowered_db


def base_on(device: str) -> BaseModel:
    """Load the base on a device, named as in `engine.devices.choose_device`. Raises SettingsError."""
    return load_base(device=working_device(device).torch_device)


def _refuse_other_count(settings: ConversionSettings, targets: list[Path]) -> None:
    if len(targets) != settings.takes:
        raise SettingsError(
            ntr(
                "{takes} take needs {takes} file to write to, not {targets}.",
                "{takes} takes need {takes} files to write to, not {targets}.",
                takes=settings.takes,
                targets=len(targets),
            )
        )


def chosen_transpose(settings: ConversionSettings, survey: Survey, voice: AnyVoice) -> float:
    """Return the transposition in semitones: that of the settings, or the one that fits the voice and keeps all notes.

    What the voice itself spoke or sang is not moved by `auto`.

    Raises SettingsError for the best key if the voice's range is not known.
    """
    if not isinstance(settings.transpose, str):
        return settings.transpose
    if settings.transpose == BEST:
        return best_key_for(survey.seconds_of_notes, voice.card, survey.style == "melodic").semitones
    if not survey.voiced or (isinstance(voice, Voice) and share_of_own(voice, survey.timbre)):
        return 0
    return fitting_key(survey.pitch, survey.seconds_of_notes, voice.card, survey.style == "melodic")


def chosen_key(settings: ConversionSettings, survey: Survey) -> str:
    """Return the key for a harmony: that of the settings, or that of the recording.

    Raises SettingsError where there are no notes to find it by.
    """
    if settings.harmony_key != AUTO:
        return settings.harmony_key
    found = find_key(survey.seconds_of_notes)
    if found is None:
        raise SettingsError(tr("No notes are sung in this recording, so there is nothing to harmonize."))
    return found


def _rendered(
    source: Source, renderer: Renderer, progress: "_Progress", workers: Workers
) -> Iterator[list[np.ndarray]]:
    """Yield the samples (channels, n) of every take, window by window, without gaps."""
    lowered = Lowered(source, renderer.survey.headroom.lowered_db)
    windows = cut_windows(at_engine_rate(lowered))
    with memory_of(renderer.base.device):
        works = (renderer.rendered(group, progress.rendered) for group in in_groups(windows, renderer.together))
        for group in workers.in_order(works, renderer.together):
            yield from group


def _edit_data(renderer: Renderer, transpose: float) -> EditData:
    survey, sung = renderer.survey, renderer.sung
    return EditData(
        voice=networks_digest(renderer.base, renderer.voice),
        settings=renderer.settings,
        transpose=transpose,
        style=survey.style,
        level_nepers=survey.level.nepers,
        feature_mean=survey.feature_mean.numpy(),
        timbre=survey.timbre.numpy(),
        statistics=survey.pitch,
        bands=survey.bands,
        voiced=survey.voiced,
        voicing=Pitch.joined(window.pitches[0] for window in sung).voicing,
        hertz=np.stack([Pitch.joined(take).hertz for take in zip(*(window.pitches for window in sung), strict=True)]),
        core_starts=np.array([window.core_start for window in sung]),
        phases=np.array([window.phases for window in sung]).T,
        apart=np.array([sum(1 << number for number in window.apart) for window in sung]),
        sustained=survey.sustained.rows.numpy(),
        lowered_db=survey.headroom.lowered_db,
    )


def _warning(renderer: Renderer, transpose: float) -> str | None:
    survey = renderer.survey
    found = (survey.dryness, survey.alternation, survey.headroom)
    return _joined(*(one.warning for one in found if one), _notes_warning(renderer, transpose))


def _notes_warning(renderer: Renderer, transpose: float) -> str | None:
    survey = renderer.survey
    beyond = notes_beyond(survey.seconds_of_notes, transpose, furthest(renderer.settings.harmony))
    return _joined(survey.beyond_warning, beyond.warning)


def _joined(*sentences: str | None) -> str | None:
    return joined(" ", filter(None, sentences)) or None


class _Progress:
    """Turn processed seconds into calls of `report`, if there is one."""

    def __init__(self, report: Report | None, duration_s: float | None, takes: int) -> None:
        self._report, self._duration_s = report, duration_s
        self._survey_share = _SURVEY_WORK / (_SURVEY_WORK + takes * _TAKE_WORK)
        self._rendered_frames = 0.0
        self._show(0.0, _ANALYSING)

    def surveyed(self, seconds: float) -> None:
        self._show(self._survey_share * self._share(seconds), _ANALYSING)

    def rendered(self, window: Window, share: float) -> None:
        """Show that so large a share of the takes of a window is there."""
        self._rendered_frames += share * (window.core_stop - window.core_start)
        done = self._share(self._rendered_frames * HOP / SAMPLE_RATE)
        self._show(self._survey_share + (1 - self._survey_share) * done, tr("converting"))

    def _share(self, seconds: float) -> float:
        return min(1.0, seconds / self._duration_s) if self._duration_s else 0.5

    def _show(self, fraction: float, message: str) -> None:
        if self._report:
            self._report(fraction, message)
