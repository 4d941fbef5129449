"""Convert a performance to another voice while it is sung.

    block --> 44.1 kHz --> rumble filter --+--> pitch --> envelope --> loudness ----+
                                           +--> content (listener or its student) --+--> decode --> synthesize --> limit
                                                  running level, means and timbre --+

Every block of `block_ms` is analysed together with what precedes it. A frame is rendered `look_ahead_ms` after it was
sung, when its pitch and its content are settled; what follows it is known provisionally, and serves as context. No
thread, no device and no clock: the same samples give the same result, whatever blocks they come in.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy import signal
from torch import Tensor

from engine.analysis.envelope import BANDS, FLOOR, SILENT, bands_below, loudness_of, measure_envelope
from engine.analysis.passage_levels import RunningGain
from engine.analysis.pitch import DEFAULT_HERTZ, TRUSTED, VOICED, Pitch, detect_pitch
from engine.audio.cross_fades import cross_fade
from engine.conversion.articulation import COLOUR_FRAMES, foreground, known_bands
from engine.conversion.pitch_shaping import fold_pitch
from engine.conversion.rendering_step import RenderingStep, beyond
from engine.errors import SettingsError
from engine.features.sustained_notes import smooth_sustained, sustained_share
from engine.live.content import ContentReader, ListenerReader, StudentReader
from engine.live.resampling import StreamResampler
from engine.live.running_key import RunningKey
from engine.live.settings import LISTENER, SINGING, STEP_MS, LiveSettings
from engine.live.speaker import RunningSpeaker, SpeakerProfile
from engine.live.synthesis import StreamSynthesizer
from engine.networks.base import load_base
from engine.networks.causal_content import load_student
from engine.networks.envelope_decoder import between_decoders, prosody_input
from engine.networks.listener import LISTENER_RATE
from engine.networks.quantization import in_eight_bits
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.synthesizer import Residual, Synthesizer
from engine.texts import tr
from engine.units import DECIBELS_PER_NEPER, HOP, SAMPLE_RATE, hertz_to_semitones
from engine.voices.voice import Voice, load_voice

_KEPT_FRAMES = 120  # before the newest one: more than any network reaches back
_PITCH_MS = 200  # that the detector is given before the frames that are not fixed: it reaches back 176
_ENVELOPE_FRAMES = 3  # of context on the left, more than half the longest window
_LARGEST_CHANGE = (-40.0 / DECIBELS_PER_NEPER, 12.0 / DECIBELS_PER_NEPER)  # of loudness, nepers
_SILENCE_BELOW, _FADE = 55.0 / DECIBELS_PER_NEPER, 10.0 / DECIBELS_PER_NEPER  # the level; quieter fades out
_MOVED_FRAMES = 16  # before those that are rendered, which show where in a period the energy lies
_TIMBRE_EVERY_FRAMES, _TIMBRE_FRAMES = 100, 150
_KNEE, _CEILING = 0.8, 0.99  # of full scale: above the knee peaks are bent
_LARGEST_SAMPLE = 4.0  # of the input
_RUMBLE_HERTZ = 25.0


@dataclass(frozen=True)
class Meter:
    """What a display shows of the last block: pitch as sung and as rendered (hertz; 0 unvoiced), peaks 0..1.

    curve: both pitches of each of its frames; fitting_transpose: the semitones that fit the voice, once they are known.
    """

    hertz: float = 0.0
    rendered_hertz: float = 0.0
    input_peak: float = 0.0
    output_peak: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()
    fitting_transpose: int | None = None


class LiveConverter:
    """Convert a performance while it is sung, in blocks of mono samples.

    - voice: a loaded voice, or anything that `load_voice` takes
    - settings: how to convert
    - rate: samples per second, in Hz
    - profile: of the last session
    - whole_blocks: whether all blocks will be multiples of `block_ms`, which saves that much delay

    Raises SettingsError for a rate that cannot be used. Raises VoiceError for a voice that is unknown or damaged.

    Examples
    --------
    >>> live = LiveConverter("koguchi", LiveSettings(), 48_000)
    >>> live.convert(np.zeros(512, np.float32)).shape, round(1000 * live.delay_s)
    ((512,), 125)
    """

    def __init__(
        self,
        voice: Voice | str | Path,
        settings: LiveSettings | None = None,
        rate: int = SAMPLE_RATE,
        profile: SpeakerProfile | None = None,
        whole_blocks: bool = False,
    ) -> None:
        settings = settings or LiveSettings()
        if not 8_000 <= rate <= 192_000 or rate * STEP_MS % 1000:
            raise SettingsError(tr("Live conversion takes 8,000 to 192,000 samples a second, not {rate}.", rate=rate))
        self.rate, self._settings = rate, settings
        self._core = _Core(_loaded(voice), settings, bands_below(min(rate / 2, 20_000)), profile)
        self._enter, self._leave = StreamResampler(rate, SAMPLE_RATE), StreamResampler(SAMPLE_RATE, rate)
        self._block = rate * settings.block_ms // 1000
        self._waiting = np.zeros(0, np.float32)
        self._ready = np.zeros(0 if whole_blocks else self._block, np.float32)
        self._whole_blocks = whole_blocks
        self.meter = Meter()

    @property
    def delay_s(self) -> float:
        """The algorithmic delay in seconds from an input sample to its output, including the buffering of blocks."""
        resampling = self._enter.delay_s + self._leave.delay_s
        return self._settings.block_ms / 1000 + self._core.delay / SAMPLE_RATE + resampling

    @property
    def lag_samples(self) -> int:
        """The number of samples at `rate` by which the output lags behind the input of the same calls."""
        waiting = self._settings.block_ms / 1000 if self._whole_blocks else 0.0
        return round((self.delay_s - waiting) * self.rate)

    @property
    def block(self) -> int:
        """Samples at `rate` that are converted at a time."""
        return self._block

    @property
    def settings(self) -> LiveSettings:
        """The settings in use."""
        return self._settings

    @property
    def profile(self) -> SpeakerProfile | None:
        """The profile to begin the next session with; None while too little has been sung."""
        return self._core.speaker.profile

    def change(
        self, voice: Voice | str | Path | None = None, settings: LiveSettings | None = None, bypass: bool | None = None
    ) -> None:
        """Change voice or settings from the next block on, or with `bypass` let the dry sound through with the same
        delay.

        Raises SettingsError for settings that cannot change during a session, VoiceError for an unusable voice.
        """
        if settings is not None:
            self._settings = self._settings.changed(**vars(settings))
        self._core.change(None if voice is None else _loaded(voice), self._settings, bypass)

    def convert(self, samples: np.ndarray) -> np.ndarray:
        """Convert the next mono samples (n,), full scale -1..1, to float32 (n,) that lag by `lag_samples`.

        Raises SettingsError for samples of another shape.
        """
        if samples.ndim != 1 or (self._whole_blocks and len(samples) % self._block):
            raise SettingsError(
                tr("Live conversion takes mono blocks, not samples of the shape {shape}.", shape=samples.shape)
            )
        self._waiting = np.concatenate([self._waiting, samples.astype(np.float32)])
        while len(self._waiting) >= self._block:
            block, self._waiting = self._waiting[: self._block], self._waiting[self._block :]
            self._ready = np.concatenate([self._ready, self._convert_block(block)])
        result, self._ready = self._ready[: len(samples)], self._ready[len(samples) :]
        return result

    def _convert_block(self, block: np.ndarray) -> np.ndarray:
        block = np.nan_to_num(block, nan=0.0, posinf=0.0, neginf=0.0).clip(-_LARGEST_SAMPLE, _LARGEST_SAMPLE)
        converted = limit(self._leave.push(self._core.push(self._enter.push(block))))
        curve = self._core.curve
        peaks = float(np.abs(block).max()), float(np.abs(converted).max())
        self.meter = Meter(*curve[-1], *peaks, curve, self._core.fitting_transpose())
        return converted


def _loaded(voice: Voice | str | Path) -> Voice:
    return voice if isinstance(voice, Voice) else load_voice(voice)


def limit(samples: np.ndarray) -> np.ndarray:
    """Bend samples beyond the knee so that none exceeds the ceiling, without delay; the others stay as they are."""
    size = np.abs(samples)
    room = _CEILING - _KNEE
    bent = _KNEE + room * np.tanh((size - _KNEE) / room)
    return np.where(size > _KNEE, np.copysign(bent, samples), samples).astype(np.float32)


class _Core:
    """The conversion at SAMPLE_RATE in blocks of `block_frames` frames.

    Arrays hold one row per frame; the last row is the newest frame, whose centre is one frame before the end.
    """

    def __init__(self, voice: Voice, settings: LiveSettings, bands: int, profile: SpeakerProfile | None) -> None:
        self._base = load_base()
        self._frames, self._ahead = settings.block_frames, settings.look_ahead_frames
        kept = _KEPT_FRAMES + self._frames
        student = load_student() if settings.content != LISTENER else None
        usual = student.usual.numpy() if student else np.zeros(80, np.float32)
        self.speaker = RunningSpeaker(self._base, usual, profile)
        self._reader: ContentReader = (
            StudentReader(self._base, student, kept) if student else ListenerReader(self._base, settings.block_ms)
        )
        self._synthesis = StreamSynthesizer(in_eight_bits(self._base.synthesizer))
        self._to_listener = StreamResampler(SAMPLE_RATE, LISTENER_RATE)
        self._rumble = signal.butter(2, _RUMBLE_HERTZ, "highpass", fs=SAMPLE_RATE, output="sos")
        self._rumble_state = np.zeros((len(self._rumble), 2))
        self._samples = np.zeros((kept + _ENVELOPE_FRAMES) * HOP, np.float32)
        self._listened = np.zeros(
            (_PITCH_MS + settings.block_ms + settings.look_ahead_ms) * LISTENER_RATE // 1000, np.float32
        )
        self._gain = RunningGain(LISTENER_RATE)
        self._hertz, self._voicing = np.full(kept, DEFAULT_HERTZ, np.float32), np.zeros(kept, np.float32)
        self._rendered_hertz = self._hertz.copy()
        self._envelope = np.full((kept, BANDS), FLOOR, np.float32)
        self._decoded = torch.full((kept, BANDS), SILENT)  # before the consonants, relative to the level
        self._output = torch.full((kept, BANDS), FLOOR)  # absolute
        self._passed, self._until_timbre = 0, _TIMBRE_EVERY_FRAMES
        self._key = RunningKey()
        self._dry_share, self._is_bypassed = 1.0 - settings.wet, False
        self._settings = settings
        self._step = self._step_for(voice, settings.accent, known_bands(bands))

    @property
    def delay(self) -> int:
        """Samples from the end of the input to the end of the output."""
        return self._ahead * HOP + StreamSynthesizer.delay

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Pitch of the frames that were settled last, sung and rendered; 0 where unvoiced."""
        new = slice(1 - self._ahead - self._frames, 1 - self._ahead)
        both = np.where(self._voicing[new] > VOICED, [self._hertz[new], self._rendered_hertz[new]], 0.0)
        return tuple((sung, rendered) for sung, rendered in both.astype(float).round(2).T.tolist())

    def fitting_transpose(self) -> int | None:
        """Return the semitones that fit the voice; None while too little was sung."""
        return self._key.transpose_for(self._step.voice.card, self._settings.style == SINGING)

    def change(self, voice: Voice | None, settings: LiveSettings, bypass: bool | None) -> None:
        """Use another voice or other settings from the next block on."""
        if voice is not None or settings.accent != self._settings.accent:
            self._step = self._step_for(voice or self._step.voice, settings.accent, self._step.known)
        if voice is not None or settings.style != self._settings.style:
            self._key.forget_transpose()
        self._settings = settings
        if bypass is not None:
            self._is_bypassed = bypass

    def _step_for(self, voice: Voice, accent: float, known: Tensor) -> RenderingStep:
        decoder = in_eight_bits(between_decoders(self._base.decoder, voice.decoder, accent))
        return RenderingStep(decoder, self._base.synthesizer, voice, known)

    def push(self, block: np.ndarray) -> np.ndarray:
        """Convert block_frames * HOP samples."""
        filtered, self._rumble_state = signal.sosfilt(self._rumble, block, zi=self._rumble_state)
        filtered = filtered.astype(np.float32)
        listened = self._to_listener.push(filtered)
        self._shift(filtered, listened)
        self._detect_pitch(len(listened))
        new = self._frames + self._ahead - 1  # frames that are not settled yet, which end the arrays
        self._measure_envelope(new)
        loudness = loudness_of(torch.from_numpy(self._envelope)).numpy()
        content = self._reader.read(listened, self.speaker, self._step.decoder.receptive_frames + new)
        self._decode(content, loudness, new)
        self._learn(loudness)
        return self._mixed(self._synthesize(new))

    def _shift(self, filtered: np.ndarray, listened: np.ndarray) -> None:
        """Make room for the new frames; until they are known they are like the last ones."""
        count = self._frames
        self._passed += count
        self._samples = np.concatenate([self._samples[len(filtered) :], filtered])
        self._listened = np.concatenate([self._listened[len(listened) :], listened])
        self._hertz, self._voicing, self._rendered_hertz = (
            np.concatenate([curve[count:], np.repeat(curve[-1:], count)])
            for curve in (self._hertz, self._voicing, self._rendered_hertz)
        )
        self._envelope = np.concatenate([self._envelope[count:], np.repeat(self._envelope[-1:], count, 0)])
        self._decoded, self._output = (
            torch.cat([rows[count:], rows[-1:].expand(count, -1)]) for rows in (self._decoded, self._output)
        )

    def _detect_pitch(self, new: int) -> None:
        """Detect the pitch of the frames that are not fixed: the pulses already lead to the one after the last.

        new: samples of this block.
        """
        # one thread: beside a busy core, waiting for a second one costs more than it saves
        found = detect_pitch(self._listened, LISTENER_RATE, gain_db=self._gain.db(self._listened, new))
        count = self._frames + self._ahead - 2
        if not (found.voicing > TRUSTED).any():  # keep the last pitch: nothing is known
            found = Pitch(np.full(len(found), self._hertz[-1 - count], np.float32), found.voicing)
        self._hertz[-count:], self._voicing[-count:] = found.hertz[-1 - count : -1], found.voicing[-1 - count : -1]

    def _measure_envelope(self, count: int) -> None:
        rows = count + _ENVELOPE_FRAMES
        pitch = Pitch(self._hertz[-rows:], self._voicing[-rows:]).one_frame_longer()
        self._envelope[-count:] = measure_envelope(self._samples[-rows * HOP :], pitch)[-1 - count : -1]

    def _decode(self, content: Tensor, loudness: np.ndarray, count: int) -> None:
        """Decode the last `count` frames, at the loudness of the input."""
        settings, level = self._settings, self.speaker.level
        relative = (torch.from_numpy(self._envelope) - level).clamp_min(SILENT)
        own_loudness = loudness_of(relative)
        rows = len(content)
        voicing = torch.from_numpy(self._voicing)
        if settings.style == SINGING:
            content = smooth_sustained(content, relative[-rows:], voicing[-rows:])
        hertz = fold_pitch(Pitch(self._hertz, self._voicing).transposed(settings.transpose)).hertz
        self._rendered_hertz[1 - count :] = hertz[1 - count :]  # the first leads to a phase that is past
        semitones = torch.from_numpy(hertz_to_semitones(self._rendered_hertz).astype(np.float32))
        with torch.inference_mode():
            prosody = prosody_input(semitones[-rows:], voicing[-rows:], own_loudness[-rows:])
            formants = settings.formant_shift_semitones
            decoded = self._step.decode(content, prosody, self._timbre(), formants, last=count)
            self._decoded = torch.cat([self._decoded[:-count], decoded])
            near = slice(-count - COLOUR_FRAMES, None)
            rendered = self._step.with_consonants(
                self._decoded[near], relative[near], voicing[near], own_loudness[near], settings
            )[-count:]
            wanted = torch.from_numpy(loudness[-count:])
            change = (wanted - level - loudness_of(rendered)).clamp(*_LARGEST_CHANGE)
            opening = ((wanted - level + _SILENCE_BELOW) / _FADE + 1.0).clamp(1e-4, 1.0).log()
            rendered = rendered + (level + change + opening)[:, None]
            self._output = torch.cat([self._output[:-count], rendered.clamp_min(FLOOR)])

    def _timbre(self) -> Tensor:
        """Return the voice's timbre, pushed away from the singer's once that is known."""
        source, voice = self.speaker.timbre, self._step.voice
        if source is None:
            return voice.timbre
        return voice.timbre + beyond(voice, self._settings.style == SINGING) * (voice.timbre - source)

    def _learn(self, loudness: np.ndarray) -> None:
        """Add the frames that have just been settled to the estimates of the speaker."""
        sounding = self.speaker.sounding(loudness, self._voicing)
        new = slice(-self._ahead - self._frames, -self._ahead)
        share = sustained_share(torch.from_numpy(self._envelope[-96:]), torch.from_numpy(self._voicing[-96:])).numpy()
        self.speaker.update(loudness[new], sounding[new], share[new])
        if sounding[new].any():
            self._key.add(Pitch(self._hertz[new], self._voicing[new]), DECIBELS_PER_NEPER * loudness[new])
        self._reader.learn(self.speaker, sounding[-self._frames :])
        self._until_timbre -= self._frames
        if self._until_timbre <= 0:
            self._until_timbre += _TIMBRE_EVERY_FRAMES
            piece = slice(-self._ahead - _TIMBRE_FRAMES, -self._ahead)
            count = int(sounding[piece][-_TIMBRE_EVERY_FRAMES:].sum())
            if count >= _TIMBRE_EVERY_FRAMES // 5:
                self.speaker.learn_timbre(self._envelope[piece], count)

    def _synthesize(self, count: int) -> np.ndarray:
        rows = Synthesizer.receptive_frames + count + 1
        hertz, voicing = torch.from_numpy(self._rendered_hertz[-rows:]), torch.from_numpy(self._voicing[-rows:])
        kept = self._residual(), self._recorded()
        return self._synthesis.push(self._output[-rows:], hertz, voicing, *kept, self._ahead - 1)

    def _residual(self) -> Residual:
        """Return the residual of the breaths and unvoiced consonants among the frames that are rendered."""
        after = self._ahead - 1
        voicing = torch.from_numpy(self._voicing[-after - self._frames : -after])
        with torch.inference_mode():
            cut, envelope, audible = self._sung(self._frames, after)
            return self._step.residual(cut, envelope, voicing, audible, self._settings)

    def _recorded(self) -> RecordedExcitation | None:
        """Return the excitation of the frames that are rendered, of what precedes and of what follows them."""
        count = _MOVED_FRAMES + self._frames + self._ahead - 1
        pitch = Pitch(self._rendered_from()[-count:], self._voicing[-count:])
        with torch.inference_mode():
            cut, envelope, audible = self._sung(count, 0)
            return self._step.excitation(cut, envelope, pitch, audible, self._settings)

    def _sung(self, count: int, after: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return `count` frames of the recording with `after` more behind them, their envelopes, and how far each is
        audible."""
        envelope = torch.from_numpy(self._envelope[len(self._envelope) - after - count : len(self._envelope) - after])
        samples = self._samples[-(after + count + 1) * HOP : len(self._samples) - after * HOP]
        audible = foreground(loudness_of(envelope) - self.speaker.level)
        return torch.from_numpy(samples).unfold(0, 2 * HOP, HOP), envelope, audible

    def _rendered_from(self) -> np.ndarray:
        """Return the pitch that each frame had when its rendered one was chosen, which later blocks revise."""
        octaves = np.log2(self._rendered_hertz / self._hertz) - self._settings.transpose / 12
        return self._rendered_hertz * np.float32(2.0) ** -(np.rint(octaves) + self._settings.transpose / 12)

    def _mixed(self, converted: np.ndarray) -> np.ndarray:
        """Add the dry sound; what is heard of it changes over the first frame of a block."""
        wanted = 1.0 if self._is_bypassed else 1.0 - self._settings.wet
        if self._dry_share == wanted == 0.0:
            return converted
        stop = len(self._samples) - self.delay
        dry = self._samples[stop - len(converted) : stop]
        share = np.full(len(converted), wanted, np.float32)
        share[:HOP] = np.linspace(self._dry_share, wanted, HOP)
        self._dry_share = wanted
        return cross_fade(converted, dry, share)
