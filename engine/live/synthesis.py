"""Synthesis of a stream: each frame is filtered once and added where it belongs, so that no hop shows a seam."""

import numpy as np
import torch
from torch import Tensor

from engine.networks.excitation import cycles_per_frame, pulse_train
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.spectral_frames import PIECE, PIECE_BEGINS
from engine.networks.synthesizer import Residual, Synthesizer
from engine.units import HOP


class StreamSynthesizer:
    """Keeps the phase of the pulses, the noise, and the samples that later frames will add to."""

    delay = PIECE_BEGINS  # samples by which the output ends before the centre of the last frame

    def __init__(self, synthesizer: Synthesizer, seed: int = 0) -> None:
        self._synthesizer = synthesizer
        self._random = np.random.Generator(np.random.Philox(key=[seed, 0]))
        self._cycles: Tensor | float = 0.0
        self._pulses, self._noise = torch.zeros(1, HOP), torch.zeros(1, HOP)
        self._sum = torch.zeros(PIECE)

    def push(
        self,
        envelope: Tensor,
        hertz: Tensor,
        voicing: Tensor,
        residual: Residual,
        recorded: RecordedExcitation | None,
        after: int,
    ) -> np.ndarray:
        """Synthesize the next frames, those of the residual: float32 (frames * HOP,).

        envelope (n, BANDS), hertz and voicing (n,) hold these frames, what precedes them, and `after` >= 1 more.
        recorded: likewise, but fewer of what precedes them.
        """
        frames = len(residual.share)
        stop = len(hertz) - after
        with torch.inference_mode():
            own = recorded and self._at_pitch(recorded, hertz.numpy(), frames, after)
            pulses, self._cycles = pulse_train(hertz[None, stop - frames : stop + 1], self._cycles)
            noise = torch.from_numpy(self._random.standard_normal(frames * HOP, np.float32))[None]
            self._pulses = torch.cat([self._pulses[:, -HOP:], pulses], 1)
            self._noise = torch.cat([self._noise[:, -HOP:], noise], 1)
            filters = self._synthesizer.filters(envelope[None], hertz[None], voicing[None], frames + after)
            voice, hiss = (signal.unfold(1, 2 * HOP, HOP) for signal in (self._pulses, self._noise))
            harmonic, noise_gain, phase = (curve[:, :frames] for curve in filters)
            rendered = envelope[stop - frames : stop]
            pieces = self._synthesizer.pieces((harmonic, noise_gain, phase), voice, hiss, residual, own, rendered)[0]
        total = torch.cat([self._sum, torch.zeros(frames * HOP)])
        for number, piece in enumerate(pieces):
            total[number * HOP : number * HOP + PIECE] += piece
        self._sum = total[frames * HOP : frames * HOP + PIECE]
        return total[: frames * HOP].numpy()

    def _at_pitch(self, recorded: RecordedExcitation, hertz: np.ndarray, frames: int, after: int) -> RecordedExcitation:
        """Return the excitation of the next frames at their pitch, its periods where those of the pulses are."""
        before = len(recorded.hertz) - frames - after
        wanted = hertz[-len(recorded.hertz) :]
        start = float(self._cycles) - cycles_per_frame(wanted, 0.0)[before]
        return recorded.at_pitch(wanted, start)[before : before + frames]
