"""Making a voice: the base's decoder and a timbre, fine-tuned on one person's recordings.

The content encoder stays as it is, and hears the recordings perturbed as in pretraining, so the new decoder cannot
learn to read the speaker from it. The loss is the base's: envelope distance, and a critic that keeps envelopes from
blurring.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engine.audio import Audio, resample
from engine.base import WEIGHTS, BaseModel, load_base, load_weights
from engine.content import content_input
from engine.decoder import EnvelopeDecoder, prosody_input
from engine.envelope import BANDS, SILENT, Level, loudness_of, measure_envelope, measure_level
from engine.errors import TrainingError
from engine.frames import FRAME_RATE, SAMPLE_RATE
from engine.losses import EnvelopeDiscriminator, envelope_distance
from engine.perturbation import add_noise_floor, random_equalizer, random_factor, warp_bands
from engine.pitch import Pitch, detect_pitch
from engine.shaping import voiced_semitones
from engine.survey import bands_with_signal
from engine.timbre import timbre_input
from engine.voice import SPREAD, PitchStatistics, pitch_statistics

LEAST_VOICE_S = 10.0  # of voiced sound; less is not enough to learn from


@dataclass(frozen=True)
class TrainingPlan:
    """Settings of a voice's training."""

    steps: int = 300
    batch: int = 12
    frames: int = 160
    decoder_rate: float = 3e-4  # of learning
    timbre_rate: float = 5e-3
    warm_up: int = 30
    critic: float = 0.12  # weight of deceiving the critic
    matching: float = 0.6  # weight of matching its features
    foreign: int = 6  # pieces of other people's content in each step
    kept: float = 0.25  # weight of keeping their content
    taken: float = 0.5  # weight of taking on the voice's timbre
    seed: int = 0


@dataclass(frozen=True)
class Clip:
    """One recording on the frame grid; envelope in nepers relative to its level."""

    envelope: np.ndarray  # float32 (frames, BANDS)
    pitch: Pitch
    level: Level
    bands: int


@dataclass(frozen=True)
class TrainedVoice:
    """What training gives; the card is made by whoever knows the name."""

    decoder: EnvelopeDecoder
    timbre: Tensor  # (TIMBRE,)
    spread: Tensor  # (SPREAD, TIMBRE)
    centre: Tensor  # (BANDS,)
    contrast: Tensor  # (BANDS,)
    pitch: PitchStatistics
    bands: int
    history: list[dict[str, float]]


def analyse_clip(audio: Audio) -> Clip:
    """A recording as a clip to train on: its mid at SAMPLE_RATE, analysed."""
    samples = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    pitch = detect_pitch(samples, SAMPLE_RATE)
    envelope = measure_envelope(samples, pitch)
    level = measure_level(envelope)
    relative = np.maximum(envelope - level.nepers, SILENT).astype(np.float32)
    return Clip(relative, pitch, level, bands_with_signal(envelope, level))


def train_voice(
    clips: list[Clip], plan: TrainingPlan, report: Callable[[float, str], None] = lambda fraction, message: None
) -> TrainedVoice:
    """Fine-tune the base on clips of one voice.

    `report` may raise Cancelled, which is passed on. Raises TrainingError where there is too little voice.
    """
    voiced_s = sum(int(clip.pitch.voiced.sum()) for clip in clips) / FRAME_RATE
    if voiced_s < LEAST_VOICE_S:
        raise TrainingError(
            f"There are only {voiced_s:.1f} seconds of voice; at least {LEAST_VOICE_S:.0f} are needed, "
            "five minutes are good."
        )
    base = load_base()
    torch.manual_seed(plan.seed)
    timbres = torch.stack([clip_timbre(base, clip) for clip in clips])
    weights = torch.tensor([float(len(clip.pitch)) for clip in clips])
    timbre = torch.nn.Parameter((timbres * weights[:, None]).sum(0) / weights.sum())
    decoder = EnvelopeDecoder()
    decoder.load_state_dict(base.decoder.state_dict())
    tuning = _FineTuning(base, decoder, timbre, clips, plan)
    history = tuning.run(report)
    decoder.eval().requires_grad_(False)
    final = timbre.detach()
    centre, contrast = measure_contrast(base, decoder, final, clips)
    semitones = np.concatenate([voiced_semitones(clip.pitch) for clip in clips])
    return TrainedVoice(
        decoder, final, _spread(timbres, weights), centre, contrast, pitch_statistics(semitones), tuning.bands, history
    )


def clip_timbre(base: BaseModel, clip: Clip) -> Tensor:
    """The base's timbre of one clip, (TIMBRE,)."""
    with torch.inference_mode():
        return base.timbre(timbre_input(torch.from_numpy(clip.envelope)[None], 0.0))[0].clone()


@dataclass(frozen=True)
class ForeignContent:
    """What other people said, as the base encodes it; all float32."""

    content: Tensor  # (pieces, frames, CONTENT)
    prosody: Tensor  # (pieces, frames, PROSODY)
    semitones: Tensor  # (pieces,): median pitch


def load_foreign(path: Path = WEIGHTS / "foreign.safetensors") -> ForeignContent:
    """The pieces that ship with the base. Raises VoiceError where they are missing or damaged."""
    return ForeignContent(**load_weights(path))


class _FineTuning:
    """One voice's training in progress."""

    def __init__(
        self,
        base: BaseModel,
        decoder: EnvelopeDecoder,
        timbre: torch.nn.Parameter,
        clips: list[Clip],
        plan: TrainingPlan,
    ) -> None:
        self.base, self.decoder, self.timbre, self.clips, self.plan = base, decoder, timbre, clips, plan
        self.heard_as = timbre.detach().clone()  # what the timbre encoder makes of the voice
        self.bands = int(np.median([clip.bands for clip in clips]))
        self.foreign = load_foreign()
        longest = self.foreign.content.shape[1]
        if plan.frames > longest:
            raise TrainingError(f"frames must be at most {longest}, the foreign pieces' length, not {plan.frames}.")
        self.median = float(np.median(np.concatenate([voiced_semitones(clip.pitch) for clip in clips])))
        self.critic = EnvelopeDiscriminator()
        self.critic.load_state_dict(load_weights(WEIGHTS / "critic.safetensors"))
        groups = [
            {"params": list(decoder.parameters()), "top": plan.decoder_rate},
            {"params": [timbre], "top": plan.timbre_rate},
        ]
        self.optimizer = torch.optim.AdamW(groups, plan.decoder_rate, betas=(0.9, 0.98), weight_decay=0.0)
        self.judge = torch.optim.AdamW(self.critic.parameters(), 2e-4, betas=(0.8, 0.99))

    def run(self, report: Callable[[float, str], None]) -> list[dict[str, float]]:
        plan, history = self.plan, []
        for step in range(plan.steps):
            scale = min(1.0, (step + 1) / plan.warm_up) * (0.5 + 0.5 * math.cos(math.pi * step / plan.steps))
            for group in self.optimizer.param_groups:
                group["lr"] = group["top"] * scale
            figures = self._step(step)
            if step % 10 == 9 or step == plan.steps - 1:
                history.append({"step": step + 1} | figures)
                report((step + 1) / plan.steps, f"step {step + 1}, difference {figures['envelope']:.3f}")
        return history

    def _step(self, step: int) -> dict[str, float]:
        plan, base = self.plan, self.base
        envelope, heard, prosody, bands = make_batch(self.clips, self.bands, plan, step)
        foreign_content, foreign_prosody = self._foreign(step)
        count = len(envelope)
        own, other = (self.timbre[None].expand(n, -1) for n in (count, len(foreign_content)))
        everyone = torch.cat([own, other]).detach()
        with torch.autocast("cpu", torch.bfloat16):
            with torch.no_grad():
                content = base.content(heard)
                _, wanted = self.critic(envelope, own)
            predicted = self.decoder(content, prosody, own)
            converted = self.decoder(foreign_content, foreign_prosody, other)
            self.critic.requires_grad_(False)
            fake = torch.cat([predicted, converted])
            score, features = self.critic(fake, everyone)
            distance = envelope_distance(predicted, envelope, bands)
            matching = torch.stack(
                [functional.l1_loss(f[:count], w) for f, w in zip(features, wanted, strict=True)]
            ).mean()
            deceiving = (score.float() - 1).square().mean()
            said = base.content(content_input(converted.clamp_min(SILENT), 0.0, active_mean(converted.detach())))
            kept = functional.l1_loss(said, foreign_content)
            taken_for = base.timbre(timbre_input(converted, 0.0))
            taken = 1 - functional.cosine_similarity(taken_for, self.heard_as[None]).mean()
            loss = distance + plan.matching * matching + plan.critic * deceiving + plan.kept * kept + plan.taken * taken
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.decoder.parameters(), 1.0)
        self.optimizer.step()
        self._teach_critic(envelope, own.detach(), fake.detach(), everyone)
        figures = {"envelope": distance, "deceiving": deceiving, "kept": kept, "taken": taken}
        return {name: round(float(value.detach()), 4) for name, value in figures.items()}

    def _foreign(self, step: int) -> tuple[Tensor, Tensor]:
        """Pieces of other people's content, their pitch moved to the voice's middle."""
        choices = np.random.default_rng([self.plan.seed, step, 5])
        chosen = torch.from_numpy(choices.choice(len(self.foreign.content), self.plan.foreign, replace=False))
        prosody = self.foreign.prosody[chosen].clone()
        prosody[..., 0] += ((self.median - self.foreign.semitones[chosen]) / 12.0)[:, None]
        frames = self.plan.frames
        return self.foreign.content[chosen, :frames], prosody[:, :frames]

    def _teach_critic(self, real: Tensor, timbre: Tensor, fake: Tensor, everyone: Tensor) -> None:
        self.critic.requires_grad_(True)
        with torch.autocast("cpu", torch.bfloat16):
            judged = (self.critic(real, timbre)[0].float() - 1).square().mean()
            judged = judged + self.critic(fake, everyone)[0].float().square().mean()
        self.judge.zero_grad(set_to_none=True)
        judged.backward()
        self.judge.step()


def active_mean(envelope: Tensor) -> Tensor:
    """Mean of relative envelopes (batch, frames, BANDS) over the frames within 30 dB of the level, (batch, BANDS)."""
    active = (loudness_of(envelope) > -3.5).float()[..., None] + 1e-3
    return (envelope.clamp_min(SILENT) * active).sum(1) / active.sum(1)


def make_batch(clips: list[Clip], bands: int, plan: TrainingPlan, step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Envelopes, what the encoder hears, prosody, and bands of one step; the same for the same seed and step."""
    choices = np.random.default_rng([plan.seed, step])
    random = torch.Generator().manual_seed(plan.seed * 1_000_003 + step)
    lengths = np.array([max(len(clip.pitch), plan.frames) for clip in clips], float)
    chosen = [clips[number] for number in choices.choice(len(clips), plan.batch, p=lengths / lengths.sum())]
    rows = [_crop(clip, plan.frames, choices) for clip in chosen]
    envelope = torch.from_numpy(np.stack([clip.envelope[r] for clip, r in zip(chosen, rows, strict=True)]))
    semitones = torch.from_numpy(np.stack([clip.pitch.semitones[r] for clip, r in zip(chosen, rows, strict=True)]))
    voicing = torch.from_numpy(np.stack([clip.pitch.voicing[r] for clip, r in zip(chosen, rows, strict=True)]))
    mean = torch.from_numpy(np.stack([clip.level.mean for clip in chosen]))
    factor = random_factor(plan.batch, 1.33, random)
    warped = warp_bands(envelope, factor) + random_equalizer(plan.batch, BANDS, 0.12, random)
    heard = content_input(add_noise_floor(warped, random), 0.0, warp_bands(mean[:, None], factor)[:, 0])
    prosody = prosody_input(semitones, voicing, loudness_of(envelope))
    return envelope, heard, prosody, torch.full((plan.batch,), bands)


def _crop(clip: Clip, frames: int, choices: np.random.Generator) -> np.ndarray:
    length = len(clip.pitch)
    first = int(choices.integers(0, max(length - frames, 0) + 1))
    return (first + np.arange(frames)) % length  # a clip shorter than the crop goes round


def measure_contrast(
    base: BaseModel, decoder: EnvelopeDecoder, timbre: Tensor, clips: list[Clip]
) -> tuple[Tensor, Tensor]:
    """Mean of the decoded envelope, and how much more the real one varies around its own, both (BANDS,).

    Averages come out flatter than the real thing; giving the variance back makes speech clearer (Toda et al., 2007).
    """
    decoded, real = [], []
    with torch.inference_mode():
        for clip in clips[: max(1, 6000 * 100 // sum(len(c.pitch) for c in clips)) * 60]:
            envelope = torch.from_numpy(clip.envelope)
            content = base.content(content_input(envelope[None], 0.0, torch.from_numpy(clip.level.mean)[None]))
            loudness = loudness_of(envelope)
            semitones, voicing = torch.from_numpy(clip.pitch.semitones), torch.from_numpy(clip.pitch.voicing)
            prosody = prosody_input(semitones, voicing, loudness)
            active = loudness > -3.5
            decoded.append(decoder(content, prosody[None], timbre[None])[0][active])
            real.append(envelope[active])
    decoded_all, real_all = torch.cat(decoded), torch.cat(real)
    ratio = real_all.std(0) / decoded_all.std(0).clamp_min(0.05)
    smooth = functional.avg_pool1d(ratio[None, None], 9, 1, 4, count_include_pad=False)[0, 0]
    return decoded_all.mean(0), smooth.clamp(1.0, 1.35)


def _spread(timbres: Tensor, weights: Tensor) -> Tensor:
    """The directions (SPREAD, TIMBRE) in which the clips' timbres vary most, each one standard deviation long."""
    share = (weights / weights.sum()).sqrt()[:, None]
    centred = (timbres - (timbres * share.square()).sum(0)) * share
    _, sizes, directions = torch.linalg.svd(centred, full_matrices=False)
    found = sizes[:SPREAD, None] * directions[:SPREAD]
    return torch.cat([found, torch.zeros(SPREAD - len(found), timbres.shape[1])])
