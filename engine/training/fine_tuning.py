"""Fine-tune the base's decoder and a timbre vector on one voice, step by step.

Content comes from several augmentations of each recording, as in pretraining, so that the decoder cannot learn to read
the speaker from traces left in one of them. The loss is that of the base: envelope distance, a discriminator that keeps
envelopes from blurring, and other people's content, which has to stay intelligible and take on the target timbre.

A step depends only on its number, its pieces and the state before it, and shares no random state with other code.
A training that was interrupted therefore resumes exactly as if it had never stopped.
"""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.analysis.envelope import ACTIVE_NEPERS, loudness_of
from engine.features.clips import Clip
from engine.features.foreign_content import load_foreign
from engine.features.retrieval import gather_retrieval_frames, nearest_frames
from engine.features.speaker_timbre import mean_timbre, speaker_timbres, timbre_spread
from engine.networks.base import WEIGHTS, BaseModel, load_weights
from engine.networks.content_encoder import mix_content
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.envelope_content import envelope_input, load_envelope_content
from engine.networks.envelope_decoder import EnvelopeDecoder, prosody_input
from engine.networks.losses import envelope_distance
from engine.networks.timbre_encoder import timbre_input
from engine.training.plan import TrainingPlan
from engine.units import hertz_to_semitones

PIECE_FRAMES = 160  # 1.6 s, the length of the foreign pieces too
_TIMBRE_RATE = 16.0  # times the decoder's
_DISCRIMINATOR_RATE = 2e-4
_WARM_UP_STEPS = 30
_SLOWING_STEPS = 600  # after three times as many the rate has halved
_DECEIVING, _MATCHING = 0.12, 0.6  # weights of deceiving the discriminator and of matching its features
_KEPT, _TAKEN = 0.25, 0.5  # weights of keeping other people's content and of taking on the voice
_AVERAGING_STEPS = 100  # over about as many the weights that are used are averaged
_ELSEWHERE_FRAMES = 300  # a frame nearer than this in the same recording belongs to the same sound
_ACTIVE_SHARE = 0.05  # of its frames; quieter pieces are left out

Piece = tuple[int, int]  # number of the clip, first frame


@dataclass(frozen=True)
class Batch:
    """Pieces of the voice in one step, float32."""

    envelope: Tensor  # (batch, frames, BANDS)
    content: Tensor  # (batch, frames, CONTENT): of one augmentation or another
    prosody: Tensor  # (batch, frames, PROSODY)

    def to(self, device: torch.device) -> "Batch":
        """Move the batch to a device."""
        return Batch(**{name: value.to(device) for name, value in vars(self).items()})


def epoch_pieces(clips: Sequence[Clip], seed: int, epoch: int) -> list[Piece]:
    """Cut all clips into shuffled pieces of PIECE_FRAMES, with other boundaries in each epoch.

    Each frame is used about once. Nearly silent pieces are left out; a clip shorter than a piece is one piece.
    """
    choices = np.random.default_rng([seed, epoch, 11])
    pieces: list[Piece] = []
    for number, clip in enumerate(clips):
        room = max(len(clip.pitch) - PIECE_FRAMES, 0)
        count = -(-len(clip.pitch) // PIECE_FRAMES)
        spacing = room / max(count - 1, 1)
        move = choices.uniform(-0.5, 0.5)  # the same for all pieces, so that they neither overlap nor leave gaps
        firsts = np.clip((np.arange(count) + move) * spacing, 0, room).round().astype(int)
        loud = _loud(clip)
        pieces += [
            (number, int(first)) for first in firsts if loud[first : first + PIECE_FRAMES].mean() > _ACTIVE_SHARE
        ]
    return [pieces[i] for i in choices.permutation(len(pieces))]


def make_batch(clips: Sequence[Clip], pieces: Sequence[Piece], seed: int, step: int) -> Batch:
    """Gather the inputs of the networks for some pieces, on the CPU; deterministic in seed and step."""
    random = np.random.default_rng([seed, step, 13])
    cut = [(clips[clip], _rows(clips[clip], first)) for clip, first in pieces]
    envelope = torch.from_numpy(np.stack([clip.envelope[rows] for clip, rows in cut]).astype(np.float32))
    hertz = np.stack([clip.pitch.hertz[rows] for clip, rows in cut])
    voicing = torch.from_numpy(np.stack([clip.pitch.voicing[rows] for clip, rows in cut]))
    semitones = torch.from_numpy(hertz_to_semitones(hertz).astype(np.float32))
    encoded = [clip.content[random.integers(len(clip.content)), rows] for clip, rows in cut]
    content = torch.from_numpy(np.stack(encoded).astype(np.float32))
    return Batch(envelope, content, prosody_input(semitones, voicing, loudness_of(envelope)))


class FineTuning:
    """Training state of one voice: decoder, timbre, discriminator, their optimizers, and averaged weights."""

    def __init__(
        self,
        base: BaseModel,
        clips: Sequence[Clip],
        plan: TrainingPlan,
        precision: torch.dtype = torch.float32,
    ) -> None:
        """Prepare the training. base: on the device to train on; precision: of matrix products."""
        self.base, self.clips, self.plan = base, clips, plan
        self.device, self.precision = base.device, precision
        timbres = speaker_timbres(base, clips)
        self.target_timbre, self.spread = mean_timbre(*timbres), timbre_spread(*timbres)
        self.bands = int(np.median([clip.bands for clip in clips]))
        self.retrieval_frames = gather_retrieval_frames(clips, self.device)
        self.foreign = load_foreign().to(self.device)
        self.envelope_content = load_envelope_content(self.device)
        self.foreign_nearest = torch.stack(
            [nearest_frames(one, self.retrieval_frames.content) for one in self.foreign.content]
        )
        self.median = float(np.median(np.concatenate([clip.pitch.voiced_semitones for clip in clips])))
        self.decoder = EnvelopeDecoder().to(self.device)
        self.decoder.load_state_dict(base.decoder.state_dict())
        self.timbre = nn.Parameter(self.target_timbre.clone())
        self.discriminator = EnvelopeDiscriminator().to(self.device)
        self.discriminator.load_state_dict(load_weights(WEIGHTS / "discriminator.safetensors"))
        groups = [
            {"params": list(self.decoder.parameters()), "share": 1.0},
            {"params": [self.timbre], "share": _TIMBRE_RATE},
        ]
        self.optimizer = torch.optim.AdamW(groups, plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.0)
        self.discriminator_optimizer = torch.optim.AdamW(
            self.discriminator.parameters(), _DISCRIMINATOR_RATE, betas=(0.8, 0.99)
        )
        self.average = {name: value.detach().clone() for name, value in self._learned().items()}

    def step(self, number: int, pieces: Sequence[Piece], rate_share: float = 1.0) -> dict[str, float] | None:
        """Train on one batch and return the losses, or None without any change if they are NaN or infinite.

        rate_share: share of the plan's learning rate to use.
        """
        batch = make_batch(self.clips, pieces, self.plan.seed, number).to(self.device)
        losses, fakes = self._losses(batch, pieces, number)
        self.optimizer.zero_grad(set_to_none=True)
        losses["loss"].backward()
        figures = {name: float(value.detach()) for name, value in losses.items()}
        size = nn.utils.clip_grad_norm_(self.decoder.parameters(), 1.0)
        assert self.timbre.grad is not None
        if not (math.isfinite(figures["loss"]) and torch.isfinite(size) and torch.isfinite(self.timbre.grad).all()):
            return None
        self._move(number, rate_share)
        self._train_discriminator(batch.envelope, fakes)
        return figures

    def _losses(
        self, batch: Batch, pieces: Sequence[Piece], number: int
    ) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor]]:
        """Compute the losses, and the decoded envelopes, own and foreign, with their timbres for the discriminator."""
        foreign_content, foreign_drawn, foreign_prosody = self._foreign(number)
        count, foreign_count = len(batch.envelope), len(foreign_content)
        own, other = (self.timbre[None].expand(n, -1) for n in (count, foreign_count))
        everyone = torch.cat([own, other]).detach()
        bands = torch.full((count,), self.bands, device=self.device)
        kept = taken = torch.zeros((), device=self.device)
        with self._matrix_work():
            self.discriminator.requires_grad_(False)
            with torch.no_grad():
                content = self._retrieved(batch.content, pieces, number)
                _, wanted = self.discriminator(batch.envelope, own)
            predicted = self.decoder(content, batch.prosody, own)
            fake = predicted
            if foreign_count:
                converted = self.decoder(foreign_drawn, foreign_prosody, other)
                fake = torch.cat([predicted, converted])
                repeated = self.envelope_content(envelope_input(converted))
                kept = functional.l1_loss(repeated, foreign_content)
                likeness = functional.cosine_similarity(
                    self.base.timbre(timbre_input(converted, 0.0)), self.target_timbre[None]
                )
                taken = 1 - likeness.mean()
            score, features = self.discriminator(fake, everyone)
            deceiving = (score.float() - 1).square().mean()
            distance = envelope_distance(predicted, batch.envelope, bands)
            matching = torch.stack(
                [functional.l1_loss(f[:count], w) for f, w in zip(features, wanted, strict=True)]
            ).mean()
            loss = distance + _MATCHING * matching + _DECEIVING * deceiving + _KEPT * kept + _TAKEN * taken
        losses = {"loss": loss, "envelope": distance, "deceiving": deceiving, "kept": kept, "taken": taken}
        return losses, (fake.detach(), everyone)

    def _matrix_work(self) -> AbstractContextManager[object]:
        """Return a context in which matrix products use the chosen precision."""
        whole = self.precision == torch.float32
        return nullcontext() if whole else torch.autocast(self.device.type, self.precision)

    def averaged(self) -> tuple[EnvelopeDecoder, Tensor]:
        """Return the averaged decoder, in evaluation mode, and the averaged timbre."""
        decoder = EnvelopeDecoder().to(self.device)
        decoder.load_state_dict(
            {name.removeprefix("decoder."): v for name, v in self.average.items() if name != "timbre"}
        )
        decoder.eval().requires_grad_(False)
        return decoder, self.average["timbre"].clone()

    def state(self) -> dict[str, Any]:
        """Return everything a step changes; tensors are not copied."""
        return {
            "learned": self._learned(),
            "average": self.average,
            "critic": self.discriminator.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "judge": self.discriminator_optimizer.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned."""
        with torch.no_grad():
            for name, value in self._learned().items():
                value.copy_(state["learned"][name])
        self.average = {name: value.to(self.device, copy=True) for name, value in state["average"].items()}
        self.discriminator.load_state_dict(state["critic"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.discriminator_optimizer.load_state_dict(state["judge"])

    def is_sound(self) -> bool:
        """Return whether all weights are finite."""
        learned = [*self._learned().values(), *self.discriminator.state_dict().values()]
        return all(bool(torch.isfinite(value).all()) for value in learned)

    def _learned(self) -> dict[str, Tensor]:
        own = {f"decoder.{name}": value for name, value in self.decoder.state_dict().items()}
        return own | {"timbre": self.timbre.detach()}

    def _move(self, number: int, rate_share: float) -> None:
        warm = min(1.0, (number + 1) / _WARM_UP_STEPS)
        rate = self.plan.learning_rate * rate_share * warm / math.sqrt(1 + number / _SLOWING_STEPS)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"]
        self.optimizer.step()
        keep = min(1 - 1 / _AVERAGING_STEPS, (number + 1) / (number + 10))
        for name, value in self._learned().items():
            self.average[name].lerp_(value, 1 - keep)

    def nearest_frames_elsewhere(self, content: Tensor, clip: int, first: int) -> Tensor:
        """Return the nearest frames of content (frames, CONTENT) outside this part of the clip and its surroundings."""
        stop = first + len(content)
        around = self.retrieval_frames.near(clip, first - _ELSEWHERE_FRAMES, stop + _ELSEWHERE_FRAMES)
        return nearest_frames(content, self.retrieval_frames.content, around)

    def _retrieved(self, content: Tensor, pieces: Sequence[Piece], number: int) -> Tensor:
        """Mix half of the pieces of content (batch, frames, CONTENT) with their nearest frames of the voice.

        So the decoder learns to make clear speech from the averages that retrieval returns.
        """
        choices = np.random.default_rng([self.plan.seed, number, 7])
        drawn = content.clone()
        for place, (clip, first) in enumerate(pieces):
            if (strength := choices.uniform(-1.0, 1.0)) > 0:
                nearest = self.nearest_frames_elsewhere(content[place], clip, first)
                drawn[place] = mix_content(content[place], nearest, strength)
        return drawn

    def _foreign(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw content of other speakers: plain, after retrieval, and its prosody at the voice's median pitch."""
        choices = np.random.default_rng([self.plan.seed, number, 5])
        everything = len(self.foreign.content)
        drawn = choices.choice(everything, min(self.plan.foreign, everything), replace=False)
        chosen = torch.from_numpy(drawn).to(self.device)
        prosody = self.foreign.prosody[chosen].clone()
        prosody[..., 0] += ((self.median - self.foreign.semitones[chosen]) / 12.0)[:, None]
        content = self.foreign.content[chosen]
        strength = torch.from_numpy(choices.uniform(0.0, 1.0, (len(chosen), 1, 1)).astype(np.float32)).to(self.device)
        return content, mix_content(content, self.foreign_nearest[chosen], strength), prosody

    def _train_discriminator(self, real: Tensor, fakes: tuple[Tensor, Tensor]) -> None:
        timbre = self.timbre.detach()[None].expand(len(real), -1)
        self.discriminator.requires_grad_(True)
        with self._matrix_work():
            error = (self.discriminator(real, timbre)[0].float() - 1).square().mean()
            error = error + self.discriminator(*fakes)[0].float().square().mean()
        self.discriminator_optimizer.zero_grad(set_to_none=True)
        error.backward()
        if torch.isfinite(error):
            self.discriminator_optimizer.step()


def _loud(clip: Clip) -> np.ndarray:
    """Mark the frames within 30 dB of the recording's level, bool (frames,)."""
    loud: np.ndarray = (loudness_of(torch.from_numpy(clip.envelope.astype(np.float32))) > ACTIVE_NEPERS).numpy()
    return loud


def _rows(clip: Clip, first: int) -> np.ndarray:
    """Return the frames of a piece; a shorter clip is repeated."""
    rows: np.ndarray = (first + np.arange(PIECE_FRAMES)) % len(clip.pitch)
    return rows
