"""Edit a take: render it again where notes changed, and copy the rest to the last bit.

    edits --> patches --> windows of the recording around each --> render --> level --+
                                                                                      v
    the original take ------------------------------------------------------------> splice --> the edited take

`edit_take` works in memory, `edit_file` on files of any length. Edits always apply to the take as the conversion made
it; patches that an earlier edit has already rendered are copied from it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from engine.analysis.envelope import Level
from engine.analysis.loudness import with_level, without_rumble
from engine.analysis.notes import SEMITONES
from engine.analysis.pitch import Pitch
from engine.analysis.windows import CONTEXT_FRAMES, GRID_FRAMES, LONGEST_S, Window, begin_of, cut_windows
from engine.audio.cross_fades import cross_fade
from engine.audio.files import Audio, AudioWriter, Recording, audio_of, open_audio
from engine.audio.headroom import Lowered
from engine.audio.session_metadata import place_of
from engine.audio.streams import Source, at_engine_rate, stretch_of
from engine.conversion.convert import Conversion, Take, base_on, statement_for, take_at
from engine.conversion.doubles import Decided
from engine.conversion.edit_data import EditData
from engine.conversion.patches import FADE_FRAMES, Patch, Plan, plan_patches
from engine.conversion.pitch_edits import PitchEdit
from engine.conversion.pitch_shaping import limit_pitch
from engine.conversion.renderer import ShapedMelody
from engine.conversion.rvc_renderer import renderer_for
from engine.devices import AUTO, memory_of
from engine.errors import EditError
from engine.features.analysed_windows import AnalysedWindows
from engine.features.survey import Survey
from engine.features.sustained_notes import SustainedNotes
from engine.files import TakesPaths
from engine.networks.excitation import cycles_per_frame
from engine.networks.listener import Listener, listen
from engine.progress import Report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement, file_digest
from engine.reprs import Brief
from engine.texts import tr
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE, frame_count
from engine.voices.imported import AnyVoice, networks_digest, voice_of
from engine.workers import Threads, Workers

# How far back samples can be read again: two of the longest windows, and the context of two patches.
_BACK_SAMPLES = (round(2 * LONGEST_S * FRAME_RATE) + 6 * CONTEXT_FRAMES + 2 * GRID_FRAMES) * HOP
_WINDOWS_KEPT = 3  # whose features are cached
_RENDER_COST = 20  # of a rendered sample relative to a copied one
_OTHER_VOICE = tr(
    "The voice has been trained again since this take, so edited parts would sound different: convert the recording "
    "again, then edit the new take."
)
_OTHER_SOUND = tr("The take no longer fits the recording: convert the recording again, then edit the new take.")

Renewed = Callable[[Patch], Iterator[np.ndarray]]


@dataclass(frozen=True, repr=False)
class FileTake(TakesPaths, Brief):
    """A take of a conversion of a file.

    - source: the recording that was converted
    - path: the take
    - edit_data: of the conversion
    - number: of the take; the first is 0
    """

    source: Path
    path: Path
    edit_data: EditData
    number: int


@dataclass(frozen=True, repr=False)
class EarlierEdit(TakesPaths, Brief):
    """A rendered edit of the same take; its patches are not rendered again.

    - path: its file
    - edits: with which it was rendered
    """

    path: Path
    edits: Sequence[PitchEdit]


@dataclass(frozen=True, repr=False)
class FileEdit(Brief):
    """What `edit_file` wrote.

    - path: the file
    - plan: which patches the edits need
    - rendered: how many of them were rendered; the others were copied
    - statement: what the file says of how it was made
    - unsigned: why it carries no content credentials
    """

    path: Path
    plan: Plan
    rendered: int
    statement: Statement
    unsigned: str | None = None


def edit_take(
    recording: Recording,
    conversion: Conversion,
    number: int,
    voice: AnyVoice | str | Path,
    edits: Sequence[PitchEdit],
    report: Report | None = None,
    device: str = AUTO,
    threads: Threads | None = None,
) -> Take:
    """Edit the notes of a take in memory; everything else stays bit-identical.

    Parameters
    ----------
    recording : Audio, Path, str or pair (samples, rate)
        That was converted.
    conversion : Conversion
        As `convert` returned it.
    number : int
        Of the take; the first is 0.
    voice : Voice, ImportedVoice, str or Path
        With which it was converted.
    edits : sequence of PitchEdit
        Applied one after the other to the take as the conversion made it.
    report : callable, optional
        Receives the progress (0..1, message) and may raise Cancelled.
    device, threads
        As for the conversion.

    Returns
    -------
    Take
        As long as the take.

    Raises
    ------
    EditError
        If the take cannot be edited, as where the voice was trained again since.
    SettingsError
        For a stretch beyond its end, or a note that would leave the range of notes.

    Examples
    --------
    >>> from engine import Shift, convert
    >>> conversion = convert("vocal.flac", "koguchi")
    >>> edited = edit_take("vocal.flac", conversion, 0, "koguchi", [Shift(1.0, 1.5, semitones=2.0)])
    >>> old, new = conversion.takes[0].audio.samples, edited.audio.samples
    >>> bool((new[:, : SAMPLE_RATE // 2] == old[:, : SAMPLE_RATE // 2]).all()), bool((new == old).all())
    (True, False)
    """
    audio, voice = audio_of(recording), voice_of(voice)
    plan = plan_patches(conversion.edit_data, number, edits)
    take = conversion.takes[number]
    splice = _Splice(at_engine_rate(take.rendered), plan, report)
    with Workers(threads) as workers:
        stream = Stream(samples_of(audio, conversion.edit_data))
        renderer = PatchRenderer(stream, conversion.edit_data, number, voice, device, workers)
        pieces = list(splice.pieces([splice.renewed(patch, renderer.render) for patch in plan.patches]))
    edited = Audio(np.concatenate(pieces, 1), SAMPLE_RATE, take.audio.statement)
    return take_at(edited, take.seed, take.audio.rate, audio)


def edit_file(
    take: FileTake,
    target: Path | str,
    voice: AnyVoice | str | Path,
    edits: Sequence[PitchEdit],
    before: EarlierEdit | None = None,
    report: Report | None = None,
    device: str = AUTO,
    installation: Installation | None = None,
    threads: Threads | None = None,
) -> FileEdit:
    """Write a take with edits of its notes, in memory that does not grow with the length.

    Parameters
    ----------
    take : FileTake
        The take to edit.
    target : Path or str
        Written atomically at the end; the suffix selects its format.
    voice : Voice, ImportedVoice, str or Path
        With which it was converted.
    edits : sequence of PitchEdit
        Applied one after the other to the take as the conversion made it.
    before : EarlierEdit, optional
        An earlier rendered edit of the same take.
    report : callable, optional
        Receives the progress (0..1, message) and may raise Cancelled.
    device, installation, threads
        As for the conversion.

    Returns
    -------
    FileEdit
        The file, and how it was made.

    Raises
    ------
    EditError
        If the take cannot be edited, as where the voice was trained again since.
    SettingsError
        For a stretch beyond its end, or a note that would leave the range of notes.
    AudioError
        For a file that cannot be read or written.

    Examples
    --------
    >>> from engine import Shift, convert_file
    >>> edit_data = convert_file("vocal.flac", "take.wav", "koguchi").edit_data
    >>> take = FileTake("vocal.flac", "take.wav", edit_data, 0)
    >>> edit_file(take, "edited.wav", "koguchi", [Shift(1.0, 1.5, semitones=2.0)]).path.name
    'edited.wav'
    """
    target, voice = Path(target), voice_of(voice)
    plan = plan_patches(take.edit_data, take.number, edits)
    known = plan_patches(take.edit_data, take.number, before.edits).patches if before is not None else []
    same = [any(patch.is_like(other) for other in known) for patch in plan.patches]
    is_anew = [patch.is_sung_anew and not is_same for patch, is_same in zip(plan.patches, same, strict=True)]
    with ExitStack() as stack:
        original = stack.enter_context(open_audio(take.path))
        splice, rendered = _Splice(original.blocks(SAMPLE_RATE), plan, report), _no_samples
        if any(is_anew):
            recording = stack.enter_context(open_audio(take.source))
            workers = stack.enter_context(Workers(threads))
            stream = Stream(samples_of(recording, take.edit_data))
            rendered = PatchRenderer(stream, take.edit_data, take.number, voice, device, workers).render
        if before is not None and any(same):
            earlier = Stream(stack.enter_context(open_audio(before.path)).blocks(SAMPLE_RATE))
        renewed = [
            (earlier.patch, False) if is_same else splice.renewed(patch, rendered)
            for patch, is_same in zip(plan.patches, same, strict=True)
        ]
        used = replace(take.edit_data.settings, transpose=take.edit_data.transpose)
        statement = statement_for(voice, used, file_digest(take.source))
        writer = stack.enter_context(
            AudioWriter(target, SAMPLE_RATE, original.channels, statement, installation, place_of(original.path))
        )
        for piece in splice.pieces(renewed):
            writer.write(piece)
    return FileEdit(target, plan, sum(is_anew), statement, writer.unsigned)


class Stream:
    """Samples (channels, n) at SAMPLE_RATE, read once; stretches are read in order and may overlap by _BACK_SAMPLES.

    at: the first sample in the recording.
    """

    def __init__(self, blocks: Iterable[np.ndarray], at: int = 0) -> None:
        self._blocks, self._at = iter(blocks), at
        self._held = np.zeros((1, 0), np.float32)

    def read(self, first: int, stop: int | None) -> Iterator[np.ndarray]:
        """Yield samples first..stop-1, or to the end; fewer if the stream ends."""
        if first < self._at:
            raise ValueError(f"sample {first} is no longer held")
        position = first
        while stop is None or position < stop:
            while self._at + self._held.shape[1] <= position:
                if not self._more():
                    return
            piece = self._held[:, position - self._at : None if stop is None else stop - self._at]
            position += piece.shape[1]
            yield piece

    def patch(self, patch: Patch) -> Iterator[np.ndarray]:
        """Yield the samples of a patch."""
        return self.read(patch.first * HOP, None if patch.to_the_end else patch.last * HOP)

    def _more(self) -> bool:
        block = next(self._blocks, None)
        if block is None:
            return False
        kept = self._held[:, max(0, self._held.shape[1] - _BACK_SAMPLES) :]
        self._at += self._held.shape[1] - kept.shape[1]
        self._held = np.concatenate([kept, block], 1) if kept.shape[1] else block
        return True


class _EditedMelody:
    """Melody of a patch; outside it, the original curve of the take."""

    def __init__(self, take: Pitch, patch: Patch, original: ShapedMelody) -> None:
        self.is_as_sung = original.is_as_sung
        self._original = original
        there = slice(patch.first, patch.last + 1)
        self._moved = np.zeros(len(take))  # semitones
        self._moved[there] = patch.pitch.semitones - take.semitones[there]
        hertz = take.hertz.copy()  # once: windows get views of it
        hertz[there] = patch.pitch.hertz
        self._pitch = Pitch(hertz, take.voicing)
        self._octaves = np.zeros(len(take), np.int8)
        self._octaves[there] = patch.octaves
        self._formants: np.ndarray | None = None
        if patch.formants.any():
            self._formants = np.zeros(len(take))
            self._formants[there] = patch.formants

    def source_pitch(self, first_frame: int, detected: Pitch) -> Pitch:
        """Return the detected pitch with corrected octaves."""
        octaves = _stretch(self._octaves, first_frame, len(detected))
        return limit_pitch(detected.transposed(12 * octaves)) if octaves.any() else detected

    def take_pitch(self, number: int, first_frame: int, source: Pitch) -> Pitch:
        """Return the planned curve, whatever was detected."""
        hertz, voicing = (_stretch(one, first_frame, len(source)) for one in (self._pitch.hertz, self._pitch.voicing))
        return Pitch(hertz, voicing)

    def beside(self) -> "_MelodyBeside":
        """Return what moves the pitch of another channel as far as the edits moved that of the take."""
        return _MelodyBeside(self._original, self._moved, self._formants)

    def formants(self, first_frame: int, frames: int) -> np.ndarray | None:
        """Return the planned curve."""
        return None if self._formants is None else _stretch(self._formants, first_frame, frames)


@dataclass(frozen=True)
class _MelodyBeside:
    """Melody of a channel that is sung beside, in a patch; moved: semitones (frames,) of the whole take, and of its
    formants, if they move."""

    original: ShapedMelody
    moved: np.ndarray
    moved_formants: np.ndarray | None

    def source_pitch(self, first_frame: int, detected: Pitch) -> Pitch:
        """Return the detected pitch."""
        return detected

    def take_pitch(self, number: int, first_frame: int, source: Pitch) -> Pitch:
        """Return what the channel would have in the take, moved."""
        moved = _stretch(self.moved, first_frame, len(source))
        return limit_pitch(self.original.take_pitch(number, first_frame, source).transposed(moved))

    def is_as_sung(self, number: int) -> bool:
        """Return whether the pitch of the take is the recording's, but for edits."""
        return self.original.is_as_sung(number)

    def beside(self) -> "_MelodyBeside":
        """Return the same."""
        return self

    def formants(self, first_frame: int, frames: int) -> np.ndarray | None:
        """Return those of the take."""
        return None if self.moved_formants is None else _stretch(self.moved_formants, first_frame, frames)


def _stretch(curve: np.ndarray, first: int, count: int) -> np.ndarray:
    """Return `count` values from `first` on; beyond the ends, where windows have silence, the first or last one."""
    return curve[np.arange(first, first + count).clip(0, len(curve) - 1)]


class _OriginalWindows:
    """The listener's features as in the conversion: they depend on the whole window around each frame."""

    def __init__(self, stream: Stream, core_starts: np.ndarray, listener: Listener) -> None:
        self._stream, self._listener = stream, listener
        self._cores = [int(start) for start in core_starts]
        self._features: dict[int, tuple[int, np.ndarray]] = {}

    def features(self, samples: np.ndarray, first_frame: int) -> np.ndarray:
        """Return features (frames / 2, FEATURES) of samples that begin at a frame of the recording."""
        stop = first_frame + frame_count(len(samples))
        pieces = []
        for number, core in enumerate(self._cores):
            following = self._cores[number + 1] if number + 1 < len(self._cores) else stop
            begin, end = max(first_frame, core) if number else first_frame, min(stop, following)
            if begin < end:
                first, features = self._window(number)
                pieces.append(features[(begin - first + 1) // 2 : (end - first + 1) // 2])
        return np.concatenate(pieces)

    def _window(self, number: int) -> tuple[int, np.ndarray]:
        """Return the frame where a window begins, and its features."""
        if number not in self._features:
            core, is_last = self._cores[number], number + 1 == len(self._cores)
            begin = begin_of(core)
            end = None if is_last else (self._cores[number + 1] + CONTEXT_FRAMES) * HOP
            samples = np.concatenate(list(self._stream.read(begin * HOP, end)), 1)
            window = Window(samples, begin, core, core, is_last).in_silence()
            for old in sorted(self._features)[: 1 - _WINDOWS_KEPT]:
                del self._features[old]
            self._features[number] = window.first_frame, listen(self._listener, without_rumble(window.voice))
        return self._features[number]


class PatchRenderer:
    """Render patches of a take in order. Raises EditError if the voice is not the one of the take.

    recording: its samples, as `samples_of` gives them; kept_frames: of the take, whose analysis is kept.
    """

    def __init__(
        self, recording: Stream, edit_data: EditData, number: int, voice: AnyVoice, device: str, workers: Workers,
        kept_frames: int = 0,
    ) -> None:  # fmt: skip
        self._base, self._workers = base_on(device), workers
        self._voice, self._edit_data, self._number = voice.on(self._base.device), edit_data, number
        if networks_digest(self._base, voice) != edit_data.voice:
            raise EditError(_OTHER_VOICE)
        self._take = edit_data.pitch(number)
        self._stream = recording
        original = _OriginalWindows(self._stream, edit_data.core_starts, self._base.listener)
        self._analysed = AnalysedWindows(self._base.listener, kept_frames, original.features, workers)

    def _apart(self, window: Window) -> Decided:
        """Return what gives the channels that were converted by themselves where the core of a window begins."""
        number = int(np.searchsorted(self._edit_data.core_starts, window.core_start, "right")) - 1
        bits = int(self._edit_data.apart[number])
        apart = frozenset(channel for channel in range(len(window.samples)) if bits >> channel & 1)
        return lambda: apart

    def render(self, patch: Patch) -> Iterator[np.ndarray]:
        """Yield the samples of a patch, piece by piece."""
        first = max(0, patch.first - CONTEXT_FRAMES) // GRID_FRAMES * GRID_FRAMES
        stop = None if patch.to_the_end else (patch.last + CONTEXT_FRAMES) * HOP
        before = cycles_per_frame(self._take.hertz[first : patch.first + 1], 0.0)[-1]
        survey, settings = _survey(self._edit_data), self._edit_data.settings
        melody = _EditedMelody(self._take, patch, ShapedMelody(settings, self._edit_data.transpose))
        phases = {self._number: patch.cycles - float(before)}
        renderer = renderer_for(
            self._base, self._voice, survey, settings, melody, phases, self._analysed, self._apart, self._workers
        )

        def rendered() -> Iterator[np.ndarray]:
            for window in cut_windows(self._stream.read(first * HOP, stop)):
                with memory_of(self._base.device):
                    yield from renderer.render(window.later(first))

        end = None if patch.to_the_end else (patch.last - first) * HOP
        return with_level(stretch_of(rendered(), (patch.first - first) * HOP, end), patch.level_db)


def samples_of(recording: Source, edit_data: EditData) -> Iterator[np.ndarray]:
    """Yield the samples (channels, n) of a recording at SAMPLE_RATE, as loud as they were converted."""
    return at_engine_rate(Lowered(recording, edit_data.lowered_db))


def _survey(edit_data: EditData) -> Survey:
    return Survey(
        level=Level(edit_data.level_nepers),
        feature_mean=torch.from_numpy(edit_data.feature_mean),
        timbre=torch.from_numpy(edit_data.timbre),
        pitch=edit_data.statistics,
        style=edit_data.style,
        bands=edit_data.bands,
        voiced=edit_data.voiced,
        sustained=SustainedNotes(torch.from_numpy(edit_data.sustained)),
        dryness=None,
        seconds_of_notes=np.zeros(SEMITONES),  # only needed to choose the transposition
    )


def _no_samples(patch: Patch) -> Iterator[np.ndarray]:
    """Stand for what renders patches where none is rendered."""
    return iter(())


class _Splice:
    """The original take with its patches inserted."""

    def __init__(self, take: Iterable[np.ndarray], plan: Plan, report: Report | None) -> None:
        self._take, self._plan, self._report = Stream(take), plan, report
        in_patches = sum(patch.last - patch.first for patch in plan.patches)
        self._work = len(plan.before) - 1 + (_RENDER_COST - 1) * in_patches
        self._done = 0.0
        self._position = 0

    def pieces(self, renewed: Sequence[tuple[Renewed, bool]]) -> Iterator[np.ndarray]:
        """Yield the samples of the whole take.

        renewed: for each patch, a function that yields its samples, and whether to cross-fade them with the take.
        """
        self._show(0, 1)
        for patch, (samples, fades) in zip(self._plan.patches, renewed, strict=True):
            yield from self._kept(patch.first * HOP)
            begin = self._position
            for piece in samples(patch):
                old = [np.zeros((piece.shape[0], 0), np.float32)]
                old += self._take.read(self._position, self._position + piece.shape[1])
                yield self._faded(patch, self._position - begin, _matching(old, piece), piece) if fades else piece
                self._position += piece.shape[1]
                self._show(piece.shape[1], _RENDER_COST)
            if not patch.to_the_end and self._position != patch.last * HOP:
                raise EditError(_OTHER_SOUND)
        yield from self._kept(None)
        if frame_count(self._position) != len(self._plan.before):
            raise EditError(_OTHER_SOUND)

    def renewed(self, patch: Patch, rendered: Renewed) -> tuple[Renewed, bool]:
        """Return what gives a patch its samples, given what renders it, and whether to cross-fade them."""
        return (rendered, True) if patch.is_sung_anew else (self._louder, False)

    def _louder(self, patch: Patch) -> Iterator[np.ndarray]:
        return with_level(self._take.patch(patch), patch.level_db)

    def _kept(self, stop: int | None) -> Iterator[np.ndarray]:
        for piece in self._take.read(self._position, stop):
            yield piece
            self._position += piece.shape[1]
            self._show(piece.shape[1], 1)

    @staticmethod
    def _faded(patch: Patch, start: int, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Cross-fade a piece of a patch, `start` samples into it, with the original take at the patch's ends."""
        place = start + np.arange(new.shape[1])
        fade, length = FADE_FRAMES * HOP, (patch.last - patch.first) * HOP
        rising = np.ones(len(place)) if patch.first == 0 else place / fade
        falling = np.ones(len(place)) if patch.to_the_end else (length - place) / fade
        share = np.minimum(rising, falling).clip(0, 1).astype(np.float32)
        return cross_fade(old, new, share)

    def _show(self, samples: int, weight: int) -> None:
        self._done += weight * samples / HOP
        if self._report:
            self._report(min(1.0, self._done / max(self._work, 1)), tr("rendering the edits"))


def _matching(old: list[np.ndarray], new: np.ndarray) -> np.ndarray:
    try:
        joined = np.concatenate(old, 1)
    except ValueError as cause:  # another number of channels
        raise EditError(_OTHER_SOUND) from cause
    if joined.shape != new.shape:
        raise EditError(_OTHER_SOUND)
    return joined
