"""The step that all renderings share: whole recordings, live blocks, and the example of an exported voice.

    content, prosody, timbre --> decode --> articulate --> formants --> consonants of the recording --> synthesize
                                         residual and excitation of the recording, as far as they are kept --+

What differs is what is known. Offline all of a window is, and its loudness is matched after the synthesis, measured in
samples. Live the next samples have to leave, so the change of loudness is computed from the envelopes before it. What
is exported ends before consonants and loudness, which are no networks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch.nn import functional

from engine.analysis.pitch import Pitch
from engine.conversion.articulation import (
    BEYOND,
    BEYOND_THE_KNOWN,
    articulate,
    kept_texture,
    protect_consonants,
    warp_bands,
)
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.synthesizer import Residual, Synthesizer
from engine.voices.voice import Voice

_OWN_TIMBRES = 0.87, 0.92  # cosines: other people are below them, the voice itself is above them (EXPERIMENTS)


class Kept(Protocol):
    """Settings of what is kept of a recording, offline and live."""

    @property
    def consonant_protection(self) -> float:
        """Of its breaths and unvoiced consonants, 0..1."""
        ...

    @property
    def texture(self) -> float:
        """Of its own voiced sound, 0..1, from the highest frequencies down."""
        ...

    @property
    def formant_shift_semitones(self) -> float:
        """By which formants move."""
        ...


def beyond(voice: Voice, is_sung: bool) -> float:
    """Return how far the timbre is pushed beyond the voice's, away from the recording's."""
    return BEYOND if voice.card.is_known_to(is_sung) else BEYOND_THE_KNOWN


def share_of_own(voice: Voice, timbre: Tensor) -> float:
    """Return how surely it is the voice itself that was recorded, 0..1, by the recording's timbre (TIMBRE,)."""
    if voice.is_scored:
        return 0.0
    first, last = _OWN_TIMBRES
    cosine = float(functional.cosine_similarity(timbre.cpu(), voice.timbre.cpu(), 0))
    return min(1.0, max(0.0, (cosine - first) / (last - first)))


@dataclass(frozen=True)
class RenderingStep:
    """Renders frames in a voice. Tensors lie on the device of the networks; known (BANDS,): what the recording has."""

    decoder: EnvelopeDecoder
    synthesizer: Synthesizer
    voice: Voice
    known: Tensor

    def decode(
        self,
        content: Tensor,
        prosody: Tensor,
        timbre: Tensor,
        formant_semitones: float = 0.0,
        as_recorded: Callable[[Tensor], Tensor] = lambda decoded: decoded,
        last: int | None = None,
    ) -> Tensor:
        """Return the log envelope relative to the recording's level, (frames, BANDS).

        content (frames, CONTENT); prosody (frames, 3); timbre (TIMBRE,); as_recorded: gives what the voice articulates,
        (frames, BANDS), what is kept of the recording's articulation; last: so many of the frames instead.
        """
        decoded = self.decoder(content[None], prosody[None], timbre[None], last)[0]
        return self.spoken(decoded, formant_semitones, as_recorded)

    def spoken(
        self,
        decoded: Tensor,
        formant_semitones: float | Tensor = 0.0,
        as_recorded: Callable[[Tensor], Tensor] = lambda decoded: decoded,
    ) -> Tensor:
        """Return what was decoded, (frames, BANDS), as the voice articulates it (see `decode`).

        formant_semitones: the same in all frames, or (frames,).
        """
        decoded = as_recorded(articulate(decoded, self.voice.centre, self.voice.contrast))
        if isinstance(formant_semitones, Tensor):
            return warp_bands(decoded[:, None], 2.0 ** (formant_semitones / 12))[:, 0]
        return warp_bands(decoded[None], 2.0 ** (formant_semitones / 12))[0] if formant_semitones else decoded

    def with_consonants(
        self, decoded: Tensor, envelope: Tensor, voicing: Tensor, loudness: Tensor, kept: Kept
    ) -> Tensor:
        """Keep the recording's breaths and unvoiced consonants in envelopes (frames, BANDS), relative to its level."""
        return protect_consonants(decoded, envelope, voicing, loudness, kept.consonant_protection, self.known)

    def residual(self, cut: Tensor, envelope: Tensor, voicing: Tensor, audible: Tensor, kept: Kept) -> Residual:
        """Return the residual of frames (frames, 2 * HOP) with absolute envelopes, as far as they are audible, 0..1."""
        share = kept.consonant_protection * audible
        return self.synthesizer.residual(cut, envelope, voicing, share, self.known)

    def excitation(
        self, cut: Tensor, envelope: Tensor, pitch: Pitch, audible: Tensor, kept: Kept, voicing: Tensor | None = None
    ) -> RecordedExcitation | None:
        """Return the voiced excitation of frames likewise; None where nothing of it is kept.

        voicing: that of the pitch, if it lies on their device.
        """
        if not kept.texture:
            return None
        share = audible[:, None] * (self.known * kept_texture(kept.texture, self.known.device))
        return self.synthesizer.recorded(cut, envelope, pitch, share, voicing)
