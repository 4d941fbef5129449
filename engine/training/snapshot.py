"""A voice as it is at a checkpoint of its training, and what can be measured from its recordings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engine.analysis.envelope import ACTIVE_NEPERS, band_centres, band_widths, loudness_of
from engine.analysis.pitch import Pitch
from engine.analysis.pitch_statistics import PitchStatistics, pitch_statistics
from engine.analysis.style import measure_style
from engine.analysis.vocal_range import measure_range, voice_type
from engine.conversion.settings import ConversionSettings
from engine.errors import TrainingError
from engine.features.clips import Clip
from engine.networks.content_encoder import mix_content
from engine.networks.envelope_decoder import EnvelopeDecoder, prosody_input
from engine.texts import tr
from engine.training.fine_tuning import FineTuning
from engine.training.pieces import PIECE_FRAMES
from engine.voices.card import VoiceCard
from engine.voices.profile import VoiceProfile
from engine.voices.voice import Voice

_CONTRAST_FRAMES = 12_000  # spread over all recordings: enough for a standard deviation
_LARGEST_CONTRAST = 1.35
_LEAST_SHARE = 0.1  # of the voiced frames; with less singing, or speech, its pitch is not measured
_RETRIEVAL = ConversionSettings.retrieval  # as in conversions by default


def portray(profile: VoiceProfile, clips: Sequence[Clip], identifier: str) -> VoiceCard:
    """Make the card of a voice from its profile; what that leaves open is measured from the clips.

    Raises TrainingError if there is no voice in them.
    """
    pitch = Pitch.joined(clip.pitch for clip in clips)
    loudness_db = np.concatenate([clip.loudness_db for clip in clips])
    found = measure_range(pitch, loudness_db)
    if found is None:
        raise TrainingError(tr("These recordings contain no voice: no pitch was found in them."))
    bands = int(np.median([clip.bands for clip in clips]))
    spoken_pitch, sung_pitch = _pitches_apart(clips)
    spoken = measure_style(pitch, loudness_db) != "melodic"
    return VoiceCard(
        id=identifier, name=profile.name, gender=profile.gender, age=profile.age, description=profile.description,
        base_language=profile.base_language, traits=list(profile.traits), genre=profile.genre,
        voice_type=profile.voice_type or voice_type(found, profile.gender, spoken),
        vocal_range=profile.vocal_range or {"min": found.min, "max": found.max},
        pitch=pitch_statistics(pitch.voiced_semitones),
        bandwidth_hertz=round(float((band_centres() + band_widths() / 2)[bands - 1])),
        licence=profile.licence, source=profile.source, consent=dict(profile.consent), other=dict(profile.other),
        spoken_pitch=spoken_pitch, sung_pitch=sung_pitch,
    )  # fmt: skip


def _pitches_apart(clips: Sequence[Clip]) -> tuple[PitchStatistics | None, PitchStatistics | None]:
    """Measure the pitch of spoken and of sung clips; None where there are too few of a kind."""
    notes: dict[bool, list[np.ndarray]] = {False: [np.zeros(0)], True: [np.zeros(0)]}  # by whether it sings
    for clip in clips:
        notes[measure_style(clip.pitch, clip.loudness_db) == "melodic"].append(clip.pitch.voiced_semitones)
    spoken, sung = (np.concatenate(notes[sings]) for sings in (False, True))
    least = max(1.0, _LEAST_SHARE * (len(spoken) + len(sung)))
    return (
        pitch_statistics(spoken) if len(spoken) >= least else None,
        pitch_statistics(sung) if len(sung) >= least else None,
    )


def snapshot(tuning: FineTuning, card: VoiceCard, training: dict[str, Any]) -> Voice:
    """Return the voice as it is now, ready to convert with, on the CPU; `training` goes on its card."""
    decoder, timbre = tuning.averaged()
    centre, contrast = measure_contrast(tuning, decoder, timbre)
    frames = tuning.retrieval_frames.content
    voice = Voice(replace(card, training=training), timbre, tuning.spread, centre, contrast, decoder, frames)
    return voice.on(torch.device("cpu"))


def measure_contrast(tuning: FineTuning, decoder: EnvelopeDecoder, timbre: Tensor) -> tuple[Tensor, Tensor]:
    """Measure the mean of the decoded envelope, and how much more the real one varies, both (BANDS,).

    Decoded envelopes vary less than real ones; restoring the variance makes speech clearer (Toda et al., 2007).
    """
    decoded, real = [], []
    with torch.inference_mode():
        for number, clip in enumerate(_sample(tuning.clips)):
            envelope = _on_device_of(clip.envelope.astype(np.float32), timbre)
            content = _on_device_of(clip.content[0].astype(np.float32), timbre)[None]
            if _RETRIEVAL:  # the search takes longer than everything else
                content = mix_content(content, _nearest_elsewhere(tuning, content[0], number)[None], _RETRIEVAL)
            loudness = loudness_of(envelope)
            semitones, voicing = _on_device_of(clip.pitch.semitones, timbre), _on_device_of(clip.pitch.voicing, timbre)
            prosody = prosody_input(semitones, voicing, loudness)
            active = loudness > ACTIVE_NEPERS
            decoded.append(decoder(content, prosody[None], timbre[None])[0][active])
            real.append(envelope[active])
    decoded_all, real_all = torch.cat(decoded), torch.cat(real)
    ratio = real_all.std(0) / decoded_all.std(0).clamp_min(0.05)
    smooth = functional.avg_pool1d(ratio[None, None], 9, 1, 4, count_include_pad=False)[0, 0]
    return decoded_all.mean(0).clone(), smooth.clamp(1.0, _LARGEST_CONTRAST).clone()


def _nearest_elsewhere(tuning: FineTuning, content: Tensor, clip: int) -> Tensor:
    """Return the nearest frames of a clip's content (frames, CONTENT), each piece without its own surroundings.

    Piece by piece, because a voice may have one recording only.
    """
    firsts = range(0, len(content), PIECE_FRAMES)
    return torch.cat(
        [tuning.nearest_frames_elsewhere(content[first : first + PIECE_FRAMES], clip, first) for first in firsts]
    )


def _on_device_of(values: np.ndarray, other: Tensor) -> Tensor:
    """Return the values on the device of the other tensor."""
    return torch.from_numpy(values).to(other.device)


def _sample(clips: Sequence[Clip]) -> list[Clip]:
    """Take the same share of every clip, from its beginning, together at most _CONTRAST_FRAMES."""
    share = min(1.0, _CONTRAST_FRAMES / sum(len(clip.pitch) for clip in clips))
    return [clip.piece(0, max(1, round(share * len(clip.pitch)))) for clip in clips]
