"""Training of the content encoder, the timbre encoder and the decoder together.

First part: reconstruct each recording's envelope from perturbed content, timbre of another moment of the same speaker,
and prosody. The content of the same moment heard otherwise, with pieces hidden, shall be the same: half of the batch
perturbed otherwise, half converted to another speaker by the networks as they are so far (after ContentVec; Qian et
al., 2022, and the masked prediction of HuBERT; Hsu et al., 2021). Second part, encoder frozen: sharpen the decoder
against a discriminator, and let conversions to other speakers keep their content and take on the timbre they were
given.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.base import load_weights
from engine.checkpoint import load_checkpoint, save_checkpoint
from engine.content import CONTENT, ContentEncoder, active_mean, content_input
from engine.decoder import EnvelopeDecoder, prosody_input
from engine.envelope import SILENT, loudness_of
from engine.errors import TrainingError, VoiceError
from engine.frames import hertz_to_semitones
from engine.layers import ReverseGradient
from engine.losses import EnvelopeDiscriminator, envelope_distance
from engine.perturbation import add_noise_floor, random_equalizer, random_factor, random_holes, warp_bands
from engine.phones import PHONES, UNLABELLED
from engine.pretraining.corpus import ClipEntry, Corpus, draw_crops, split_speakers
from engine.timbre import TimbreEncoder, timbre_input

T = TypeVar("T")
BASE_PARTS = ("content", "timbre", "decoder")  # the networks of the base that are trained here


@dataclass(frozen=True)
class AcousticPlan:
    """Settings of the acoustic training; saved inside its checkpoints."""

    steps: int = 5400
    refine_from: float = 0.78  # share of the steps after which the encoders are frozen and the decoder sharpened
    batch: int = 16
    frames: int = 200
    rate: float = 1.2e-3  # of learning
    cool_down: float = 0.4  # share of the first part over which the rate falls to zero at its end
    refinement_rate: float = 4e-4
    refinement_cool_down: float = 0.5
    phones: float = 0.4  # weight of the phone loss
    agreement: float = 0.4  # weight of how far the contents of two hearings are apart
    adversary: float = 0.12  # strength of the reversed gradient
    seed: int = 7
    validation_speakers: float = 0.05
    first_batch: int = 0  # of the random ones; elsewhere where a base goes on that has learned from these

    @property
    def first_part(self) -> int:
        """Steps of the first part."""
        return round(self.refine_from * self.steps)

    def rate_at(self, step: int) -> float:
        """Learning rate of a step."""
        if step < self.first_part:
            return learning_rate(self.rate, step, self.first_part, self.cool_down)
        return learning_rate(
            self.refinement_rate, step - self.first_part, self.steps - self.first_part, self.refinement_cool_down
        )


@dataclass
class Batch:
    """Crops of one step, all float32 on the frame grid; envelopes relative to each recording's level."""

    envelope: Tensor  # (batch, frames, BANDS)
    heard: Tensor  # (batch, frames, LOW_BANDS): what the content encoder is given, perturbed
    heard_again: Tensor  # (batch, frames, LOW_BANDS): the same, perturbed otherwise
    shown: Tensor  # (batch, frames, LOW_BANDS): 1, or 0 where the second hearing hears nothing
    reference: Tensor  # (batch, frames, LOW_BANDS): another moment of the same speaker
    prosody: Tensor  # (batch, frames, PROSODY)
    semitones: Tensor  # (batch,): median pitch
    bands: Tensor  # (batch,)
    phones: Tensor  # (batch, frames)
    speaker: Tensor  # (batch,)

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        return Batch(**{name: value.to(device) for name, value in vars(self).items()})


class BatchMaker:
    """Draws crops and perturbs them; the same seed and step give the same batch."""

    def __init__(self, corpus: Corpus, clips: list[ClipEntry], plan: AcousticPlan, speakers: dict[str, int]) -> None:
        self.corpus, self.clips, self.plan, self.speakers = corpus, clips, plan, speakers
        self.by_speaker: dict[str, list[ClipEntry]] = {}
        for clip in clips:
            self.by_speaker.setdefault(clip.speaker, []).append(clip)

    def make(self, step: int, perturbed: bool = True) -> Batch:
        """The batch of a step; not perturbed, the encoder hears the recordings as they are."""
        plan = self.plan
        random = torch.Generator().manual_seed(plan.seed * 1_000_003 + step)
        choices = np.random.default_rng([plan.seed, step, 1])
        crops = list(draw_crops(self.clips, plan.frames, plan.seed, step, plan.batch))
        rows = [self._frames(clip, first) for clip, first in crops]
        envelope = torch.from_numpy(np.stack([self.corpus.envelope[r] for r in rows]).astype(np.float32))
        hertz = torch.from_numpy(np.stack([self.corpus.hertz[r] for r in rows]))
        voicing = torch.from_numpy(np.stack([self.corpus.voicing[r] for r in rows]))
        phones = torch.from_numpy(np.stack([self.corpus.phones[r] for r in rows]).astype(np.int64))
        nepers = torch.tensor([clip.nepers for clip, _ in crops])[:, None, None]
        mean = torch.tensor([clip.mean for clip, _ in crops])
        bands = torch.tensor([clip.bands for clip, _ in crops])
        reference = torch.from_numpy(np.stack([self._reference(clip, choices) for clip, _ in crops]))
        envelope = (envelope - nepers).clamp_min(SILENT)
        semitones = torch.from_numpy(hertz_to_semitones(hertz.numpy()).astype(np.float32))
        if perturbed:  # some recordings become somebody else: another vocal tract, another pitch
            chosen = torch.rand(plan.batch, generator=random) < 0.35
            size = torch.where(chosen, random_factor(plan.batch, 1.22, random), 1.0)
            envelope, reference, mean = (warp_bands(e, size) for e in (envelope, reference, mean[:, None]))
            mean = mean[:, 0]
            lost = [max(0, round(22 * (1 - float(s)) * 1.5)) for s in size]
            bands = torch.minimum(bands, bands - torch.tensor(lost))
            shift = 12 * torch.log2(size) * 1.5 + torch.randn(plan.batch, generator=random) * 2 * (size != 1)
            semitones = semitones + shift[:, None]
        loudness = loudness_of(envelope)
        heard = self._heard(envelope, mean, random) if perturbed else content_input(envelope, 0.0, mean)
        return Batch(
            envelope=envelope,
            heard=heard,
            heard_again=self._heard(envelope, mean, random) if perturbed else heard,
            shown=random_holes(heard.shape[0], heard.shape[1], heard.shape[2], random)
            if perturbed
            else torch.ones_like(heard),
            reference=timbre_input(reference, 0.0),
            prosody=prosody_input(semitones, voicing, loudness),
            semitones=semitones.median(1).values,
            bands=bands,
            phones=phones,
            speaker=torch.tensor([self.speakers.get(clip.speaker, 0) for clip, _ in crops]),
        )

    def _frames(self, clip: ClipEntry, first: int) -> np.ndarray:
        # a clip shorter than the crop goes round
        return clip.first_frame + (first - clip.first_frame + np.arange(self.plan.frames)) % clip.frames

    def _reference(self, clip: ClipEntry, choices: np.random.Generator) -> np.ndarray:
        others = self.by_speaker[clip.speaker]
        other = others[choices.integers(len(others))] if choices.random() < 0.7 else clip
        first = other.first_frame + int(choices.integers(0, max(other.frames - self.plan.frames, 0) + 1))
        return self.corpus.envelope[self._frames(other, first)].astype(np.float32) - other.nepers

    @staticmethod
    def _heard(envelope: Tensor, mean: Tensor, random: torch.Generator) -> Tensor:
        batch, _, bands = envelope.shape
        factor = random_factor(batch, 1.33, random)
        # the recording's mean is warped with it; what stays is how far a mean measured on a few seconds is off
        error = random_equalizer(batch, bands, 0.12, random)
        warped = add_noise_floor(warp_bands(envelope, factor) + error, random)
        return content_input(warped, 0.0, warp_bands(mean[:, None], factor)[:, 0])


class SpeakerClassifier(nn.Module):
    """Content (batch, frames, CONTENT) -> which speaker of the corpus it might be, from the whole crop."""

    def __init__(self, speakers: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(CONTENT, 192, 5, stride=2), nn.GELU(), nn.Conv1d(192, 192, 5, stride=2), nn.GELU()
        )
        self.leave = nn.Linear(2 * 192, speakers)

    def forward(self, content: Tensor) -> Tensor:
        hidden = self.layers(content.transpose(1, 2)).float()
        return self.leave(torch.cat([hidden.mean(2), hidden.std(2)], 1))


class AcousticNetworks(nn.Module):
    """What is trained: the three networks of the base and the helpers only training needs."""

    def __init__(self, speakers: int) -> None:
        super().__init__()
        self.content = ContentEncoder()
        self.timbre = TimbreEncoder()
        self.decoder = EnvelopeDecoder()
        self.phones = nn.Linear(CONTENT, len(PHONES))
        self.classifier = SpeakerClassifier(speakers)

    def reconstruct(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The decoded envelope and the content of a batch."""
        content = self.content(batch.heard)
        return self.decoder(content, batch.prosody, self.timbre(batch.reference)), content


def first_part_loss(networks: AcousticNetworks, batch: Batch, plan: AcousticPlan) -> tuple[Tensor, dict[str, float]]:
    """Reconstruction, phones, agreement of two hearings, and the classifier behind its reversed gradient."""
    timbre = networks.timbre(batch.reference)
    contents = networks.content(torch.cat([batch.heard, heard_again(networks, batch, timbre)]))
    content, again = contents.chunk(2)
    predicted = networks.decoder(content, batch.prosody, timbre)
    distance = envelope_distance(predicted, batch.envelope, batch.bands)
    agreement = functional.l1_loss(again, content)
    phones = functional.cross_entropy(
        networks.phones(contents).float().flatten(0, 1),
        torch.cat([batch.phones, batch.phones]).flatten(),
        ignore_index=UNLABELLED,
        label_smoothing=0.05,
    )
    phones = torch.nan_to_num(phones)
    reversed_content = ReverseGradient.apply(content, plan.adversary)
    speaker = functional.cross_entropy(networks.classifier(reversed_content), batch.speaker)
    loss = distance + plan.phones * phones + plan.agreement * agreement + 0.5 * speaker
    figures = {"envelope": distance, "phones": phones, "agreement": agreement, "speaker": speaker}
    return loss, {name: value.item() for name, value in figures.items()}


@torch.no_grad()
def heard_again(networks: AcousticNetworks, batch: Batch, timbre: Tensor) -> Tensor:
    """The second hearing: the first half as it was drawn, the second half spoken by the speakers of the first."""
    half = len(timbre) // 2
    spoken, speaker = slice(half, 2 * half), slice(half)
    content = networks.content(batch.heard[spoken])
    prosody = moved_prosody(batch, spoken, speaker)
    converted = networks.decoder(content, prosody, timbre[speaker]).clamp_min(SILENT)
    again = batch.heard_again.clone()
    again[spoken] = content_input(converted, 0.0, active_mean(converted))
    return again * batch.shown


def moved_prosody(batch: Batch, spoken: slice, speaker: slice) -> Tensor:
    """The prosody of `spoken` of a batch at the pitch of `speaker`, as many of it."""
    prosody = batch.prosody[spoken].clone()
    prosody[..., 0] += ((batch.semitones[speaker] - batch.semitones[spoken]) / 12.0)[:, None]
    return prosody


class Refinement:
    """Second part: a discriminator, and conversions within the batch."""

    def __init__(self, networks: AcousticNetworks, discriminator: EnvelopeDiscriminator) -> None:
        self.networks, self.discriminator = networks, discriminator

    def losses(self, batch: Batch) -> tuple[Tensor, Callable[[], Tensor], dict[str, float]]:
        """The decoder's loss, a function that gives the discriminator's loss, and figures."""
        networks = self.networks
        with torch.no_grad():
            content, timbre = networks.content(batch.heard), networks.timbre(batch.reference)
        half = len(content) // 2
        predicted = networks.decoder(content, batch.prosody, timbre)
        # the first half also speaks in the voices of the second half, at their pitch
        other = timbre[half : 2 * half]
        prosody = moved_prosody(batch, slice(half), slice(half, 2 * half))
        converted = networks.decoder(content[:half], prosody, other)

        real, fake = batch.envelope, torch.cat([predicted, converted])
        fake_timbre = torch.cat([timbre, other])
        score, features = self.discriminator(fake, fake_timbre)
        with torch.no_grad():
            _, wanted = self.discriminator(real, timbre)
        count = len(real)
        matching = sum(functional.l1_loss(f[:count], w) for f, w in zip(features, wanted, strict=True)) / len(wanted)
        deceiving = (score.float() - 1).square().mean()
        distance = envelope_distance(predicted, batch.envelope, batch.bands)
        heard = content_input(converted.clamp_min(SILENT), 0.0, active_mean(converted.detach()))
        kept = functional.l1_loss(networks.content(heard), content[:half])
        taken = 1 - functional.cosine_similarity(networks.timbre(timbre_input(converted, 0.0)), other).mean()
        loss = distance + 0.12 * deceiving + 0.6 * matching + 0.25 * kept + 0.4 * taken

        def discriminator_loss() -> Tensor:
            real_score, _ = self.discriminator(real, timbre)
            fake_score, _ = self.discriminator(fake.detach(), fake_timbre)
            return (real_score.float() - 1).square().mean() + fake_score.float().square().mean()

        figures = {"envelope": distance, "matching": matching, "deceiving": deceiving, "kept": kept, "taken": taken}
        return loss, discriminator_loss, {name: float(value.detach()) for name, value in figures.items()}


def learning_rate(plan_rate: float, step: int, steps: int, cool_down: float) -> float:
    """Short warm-up, constant, then down to zero along a cosine over the last share of the steps."""
    rate = plan_rate * min(1.0, (step + 1) / 200)
    left = (steps - step) / max(1.0, cool_down * steps)
    return rate if left >= 1 else rate * (0.5 - 0.5 * math.cos(math.pi * max(left, 0.0)))


def begin_from(weights: Path, networks: AcousticNetworks, discriminator: EnvelopeDiscriminator) -> None:
    """Give the networks what the base in the folder `weights` has learned; blocks that it lacks do nothing at first.

    A network with blocks added gives at first what it gave without them (Net2Net; Chen et al., 2016).
    Raises TrainingError where there is no whole base, or not one of such networks.
    """
    try:
        known = load_weights(weights / "base.safetensors")
        critic = load_weights(weights / "critic.safetensors")
    except VoiceError as cause:
        raise TrainingError(f"{weights} holds no whole base (base.safetensors, critic.safetensors).") from cause
    known = {name: value for name, value in known.items() if name.partition(".")[0] in BASE_PARTS}
    checkpoint = load_checkpoint(weights / "acoustic.pt")
    if checkpoint is not None:  # it has the helpers too, which the base does not need, for as many speakers
        fitting = {name: value.shape for name, value in networks.state_dict().items()}
        helpers = {n: v for n, v in checkpoint["average"].items() if n.partition(".")[0] not in BASE_PARTS}
        known |= {name: value for name, value in helpers.items() if fitting.get(name) == value.shape}
    try:
        missing, surplus = networks.load_state_dict(known, strict=False)
        discriminator.load_state_dict(critic)
    except RuntimeError as cause:
        raise TrainingError(f"The base in {weights} has networks of other shapes; begin without it.") from cause
    if surplus:
        raise TrainingError(f"The base in {weights} has parts that this one lacks: {', '.join(surplus)}.")
    for name, value in networks.named_parameters():
        if name in missing and name.endswith(".scale"):
            nn.init.zeros_(value)


def train_acoustic(
    corpus: Corpus,
    folder: Path,
    plan: AcousticPlan,
    device: torch.device,
    report: Callable[[float, str], None],
    begin: Path | None = None,
) -> dict[str, Tensor]:
    """Train to `plan.steps`, going on from `folder`/acoustic.pt where there is one; weights (moving average) by name.

    begin: a folder with a base to begin from, instead of from chance. Writes a line of scores against time to
    `folder`/acoustic.jsonl at each evaluation.
    """
    training, validation = split_speakers(corpus.clips, plan.validation_speakers, plan.seed)
    speakers = {name: number for number, name in enumerate(sorted({clip.speaker for clip in training}))}
    torch.manual_seed(plan.seed)
    networks = AcousticNetworks(len(speakers)).to(device)
    discriminator = EnvelopeDiscriminator().to(device)
    if begin is not None:
        begin_from(begin, networks, discriminator)
    average = {name: value.detach().clone() for name, value in networks.state_dict().items()}
    optimizer = torch.optim.AdamW(networks.parameters(), plan.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    critic = torch.optim.AdamW(discriminator.parameters(), 4e-4, betas=(0.8, 0.99))
    refinement = Refinement(networks, discriminator)
    makers = BatchMaker(corpus, training, plan, speakers), BatchMaker(corpus, validation, plan, speakers)
    state = load_checkpoint(folder / "acoustic.pt")
    first, spent = 0, 0.0
    if state is not None:
        networks.load_state_dict(state["networks"])
        discriminator.load_state_dict(state["discriminator"])
        optimizer.load_state_dict(state["optimizer"])
        critic.load_state_dict(state["critic"])
        average = {name: value.to(device) for name, value in state["average"].items()}
        first, spent = state["step"], state["seconds"]
    sums: dict[str, float] = {}
    started, counted = time.monotonic() - spent, 0
    for step, batch in drawn_ahead(lambda step: makers[0].make(plan.first_batch + step), first, plan.steps):
        rate = plan.rate_at(step)
        refining = step >= plan.first_part
        if refining and (step == plan.first_part or step == first):
            networks.content.requires_grad_(False)
            networks.timbre.requires_grad_(False)
        if step == plan.first_part:  # the second part starts from the average, which is better than any single step
            networks.load_state_dict(average)
        for group in optimizer.param_groups:
            group["lr"] = rate
        torch.manual_seed(plan.seed * 7919 + step)
        batch = batch.to(device)
        networks.train()
        with torch.autocast(device.type, torch.bfloat16):
            if refining:
                networks.content.eval()
                discriminator.requires_grad_(False)
                loss, discriminator_loss, figures = refinement.losses(batch)
            else:
                loss, figures = first_part_loss(networks, batch, plan)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(networks.parameters(), 1.0)
        if torch.isfinite(norm):
            optimizer.step()
        if refining:
            discriminator.requires_grad_(True)
            with torch.autocast(device.type, torch.bfloat16):
                judged = discriminator_loss()
            critic.zero_grad(set_to_none=True)
            judged.backward()
            critic.step()
            figures["critic"] = judged.item()
        follow(average, networks, 0.995 if refining else min(0.999, step / (step + 50)))
        for name, value in figures.items():
            sums[name] = sums.get(name, 0.0) + value
        counted += 1
        if (step + 1) % 100 == 0 or step + 1 == plan.steps:
            seconds = time.monotonic() - started
            line = {"step": step + 1, "seconds": round(seconds, 1), "rate": rate} | {
                name: round(value / counted, 4) for name, value in sums.items()
            }
            if (step + 1) % 500 == 0 or step + 1 == plan.steps:
                line |= validate(networks, average, makers[1])
                save_checkpoint(
                    folder / "acoustic.pt",
                    {"networks": networks.state_dict(), "discriminator": discriminator.state_dict(),
                     "optimizer": optimizer.state_dict(), "critic": critic.state_dict(), "average": average,
                     "step": step + 1, "seconds": seconds, "plan": asdict(plan)},
                )  # fmt: skip
            with open(folder / "acoustic.jsonl", "a") as log:
                log.write(json.dumps(line) + "\n")
            report((step + 1) / plan.steps, " ".join(f"{name} {value}" for name, value in line.items()))
            sums, counted = {}, 0
    return average | {f"discriminator.{name}": value for name, value in discriminator.state_dict().items()}


def drawn_ahead(make: Callable[[int], T], first: int, stop: int) -> Iterator[tuple[int, T]]:
    """Steps and the batches that `make` gives of them, the next one drawn while one is learned from."""
    with ThreadPoolExecutor(1) as thread:
        upcoming = thread.submit(make, first)
        for step in range(first, stop):
            batch = upcoming.result()
            upcoming = thread.submit(make, step + 1)
            yield step, batch


def follow(average: dict[str, Tensor], networks: nn.Module, keep: float) -> None:
    """Move the average of the weights towards what they are now, of which `keep` is kept."""
    with torch.no_grad():
        for name, value in networks.state_dict().items():
            average[name].lerp_(value, 1 - keep)


def validate(networks: AcousticNetworks, average: dict[str, Tensor], maker: BatchMaker) -> dict[str, float]:
    """Scores of the averaged weights on speakers never trained on, without perturbation."""
    trained = {name: value.clone() for name, value in networks.state_dict().items()}
    networks.load_state_dict(average)
    networks.eval()
    device = next(networks.parameters()).device
    totals = {"unseen_envelope": 0.0, "unseen_phone_error": 0.0}
    rounds = 8
    with torch.inference_mode():
        for number in range(rounds):
            batch = maker.make(10_000_000 + number, perturbed=False).to(device)
            predicted, content = networks.reconstruct(batch)
            totals["unseen_envelope"] += envelope_distance(predicted, batch.envelope, batch.bands).item() / rounds
            known = batch.phones != UNLABELLED
            wrong = networks.phones(content).argmax(2) != batch.phones
            totals["unseen_phone_error"] += (wrong & known).sum().item() / max(known.sum().item(), 1) / rounds
    networks.load_state_dict(trained)
    return {name: round(value, 4) for name, value in totals.items()}
