"""Second part of the synthesizer's training: discriminators on spectra of several resolutions.

A spectral distance alone leaves noise too regular and pulses too clean. Discriminators on magnitudes (UnivNet; Jang et
al., 2021) remove the rest of the difference; here they are small enough for a CPU.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from engine.devices import in_halves
from engine.errors import TrainingError
from engine.networks.excitation import pulse_train
from engine.networks.synthesizer import Synthesizer
from engine.progress import Report
from engine.research.pretraining.corpus import Corpus, split_speakers
from engine.research.pretraining.training_run import Parts, TrainingRun, learning_rate, set_learning_rate
from engine.research.pretraining.vocoder import SynthesizerPlan, make_batch, spectral_distance
from engine.training.checkpoint import load_checkpoint
from engine.units import HOP, SAMPLE_RATE

_MARGIN = 4  # frames at each end of a crop that are not compared
_RESOLUTIONS = ((1536, 384), (640, 160))  # transform, hop
_HIGHEST_HERTZ = 10_000.0  # above, the spectral distance is enough


@dataclass(frozen=True)
class RefinementPlan:
    """Settings of the refinement; saved inside its checkpoints."""

    steps: int = 3000
    batch: int = 5
    frames: int = 58
    rate: float = 3e-4  # of learning, both sides
    warm_up: int = 100  # steps in which only the discriminators learn
    distance: float = 4.0  # weight of the spectral distance
    matching: float = 2.0
    deceiving: float = 0.5
    seed: int = 11


class SpectrumDiscriminator(nn.Module):
    """Distinguish recorded from synthesized samples by their magnitudes at one resolution.

    (batch, samples) -> scores, features.
    """

    def __init__(self, transform: int, hop: int) -> None:
        super().__init__()
        self.transform, self.hop = transform, hop
        weight_norm = nn.utils.parametrizations.weight_norm
        shapes = [(1, 16, (1, 2)), (16, 24, (1, 2)), (24, 32, (2, 2)), (32, 32, (1, 2))]
        self.layers = nn.ModuleList(weight_norm(nn.Conv2d(i, o, (3, 7), s, (1, 3))) for i, o, s in shapes)
        self.leave = nn.Conv2d(32, 1, (3, 3), padding=1)
        self.window: Tensor
        self.register_buffer("window", torch.hann_window(transform), persistent=False)

    def forward(self, samples: Tensor, bandwidth_hertz: Tensor) -> tuple[Tensor, list[Tensor]]:
        magnitude = torch.stft(samples, self.transform, self.hop, window=self.window, return_complex=True).abs()
        magnitude = magnitude[:, : int(_HIGHEST_HERTZ * self.transform / SAMPLE_RATE)]
        hertz = torch.arange(magnitude.shape[1], device=samples.device) * (SAMPLE_RATE / self.transform)
        known = (hertz[None] < bandwidth_hertz[:, None]).float()[:, :, None]
        hidden = (magnitude.clamp_min(1e-5).pow(0.3) * known).transpose(1, 2)[:, None]
        features = []
        for layer in self.layers:
            hidden = functional.leaky_relu(layer(hidden), 0.2)
            features.append(hidden)
        return self.leave(hidden), features


def refine_synthesizer(
    corpus: Corpus,
    folder: Path,
    plan: RefinementPlan,
    device: torch.device,
    report: Report,
    published: Path | None = None,
) -> None:
    """Refine `folder`/synthesizer.pt into `folder`/synthesizer_refined.pt; log to synthesizer_refined.jsonl.

    published: weights of a base (safetensors) whose synthesizer is refined instead.
    """
    crops = SynthesizerPlan(batch=plan.batch, frames=plan.frames)
    training, _ = split_speakers(corpus.clips, crops.validation_speakers, crops.seed)
    crops = replace(crops, seed=plan.seed)
    torch.manual_seed(plan.seed)
    synthesizer = Synthesizer().to(device)
    synthesizer.load_state_dict(_unrefined(folder, published))
    discriminators = nn.ModuleList(SpectrumDiscriminator(*resolution) for resolution in _RESOLUTIONS).to(device)
    optimizer = torch.optim.AdamW(synthesizer.parameters(), plan.rate, betas=(0.8, 0.99))
    discriminator_optimizer = torch.optim.AdamW(discriminators.parameters(), plan.rate, betas=(0.8, 0.99))
    parts: Parts = {
        "synthesizer": synthesizer,
        "judges": discriminators,
        "optimizer": optimizer,
        "critic": discriminator_optimizer,
    }
    run = TrainingRun(folder / "synthesizer_refined.pt", plan, synthesizer, parts, report, every=(50, 50))
    for step in range(run.first_step, plan.steps):
        rate = learning_rate(plan.rate, step + 200, plan.steps + 200, 0.3)
        set_learning_rate(rate, optimizer, discriminator_optimizer)
        batch = {name: value.to(device) for name, value in make_batch(corpus, training, crops, step).items()}
        figures = _step(
            synthesizer, discriminators, optimizer, discriminator_optimizer, batch, plan, learning=step >= plan.warm_up
        )
        run.update_average(0.995)
        run.record(step, figures)


def _unrefined(folder: Path, published: Path | None) -> dict[str, Tensor]:
    if published is not None:
        weights = load_file(published)
        return {name.removeprefix("synthesizer."): w for name, w in weights.items() if name.startswith("synthesizer.")}
    first_part = load_checkpoint(folder / "synthesizer.pt")
    if first_part is None:
        raise TrainingError(f"{folder} holds no synthesizer to refine; train it first.")
    average: dict[str, Tensor] = first_part["average"]
    return average


def _step(
    synthesizer: Synthesizer, discriminators: nn.ModuleList, optimizer: torch.optim.Optimizer,
    discriminator_optimizer: torch.optim.Optimizer, batch: dict[str, Tensor], plan: RefinementPlan, learning: bool,
) -> dict[str, Tensor]:  # fmt: skip
    pulses, _ = pulse_train(batch["hertz"], batch["start"])
    inner = slice(_MARGIN * HOP, -_MARGIN * HOP)
    scale = 0.1 / (batch["samples"].std(1, keepdim=True) + 3e-3)
    real = (batch["samples"] * scale)[:, inner]
    with torch.set_grad_enabled(learning):
        output = synthesizer(batch["envelope"], batch["hertz"], batch["voicing"], pulses, batch["noise"])
        fake = (output * scale)[:, inner]
    bandwidth = batch["bandwidth"]
    figures = dict.fromkeys(("spectrum", "matching", "deceiving"), torch.zeros(()))
    if learning:
        discriminators.requires_grad_(False)
        distance = spectral_distance(fake, real, bandwidth, SAMPLE_RATE)
        with in_halves(fake.device):
            scored = [discriminator(fake, bandwidth) for discriminator in discriminators]
            with torch.no_grad():
                wanted = [discriminator(real, bandwidth)[1] for discriminator in discriminators]
        deceiving = torch.stack([(score.float() - 1).square().mean() for score, _ in scored]).mean()
        matching = torch.stack(
            [
                (feature.float() - want.float()).abs().mean() / want.float().abs().mean()
                for (_, features), wants in zip(scored, wanted, strict=True)
                for feature, want in zip(features, wants, strict=True)
            ]
        ).mean()
        loss = plan.distance * distance + plan.matching * matching + plan.deceiving * deceiving
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if torch.isfinite(nn.utils.clip_grad_norm_(synthesizer.parameters(), 10.0)):
            optimizer.step()
        figures = {"spectrum": distance, "matching": matching, "deceiving": deceiving}
    discriminators.requires_grad_(True)
    with in_halves(real.device):
        scores = [
            (discriminator(real, bandwidth)[0].float(), discriminator(fake.detach(), bandwidth)[0].float())
            for discriminator in discriminators
        ]
    loss = torch.stack([(r - 1).square().mean() + f.square().mean() for r, f in scores]).mean()
    discriminator_optimizer.zero_grad(set_to_none=True)
    loss.backward()
    discriminator_optimizer.step()
    return {name: value.detach().cpu() for name, value in (figures | {"critic": loss}).items()}
