"""Convert a performance to another voice.

`convert` takes a recording in memory, `convert_file` a file of any length. Both survey the whole recording, then
render it window by window.

    recording --> survey (level, timbre, pitch, style) ------------------+
        |                                                                v
        +--> windows --> analyse --> shape pitch --> decode --> synthesize --> match loudness --> place --> cross-fade
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from engine.analysis.pitch import Pitch
from engine.analysis.style import Style
from engine.analysis.windows import Window, cut_windows
from engine.audio.files import Audio, AudioWriter, open_audio
from engine.audio.streams import Source, at_engine_rate
from engine.conversion.edit_data import EditData
from engine.conversion.key_fit import best_key_for, fitting_key
from engine.conversion.note_limits import notes_beyond
from engine.conversion.renderer import Renderer, ShapedMelody
from engine.conversion.rvc_renderer import renderer_for
from engine.conversion.settings import AUTO as AUTO_PRESET
from engine.conversion.settings import BEST, REFUSE, ConversionSettings, by_style
from engine.devices import AUTO, memory_of, working_device
from engine.errors import SettingsError
from engine.features.analysed_windows import KEPT_FRAMES, AnalysedWindows
from engine.features.survey import Survey, survey_recording
from engine.files import refuse_overwriting
from engine.networks.base import BaseModel, load_base
from engine.progress import Report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement, engine_version, file_digest, record_digest
from engine.units import HOP, SAMPLE_RATE
from engine.voices.imported import AnyVoice, networks_digest

Chosen = ConversionSettings | Callable[[Style], ConversionSettings]  # a function receives the style of the recording
_SURVEY_WORK, _TAKE_WORK = 0.6, 0.4  # measured, in parts of a conversion with one take


@dataclass(frozen=True)
class Take:
    """One converted performance, and the seed of its variation and its noise."""

    audio: Audio
    seed: int


@dataclass(frozen=True)
class Conversion:
    """Takes in memory, at SAMPLE_RATE, with the transposition, the style and the data for later edits."""

    takes: list[Take]
    transpose: float
    style: Style
    edit_data: EditData
    warning: str | None = None  # what the user should know of the recording and of its notes


@dataclass(frozen=True)
class FileConversion:
    """Files of the takes, with the transposition, the style, the settings and the data for later edits.

    statement: what the takes say of how they were made, if they do. unsigned: why they carry no content credentials.
    """

    paths: list[Path]
    transpose: float
    style: Style
    settings: ConversionSettings
    edit_data: EditData
    statement: Statement
    unsigned: str | None = None
    warning: str | None = None  # what the user should know of the recording and of its notes
    notes_warning: str | None = None  # the part of it on notes: beyond the range, or sung in another octave


def convert(
    audio: Audio, voice: AnyVoice, settings: Chosen | None = None, report: Report | None = None, device: str = AUTO
) -> Conversion:
    """Convert a recording in memory; each take has the same length and channels, at SAMPLE_RATE.

    settings: fixed settings, or a function that returns them for the style of the recording; by default those of its
    style, transposed as `auto` finds. `report(fraction,
    message)` shows progress and may raise Cancelled. device: see `engine.devices.choose_device`. Raises SettingsError
    if the device does not work or runs out of memory.

    >>> from engine import load_voice, read_audio
    >>> vocal = read_audio("vocal.flac")
    >>> conversion = convert(vocal, load_voice("koguchi"), ConversionSettings(takes=2))
    >>> [take.audio.duration_s for take in conversion.takes], conversion.transpose, conversion.style
    ([3.0, 3.0], 0, 'melodic')
    """
    takes = settings.takes if isinstance(settings, ConversionSettings) else 1
    progress = _Progress(report, audio.duration_s, takes)
    renderer, transpose = _surveyed(audio, voice, settings, progress, device)
    kept = zip(*_rendered(audio, renderer, progress), strict=True)
    source = sha256(audio.samples.tobytes()).hexdigest()
    statement = statement_for(voice, replace(renderer.settings, transpose=transpose), source)
    made = [
        Take(Audio(np.concatenate(pieces, 1), SAMPLE_RATE, statement), seed)
        for pieces, seed in zip(kept, renderer.seeds, strict=True)
    ]
    warning = _warning(renderer, transpose)
    return Conversion(made, transpose, renderer.survey.style, _edit_data(renderer, transpose), warning)


def convert_file(
    source: Path,
    targets: list[Path],
    voice: AnyVoice,
    settings: Chosen | None = None,
    report: Report | None = None,
    device: str = AUTO,
    installation: Installation | None = None,
    surveyed: Callable[[Survey], None] = Survey.refuse_silence,
) -> FileConversion:
    """Convert a file of any length into one file for each take, in memory that does not grow with the length.

    settings, report and device: as for `convert`. The suffix of each target chooses its format. installation: signs the
    takes' content credentials; by default that of the environment. `surveyed` receives what is known of the recording
    before it is converted, and may raise; by default it refuses silence. Raises AudioError for a file that is silent or
    cannot be read or written, and SettingsError if the targets are not as many as the takes, or if the device
    does not work or runs out of memory. The targets are written atomically at the end.

    >>> from engine import load_voice
    >>> done = convert_file(Path("vocal.flac"), [Path("koguchi.wav")], load_voice("koguchi"))
    >>> done.paths[0].name, done.transpose
    ('koguchi.wav', 0)
    """
    if isinstance(settings, ConversionSettings):
        _refuse_other_count(settings, targets)
    refuse_overwriting(source, targets)
    with open_audio(source) as opened:
        progress = _Progress(report, opened.duration_s, len(targets))
        renderer, transpose = _surveyed(opened, voice, settings, progress, device)
    surveyed(renderer.survey)
    chosen = renderer.settings
    _refuse_other_count(chosen, targets)
    statement = statement_for(voice, replace(chosen, transpose=transpose), file_digest(source))
    with ExitStack() as stack:
        writers = [
            stack.enter_context(AudioWriter(target, SAMPLE_RATE, opened.channels, statement, installation))
            for target in targets
        ]
        for pieces in _rendered(stack.enter_context(open_audio(source)), renderer, progress):
            for writer, piece in zip(writers, pieces, strict=True):
                writer.write(piece)
    unsigned = next((writer.unsigned for writer in writers if writer.unsigned), None)
    edit_data = _edit_data(renderer, transpose)
    return FileConversion(
        list(targets), transpose, renderer.survey.style, chosen, edit_data, statement, unsigned,
        _warning(renderer, transpose), _notes_warning(renderer, transpose),
    )  # fmt: skip


def statement_for(voice: AnyVoice, settings: ConversionSettings, source_sha256: str | None) -> Statement:
    """Return what takes of this voice state about how they were made."""
    card = voice.card
    return Statement(card.id, card.name, record_digest(card.consent), asdict(settings), source_sha256, engine_version())


def _surveyed(
    source: Source, voice: AnyVoice, settings: Chosen | None, progress: "_Progress", device: str
) -> tuple[Renderer, float]:
    """Survey a recording; return what renders it, and the transposition."""
    base = base_on(device)
    analysed = AnalysedWindows(base.listener, KEPT_FRAMES)
    survey = survey_recording(at_engine_rate(source), base, progress.surveyed, analysed)
    by_its_style = by_style(AUTO_PRESET, {}) if settings is None else settings
    chosen = by_its_style(survey.style) if callable(by_its_style) else by_its_style
    transpose = chosen_transpose(chosen, survey, voice)
    if chosen.notes_out_of_range == REFUSE:
        notes_beyond(survey.seconds_of_notes, transpose).refuse()
    melody = ShapedMelody(chosen, transpose)
    return renderer_for(base, voice.on(base.device), survey, chosen, melody, analysed=analysed), transpose


def base_on(device: str) -> BaseModel:
    """Load the base on a device, named as in `engine.devices.choose_device`. Raises SettingsError."""
    return load_base(device=working_device(device).torch_device)


def _refuse_other_count(settings: ConversionSettings, targets: list[Path]) -> None:
    if len(targets) != settings.takes:
        raise SettingsError(f"{settings.takes} takes need {settings.takes} files to write to, not {len(targets)}.")


def chosen_transpose(settings: ConversionSettings, survey: Survey, voice: AnyVoice) -> float:
    """Return the transposition in semitones: that of the settings, or the one that fits the voice and keeps all notes.

    Raises SettingsError for the best key if the voice's range is not known.
    """
    if not isinstance(settings.transpose, str):
        return settings.transpose
    if settings.transpose == BEST:
        return best_key_for(survey.seconds_of_notes, voice.card).semitones
    if not survey.voiced:
        return 0
    return fitting_key(survey.pitch, survey.seconds_of_notes, voice.card, survey.style == "melodic")


def _rendered(source: Source, renderer: Renderer, progress: "_Progress") -> Iterator[list[np.ndarray]]:
    """Yield the samples (channels, n) of every take, window by window, without gaps."""
    for window in cut_windows(at_engine_rate(source)):
        with memory_of(renderer.base.device):
            pieces = renderer.render(window, partial(progress.rendered, window))
        yield pieces


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
        sustained=survey.sustained.rows.numpy(),
    )


def _warning(renderer: Renderer, transpose: float) -> str | None:
    dryness = renderer.survey.dryness
    return _joined(dryness.warning if dryness else None, _notes_warning(renderer, transpose))


def _notes_warning(renderer: Renderer, transpose: float) -> str | None:
    survey = renderer.survey
    return _joined(survey.beyond_warning, notes_beyond(survey.seconds_of_notes, transpose).warning)


def _joined(*sentences: str | None) -> str | None:
    return " ".join(filter(None, sentences)) or None


class _Progress:
    """Turn processed seconds into calls of `report`, if there is one."""

    def __init__(self, report: Report | None, duration_s: float | None, takes: int) -> None:
        self._report, self._duration_s = report, duration_s
        self._survey_share = _SURVEY_WORK / (_SURVEY_WORK + takes * _TAKE_WORK)
        self._show(0.0, "analysing")

    def surveyed(self, seconds: float) -> None:
        self._show(self._survey_share * self._share(seconds), "analysing")

    def rendered(self, window: Window, share: float) -> None:
        """Show that a share of the takes of this window is there."""
        frames = window.core_start + share * (window.core_stop - window.core_start)
        done = self._share(frames * HOP / SAMPLE_RATE)
        self._show(self._survey_share + (1 - self._survey_share) * done, "converting")

    def _share(self, seconds: float) -> float:
        return min(1.0, seconds / self._duration_s) if self._duration_s else 0.5

    def _show(self, fraction: float, message: str) -> None:
        if self._report:
            self._report(fraction, message)
