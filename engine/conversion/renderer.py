"""Render the windows of a recording in another voice, joined by cross-fades."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import LOW_BANDS, SILENT, band_centres, loudness_of, measure_envelope
from engine.analysis.loudness import limit_peaks
from engine.analysis.notes import CHROMATIC
from engine.analysis.pitch import Pitch
from engine.analysis.windows import Window
from engine.audio.cross_fades import cross_fade, rise
from engine.audio.placement import Placement, keep_silence
from engine.carrying import brought, on_device
from engine.conversion.articulation import foreground, known_bands, less_colour
from engine.conversion.doubles import Apart, DetectedDoubles, no_doubles
from engine.conversion.harmony import NONE, UNISON, harmony_curve
from engine.conversion.levels import Levels, compared_levels, matched
from engine.conversion.pitch_shaping import fold_pitch, smooth_pitch, snap_pitch
from engine.conversion.rendering_step import RenderingStep, beyond, share_of_own
from engine.conversion.settings import ConversionSettings
from engine.conversion.take_variation import LOUDNESS, PITCH, detune, drift, timbre_offset
from engine.conversion.window_plans import Analysed, Given, Sound, TakePlan, WindowContent
from engine.devices import alone_on
from engine.features.analysed_windows import AnalysedWindows, windows_together
from engine.features.retrieval import retrieve
from engine.features.survey import Survey
from engine.features.sustained_notes import SustainedNotes, settle_vowels, smooth_sustained
from engine.networks.base import BaseModel
from engine.networks.batches import inside
from engine.networks.envelope_decoder import between_decoders, decode_together, prosody_input
from engine.networks.excitation import cycles_per_frame
from engine.networks.recorded_excitation import RecordedExcitation, move
from engine.networks.spectral_frames import cut_frames
from engine.networks.synthesizer import Residual, source_of, synthesize_together
from engine.units import DECIBELS_PER_NEPER, HOP
from engine.voices.voice import Voice
from engine.workers import Turn, Work, Workers

Result = TypeVar("Result")
_DRIFT_SEMITONES = 0.10  # how far the pitch of a varied take wanders
_DRIFT_DB = 1.2  # and its loudness
_TIMBRE_VARIATION = 0.35  # of the spread between a voice's own recordings; twice as much cost words
_LARGEST_DETAIL = 1.2  # nepers
_JOIN = rise(HOP, 0.0)  # from one window to the next
_SILENCE_BELOW_DB = 55.0  # the level of the recording; what is quieter is silence
_SILENCE_DB = (-105.0, -70.0)  # within these limits
STEADY_FRAMES = 20  # on each side, over which the offset of retrieval is averaged in singing


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

    def formants(self, first_frame: int, frames: int) -> np.ndarray | None:
        """Return the semitones by which edits move formants, (frames,); None where they move none."""
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

    def formants(self, first_frame: int, frames: int) -> None:
        """Return None: without edits they move as the settings say."""


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

    All else of a window depends on no other one, so windows are rendered side by side (engine/workers.py), and on a
    graphics card several at once, in one batch.

    Base and voice are on the same device, where the networks run. What windows need there is carried to it in one copy
    when they are analysed and in one for each take, whose finished channels return in one.

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

    @property
    def together(self) -> int:
        """How many windows are best rendered at once."""
        return windows_together(self.base.device)

    def render(self, window: Window) -> list[np.ndarray]:
        """Render the core of the next window in every take, (channels, n) each."""
        [takes] = self._workers.alone(self.rendered([window]))
        return takes

    def rendered(
        self, windows: Sequence[Window], done: Callable[[Window, float], None] = lambda window, share: None
    ) -> Work[list[list[np.ndarray]]]:
        """Render the cores of windows in every take, (channels, n) each, beside other windows of the recording.

        done: receives the share of each take of a window in all of them, when it is there.
        """
        beside = self._workers.beside
        apart = beside(*(partial(self._apart, window) for window in windows))
        yield Turn.IN_ORDER
        parts = [self._parts(window, channels()) for window, channels in zip(windows, apart, strict=True)]
        yield Turn.ANY_ORDER
        groups = _by_renderer(parts)
        sung = _by_part(groups, beside(*(partial(group[0].renderer.sing, group) for group in groups)))
        places = beside(*(partial(Placement, part.window.samples, part.window.voice) for part in sung))
        placements = dict(zip(sung, places, strict=True))
        yield Turn.IN_ORDER
        starts = {part: part.renderer.begin(sung[part], of_window) for of_window in parts for part in of_window}
        yield Turn.ANY_ORDER

        def take(index: int) -> list[np.ndarray]:
            voices = [
                group[0].renderer.take(index, [(sung[one], starts[one][index], placements[one]) for one in group])
                for group in groups
            ]
            found = _by_part(groups, voices)
            limited = []
            for window, of_window in zip(windows, parts, strict=True):
                placed = np.empty(window.samples.shape, np.float32)
                for part in of_window:
                    placed[part.channels] = found[part]
                limited.append(limit_peaks(keep_silence(placed, window.samples)))
                self._workers.say(partial(done, window, 1 / len(self.numbers)))
            return limited

        takes = beside(*(partial(take, index) for index in range(len(self.numbers))))
        yield Turn.IN_ORDER
        return [
            [self._join(number, window, samples[place]) for number, samples in zip(self.numbers, takes, strict=True)]
            for place, window in enumerate(windows)
        ]

    def _parts(self, window: Window, apart: frozenset[int]) -> "list[_Part]":
        """Return the channels that are converted together, and each that is by itself."""
        together = [number for number in range(len(window.samples)) if number not in apart]
        parts = [_Part(self, together, window.of(together))]
        return parts + [_Part(self._renderer_beside(number), [number], window.of([number])) for number in sorted(apart)]

    def sing(self, parts: "Sequence[_Part]") -> list["Sung"]:
        """Analyse windows and give each take its pitch."""
        windows = [part.window.in_silence() for part in parts]
        return [self._sung(window, one) for window, one in zip(windows, self._analyse(windows), strict=True)]

    def _sung(self, window: Window, analysed: Analysed) -> "Sung":
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

    def take(self, index: int, begun: Sequence[tuple["Sung", float, Placement]]) -> list[np.ndarray]:
        """Return what a take has in the channels of whole windows, (channels, n) each, given where its pulses begin."""
        sung = [one for one, _, _ in begun]
        plans = [self._planned(index, one, start) for one, start, _ in begun]
        with alone_on(self.base.device), torch.inference_mode():
            plans = on_device(plans, self._sound_device)
            samples = self._samples(index, sung, plans)
            voices = [
                placement.place_there(self._matched(voice[one.analysed.given], plan.levels))
                for voice, plan, (one, _, placement) in zip(samples, plans, begun, strict=True)
            ]
            return [voice.numpy() for voice in brought(voices)]

    def _matched(self, voice: Tensor, levels: Levels) -> Tensor:
        return matched(voice, levels, self._compared_hertz, self._silence_db)

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

    def _analyse(self, windows: Sequence[Window]) -> list[Analysed]:
        found = self._windows.analyse_together(windows)
        pitches = [self.melody.source_pitch(one.first_frame, of.pitch) for one, of in zip(windows, found, strict=True)]
        measured = [
            one.envelope if pitch is one.pitch else measure_envelope(one.mid, pitch, self.base.device)
            for one, pitch in zip(found, pitches, strict=True)
        ]
        given = [
            Given(*map(torch.from_numpy, (envelope, one.features, one.mid, pitch.voicing, pitch.semitones)))
            for envelope, one, pitch in zip(measured, found, pitches, strict=True)
        ]
        own = [one.mid[window.given] for window, one in zip(windows, found, strict=True)]
        levels = [compared_levels(samples, self._compared_hertz) for samples in own]
        rooms = [self._room(envelope) for envelope in measured]
        with alone_on(self.base.device), torch.inference_mode():
            given = on_device(given, self.base.device)
            said = self._said(given)
            kept = [
                self._kept_of_recording(one, pitch, foreground(of.loudness))
                for one, pitch, of in zip(given, pitches, said, strict=True)
            ]
        columns = zip([one.given for one in windows], levels, rooms, pitches, said, kept, strict=True)
        return [Analysed(*of_window, *recorded) for *of_window, recorded in columns]

    def _said(self, given: Sequence[Given]) -> list[WindowContent]:
        """Return what is said in windows, with the content after retrieval."""
        level, settings, is_sung = self.survey.level.nepers, self.settings, self._is_sung
        envelopes = [(one.envelope - level).clamp_min(SILENT) for one in given]
        loudness = [loudness_of(envelope) for envelope in envelopes]
        contents = self._contents(given)
        wanted = settings.likeness < 1.0 and self._own < 1.0
        details = self._details(given, envelopes, loudness, contents) if wanted else [None] * len(given)
        steady_frames = STEADY_FRAMES if is_sung else 0
        said = []
        for one, envelope, loud, content, detail in zip(given, envelopes, loudness, contents, details, strict=True):
            steady = self._steady_content(content, envelope, one.voicing) if is_sung else content
            drawn = retrieve(steady, self.voice.retrieval_frames, settings.retrieval, steady_frames)
            said.append(WindowContent(envelope, one.voicing, drawn, loud, detail))
        return said

    def _contents(self, given: Sequence[Given]) -> list[Tensor]:
        """Return the content of windows as the networks encode it, (frames, CONTENT) each."""
        lengths = [len(one.voicing) for one in given]
        most = max(len(one.features) for one in given)
        features = torch.stack(
            [torch.cat([one.features, one.features[-1:].expand(most - len(one.features), -1)]) for one in given]
        )
        mean, within = self._feature_mean[None].expand(len(given), -1), inside(lengths, features.device)
        contents = self.base.content(features, mean, max(lengths), within)
        return [content[:frames] for content, frames in zip(contents, lengths, strict=True)]

    def _room(self, measured: np.ndarray) -> np.ndarray:
        """Return how far each frame is the room after a voice, 0..1, of an absolute envelope (frames, BANDS)."""
        envelope = (torch.from_numpy(measured) - self.survey.level.nepers).clamp_min(SILENT)
        return 1.0 - foreground(loudness_of(envelope)).numpy()

    def _kept_of_recording(
        self, given: Given, pitch: Pitch, audible: Tensor
    ) -> tuple[Residual | None, RecordedExcitation | None]:
        """Return the residual of breaths and unvoiced consonants, and the excitation of what is voiced, as far as the
        settings want them, with one frame more for the last samples."""
        settings, step, pitch = self.settings, self._step, pitch.one_frame_longer()
        curves = given.envelope, audible, given.voicing
        envelope, audible, voicing = (torch.cat([curve, curve[-1:]]) for curve in curves)
        cut = cut_frames(given.mid, len(envelope))
        residual = None
        if settings.consonant_protection:
            residual = step.residual(cut, envelope, voicing, audible, settings)
        return residual, step.excitation(cut, envelope, pitch, audible, settings, voicing)

    def _steady_content(self, content: Tensor, envelope: Tensor, voicing: Tensor) -> Tensor:
        """Keep the content steady within each sustained note, and each vowel the same on all of them."""
        return settle_vowels(smooth_sustained(content, envelope, voicing), envelope, voicing, self._sustained)

    def _details(
        self, given: Sequence[Given], envelopes: list[Tensor], loudness: list[Tensor], contents: list[Tensor]
    ) -> list[Tensor | None]:
        """Return what the decoder cannot reproduce of windows, (frames, BANDS) each."""
        prosody = [prosody_input(one.semitones, one.voicing, loud) for one, loud in zip(given, loudness, strict=True)]
        decoded = decode_together(self.base.decoder, contents, prosody, self._source_timbre)
        details: list[Tensor | None] = []
        for envelope, loud, own in zip(envelopes, loudness, decoded, strict=True):
            sounding = torch.sigmoid(2 * (loud + 4.0))
            detail = less_colour(envelope - own, sounding, 1.0).clamp(-_LARGEST_DETAIL, _LARGEST_DETAIL)
            details.append(detail * self._step.known)
        return details

    @property
    def _sound_device(self) -> torch.device:
        """Where samples are rendered."""
        return self.base.device

    def _placed(self, values: Tensor | np.ndarray) -> Tensor:
        """Return the values on the device of the networks."""
        return torch.as_tensor(values).to(self.base.device)

    def _planned(self, index: int, sung: Sung, start: float) -> TakePlan:
        """Return the plan of a take, on the processor."""
        number, window, analysed, pitch = self.numbers[index], sung.window, sung.analysed, sung.pitches[index]
        longer, recorded, way, offset = pitch.one_frame_longer(), analysed.excitation, None, None
        if recorded is not None:
            way = move(recorded.hertz, longer.hertz, start, self.melody.is_as_sung(number))
        if self.settings.varies(number):
            offset = torch.from_numpy(timbre_offset(self.seeds[number], len(self.voice.spread)))
        source = source_of(longer, window.first_frame * HOP, start, self.seeds[number])
        formants = self._formants(sung)
        moved = None if formants is None else torch.from_numpy(formants.astype(np.float32))
        sound = Sound(source, way, torch.from_numpy(pitch.semitones), offset, moved)
        return TakePlan(self._levels(number, sung), start, sound)

    def _formants(self, sung: Sung) -> np.ndarray | None:
        """Return the semitones by which formants move in all, (frames,); None where they move as the settings say."""
        moved = self.melody.formants(sung.window.first_frame, len(sung.analysed.pitch))
        return None if moved is None else self.settings.formant_shift_semitones + moved

    def _levels(self, number: int, sung: Sung) -> Levels:
        analysed, first, wander_db = sung.analysed, sung.analysed.given.start // HOP, None
        frames = analysed.loudness_db.shape[1]
        if self.settings.varies(number):
            wander = drift(sung.window.first_frame + first, frames, self.seeds[number], LOUDNESS)
            wander_db = torch.from_numpy(_DRIFT_DB * wander)
        room = torch.from_numpy(analysed.room[first : first + frames])
        return Levels(torch.from_numpy(analysed.loudness_db), room, wander_db)

    def _samples(self, index: int, sung: Sequence[Sung], plans: Sequence[TakePlan]) -> list[Tensor]:
        """Return the samples of windows, where the networks are."""
        analysed, sounds = [one.analysed for one in sung], [plan.sound for plan in plans if plan.sound]

        def moved() -> list[RecordedExcitation | None]:
            return [
                of.excitation.moved(sound.move) if of.excitation and sound.move else None
                for of, sound in zip(analysed, sounds, strict=True)
            ]

        envelopes, excitations = self._workers.beside(
            lambda: self._decode([one.said for one in analysed], sounds), moved
        )
        # one frame more, so that the samples after the last frame centre are covered
        longer = [torch.cat([envelope, envelope[-1:]]) for envelope in envelopes]
        sources, residuals = [sound.source for sound in sounds], [one.residual for one in analysed]
        return synthesize_together(self.base.synthesizer, longer, sources, residuals, excitations)

    def _decode(self, said: Sequence[WindowContent], sounds: Sequence[Sound]) -> list[Tensor]:
        """Decode the absolute log envelopes of windows, (frames, BANDS) each."""
        step, formants = self._step, self.settings.formant_shift_semitones
        with torch.inference_mode():
            voicings = [sound.source.voicing[:-1] for sound in sounds]
            prosody = [
                prosody_input(sound.semitones, voicing, one.loudness)
                for one, sound, voicing in zip(said, sounds, voicings, strict=True)
            ]
            decoded = decode_together(step.decoder, [one.content for one in said], prosody, self._timbre(sounds[0]))
            spoken = [
                step.spoken(
                    envelope, formants if sound.formants is None else sound.formants, partial(self._as_recorded, one)
                )
                for one, sound, envelope in zip(said, sounds, decoded, strict=True)
            ]
            return [
                step.with_consonants(envelope, one.envelope, voicing, one.loudness, self.settings)
                + self.survey.level.nepers
                for one, envelope, voicing in zip(said, spoken, voicings, strict=True)
            ]

    def _timbre(self, sound: Sound) -> Tensor:
        voice, timbre = self.voice, self.voice.timbre
        if sound.offset is not None:
            timbre = timbre + _TIMBRE_VARIATION * sound.offset @ voice.spread
        return timbre + self._beyond * (voice.timbre - self._source_timbre)

    def _as_recorded(self, said: WindowContent, decoded: Tensor) -> Tensor:
        """Give what was decoded, (frames, BANDS), what is kept of the recording's articulation: of one of the voice
        itself the envelope, of others what the decoder cannot reproduce."""
        if said.detail is not None:
            decoded = decoded + (1.0 - self._own) * (1.0 - self.settings.likeness) * said.detail
        return decoded + self._own * self._step.known * (said.envelope - decoded) if self._own else decoded

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


def _by_renderer(parts: Sequence[Sequence[_Part]]) -> list[list[_Part]]:
    """Return the parts of windows in groups that one renderer converts."""
    groups: dict[Renderer, list[_Part]] = {}
    for part in chain.from_iterable(parts):
        groups.setdefault(part.renderer, []).append(part)
    return list(groups.values())


def _by_part(groups: Sequence[Sequence[_Part]], results: Sequence[Sequence[Result]]) -> dict[_Part, Result]:
    """Return the results of each group by their parts."""
    return dict(zip(chain.from_iterable(groups), chain.from_iterable(results), strict=True))
