"""A content encoder that hears under adversity what the base hears in the clean recording.

The base learned from people who read aloud in a quiet room. What it hears there is what the encoder shall hear in an
echoing room, in noise, through a poor line and of high notes (teacher and student on the same recording, clean and
not; Li et al., 2017). What it hears of clean recordings hardly changes, so voices that were made before go on
speaking as they did.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from engine.base import load_base
from engine.checkpoint import load_checkpoint, save_checkpoint
from engine.content import ContentEncoder, content_input
from engine.envelope import LOW_BANDS
from engine.perturbation import add_noise_floor, random_equalizer, random_factor, warp_bands
from engine.pretraining.acoustic import drawn_ahead, follow, learning_rate
from engine.pretraining.adverse_clips import CLEAN, DISTURBED, SUNG, AdverseCorpus, AdverseEntry
from engine.pretraining.corpus import clip_weight

WARPED = "warped"  # clean, as a longer or shorter vocal tract would have said it
_KINDS = (DISTURBED, SUNG, WARPED, CLEAN)


@dataclass(frozen=True)
class HardeningPlan:
    """Settings of one part of the hardening; saved inside its checkpoints."""

    steps: int
    rate: float  # of learning
    disturbed: float  # share of the crops, as those that follow; the rest is clean
    sung: float
    warped: float
    seed: int
    batch: int = 16
    frames: int = 200
    cool_down: float = 0.6  # share of the steps over which the rate falls to zero at the end

    @property
    def shares(self) -> tuple[float, ...]:
        """Of disturbed, sung, warped and clean crops."""
        told = (self.disturbed, self.sung, self.warped)
        return (*told, 1.0 - sum(told))


# Far away from the base at first. Halfway back it has most of what was gained, and of what was lost of clean recordings
# the smaller part (as with networks fine-tuned for another domain; Wortsman et al., 2022); from there on with care.
FAR = HardeningPlan(steps=9400, rate=8e-4, disturbed=0.5, sung=0.25, warped=0.1, seed=31)
NEAR = HardeningPlan(steps=6000, rate=2.5e-4, disturbed=0.35, sung=0.2, warped=0.05, seed=32)
_BACK = 0.5


@dataclass(frozen=True)
class AdverseBatch:
    """heard (batch, frames, LOW_BANDS) as the encoder is given it, the content (batch, frames, CONTENT) it should have,
    and how much each frame counts (batch, frames)."""

    heard: Tensor
    content: Tensor
    weight: Tensor


class AdverseBatches:
    """Draws crops of some speakers; the same seed and step give the same batch."""

    def __init__(self, corpus: AdverseCorpus, speakers: set[str], plan: HardeningPlan) -> None:
        self.corpus, self.plan = corpus, plan
        clips = corpus.corpus.clips
        chosen = [entry for entry in corpus.entries if clips[entry.clip].speaker in speakers and entry.frames > 1]
        self._entries = {kind: [entry for entry in chosen if entry.kind == kind] for kind in (DISTURBED, SUNG, CLEAN)}
        self._weights = {kind: self._weigh(entries) for kind, entries in self._entries.items()}

    def _weigh(self, entries: list[AdverseEntry]) -> np.ndarray:
        clips = self.corpus.corpus.clips
        weights = [max(entry.frames, self.plan.frames) * clip_weight(clips[entry.clip]) for entry in entries]
        return np.array(weights) / max(sum(weights), 1e-9)

    def make(self, step: int, kind: str | None = None) -> AdverseBatch:
        """The batch of a step, of one kind only where one is said."""
        plan = self.plan
        numbers = np.random.default_rng([plan.seed, step])
        random = torch.Generator().manual_seed(plan.seed * 1_000_003 + step)
        kinds = [kind] * plan.batch if kind else list(numbers.choice(_KINDS, plan.batch, p=plan.shares))
        crops = [self._crop(one, numbers) for one in kinds]
        heard, mean, content, loudness = (torch.stack(parts) for parts in zip(*crops, strict=True))
        warped = torch.tensor([one == WARPED for one in kinds])
        if warped.any():
            heard[warped], mean[warped] = _warp(heard[warped], mean[warped], random)
        # what is silent when clean has no content, and what is heard there instead does not matter
        weight = torch.sigmoid(2 * (loudness + 4.0)) + 0.05
        return AdverseBatch(content_input(heard, 0.0, mean), content, weight)

    def _crop(self, kind: str, random: np.random.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        drawn = CLEAN if kind == WARPED or not self._entries[kind] else kind
        entry = self._entries[drawn][random.choice(len(self._entries[drawn]), p=self._weights[drawn])]
        first = int(random.integers(0, max(entry.frames - self.plan.frames, 0) + 1))
        # a clip shorter than the crop goes round
        rows = entry.first_frame + (first + np.arange(self.plan.frames)) % entry.frames
        content, loudness = self.corpus.wanted(entry, rows)
        heard = torch.from_numpy(self.corpus.envelope[rows].astype(np.float32))
        return heard, torch.tensor(entry.mean), content, loudness


def _warp(heard: Tensor, mean: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    factor = random_factor(len(heard), 1.25, random)
    warped = warp_bands(heard, factor) + random_equalizer(len(heard), LOW_BANDS, 0.12, random)
    return add_noise_floor(warped, random), warp_bands(mean[:, None], factor)[:, 0]


def harden_content(
    corpus: AdverseCorpus,
    aside: set[str],
    base: Path,
    folder: Path,
    plans: tuple[HardeningPlan, HardeningPlan],
    device: torch.device,
    report: Callable[[float, str], None],
) -> dict[str, Tensor]:
    """The weights by name of a hardened encoder, going on from the checkpoints in `folder` where there are some.

    aside: the speakers that are kept to validate with; base: a base.safetensors, whose encoder it begins from; plans:
    FAR and NEAR. Raises VoiceError where the base cannot be read.
    """
    known = load_base(base).content.state_dict()
    far = _train(corpus, aside, known, folder / "hardened_far.pt", plans[0], device, report)
    halfway = {name: torch.lerp(far[name].cpu(), value, _BACK) for name, value in known.items()}
    return _train(corpus, aside, halfway, folder / "hardened.pt", plans[1], device, report)


def _train(
    corpus: AdverseCorpus,
    aside: set[str],
    begin: dict[str, Tensor],
    checkpoint: Path,
    plan: HardeningPlan,
    device: torch.device,
    report: Callable[[float, str], None],
) -> dict[str, Tensor]:
    """Train to `plan.steps`; a line of scores against time at each evaluation goes to a log beside the checkpoint."""
    everyone = {clip.speaker for clip in corpus.corpus.clips}
    batches, unseen = AdverseBatches(corpus, everyone - aside, plan), AdverseBatches(corpus, aside, plan)
    encoder = ContentEncoder().to(device).eval()  # without the noise of a training that has to keep content small
    encoder.load_state_dict(begin)
    average = {name: value.detach().clone() for name, value in encoder.state_dict().items()}
    optimizer = torch.optim.AdamW(encoder.parameters(), plan.rate, betas=(0.9, 0.98), weight_decay=0.01)
    state, first, spent = load_checkpoint(checkpoint), 0, 0.0
    if state is not None:
        encoder.load_state_dict(state["encoder"])
        optimizer.load_state_dict(state["optimizer"])
        average = {name: value.to(device) for name, value in state["average"].items()}
        first, spent = state["step"], state["seconds"]
    started, total, counted = time.monotonic() - spent, 0.0, 0
    for step, batch in drawn_ahead(batches.make, first, plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(plan.rate, step, plan.steps, plan.cool_down)
        with torch.autocast(device.type, torch.bfloat16):
            heard = encoder(batch.heard.to(device))
        loss = _distance(heard, batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if torch.isfinite(clip_grad_norm_(encoder.parameters(), 1.0)):
            optimizer.step()
            total, counted = total + loss.item(), counted + 1
        follow(average, encoder, min(0.998, step / (step + 50)))
        if (step + 1) % 300 == 0 or step + 1 == plan.steps:
            seconds = time.monotonic() - started
            line = {"step": step + 1, "seconds": round(seconds, 1), "distance": round(total / max(counted, 1), 4)}
            line |= validate(average, unseen, device)
            save_checkpoint(
                checkpoint,
                {"encoder": encoder.state_dict(), "optimizer": optimizer.state_dict(), "average": average,
                 "step": step + 1, "seconds": seconds, "plan": asdict(plan)},
            )  # fmt: skip
            with open(checkpoint.with_suffix(".jsonl"), "a") as log:
                log.write(json.dumps(line) + "\n")
            report((step + 1) / plan.steps, " ".join(f"{name} {value}" for name, value in line.items()))
            total, counted = 0.0, 0
    return average


def _distance(heard: Tensor, batch: AdverseBatch) -> Tensor:
    weight = batch.weight.to(heard.device)
    return ((heard.float() - batch.content.to(heard.device)).abs().mean(2) * weight).sum() / weight.sum()


def validate(average: dict[str, Tensor], unseen: AdverseBatches, device: torch.device) -> dict[str, float]:
    """How far what is heard of speakers never trained on is from what should be, by kind."""
    encoder = ContentEncoder().to(device).eval()
    encoder.load_state_dict(average)
    rounds = 4
    scores = {}
    with torch.inference_mode():
        for kind in _KINDS:
            batches = [unseen.make(9_000_000 + number, kind) for number in range(rounds)]
            distances = [_distance(encoder(batch.heard.to(device)), batch).item() for batch in batches]
            scores[f"unseen_{kind}"] = round(sum(distances) / rounds, 4)
    return scores
