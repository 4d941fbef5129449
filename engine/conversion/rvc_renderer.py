"""Render windows with an imported voice: its own content and networks, and everything else as for any voice.

window --> ContentVec --> retrieval, less of it where unvoiced --> generator --> 44.1 kHz --> loudness, cross-fade
"""

from collections.abc import Mapping, Sequence

import numpy as np
import soxr
import torch
from torch import Tensor
from torch.nn import functional

from engine.analysis.envelope import SILENT, loudness_of, measure_envelope
from engine.analysis.pitch import VOICED, Pitch
from engine.analysis.windows import Window
from engine.conversion.doubles import Apart
from engine.conversion.levels import compared_levels
from engine.conversion.playback_speed import Speed
from engine.conversion.renderer import Melody, Renderer, Sung
from engine.conversion.settings import ConversionSettings
from engine.conversion.window_plans import Analysed, TakePlan, WindowContent
from engine.errors import VoiceError
from engine.features.analysed_windows import AnalysedWindows
from engine.features.survey import Survey
from engine.networks.base import BaseModel
from engine.rvc.contentvec import content_of, load_contentvec
from engine.rvc.rendering import Moment, is_sound
from engine.texts import tr
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE
from engine.voices.imported import AnyVoice, ImportedVoice
from engine.workers import Workers


class RvcRenderer(Renderer):
    """Render windows in order (see `Renderer`)."""

    voice: ImportedVoice  # type: ignore[assignment]

    def _prepare(self) -> None:
        self._contentvec = load_contentvec(device=self.base.device)

    @property
    def together(self) -> int:
        """One: their networks know no batches."""
        return 1

    @property
    def _sound_device(self) -> torch.device:
        return torch.device("cpu")  # where it is resampled

    def _analyse(self, windows: Sequence[Window]) -> list[Analysed]:
        return [self._analysed(window) for window in windows]

    def _analysed(self, window: Window) -> Analysed:
        found = self._windows.analyse(window)
        mid, pitch = found.mid, self.melody.source_pitch(window.first_frame, found.pitch)
        measured = found.envelope if pitch is found.pitch else measure_envelope(mid, pitch, self.base.device)
        with torch.inference_mode():
            loudness = loudness_of((self._placed(measured) - self.survey.level.nepers).clamp_min(SILENT))
            own = content_of(self._contentvec, mid, len(pitch), self.voice.networks.version)
            voicing = self._placed(pitch.voicing)
            said = WindowContent(self._placed(measured), voicing, self._retrieved(own, voicing), loudness)
        level_db = compared_levels(mid[window.given], self._compared_hertz)
        return Analysed(window.given, level_db, self._room(measured), pitch, said)

    def _retrieved(self, content: Tensor, voicing: Tensor) -> Tensor:
        """Move content towards the voice's index; consonant protection keeps the recording's where it is unvoiced."""
        settings, index = self.settings, self.voice.index
        if index is None or settings.retrieval == 0.0:
            return content
        strength = settings.retrieval * (1.0 - settings.consonant_protection * (voicing <= VOICED).float())
        return content + strength[:, None] * (index.nearest(content) - content)

    def _cycles(self, pitch: Pitch) -> np.ndarray:
        return np.append(0.0, np.cumsum(_voiced_hertz(pitch).astype(np.float64) / FRAME_RATE))

    def _planned(self, index: int, sung: Sung, start: float) -> TakePlan:
        return TakePlan(self._levels(self.numbers[index], sung), start)

    def _samples(self, index: int, sung: Sequence[Sung], plans: Sequence[TakePlan]) -> list[Tensor]:
        return [torch.from_numpy(self._rendered(index, *one)) for one in zip(sung, plans, strict=True)]

    def _rendered(self, index: int, sung: Sung, plan: TakePlan) -> np.ndarray:
        pitch, networks, content = sung.pitches[index], self.voice.networks, sung.analysed.said.content
        hertz, formants = _voiced_hertz(pitch), self._formants(sung)
        # formants move when fewer or more frames at a lower or higher pitch are played back at another speed
        shift = 2.0 ** (self.settings.formant_shift_semitones / 12)
        speed = None if formants is None else Speed(2.0 ** (formants / 12))
        frames = round(len(hertz) * shift) if speed is None else speed.frames
        if speed is not None:
            content, hertz = self._placed(speed.slowed(content.cpu().numpy())), speed.slowed_pitch(hertz)
        elif frames != len(hertz):
            content = functional.interpolate(content.T[None], frames, mode="linear")[0].T
            hertz = hertz[(np.arange(frames) / shift).astype(int).clip(max=len(hertz) - 1)] / np.float32(shift)
        with torch.inference_mode():
            moment = Moment(self.seeds[self.numbers[index]], sung.window.first_frame, plan.start)
            samples = networks.render(content, self._placed(hertz), moment)
        if not is_sound(samples):
            name = self.voice.card.name
            raise VoiceError(tr("{name} rendered invalid samples: import it again, from another file.", name=name))
        wanted = len(pitch) * HOP
        if speed is not None:
            return speed.played(samples, networks.sample_rate)
        resampled = soxr.resample(samples, networks.sample_rate * frames / len(pitch), SAMPLE_RATE)[:wanted]
        return np.pad(resampled, (0, wanted - len(resampled))).astype(np.float32)


def _voiced_hertz(pitch: Pitch) -> np.ndarray:
    return np.where(pitch.voicing > VOICED, pitch.hertz, 0.0).astype(np.float32)


def renderer_for(
    base: BaseModel,
    voice: AnyVoice,
    survey: Survey,
    settings: ConversionSettings,
    melody: Melody,
    phases: Mapping[int, float] | None = None,
    analysed: AnalysedWindows | None = None,
    apart: Apart | None = None,
    workers: Workers | None = None,
) -> Renderer:
    """Return what renders this kind of voice. Raises VoiceError where ContentVec is missing for an imported one."""
    kind = RvcRenderer if isinstance(voice, ImportedVoice) else Renderer
    return kind(base, voice, survey, settings, melody, phases, analysed, apart, workers)  # type: ignore[arg-type]
