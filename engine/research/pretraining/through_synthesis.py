"""`python -m engine.pretraining through-synthesis`: fine-tune the shipped decoder by what is heard of it.

Half of the loss is the envelope, half the magnitudes of the samples that the frozen synthesizer makes of it with the
recording's own excitation, as conversions have it. It is prepared for a graphics card that is lent for a quarter of an
hour. Beforehand, on any machine, then there, in some 3.5 minutes for each arm:

    python -m engine.pretraining through-synthesis --corpus DIR --pack features.safetensors
    python -m engine.pretraining through-synthesis --features features.safetensors --out arms --minutes 3.5

Arms: `plain`; `tokens`, in which content attends to 32 tokens made of the timbre, through a gate that begins at 0; and
`noise`, the tokens and noise on the content. Speakers that were kept out decide: the table has their distances. Of each
arm the averaged weights are written, and the base with its decoder, from which voices can be trained.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.envelope import BANDS, SILENT, band_centres
from engine.devices import in_halves
from engine.errors import TrainingError
from engine.networks.base import WEIGHTS, BaseModel, load_base, load_weights
from engine.networks.content_encoder import CONTENT
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.envelope_content import load_envelope_content
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.excitation import pulse_train
from engine.networks.losses import envelope_distance
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.spectral_frames import cut_frames
from engine.networks.synthesizer import LARGEST_LIFT, LOWEST, Residual, Synthesizer, unvoiced_share
from engine.networks.timbre_encoder import TIMBRE
from engine.research.command import every_few_seconds, log
from engine.research.pretraining.acoustic import Crops, Refinement
from engine.research.pretraining.corpus import split_speakers
from engine.research.pretraining.packed_features import CropDraws, PackedCrops, PackedFeatures, pack
from engine.research.pretraining.training_run import save_weights, set_learning_rate
from engine.research.pretraining.vocoder import spectral_distance
from engine.units import SAMPLE_RATE

TOKENS, _HEAD = 32, 64  # tokens made of a timbre, and numbers by which content chooses among them
_UNSEEN_SHARE = 0.05  # of the speakers
_KEPT, _TAKEN = 0.25, 0.4  # weights for conversions, as in the base's second part
_AVERAGED = 0.995


@dataclass(frozen=True)
class Arm:
    """What is tried: with or without tokens, and the deviation of the noise on content."""

    tokens: bool = False
    content_noise: float = 0.0


ARMS = {"plain": Arm(), "tokens": Arm(tokens=True), "noise": Arm(tokens=True, content_noise=0.1)}


@dataclass(frozen=True)
class ArmPlan:
    """Settings of each arm; it ends with its steps or its seconds, whichever are over first."""

    steps: int | None = None
    seconds: float | None = None
    batch: int = 32
    frames: int = 96
    rate: float = 2e-4  # of learning, of the decoder
    discriminator_rate: float = 2e-4
    seed: int = 7

    def share(self, step: int, seconds: float) -> float:
        """How much of the training is over, 0..1."""
        return max(step / self.steps if self.steps else 0.0, seconds / self.seconds if self.seconds else 0.0)


class TokenDecoder(nn.Module):
    """A decoder whose content may attend to tokens made of the timbre (after style tokens; Wang et al., 2018).

    With the gate at its beginning, 0, it decodes what the decoder does.
    """

    def __init__(self, decoder: EnvelopeDecoder, arm: Arm) -> None:
        super().__init__()
        self.decoder, self.content_noise = decoder, arm.content_noise
        self.tokens = nn.Linear(TIMBRE, TOKENS * 2 * _HEAD) if arm.tokens else None
        self.asks, self.answers = nn.Linear(CONTENT, _HEAD), nn.Linear(_HEAD, CONTENT)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, content: Tensor, prosody: Tensor, timbre: Tensor) -> Tensor:
        if self.training and self.content_noise:
            content = content + self.content_noise * torch.randn_like(content)
        if self.tokens is not None:
            keys, values = self.tokens(timbre).unflatten(1, (TOKENS, 2 * _HEAD)).chunk(2, 2)
            chosen = nn.functional.scaled_dot_product_attention(self.asks(content), keys, values)
            content = content + self.gate * self.answers(chosen)
        decoded: Tensor = self.decoder(content, prosody, timbre)
        return decoded


class Networks(nn.Module):
    """What is learned, `decoder`, and the frozen networks that judge it."""

    def __init__(self, base: BaseModel, arm: Arm, device: torch.device) -> None:
        super().__init__()
        self.timbre = base.timbre
        self.envelope_content = load_envelope_content(device).requires_grad_(False)
        decoder = EnvelopeDecoder()
        decoder.load_state_dict(base.decoder.state_dict())
        self.decoder = TokenDecoder(decoder, arm).to(device)


class SampleRefinement(Refinement):
    """The losses of the base's second part, with half of the distance taken from samples."""

    def __init__(self, networks: Networks, discriminator: EnvelopeDiscriminator, synthesizer: Synthesizer) -> None:
        super().__init__(networks, discriminator, _KEPT, _TAKEN)
        self.synthesizer = synthesizer

    def distance(self, predicted: Tensor, batch: Crops) -> Tensor:
        """How far decoded envelopes (batch, frames, BANDS) are from the recordings, half of it heard."""
        assert isinstance(batch, PackedCrops)
        return 0.5 * super().distance(predicted, batch) + 0.5 * sample_distance(self.synthesizer, predicted, batch)


def sample_distance(synthesizer: Synthesizer, predicted: Tensor, crops: PackedCrops) -> Tensor:
    """Return the spectral distance of recordings and what is synthesized of envelopes with their own excitation.

    predicted: (batch, frames, BANDS), relative to each recording's level.
    """
    level = crops.nepers[:, None, None]
    measured = (crops.envelope + level).clamp_min(LOWEST)
    frames = cut_frames(crops.samples, predicted.shape[1])
    voiced = (1.0 - unvoiced_share(crops.voicing))[..., None].expand_as(measured)
    known = torch.ones(BANDS, device=predicted.device)
    residual = Residual(frames, measured, unvoiced_share(crops.voicing), known)
    nowhere = np.zeros(crops.hertz.shape, np.float32)  # its pitch stays, so nobody asks for it
    own = RecordedExcitation(frames, nowhere, voiced, measured + LARGEST_LIFT, measured, synthesizer.table)
    pulses, _ = pulse_train(crops.hertz, torch.zeros(len(measured), device=measured.device))
    noise = torch.zeros_like(pulses)
    made = synthesizer((predicted + level).float(), crops.hertz, crops.voicing, pulses, noise, residual, own)
    scale = 0.1 / (crops.samples.std(1, keepdim=True) + 3e-3)  # quiet recordings count too, though less
    bandwidth = torch.as_tensor(band_centres(), dtype=torch.float32, device=made.device)[crops.bands - 1]
    return spectral_distance(made * scale, crops.samples * scale, bandwidth, SAMPLE_RATE)


class ArmTraining:
    """One arm: its networks, their optimizers, and the average of what was learned."""

    def __init__(self, base: BaseModel, arm: Arm, plan: ArmPlan, device: torch.device) -> None:
        torch.manual_seed(plan.seed)
        self.plan, self.device = plan, device
        self.networks = Networks(base, arm, device)
        self.discriminator = EnvelopeDiscriminator().to(device)
        self.discriminator.load_state_dict(load_weights(WEIGHTS / "discriminator.safetensors"))
        self.refinement = SampleRefinement(self.networks, self.discriminator, base.synthesizer)
        learned = self.networks.decoder.parameters()
        self.optimizer = torch.optim.AdamW(learned, plan.rate, betas=(0.9, 0.98), weight_decay=0.01)
        critic = self.discriminator.parameters()
        self.discriminator_optimizer = torch.optim.AdamW(critic, plan.discriminator_rate, betas=(0.8, 0.99))
        self.average = {name: value.detach().clone() for name, value in self.networks.decoder.state_dict().items()}

    def step(self, crops: PackedCrops, share: float) -> Mapping[str, Tensor]:
        """Take one step, with so much of the training over, and return its losses, which nobody has waited for."""
        set_learning_rate(self.plan.rate * 0.5 * (1 + math.cos(math.pi * share)), self.optimizer)
        self.networks.decoder.train()
        self.discriminator.requires_grad_(False)
        with in_halves(self.device):
            loss, discriminator_loss, figures = self.refinement.losses(crops, crops.content)
        self._update(self.optimizer, self.networks.decoder, loss)
        self.discriminator.requires_grad_(True)
        with in_halves(self.device):
            error = discriminator_loss()
        self._update(self.discriminator_optimizer, self.discriminator, error)
        with torch.no_grad():
            for name, value in self.networks.decoder.state_dict().items():
                self.average[name].lerp_(value, 1 - _AVERAGED)
        return figures

    @staticmethod
    def _update(optimizer: torch.optim.Optimizer, network: nn.Module, loss: Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()

    def use_average(self) -> None:
        """Put the averaged weights in the place of the last ones."""
        self.networks.decoder.load_state_dict(self.average)
        self.networks.decoder.eval()


def train_arm(
    features: PackedFeatures, arm: Arm, plan: ArmPlan, device: torch.device, clock: Callable[[], float] = time.monotonic
) -> ArmTraining:
    """Train one arm on all speakers but those kept out, and return it with its averaged weights."""
    training, _ = split_speakers(features.clips, _UNSEEN_SHARE, plan.seed)
    draws = CropDraws(features, training, plan.batch, plan.frames, plan.seed)
    state = ArmTraining(load_base(device=device), arm, plan, device)
    report, began, number = every_few_seconds(), clock(), 0
    while (share := plan.share(number, clock() - began)) < 1.0:
        figures = state.step(draws.draw(), share)
        number += 1
        report(share, f"step {number}" if number % 50 else f"step {number}: " + _figures_text(figures))
    log(f"{number} steps in {clock() - began:.0f} s")
    state.use_average()
    return state


def _figures_text(figures: Mapping[str, Tensor]) -> str:
    return ", ".join(f"{name} {float(value):.3f}" for name, value in figures.items())


def unseen_distances(
    features: PackedFeatures, networks: Networks, plan: ArmPlan, device: torch.device, rounds: int = 8
) -> dict[str, float]:
    """Return the distances of speakers that were kept out: of envelopes in nepers, and of magnitudes."""
    _, unseen = split_speakers(features.clips, _UNSEEN_SHARE, plan.seed)
    draws = CropDraws(features, unseen, plan.batch, plan.frames, plan.seed + 1)
    synthesizer, totals = load_base(device=device).synthesizer, np.zeros(2)
    with torch.inference_mode():
        for _ in range(rounds):
            crops = draws.draw()
            predicted = networks.decoder(crops.content, crops.prosody, networks.timbre(crops.reference))
            predicted = predicted.clamp_min(SILENT)
            apart = envelope_distance(predicted, crops.envelope, crops.bands)
            totals += [float(apart), float(sample_distance(synthesizer, predicted, crops))]
    return dict(zip(("envelope", "magnitudes"), (totals / rounds).round(4).tolist(), strict=True))


def write_arm(state: ArmTraining, name: str, out: Path, distances: Mapping[str, float]) -> None:
    """Write an arm's weights to `out`, and the base with its decoder, where it has no tokens."""
    out.mkdir(parents=True, exist_ok=True)
    card = {"name": f"Timbre Studio, decoder through the synthesis: {name}", "unseen": dict(distances)}
    save_weights(out / f"{name}.safetensors", state.average, card)
    if state.networks.decoder.tokens is None:
        learned = {n: value for n, value in state.average.items() if n.startswith("decoder.")}
        save_weights(out / f"base-{name}.safetensors", {**load_base().state_dict(), **learned}, card)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Pack recordings, or train arms on them and yield the table as Markdown."""
    if options.pack and options.corpus:
        entries = pack(options.corpus, options.pack, round(options.megabytes * 1e6), every_few_seconds())
        minutes = sum(entry.frames for entry in entries) / 6000
        speakers = len({entry.speaker for entry in entries})
        size = options.pack.stat().st_size / 1e6
        yield f"{len(entries)} recordings of {speakers} speakers, {minutes:.1f} minutes, {size:.1f} MB: {options.pack}"
        return
    if not options.features or not options.out:
        raise TrainingError("Give --pack with --corpus, or --features with --out.")
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    features = PackedFeatures(options.features, device)
    seconds = None if options.steps else 60 * options.minutes
    plan = ArmPlan(options.steps, seconds, options.batch, options.frames, options.rate, seed=options.seed)
    yield "| arm | envelope (nepers) | magnitudes |\n|---|---|---|"
    shipped = ArmTraining(load_base(device=device), Arm(), plan, device)
    shipped.use_average()
    yield _row("as shipped", unseen_distances(features, shipped.networks, plan, device))
    for name in options.arms:
        state = train_arm(features, ARMS[name], plan, device)
        distances = unseen_distances(features, state.networks, plan, device)
        write_arm(state, name, options.out, distances)
        yield _row(name, distances)
    (options.out / "plan.json").write_text(json.dumps(vars(plan)))


def _row(name: str, distances: Mapping[str, float]) -> str:
    return " | ".join([f"| {name}", *(f"{value:.4f}" for value in distances.values())]) + " |"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is packed, where to, and how long each arm lasts."""
    parser.add_argument("--corpus", type=Path, help="folder with manifest.tsv and the recordings, to pack")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="analyse the corpus and write what fits")
    parser.add_argument("--megabytes", type=float, default=60.0, help="of that file at most (60)")
    parser.add_argument("--features", type=Path, metavar="FILE", help="train on this file")
    parser.add_argument("--out", type=Path, help="folder for the weights of each arm")
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS), help="only these (default: all)")
    parser.add_argument("--minutes", type=float, default=3.5, help="of each arm (3.5)")
    parser.add_argument("--steps", type=int, help="of each arm, instead of minutes")
    parser.add_argument("--batch", type=int, default=ArmPlan.batch, help=f"({ArmPlan.batch})")
    parser.add_argument("--frames", type=int, default=ArmPlan.frames, help=f"of 10 ms, of a crop ({ArmPlan.frames})")
    parser.add_argument("--rate", type=float, default=ArmPlan.rate, help=f"of learning ({ArmPlan.rate})")
    parser.add_argument("--device", help="cuda or cpu (default: cuda if available)")
    parser.add_argument("--seed", type=int, default=7)
