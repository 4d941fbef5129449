"""Train the synthesizer to reconstruct samples from the measured envelope and pitch."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.envelope import band_centres
from engine.networks.excitation import pulse_train
from engine.networks.synthesizer import Synthesizer
from engine.progress import Report
from engine.research.pretraining.corpus import ClipEntry, Corpus, draw_crops, split_speakers
from engine.research.pretraining.perturbation import random_equalizer
from engine.research.pretraining.training_run import Parts, TrainingRun, learning_rate, set_learning_rate
from engine.units import HOP, SAMPLE_RATE

_MARGIN = 4  # frames at each end of a crop that are synthesized but not compared


@dataclass(frozen=True)
class SynthesizerPlan:
    """Settings of the synthesizer's training; saved inside its checkpoints."""

    steps: int = 2200
    batch: int = 10
    frames: int = 90
    rate: float = 1e-3  # of learning
    cool_down: float = 0.35
    seed: int = 7
    validation_speakers: float = 0.05


def make_batch(corpus: Corpus, clips: list[ClipEntry], plan: SynthesizerPlan, step: int) -> dict[str, Tensor]:
    """Make the batch of a step: frames, samples and bandwidths; deterministic in seed and step."""
    random = torch.Generator().manual_seed(plan.seed * 1_000_003 + step)
    crops = list(draw_crops(clips, plan.frames, plan.seed, step, plan.batch))
    steps = np.arange(plan.frames)
    rows = [clip.first_frame + (first - clip.first_frame + steps) % clip.frames for clip, first in crops]
    envelope = torch.from_numpy(np.stack([corpus.envelope[r] for r in rows]).astype(np.float32))
    bands = torch.tensor([clip.bands for clip, _ in crops])
    samples = np.stack([corpus.audio[r[:-1]] for r in rows]).astype(np.float32) / 32767
    return {
        "envelope": _fill_above(envelope, bands, random),
        "hertz": torch.from_numpy(np.stack([corpus.hertz[r] for r in rows])),
        "voicing": torch.from_numpy(np.stack([corpus.voicing[r] for r in rows])),
        "samples": torch.from_numpy(samples).flatten(1),
        "bandwidth": torch.from_numpy(band_centres())[bands - 1].float(),
        "start": torch.rand(plan.batch, generator=random),
        "noise": torch.randn(plan.batch, (plan.frames - 1) * HOP, generator=random),
    }


def _fill_above(envelope: Tensor, bands: Tensor, random: torch.Generator) -> Tensor:
    """Fill the bands above a recording's bandwidth, where nothing is known, with a plausible slope.

    Otherwise the network would learn to render band-limited voices differently below their bandwidth too.
    """
    index = torch.arange(envelope.shape[2])[None, None]
    last = torch.gather(envelope, 2, (bands - 2).clamp_min(0)[:, None, None].expand(-1, envelope.shape[1], 1))
    slope = -0.06 * torch.rand(len(envelope), 1, 1, generator=random)
    equalizer = random_equalizer(envelope.shape[0], envelope.shape[2], 0.2, random)
    filled = last + slope * (index - bands[:, None, None]) + equalizer
    return torch.where(index < bands[:, None, None], envelope, filled)


def train_synthesizer(
    corpus: Corpus, folder: Path, plan: SynthesizerPlan, device: torch.device, report: Report
) -> dict[str, Tensor]:
    """Train to `plan.steps`, resuming from `folder`/synthesizer.pt if it exists, and return the averaged weights.

    Writes a line of scores against time to `folder`/synthesizer.jsonl every hundred steps.
    """
    training, validation = split_speakers(corpus.clips, plan.validation_speakers, plan.seed)
    torch.manual_seed(plan.seed)
    synthesizer = Synthesizer().to(device)
    optimizer = torch.optim.AdamW(synthesizer.parameters(), plan.rate, betas=(0.9, 0.99), weight_decay=0.01)
    parts: Parts = {"synthesizer": synthesizer, "optimizer": optimizer}
    run = TrainingRun(folder / "synthesizer.pt", plan, synthesizer, parts, report, every=(100, 500))
    for step in range(run.first_step, plan.steps):
        set_learning_rate(learning_rate(plan.rate, step, plan.steps, plan.cool_down), optimizer)
        loss = synthesis_loss(synthesizer, make_batch(corpus, training, plan, step), device)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if torch.isfinite(nn.utils.clip_grad_norm_(synthesizer.parameters(), 1.0)):
            optimizer.step()
        run.update_average(min(0.998, step / (step + 50)))
        run.record(step, {"spectrum": loss.item()}, lambda: _validate(run, synthesizer, corpus, validation, device))
    return run.average


def synthesis_loss(synthesizer: Synthesizer, batch: dict[str, Tensor], device: torch.device) -> Tensor:
    """Compute the spectral distance between the synthesized and the recorded crop, without their ends."""
    batch = {name: value.to(device) for name, value in batch.items()}
    pulses, _ = pulse_train(batch["hertz"], batch["start"])
    output = synthesizer(batch["envelope"], batch["hertz"], batch["voicing"], pulses, batch["noise"])
    inner = slice(_MARGIN * HOP, -_MARGIN * HOP)
    # weight louder clips more, but less than in proportion: quiet clips count too
    scale = 0.1 / (batch["samples"].std(1, keepdim=True) + 3e-3)
    return spectral_distance(
        output[:, inner] * scale, batch["samples"][:, inner] * scale, batch["bandwidth"], SAMPLE_RATE
    )


def spectral_distance(predicted: Tensor, wanted: Tensor, bandwidth_hertz: Tensor, rate: int) -> Tensor:
    """Return the multi-resolution STFT loss (Yamamoto et al., 2020) of samples (batch, samples).

    The relative error of the magnitudes plus the mean absolute difference of their logarithms, below each recording's
    bandwidth (batch,).
    """
    total = predicted.new_zeros(())
    for size in (2048, 1024, 512, 256):
        window = torch.hann_window(size, device=predicted.device)
        magnitudes = [
            torch.stft(x, size, size // 4, size, window, return_complex=True).abs().clamp_min(1e-5)
            for x in (predicted, wanted)
        ]
        hertz = torch.arange(size // 2 + 1, device=predicted.device) * (rate / size)
        known = (hertz[None] < bandwidth_hertz[:, None]).float()[:, :, None]
        difference = (magnitudes[0] - magnitudes[1]) * known
        reference = (magnitudes[1] * known).square().sum((1, 2)).sqrt()
        convergence = (difference.square().sum((1, 2)).sqrt() / (reference + 1e-2)).mean()
        logarithms = ((magnitudes[0].log() - magnitudes[1].log()).abs() * known).sum() / (
            known.sum() * magnitudes[0].shape[2]
        )
        total = total + 0.5 * convergence + logarithms
    return total / 4


def _validate(
    run: TrainingRun, synthesizer: Synthesizer, corpus: Corpus, clips: list[ClipEntry], device: torch.device
) -> dict[str, float]:
    """Score the averaged weights on speakers never trained on."""
    trained = {name: value.clone() for name, value in synthesizer.state_dict().items()}
    synthesizer.load_state_dict(run.average)
    with torch.inference_mode():
        batches = (make_batch(corpus, clips, run.plan, 10_000_000 + number) for number in range(6))
        losses = [synthesis_loss(synthesizer, batch, device) for batch in batches]
    synthesizer.load_state_dict(trained)
    return {"unseen_spectrum": round(float(torch.stack(losses).mean()), 4)}
