"""Train content encoder, timbre encoder and decoder together.

In the first part they reconstruct the envelope of each recording from its content, its prosody, and the timbre of the
speaker elsewhere. The content comes from one augmentation of the recording and has to agree with that of another
(engine.features.augmentations; after ContentVec, Qian et al., 2022). A further network learns to read content from
envelopes (engine.networks.envelope_content). In the second part the encoders are frozen: the decoder is sharpened
against a discriminator, and conversions to other speakers have to keep their content and take on the target timbre.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.analysis.envelope import SILENT, loudness_of
from engine.conversion.articulation import warp_bands
from engine.devices import in_halves
from engine.features.augmentations import AUGMENTATIONS
from engine.networks.content_encoder import CONTENT, ContentEncoder
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.envelope_content import EnvelopeContentEncoder, envelope_input
from engine.networks.envelope_decoder import EnvelopeDecoder, prosody_input
from engine.networks.losses import envelope_distance
from engine.networks.timbre_encoder import TimbreEncoder, timbre_input
from engine.progress import Report
from engine.research.pretraining.corpus import ClipEntry, Corpus, draw_crops, split_speakers
from engine.research.pretraining.feature_means import FeatureMeans
from engine.research.pretraining.perturbation import add_noise_floor, random_equalizer, random_factor
from engine.research.pretraining.training_run import Parts, TrainingRun, learning_rate, set_learning_rate
from engine.units import hertz_to_semitones

T = TypeVar("T")
BASE_PARTS = ("content", "timbre", "decoder")  # the networks of the base that are trained here


@dataclass(frozen=True)
class AcousticPlan:
    """Settings of the acoustic training; saved inside its checkpoints."""

    steps: int = 4200
    refine_from: float = 0.72  # share of the steps after which the encoders are frozen and the decoder sharpened
    batch: int = 16
    frames: int = 200
    rate: float = 1.2e-3  # of learning
    cool_down: float = 0.4  # share of the first part over which the rate falls to zero at its end
    refinement_rate: float = 4e-4
    refinement_cool_down: float = 0.5
    agreement: float = 0.4  # weight of the distance between the contents of two augmentations
    adversary: float = 0.12  # strength of the reversed gradient
    kept: float = 0.25  # weights for conversions: of keeping the content, and of taking on the target timbre
    taken: float = 0.4
    seed: int = 7
    validation_speakers: float = 0.05

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
class Crops:
    """Crops of recordings, all on the frame grid; envelopes relative to each recording's level."""

    envelope: Tensor  # (batch, frames, BANDS)
    reference: Tensor  # (batch, frames, LOW_BANDS): another part of the same speaker's recordings
    prosody: Tensor  # (batch, frames, PROSODY)
    semitones: Tensor  # (batch,): median pitch
    bands: Tensor  # (batch,)


@dataclass
class Batch(Crops):
    """Those of one step, with what the encoders learn from."""

    features: Tensor  # (2 * batch, frames / 2, FEATURES): two augmentations of each crop, one after the other
    mean: Tensor  # (2 * batch, FEATURES): of the features of each recording, in the same augmentations
    otherwise: Tensor  # (batch, frames, BANDS): the envelope perturbed
    speaker: Tensor  # (batch,)

    def to(self, device: torch.device) -> "Batch":
        """Move the batch to a device."""
        return Batch(**{name: value.to(device) for name, value in vars(self).items()})


class BatchMaker:
    """Draw crops and perturb them; deterministic in seed and step."""

    def __init__(
        self, corpus: Corpus, means: FeatureMeans, clips: list[ClipEntry], plan: AcousticPlan, speakers: dict[str, int]
    ) -> None:
        self.corpus, self.means, self.clips, self.plan, self.speakers = corpus, means, clips, plan, speakers
        self.numbers = {clip.first_frame: number for number, clip in enumerate(corpus.clips)}
        self.by_speaker: dict[str, list[ClipEntry]] = {}
        for clip in clips:
            self.by_speaker.setdefault(clip.speaker, []).append(clip)

    def make(self, step: int, perturbed: bool = True) -> Batch:
        """Make the batch of a step; without perturbation, the features are those of the plain recordings."""
        plan = self.plan
        random = torch.Generator().manual_seed(plan.seed * 1_000_003 + step)
        choices = np.random.default_rng([plan.seed, step, 1])
        crops = list(draw_crops(self.clips, plan.frames, plan.seed, step, plan.batch))
        rows = [self._frames(clip, first) for clip, first in crops]
        envelope = torch.from_numpy(np.stack([self.corpus.envelope[r] for r in rows]).astype(np.float32))
        hertz = torch.from_numpy(np.stack([self.corpus.hertz[r] for r in rows]))
        voicing = torch.from_numpy(np.stack([self.corpus.voicing[r] for r in rows]))
        nepers = torch.tensor([clip.nepers for clip, _ in crops])[:, None, None]
        bands = torch.tensor([clip.bands for clip, _ in crops])
        augmentations = [tuple(choices.permutation(AUGMENTATIONS)[:2]) if perturbed else (0, 0) for _ in crops]
        crops_found = [
            self._features(clip, r, pair) for (clip, _), r, pair in zip(crops, rows, augmentations, strict=True)
        ]
        features, mean = (np.stack([one[part] for one in crops_found], 1) for part in (0, 1))
        reference = torch.from_numpy(np.stack([self._reference(clip, choices) for clip, _ in crops]))
        envelope = (envelope - nepers).clamp_min(SILENT)
        semitones = torch.from_numpy(hertz_to_semitones(hertz.numpy()).astype(np.float32))
        if perturbed:  # some recordings get another vocal tract and another pitch
            chosen = torch.rand(plan.batch, generator=random) < 0.35
            size = torch.where(chosen, random_factor(plan.batch, 1.22, random), 1.0)
            envelope, reference = warp_bands(envelope, size), warp_bands(reference, size)
            lost = [max(0, round(22 * (1 - float(s)) * 1.5)) for s in size]
            bands = torch.minimum(bands, bands - torch.tensor(lost))
            shift = 12 * torch.log2(size) * 1.5 + torch.randn(plan.batch, generator=random) * 2 * (size != 1)
            semitones = semitones + shift[:, None]
        return Batch(
            envelope=envelope,
            features=torch.from_numpy(features).flatten(0, 1),
            mean=torch.from_numpy(mean).flatten(0, 1),
            otherwise=self._otherwise(envelope, random),
            reference=timbre_input(reference, 0.0),
            prosody=prosody_input(semitones, voicing, loudness_of(envelope)),
            semitones=semitones.median(1).values,
            bands=bands,
            speaker=torch.tensor([self.speakers.get(clip.speaker, 0) for clip, _ in crops]),
        )

    def _frames(self, clip: ClipEntry, first: int) -> np.ndarray:
        # begin at a frame of the listener; repeat a clip shorter than the crop
        begin = (first - clip.first_frame) // 2 * 2
        return clip.first_frame + (begin + np.arange(self.plan.frames)) % clip.frames

    def _features(
        self, clip: ClipEntry, rows: np.ndarray, augmentations: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return features (2, frames / 2, FEATURES) and their likeliest means (2, FEATURES)."""
        number = self.numbers[clip.first_frame]
        places = self.corpus.first_feature[number] + (rows[::2] - clip.first_frame) // 2
        means, chosen = self.means, list(augmentations)
        share = means.between / (means.between + means.within / (means.sounds[number] + 1.0))
        likeliest = means.usual + share * (means.mean[number, chosen] - means.usual)
        return np.stack(
            [self.corpus.listener_features[augmentation, places] for augmentation in chosen]
        ), likeliest.astype(np.float32)

    def _reference(self, clip: ClipEntry, choices: np.random.Generator) -> np.ndarray:
        others = self.by_speaker[clip.speaker]
        other = others[choices.integers(len(others))] if choices.random() < 0.7 else clip
        first = other.first_frame + int(choices.integers(0, max(other.frames - self.plan.frames, 0) + 1))
        return self.corpus.envelope[self._frames(other, first)].astype(np.float32) - other.nepers

    @staticmethod
    def _otherwise(envelope: Tensor, random: torch.Generator) -> Tensor:
        batch, _, bands = envelope.shape
        warped = warp_bands(envelope, random_factor(batch, 1.33, random))
        return add_noise_floor(warped + random_equalizer(batch, bands, 0.12, random), random)


class ReverseGradient(torch.autograd.Function):
    """Identity forwards, gradient times -strength backwards (Ganin and Lempitsky, 2015)."""

    @staticmethod
    def forward(context: Any, values: Tensor, strength: float) -> Tensor:
        context.strength = strength
        return values.view_as(values)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -context.strength * gradient, None


class SpeakerClassifier(nn.Module):
    """Predict the speaker of a whole crop: content (batch, frames, CONTENT) -> logits (batch, speakers)."""

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
    """The three networks of the base, and two that only training needs."""

    def __init__(self, speakers: int) -> None:
        super().__init__()
        self.content = ContentEncoder()
        self.timbre = TimbreEncoder()
        self.decoder = EnvelopeDecoder()
        self.envelope_content = EnvelopeContentEncoder()
        self.classifier = SpeakerClassifier(speakers)

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Encode both augmentations of a batch: two contents (batch, frames, CONTENT)."""
        content, again = self.content(batch.features, batch.mean, batch.envelope.shape[1]).chunk(2)
        return content, again

    def encode_first(self, batch: Batch) -> Tensor:
        """Encode only the first augmentation: content (batch, frames, CONTENT)."""
        count, frames, _ = batch.envelope.shape
        return self.content(batch.features[:count], batch.mean[:count], frames)

    def freeze_encoders(self) -> None:
        """Train only the decoder and the classifier from here on."""
        for encoder in (self.content, self.timbre, self.envelope_content):
            encoder.requires_grad_(False)
        self.content.eval()


def first_part_loss(networks: AcousticNetworks, batch: Batch, plan: AcousticPlan) -> tuple[Tensor, dict[str, float]]:
    """Add up the losses of reconstruction, agreement of two augmentations, speaker classifier and envelope content."""
    content, again = networks.encode(batch)
    predicted = networks.decoder(content, batch.prosody, networks.timbre(batch.reference))
    distance = envelope_distance(predicted, batch.envelope, batch.bands)
    agreement = functional.l1_loss(again, content)
    reversed_content = ReverseGradient.apply(content, plan.adversary)  # type: ignore[no-untyped-call]
    speaker = functional.cross_entropy(networks.classifier(reversed_content), batch.speaker)
    predicted_content = functional.l1_loss(networks.envelope_content(envelope_input(batch.otherwise)), content.detach())
    loss = distance + plan.agreement * agreement + 0.5 * speaker + predicted_content
    figures = {"envelope": distance, "agreement": agreement, "speaker": speaker, "envelope_content": predicted_content}
    return loss, {name: value.item() for name, value in figures.items()}


def moved_prosody(batch: Crops, spoken: slice, speaker: slice) -> Tensor:
    """Return the prosody of the rows `spoken` at the median pitch of the rows `speaker`, one for one."""
    prosody = batch.prosody[spoken].clone()
    prosody[..., 0] += ((batch.semitones[speaker] - batch.semitones[spoken]) / 12.0)[:, None]
    return prosody


class FrozenEncoders(Protocol):
    """What a decoder is sharpened with: timbre, and content read from envelopes."""

    @property
    def timbre(self) -> Callable[[Tensor], Tensor]:
        """Encode a reference."""

    @property
    def envelope_content(self) -> Callable[[Tensor], Tensor]:
        """Read content from an envelope."""

    @property
    def decoder(self) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        """Decode content, prosody and timbre."""


class Refinement:
    """Second part: a discriminator, and conversions within the batch."""

    def __init__(
        self, networks: FrozenEncoders, discriminator: EnvelopeDiscriminator, kept: float, taken: float
    ) -> None:
        """Take the weights for conversions: of keeping the content, and of taking on the target timbre."""
        self.networks, self.discriminator, self.kept, self.taken = networks, discriminator, kept, taken

    def distance(self, predicted: Tensor, batch: Crops) -> Tensor:
        """How far decoded envelopes (batch, frames, BANDS) are from those of the recordings."""
        return envelope_distance(predicted, batch.envelope, batch.bands)

    def losses(self, batch: Crops, content: Tensor) -> tuple[Tensor, Callable[[], Tensor], dict[str, Tensor]]:
        """Return the decoder's loss, a function that computes the discriminator's loss, and figures for the log.

        content: (batch, frames, CONTENT).
        """
        networks = self.networks
        with torch.no_grad():
            timbre = networks.timbre(batch.reference)
        half = len(content) // 2
        predicted = networks.decoder(content, batch.prosody, timbre)
        # convert the first half of the batch to the voices of the second half, at their pitch
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
        distance = self.distance(predicted, batch)
        kept = functional.l1_loss(networks.envelope_content(envelope_input(converted)), content[:half])
        taken = 1 - functional.cosine_similarity(networks.timbre(timbre_input(converted, 0.0)), other).mean()
        loss = distance + 0.12 * deceiving + 0.6 * matching + self.kept * kept + self.taken * taken

        def discriminator_loss() -> Tensor:
            real_score, _ = self.discriminator(real, timbre)
            fake_score, _ = self.discriminator(fake.detach(), fake_timbre)
            return (real_score.float() - 1).square().mean() + fake_score.float().square().mean()

        figures = {"envelope": distance, "matching": matching, "deceiving": deceiving, "kept": kept, "taken": taken}
        return loss, discriminator_loss, {name: value.detach() for name, value in figures.items()}


class AcousticTrainer:
    """The networks, their discriminator and the optimizers; takes the steps of both parts."""

    def __init__(self, networks: AcousticNetworks, plan: AcousticPlan, device: torch.device) -> None:
        self.networks, self.plan, self.device = networks, plan, device
        self.discriminator = EnvelopeDiscriminator().to(device)
        self.optimizer = torch.optim.AdamW(
            networks.parameters(), plan.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        )
        self.discriminator_optimizer = torch.optim.AdamW(
            self.discriminator.parameters(), plan.refinement_rate, betas=(0.8, 0.99)
        )
        self.refinement = Refinement(networks, self.discriminator, plan.kept, plan.taken)

    @property
    def parts(self) -> Parts:
        """Everything a step changes, by its name in a checkpoint."""
        return {
            "networks": self.networks,
            "discriminator": self.discriminator,
            "optimizer": self.optimizer,
            "critic": self.discriminator_optimizer,
        }

    def step(self, number: int, batch: Batch) -> Mapping[str, float | Tensor]:
        """Take one step and return its losses."""
        refining = number >= self.plan.first_part
        set_learning_rate(
            self.plan.rate_at(number), self.optimizer, *([self.discriminator_optimizer] if refining else [])
        )
        torch.manual_seed(self.plan.seed * 7919 + number)
        self.networks.train()
        return self._refine(batch) if refining else self._reconstruct(batch)

    def _reconstruct(self, batch: Batch) -> dict[str, float]:
        """First part: all networks learn."""
        with in_halves(self.device):
            loss, figures = first_part_loss(self.networks, batch, self.plan)
        self._update_networks(loss)
        return figures

    def _refine(self, batch: Batch) -> dict[str, Tensor]:
        """Second part: the decoder and the discriminator learn, the encoders are frozen."""
        self.networks.freeze_encoders()
        self.discriminator.requires_grad_(False)
        with in_halves(self.device):
            with torch.no_grad():
                content = self.networks.encode_first(batch)
            loss, discriminator_loss, figures = self.refinement.losses(batch, content)
        self._update_networks(loss)
        self.discriminator.requires_grad_(True)
        with in_halves(self.device):
            error = discriminator_loss()
        self.discriminator_optimizer.zero_grad(set_to_none=True)
        error.backward()
        self.discriminator_optimizer.step()
        return figures | {"critic": error.detach()}

    def _update_networks(self, loss: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if torch.isfinite(nn.utils.clip_grad_norm_(self.networks.parameters(), 1.0)):
            self.optimizer.step()


def train_acoustic(
    corpus: Corpus, means: FeatureMeans, folder: Path, plan: AcousticPlan, device: torch.device, report: Report
) -> dict[str, Tensor]:
    """Train to `plan.steps`, resuming from `folder`/acoustic.pt if it exists, and return the averaged weights by name.

    Writes a line of scores against time to `folder`/acoustic.jsonl every hundred steps.
    """
    training, validation = split_speakers(corpus.clips, plan.validation_speakers, plan.seed)
    speakers = {name: number for number, name in enumerate(sorted({clip.speaker for clip in training}))}
    torch.manual_seed(plan.seed)
    networks = AcousticNetworks(len(speakers)).to(device)
    for name in ("usual", "between", "within"):
        getattr(networks.content, name).copy_(torch.from_numpy(getattr(means, name)))
    trainer = AcousticTrainer(networks, plan, device)
    run = TrainingRun(folder / "acoustic.pt", plan, networks, trainer.parts, report, every=(100, 500))
    maker, validation_maker = (BatchMaker(corpus, means, clips, plan, speakers) for clips in (training, validation))
    for step, batch in drawn_ahead(maker.make, run.first_step, plan.steps):
        if step == plan.first_part:  # the second part starts from the average, which is better than any single step
            networks.load_state_dict(run.average)
        figures = trainer.step(step, batch.to(device))
        run.update_average(0.995 if step >= plan.first_part else min(0.999, step / (step + 50)))
        run.record(step, figures, lambda: validate(networks, run.average, validation_maker), rate=plan.rate_at(step))
    discriminator = trainer.discriminator.state_dict()
    return run.average | {f"discriminator.{name}": value for name, value in discriminator.items()}


def drawn_ahead(make: Callable[[int], T], first: int, stop: int) -> Iterator[tuple[int, T]]:
    """Yield steps and their batches; the next batch is made while the current one is used."""
    with ThreadPoolExecutor(1) as thread:
        upcoming = thread.submit(make, first)
        for step in range(first, stop):
            batch = upcoming.result()
            upcoming = thread.submit(make, step + 1)
            yield step, batch


def validate(networks: AcousticNetworks, average: dict[str, Tensor], maker: BatchMaker) -> dict[str, float]:
    """Score the averaged weights on speakers never trained on, without perturbation."""
    trained = {name: value.clone() for name, value in networks.state_dict().items()}
    networks.load_state_dict(average)
    networks.eval()
    device = next(networks.parameters()).device
    totals = {"unseen_envelope": 0.0, "unseen_agreement": 0.0}
    rounds = 8
    with torch.inference_mode():
        for number in range(rounds):
            batch = maker.make(10_000_000 + number, perturbed=False).to(device)
            content = networks.encode_first(batch)
            predicted = networks.decoder(content, batch.prosody, networks.timbre(batch.reference))
            totals["unseen_envelope"] += envelope_distance(predicted, batch.envelope, batch.bands).item() / rounds
            content, again = networks.encode(maker.make(10_000_000 + number).to(device))
            totals["unseen_agreement"] += functional.l1_loss(again, content).item() / rounds
    networks.load_state_dict(trained)
    return {name: round(value, 4) for name, value in totals.items()}
