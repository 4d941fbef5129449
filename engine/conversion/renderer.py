"""Render the windows of a recording in another voice, joined by cross-fades."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import LOW_BANDS, SILENT, band_centres, loudness_of, measure_envelope
from engine.analysis.loudness import limit_peaks, match_loudness, measure_loudness, without_top
from engine.analysis.notes import CHROMATIC
from engine.analysis.pitch import Pitch
from engine.analysis.windows import Window
from engine.audio.cross_fades import cross_fade, rise
from engine.audio.placement import Placement, keep_silence
from engine.conversion.articulation import foreground, known_bands, less_colour
from engine.conversion.doubles import Apart, DetectedDoubles, no_doubles
from engine.conversion.harmony import NONE, UNISON, harmony_curve
from engine.conversion.pitch_shaping import fold_pitch, smooth_pitch, snap_pitch
from engine.conversion.rendering_step import RenderingStep, beyond, share_of_own
from engine.conversion.settings import ConversionSettings
from engine.conversion.take_variation import LOUDNESS, PITCH, detune, drift, timbre_offset
from engine.features.analysed_windows import AnalysedWindows
from engine.features.retrieval import retrieve
from engine.features.survey import Survey
from engine.features.sustained_notes import SustainedNotes, settle_vowels, smooth_sustained
from engine.networks.base import BaseModel
from engine.networks.envelope_decoder import between_decoders, prosody_input
from engine.networks.excitation import cycles_per_frame
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.spectral_frames import cut_frames
from engine.networks.synthesizer import Residual, synthesize
from engine.units import DECIBELS_PER_NEPER, HOP
from engine.voices.voice import Voice
from engine.workers import Turn, Work, Workers

_DRIFT_SEMITONES = 0.10  # how far the pitch of a varied take wanders
_DRIFT_DB = 1.2  # and its loudness
_TIMBRE_VARIATION = 0.35  # of the spread between a voice's own recordings; twice as much cost words
_LARGEST_DETAIL = 1.2  # nepers
_JOIN = rise(HOP, 0.0)  # from one window to the next
_SILENCE_BELOW_DB = 55.0  # the level of the recording; what is quieter is silence
_SILENCE_DB = (-105.0, -70.0)  # within these limits
STEADY_FRAMES = 20  # on each side, over which the offset of retrieval is averaged in singing


@dataclass(frozen=True)
class Analysed:
    """Analysis of one window on the frame grid; envelopes are relative to the recording's level.

    given: its samples that are the recording's. loudness_db: of those alone, (2, frames), as far up as it is compared
    with the voice, and of all of it. room: (frames,), how far each is the room after a voice, 0..1.
    """

    given: slice
    loudness_db: np.ndarray
    room: np.ndarray
    pitch: Pitch
    envelope: Tensor  # (frames, BANDS)
    content: Tensor  # (1, frames, CONTENT), after retrieval
    loudness: Tensor  # (frames,) nepers, relative
    detail: Tensor | None = None  # (frames, BANDS): what the decoder cannot reproduce of the recording, if wanted
    residual: Residual | None = None  # of one frame more
    excitation: RecordedExcitation | None = None  # likewise


class Melody(Protocol):
    """Provides the pitch of each take. Windows may begin anywhere in the recording."""

    def source_pitch(self, first_frame: int, detected: Pitch) -> Pitch:
        """Return the pitch of the recording from frame `first_frame` on, given the detected one."""
        ...

    def take_pitch(self, number: int, first_frame: int, source: Pitch) -> Pitch:
        """Return the pitch of take `number` (the first is 0)."""
        ...

    def is_as_sung(self, number: int) -> bool:
        """Return whether the pitch of take `number` is the recording's, but for edits."""
        ...

    def beside(self) -> "Melody":
        """Return the melody of a channel that is sung beside: moved likewise, from its own pitch."""
        ...


@dataclass(frozen=True)
class ShapedMelody:
    """The recording's melody as the settings shape it."""

    settings: ConversionSettings
    transpose: float
    key: str = CHROMATIC  # of the recording, where there is a harmony

    def source_pitch(self, first_frame: int, detected: Pitch) -> Pitch:
        """Return the detected pitch."""
        return detected

    def take_pitch(self, number: int, first_frame: int, source: Pitch) -> Pitch:
        """Transpose, smooth and snap the pitch, and harmonize it; takes that vary also drift a little."""
        settings, seed = self.settings, self.settings.seed + number
        shaped = smooth_pitch(source.transposed(self.transpose), settings.pitch_smoothing_ms)
        shaped = snap_pitch(shaped, settings.pitch_snap)
        if settings.harmony != NONE:
            away = harmony_curve(source, settings.harmony, self.key)
            shaped = shaped.transposed(away + (detune(seed) if settings.harmony == UNISON else 0.0))
        if settings.varies(number):
            shaped = shaped.transposed(_DRIFT_SEMITONES * drift(first_frame, len(source), seed, PITCH))
        return fold_pitch(shaped)

    def is_as_sung(self, number: int) -> bool:
        """Return whether nothing changes the pitch."""
        settings = self.settings
        return not (settings.varies(number) or self.transpose or settings.pitch_smoothing_ms or settings.pitch_snap)

    def beside(self) -> "ShapedMelody":
        """Return the same."""
        return self


@dataclass(frozen=True)
class SungWindow:
    """Pitch of a window's core and phase of the pulses at its start, in cycles, for each take; and the channels that
    were converted by themselves."""

    core_start: int
    pitches: list[Pitch]
    phases: list[float]
    apart: frozenset[int]


@dataclass(frozen=True, eq=False)
class Sung:
    """A window in its silence, analysed, and for each take its pitch and its phase from zero on (frames + 1,)."""

    window: Window
    analysed: Analysed
    pitches: list[Pitch]
    cycles: list[np.ndarray]


class Renderer:
    """Render windows, carrying pulse phase and overlap from one to the next so that cross-fades are inaudible.

    All else of a window depends on no other one, so windows are rendered side by side (engine/workers.py).

    Base and voice are on the same device, where the networks run; audio and pitch stay on the processor.

    phases: initial phases of the pulses in cycles, by the number of each take to render (the first is 0), by default 0
    for every take of the settings; analysed: windows that are already analysed; apart: which channels are converted by
    themselves, by default doubles; workers: of the conversion. `sung` collects pitch and phases of each window.
    """

    def __init__(
        self,
        base: BaseModel,
        voice: Voice,
        survey: Survey,
        settings: ConversionSettings,
        melody: Melody,
        phases: Mapping[int, float] | None = None,
        analysed: AnalysedWindows | None = None,
        apart: Apart | None = None,
        workers: Workers | None = None,
    ) -> None:
        self._workers = workers or Workers(1)
        self.base, self.voice, self.survey, self.settings, self.melody = base, voice, survey, settings, melody
        self._phases = dict.fromkeys(range(settings.takes), 0.0) if phases is None else dict(phases)
        self.numbers = list(self._phases)
        self.seeds = [settings.seed + number for number in range(settings.takes)]
        self.sung: list[SungWindow] = []
        self._windows = analysed or AnalysedWindows(base.listener, workers=self._workers)
        self._overlaps: dict[int, np.ndarray] = {}
        is_far = survey.dryness is not None and survey.dryness.is_reverberant  # where pitch differs by the room
        self._apart = apart or (no_doubles if is_far else DetectedDoubles())
        self._beside: dict[int, Renderer] = {}  # of channels that are converted by themselves
        # Loudness is compared in the band that both can have. Otherwise a full-band voice would get quieter at each
        # sibilant of a band-limited recording, and a band-limited voice louder at each sibilant of a full-band one.
        self._compared_hertz = float(band_centres()[min(survey.bands, LOW_BANDS) - 1])
        self._silence_db = float(np.clip(survey.level.nepers * DECIBELS_PER_NEPER - _SILENCE_BELOW_DB, *_SILENCE_DB))
        self._prepare()

    def _prepare(self) -> None:
        """Place what the networks of this kind of voice need on their device."""
        survey, voice = self.survey, self.voice
        self._feature_mean = self._placed(survey.feature_mean)
        self._step = RenderingStep(
            between_decoders(self.base.decoder, voice.decoder, self.settings.accent),
            self.base.synthesizer,
            voice,
            self._placed(known_bands(survey.bands)),
        )
        self._source_timbre = self._placed(survey.timbre)
        self._is_sung = survey.style == "melodic"
        self._beyond = beyond(voice, self._is_sung)
        self._own = share_of_own(voice, survey.timbre)
        self._sustained = SustainedNotes(self._placed(survey.sustained.rows))

    def render(self, window: Window) -> list[np.ndarray]:
        """Render the core of the next window in every take, (channels, n) each."""
        return self._workers.alone(self.rendered(window))

    def rendered(self, window: Window, done: Callable[[float], None] = lambda share: None) -> Work[list[np.ndarray]]:
        """Render the core of a window in every take, (channels, n) each, beside other windows of the recording.

        done: receives the share of each take in all of them, when it is there.
        """
        beside = self._workers.beside
        apart = self._apart(window)
        yield Turn.IN_ORDER
        parts = self._parts(window, apart())
        yield Turn.ANY_ORDER
        sung = beside(*(partial(part.renderer.sing, part.window) for part in parts))
        placements = beside(*(partial(Placement, part.window.samples, part.window.voice) for part in parts))
        yield Turn.IN_ORDER
        starts = [part.renderer.begin(one, parts) for part, one in zip(parts, sung, strict=True)]
        yield Turn.ANY_ORDER

        def take(index: int) -> np.ndarray:
            placed = np.empty(window.samples.shape, np.float32)
            for part, one, placement, begins in zip(parts, sung, placements, starts, strict=True):
                voice = part.renderer.take(index, one, begins[index])
                placed[part.channels] = placement.place(voice)
            limited = limit_peaks(keep_silence(placed, window.samples))
            self._workers.say(partial(done, 1 / len(self.numbers)))
            return limited

        takes = beside(*(partial(take, index) for index in range(len(self.numbers))))
        yield Turn.IN_ORDER
        return [self._join(number, window, samples) for number, samples in zip(self.numbers, takes, strict=True)]

    def _parts(self, window: Window, apart: frozenset[int]) -> "list[_Part]":
        """Return the channels that are converted together, and each that is by itself."""
        together = [number for number in range(len(window.samples)) if number not in apart]
        parts = [_Part(self, together, window.of(together))]
        return parts + [_Part(self._renderer_beside(number), [number], window.of([number])) for number in sorted(apart)]

    def sing(self, window: Window) -> "Sung":
        """Analyse a window and give each take its pitch."""
        window = window.in_silence()
        analysed = self._analyse(window)
        pitches = [self.melody.take_pitch(number, window.first_frame, analysed.pitch) for number in self.numbers]
        return Sung(window, analysed, pitches, [self._cycles(pitch) for pitch in pitches])

    def begin(self, sung: "Sung", parts: "Sequence[_Part]") -> list[float]:
        """Return the phase in cycles with which each take begins a window, given those before it."""
        window, phases = sung.window, list(self._phases.values())
        cores = [pitch[window.core] for pitch in sung.pitches]
        apart = frozenset(part.channels[0] for part in parts[1:])
        self.sung.append(SungWindow(window.core_start, cores, phases, apart))
        starts = []
        for number, phase, cycles in zip(self.numbers, phases, sung.cycles, strict=True):
            start = (phase - cycles[window.core.start]) % 1.0
            if not window.last:
                self._phases[number] = float(start + cycles[window.core.stop])
            starts.append(start)
        return starts

    def take(self, index: int, sung: "Sung", start: float) -> np.ndarray:
        """Return the voice of a take in a whole window, (n,)."""
        number, window, analysed, pitch = self.numbers[index], sung.window, sung.analysed, sung.pitches[index]
        samples = self._samples(number, window, analysed, pitch, start)[analysed.given]
        return self._match(number, window, samples, analysed)

    def _renderer_beside(self, channel: int) -> "Renderer":
        """Return the renderer of a channel that is converted by itself."""
        if channel not in self._beside:
            phases, workers = dict.fromkeys(self.numbers, 0.0), self._workers
            self._beside[channel] = type(self)(
                self.base, self.voice, self.survey, self.settings, self.melody.beside(), phases, workers=workers
            )
        return self._beside[channel]

    def _cycles(self, pitch: Pitch) -> np.ndarray:
        """Return the phase at each frame, and at one more, of what begins at zero: float64 (frames + 1,) cycles."""
        return cycles_per_frame(pitch.one_frame_longer().hertz, 0.0)

    def _analyse(self, window: Window) -> Analysed:
        found = self._windows.analyse(window)
        mid, pitch, level = found.mid, self.melody.source_pitch(window.first_frame, found.pitch), self.survey.level
        measured = found.envelope if pitch is found.pitch else measure_envelope(mid, pitch, self.base.device)
        with torch.inference_mode():
            absolute = self._placed(measured)
            envelope = (absolute - level.nepers).clamp_min(SILENT)
            loudness = loudness_of(envelope)
            drawn, detail = self._said(self._placed(found.features), pitch, envelope, loudness)
            kept = self._kept_of_recording(self._placed(mid), absolute, pitch, foreground(loudness))
        level_db, room = self._loudness(mid[window.given]), self._room(measured)
        return Analysed(window.given, level_db, room, pitch, envelope, drawn, loudness, detail, *kept)

    def _said(
        self, features: Tensor, pitch: Pitch, envelope: Tensor, loudness: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return the content, (1, frames, CONTENT), and what the decoder cannot reproduce, if that is wanted."""
        settings, is_sung = self.settings, self._is_sung
        content = self.base.content(features[None], self._feature_mean[None], len(pitch))
        wanted = settings.likeness < 1.0 and self._own < 1.0
        detail = self._detail(pitch, envelope, content, loudness) if wanted else None
        said = self._steady_content(content[0], envelope, self._placed(pitch.voicing)) if is_sung else content[0]
        steady_frames = STEADY_FRAMES if is_sung else 0
        return retrieve(said, self.voice.retrieval_frames, settings.retrieval, steady_frames)[None], detail

    def _room(self, measured: np.ndarray) -> np.ndarray:
        """Return how far each frame is the room after a voice, 0..1, of an absolute envelope (frames, BANDS)."""
        envelope = (torch.from_numpy(measured) - self.survey.level.nepers).clamp_min(SILENT)
        return 1.0 - foreground(loudness_of(envelope)).numpy()

    def _kept_of_recording(
        self, mid: Tensor, envelope: Tensor, pitch: Pitch, audible: Tensor
    ) -> tuple[Residual | None, RecordedExcitation | None]:
        """Return the residual of breaths and unvoiced consonants, and the excitation of what is voiced, as far as the
        settings want them, with one frame more for the last samples."""
        settings, step, pitch = self.settings, self._step, pitch.one_frame_longer()
        envelope, audible = (torch.cat([curve, curve[-1:]]) for curve in (envelope, audible))
        cut = cut_frames(mid, len(envelope))
        residual = None
        if settings.consonant_protection:
            residual = step.residual(cut, envelope, self._placed(pitch.voicing), audible, settings)
        return residual, step.excitation(cut, envelope, pitch, audible, settings)

    def _steady_content(self, content: Tensor, envelope: Tensor, voicing: Tensor) -> Tensor:
        """Keep the content steady within each sustained note, and each vowel the same on all of them."""
        return settle_vowels(smooth_sustained(content, envelope, voicing), envelope, voicing, self._sustained)

    def _loudness(self, samples: np.ndarray) -> np.ndarray:
        return np.stack([measure_loudness(without_top(samples, self._compared_hertz)), measure_loudness(samples)])

    def _detail(self, pitch: Pitch, envelope: Tensor, content: Tensor, loudness: Tensor) -> Tensor:
        own = self.base.decoder(content, self._prosody(pitch, loudness)[None], self._source_timbre[None])[0]
        sounding = torch.sigmoid(2 * (loudness + 4.0))
        return less_colour(envelope - own, sounding, 1.0).clamp(-_LARGEST_DETAIL, _LARGEST_DETAIL) * self._step.known

    def _placed(self, values: Tensor | np.ndarray) -> Tensor:
        """Return the values on the device of the networks."""
        return torch.as_tensor(values).to(self.base.device)

    def _prosody(self, pitch: Pitch, loudness: Tensor) -> Tensor:
        return prosody_input(self._placed(pitch.semitones), self._placed(pitch.voicing), loudness)

    def _samples(self, number: int, window: Window, analysed: Analysed, pitch: Pitch, start: float) -> np.ndarray:
        """Return the samples of a window with pulses that begin at a phase in cycles."""
        recorded = analysed.excitation
        envelope, moved = self._workers.beside(
            lambda: self._decode(number, analysed, pitch),
            lambda: recorded and recorded.at_pitch(
                pitch.one_frame_longer().hertz, start, self.melody.is_as_sung(number)
            ),
        )
        # one frame more, so that the samples after the last frame centre are covered
        return synthesize(
            self.base.synthesizer, torch.cat([envelope, envelope[-1:]]), pitch.one_frame_longer(),
            window.first_frame * HOP, start, self.seeds[number], analysed.residual, moved,
        )  # fmt: skip

    def _timbre(self, number: int) -> Tensor:
        if not self.settings.varies(number):
            return self.voice.timbre
        offset = self._placed(timbre_offset(self.seeds[number], len(self.voice.spread)))
        return self.voice.timbre + _TIMBRE_VARIATION * offset @ self.voice.spread

    def _decode(self, number: int, analysed: Analysed, pitch: Pitch) -> Tensor:
        """Decode the absolute log envelope of this window, (frames, BANDS)."""
        settings, voice = self.settings, self.voice
        with torch.inference_mode():
            prosody = self._prosody(pitch, analysed.loudness)
            timbre = self._timbre(number) + self._beyond * (voice.timbre - self._source_timbre)
            decoded = self._step.decode(
                analysed.content[0], prosody, timbre, settings.formant_shift_semitones,
                partial(self._as_recorded, analysed),
            )  # fmt: skip
            voicing = self._placed(pitch.voicing)
            decoded = self._step.with_consonants(decoded, analysed.envelope, voicing, analysed.loudness, settings)
            return decoded + self.survey.level.nepers

    def _as_recorded(self, analysed: Analysed, decoded: Tensor) -> Tensor:
        """Give what was decoded, (frames, BANDS), what is kept of the recording's articulation: of one of the voice
        itself the envelope, of others what the decoder cannot reproduce."""
        if analysed.detail is not None:
            decoded = decoded + (1.0 - self._own) * (1.0 - self.settings.likeness) * analysed.detail
        return decoded + self._own * self._step.known * (analysed.envelope - decoded) if self._own else decoded

    def _match(self, number: int, window: Window, samples: np.ndarray, analysed: Analysed) -> np.ndarray:
        wanted_db, (compared_db, whole_db) = analysed.loudness_db[0], analysed.loudness_db - self._loudness(samples)
        first = analysed.given.start // HOP
        there = slice(first, first + len(wanted_db))
        # of a room, the top is no more than the recording's
        change_db = compared_db - analysed.room[there] * np.maximum(compared_db - whole_db, 0.0)
        if self.settings.varies(number):
            wander_db = _DRIFT_DB * drift(window.first_frame + first, len(wanted_db), self.seeds[number], LOUDNESS)
            wanted_db, change_db = wanted_db + wander_db, change_db + wander_db
        return match_loudness(samples, wanted_db - change_db, wanted_db, floor_db=self._silence_db)

    def _join(self, number: int, window: Window, samples: np.ndarray) -> np.ndarray:
        """Return the core, its first hop cross-faded with the end of the window before."""
        start = (window.core_start - window.first_frame) * HOP
        before = self._overlaps.get(number)
        stop = None if window.last else (window.core_stop - window.first_frame) * HOP
        core = samples[:, start:stop].copy()
        if before is not None:
            core[:, :HOP] = cross_fade(before, core[:, :HOP], _JOIN)
        if stop is not None:
            self._overlaps[number] = samples[:, stop : stop + HOP].copy()
        return core


@dataclass(frozen=True, eq=False)
class _Part:
    """Channels of a window that are converted together, and by whom."""

    renderer: Renderer
    channels: list[int]
    window: Window
