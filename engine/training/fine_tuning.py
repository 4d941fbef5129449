"""Fine-tune the base's decoder and a timbre vector on one voice, step by step.

Content comes from several augmentations of each recording, as in pretraining, so that the decoder cannot learn to read
the speaker from traces left in one of them. The loss is that of the base: envelope distance, a discriminator that keeps
envelopes from blurring, and other people's content, which has to stay intelligible and take on the target timbre.

A step depends only on its number, its pieces and the state before it, and shares no random state with other code.
A training that was interrupted therefore resumes exactly as if it had never stopped.

On a graphics card steps are queued ahead of it: nothing in a step waits for a result, and nothing is copied to or from
the card. A step with NaN or infinite losses is left out there as well, but by the card itself.
"""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.carrying import on_device
from engine.features.clips import Clip
from engine.features.foreign_content import load_foreign
from engine.features.retrieval import FrameSearch, gather_retrieval_frames, in_context, nearest_frames
from engine.features.speaker_timbre import mean_timbre, speaker_timbres, timbre_spread
from engine.networks.base import WEIGHTS, BaseModel, load_weights
from engine.networks.content_encoder import mix_content
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.envelope_content import envelope_input, load_envelope_content
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.losses import envelope_distance
from engine.networks.timbre_encoder import timbre_input
from engine.training.pieces import Batch, PackedClips, Piece, loud_frames, make_batch
from engine.training.plan import TrainingPlan
from engine.training.step_draws import Choices, Step, StepDraws, around

Figures = dict[str, float]
_TIMBRE_RATE = 16.0  # times the decoder's
_DISCRIMINATOR_RATE = 2e-4
_WARM_UP_STEPS = 30
_SLOWING_STEPS = 600  # after three times as many the rate has halved
_DECEIVING, _MATCHING = 0.12, 0.6  # weights of deceiving the discriminator and of matching its features
_KEPT, _TAKEN = 0.25, 0.5  # weights of keeping other people's content and of taking on the voice
_AVERAGING_STEPS = 100  # over about as many the weights that are used are averaged
_LOSSES = ("loss", "envelope", "deceiving", "kept", "taken")


class FineTuning:
    """Training state of one voice: decoder, timbre, discriminator, their optimizers, and averaged weights."""

    def __init__(
        self,
        base: BaseModel,
        clips: Sequence[Clip],
        plan: TrainingPlan,
        precision: torch.dtype = torch.float32,
        ahead: bool | None = None,
    ) -> None:
        """Prepare the training.

        base: on the device to train on; precision: of matrix products; ahead: whether steps are queued without waiting
        for their results, by default on a graphics card.
        """
        self.base, self.clips, self.plan = base, clips, plan
        self.device, self.precision = base.device, precision
        self.ahead = self.device.type == "cuda" if ahead is None else ahead
        self.together = 1.0  # steps of the plan that are taken as one, of so many more pieces
        self.packed = None if self.device.type == "cpu" else PackedClips(clips, self.device)
        self.loud = [loud_frames(clip) for clip in clips]
        timbres = speaker_timbres(base, clips)
        self.target_timbre, self.spread = mean_timbre(*timbres), timbre_spread(*timbres)
        self.bands = int(np.median([clip.bands for clip in clips]))
        self.retrieval_frames = gather_retrieval_frames(clips, self.device)
        self.foreign = load_foreign().to(self.device)
        self.envelope_content = load_envelope_content(self.device)
        self.foreign_nearest = torch.stack(
            [nearest_frames(one, self.retrieval_frames.content) for one in self.foreign.content]
        )
        self.search = FrameSearch(self.retrieval_frames.content)
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
        fused = True if self.ahead else None  # one operation for all weights, which can leave a step out by itself
        self.optimizer = torch.optim.AdamW(groups, plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=fused)
        self.discriminator_optimizer = torch.optim.AdamW(
            self.discriminator.parameters(), _DISCRIMINATOR_RATE, betas=(0.8, 0.99), fused=fused
        )
        self.average = {name: value.detach().clone() for name, value in self._learned().items()}

    def step(self, number: int, pieces: Sequence[Piece], rate_share: float = 1.0) -> Figures | None:
        """Train on one batch and return the losses, or None without any change if they are NaN or infinite.

        rate_share: share of the plan's learning rate to use.
        """
        [step] = self.draw(number, [pieces])
        return self.read([self.queue(step, rate_share)])[0]

    def draw(self, first: int, batches: Sequence[Sequence[Piece]]) -> list[Step]:
        """Draw what chance decides in the steps from number `first` on, for the pieces of each."""
        choices = Choices(
            self.plan.seed, self.clips, self.packed, self.retrieval_frames, self.search, len(self.foreign.content)
        )
        foreign = round(self.plan.foreign * self.together)
        draws = [choices.draw(number, pieces, foreign) for number, pieces in enumerate(batches, first)]
        there = on_device(draws, self.device)
        return [Step(first + n, pieces, drawn) for n, (pieces, drawn) in enumerate(zip(batches, there, strict=True))]

    def queue(self, step: Step, rate_share: float = 1.0) -> Tensor:
        """Train on one batch, and return on the device what `read` reads; `ahead`, nothing here waits for it."""
        batch = self._batch(step)
        losses, fakes = self._losses(batch, step.drawn)
        self.optimizer.zero_grad(set_to_none=True)
        losses["loss"].backward()
        size = nn.utils.clip_grad_norm_(self.decoder.parameters(), 1.0)
        assert self.timbre.grad is not None
        good = torch.isfinite(losses["loss"]) & torch.isfinite(size) & torch.isfinite(self.timbre.grad).all()
        if self.ahead or bool(good):
            self._move(step.number, rate_share, good)
            self._train_discriminator(batch.envelope, fakes, good)
        if self.ahead:
            good = good & self._soundness()
        return torch.stack([*(losses[name].detach().float() for name in _LOSSES), good.float()])

    def read(self, queued: Sequence[Tensor]) -> list[Figures | None]:
        """Wait for steps that `queue` returned, and return the losses of each, or None.

        None: it was left out, or `ahead`, weights are no longer finite.
        """
        rows = torch.stack(list(queued)).cpu().tolist()
        return [dict(zip(_LOSSES, values, strict=True)) if good else None for *values, good in rows]

    def _batch(self, step: Step) -> Batch:
        if self.packed is None:
            return make_batch(self.clips, step.pieces, self.plan.seed, step.number)
        return self.packed.batch(step.drawn.places)

    def _losses(self, batch: Batch, drawn: StepDraws) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor]]:
        """Compute the losses, and the decoded envelopes, own and foreign, with their timbres for the discriminator."""
        foreign_content, foreign_drawn, foreign_prosody = self._foreign(drawn)
        count, foreign_count = len(batch.envelope), len(foreign_content)
        own, other = (self.timbre[None].expand(n, -1) for n in (count, foreign_count))
        everyone = torch.cat([own, other]).detach()
        bands = torch.full((count,), self.bands, device=self.device)
        kept = taken = torch.zeros((), device=self.device)
        with self._matrix_work():
            self.discriminator.requires_grad_(False)
            with torch.no_grad():
                content = self._retrieved(batch.content, drawn)
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
        for name, optimizer in (("optimizer", self.optimizer), ("judge", self.discriminator_optimizer)):
            fused = {"fused": optimizer.param_groups[0]["fused"]}  # the state may be of another device
            groups = [group | fused for group in state[name]["param_groups"]]
            optimizer.load_state_dict(state[name] | {"param_groups": groups})

    def is_sound(self) -> bool:
        """Return whether all weights are finite."""
        return bool(self._soundness())

    def _soundness(self) -> Tensor:
        """Return the same, on the device."""
        learned = [*self._learned().values(), *self.discriminator.state_dict().values()]
        return torch.isfinite(torch.stack(torch._foreach_norm(learned))).all()

    def _learned(self) -> dict[str, Tensor]:
        own = {f"decoder.{name}": value for name, value in self.decoder.state_dict().items()}
        return own | {"timbre": self.timbre.detach()}

    def _move(self, number: int, rate_share: float, good: Tensor) -> None:
        """Move the weights, unless the step is not `good`, and average them.

        Of steps taken together the rate grows with the square root of their number, and what is counted in steps
        counts all of them (Malladi et al., On the SDEs and scaling rules for adaptive gradient algorithms, 2022).
        """
        counted = (number + 1) * self.together - 1
        warm = min(1.0, (counted + 1) / _WARM_UP_STEPS)
        rate = self.plan.learning_rate * rate_share * warm / math.sqrt(1 + counted / _SLOWING_STEPS)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"] * math.sqrt(self.together)
        self._take(self.optimizer, good)
        keep = min(1 - self.together / _AVERAGING_STEPS, (counted + 1) / (counted + 10))
        learned = self._learned()  # unchanged by a step that was left out: they are averaged once more
        torch._foreach_lerp_([self.average[name] for name in learned], list(learned.values()), 1 - keep)

    def _take(self, optimizer: torch.optim.Optimizer, good: Tensor) -> None:
        """Take a step of an optimizer; `ahead` it is left out on the device, unless it is `good`."""
        if self.ahead:
            optimizer.found_inf = (~good).float()  # type: ignore[attr-defined]
        optimizer.step()

    def nearest_frames_elsewhere(self, content: Tensor, clip: int, first: int) -> Tensor:
        """Return the nearest frames of content (frames, CONTENT) outside this part of the clip and its surroundings."""
        there = around(self.retrieval_frames, clip, first, len(content))
        return self.search.nearest(in_context(content), *self.search.compared(there))

    def _retrieved(self, content: Tensor, drawn: StepDraws) -> Tensor:
        """Mix half of the pieces of content (batch, frames, CONTENT) with their nearest frames of the voice.

        So the decoder learns to make clear speech from the averages that retrieval returns. A device searches for all
        pieces at once; on the processor one after the other takes less memory.
        """
        mixed = content.clone()
        count = drawn.retrieved.shape[1]
        each = count if self.ahead else 1
        for first in range(0, count, max(1, each)):
            chosen = slice(first, first + each)
            places, start, stop = drawn.retrieved[:, chosen]
            own = content[places]
            nearest = self.search.nearest(in_context(own), start[:, None, None], stop[:, None, None])
            mixed[places] = mix_content(own, nearest, drawn.strengths[chosen, None, None])
        return mixed

    def _foreign(self, drawn: StepDraws) -> tuple[Tensor, Tensor, Tensor]:
        """Return content of other speakers: plain, after retrieval, and its prosody at the voice's median pitch."""
        chosen = drawn.foreign
        prosody = self.foreign.prosody[chosen]
        prosody[..., 0] += ((self.median - self.foreign.semitones[chosen]) / 12.0)[:, None]
        content = self.foreign.content[chosen]
        strengths = drawn.foreign_strengths[:, None, None]
        return content, mix_content(content, self.foreign_nearest[chosen], strengths), prosody

    def _train_discriminator(self, real: Tensor, fakes: tuple[Tensor, Tensor], good: Tensor) -> None:
        timbre = self.timbre.detach()[None].expand(len(real), -1)
        self.discriminator.requires_grad_(True)
        with self._matrix_work():
            error = (self.discriminator(real, timbre)[0].float() - 1).square().mean()
            error = error + self.discriminator(*fakes)[0].float().square().mean()
        self.discriminator_optimizer.zero_grad(set_to_none=True)
        error.backward()
        for group in self.discriminator_optimizer.param_groups:
            group["lr"] = _DISCRIMINATOR_RATE * math.sqrt(self.together)
        good = good & torch.isfinite(error)
        if self.ahead or bool(good):
            self._take(self.discriminator_optimizer, good)
