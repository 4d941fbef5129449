"""`python -m engine.pretraining student-refinement --corpus DIR --out DIR`: train the shipped student further.

The mean difference of contents averages rare sounds away. So two losses are added: decoders of the voices must make
the same envelopes of the student's content as of the listener's, and each frame must be as near to the other frames of
the batch as the listener's is. Only frames that are known 60 ms before count for these. The result is half way between
the student before and after, which is better than either (Wortsman et al., 2022, robust fine-tuning).
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.networks.base import load_base
from engine.networks.causal_content import STUDENT, CausalContentEncoder, load_student
from engine.networks.envelope_decoder import between_decoders, prosody_input
from engine.progress import Report
from engine.research.command import show_progress
from engine.research.pretraining.student import (
    SKIPPED_STEPS,
    Batches,
    StudentClip,
    StudentPlan,
    chosen_rows,
    load_clips,
    prepare,
    split_rows,
    student_loss,
    validate,
)
from engine.research.pretraining.training_run import (
    Parts,
    TrainingRun,
    learning_rate,
    save_weights,
    set_learning_rate,
)
from engine.units import FRAME_RATE, hertz_to_semitones
from engine.voices.card import DEMO_VOICES
from engine.voices.voice import Voice, load_voice

_RELATION, _DECODED = 0.02, 0.06  # weights of the added losses
_RELATED_FRAMES, _NEARNESS = 480, 4.0
_DECODED_CROPS, _DECODED_FRAMES = 2, 130
_AUDIBLE = -6.0  # nepers below the level
_ACCENT = 0.8  # of the decoders, as of conversions
_OLDEST = 6  # frames before a step's first, which its first two of content are
_VOICES = ("kathleen", "kerstin", "koguchi", "safiye")


@dataclass(frozen=True)
class RefinementPlan(StudentPlan):
    """Settings of the refinement; saved inside its checkpoints."""

    steps: int = 4500
    batch: int = 12
    frames: int = 240
    rate: float = 5e-4
    cool_down: float = 0.7
    share: float = 0.5  # of the refined weights in the result


class RefinementLoss:
    """The losses of a batch; the decoder is that of a voice drawn for each step."""

    def __init__(self, voices: list[Voice]) -> None:
        base = load_base().decoder
        self._voices = [(between_decoders(base, voice.decoder, _ACCENT), voice.timbre) for voice in voices]

    def __call__(
        self, student: CausalContentEncoder, batch: tuple[Tensor, Tensor, Tensor], step: int
    ) -> dict[str, Tensor]:
        """Return each loss by name, weighted; the sum is what is minimised."""
        mel, content, prosody = batch
        random = np.random.default_rng([step, 3])
        found, _ = student(mel, student.start(len(mel)))
        known = found[:, SKIPPED_STEPS:, :2].flatten(1, 2)
        rows = slice(2 * SKIPPED_STEPS - _OLDEST, 2 * SKIPPED_STEPS - _OLDEST + known.shape[1])
        content_there, prosody_there = content[:, rows], prosody[:, rows]
        return {
            "difference": student_loss(found, content),
            "relation": _RELATION * relation_loss(known, content_there, random),
            "decoded": _DECODED * self._decoded(known, content_there, prosody_there, random),
        }

    def _decoded(self, found: Tensor, wanted: Tensor, prosody: Tensor, random: np.random.Generator) -> Tensor:
        """Return the mean difference in nepers of the envelopes that a voice makes of both contents."""
        decoder, timbre = self._voices[int(random.integers(len(self._voices)))]
        chosen = random.choice(len(found), min(_DECODED_CROPS, len(found)), replace=False)
        count = min(_DECODED_FRAMES, found.shape[1])
        first = int(random.integers(found.shape[1] - count + 1))
        found, wanted, prosody = (part[chosen, first : first + count] for part in (found, wanted, prosody))
        hertz, voicing, loudness = prosody.unbind(2)
        semitones = torch.from_numpy(hertz_to_semitones(hertz.numpy()).astype(np.float32))
        given = prosody_input(semitones, voicing, loudness), timbre[None].expand(len(chosen), -1)
        with torch.no_grad():
            expected = decoder(wanted, *given)
        audible = (loudness > _AUDIBLE).float()[..., None]
        return ((decoder(found, *given) - expected).abs() * audible).mean() / audible.mean().clamp_min(0.01)


def relation_loss(found: Tensor, wanted: Tensor, random: np.random.Generator) -> Tensor:
    """Compare the frames' nearness to one another, as found and as wanted, both (batch, frames, CONTENT)."""
    count = min(_RELATED_FRAMES, found.shape[0] * found.shape[1])
    chosen = torch.from_numpy(random.choice(found.shape[0] * found.shape[1], count, replace=False))
    found, wanted = found.flatten(0, 1)[chosen], wanted.flatten(0, 1)[chosen]
    near = functional.softmax(-_NEARNESS * torch.cdist(wanted, wanted).square(), 1)
    log_found = functional.log_softmax(-_NEARNESS * torch.cdist(found, wanted).square(), 1)
    return functional.kl_div(log_found, near, reduction="batchmean")


def refine(
    clips: list[StudentClip],
    held: list[StudentClip],
    voices: list[Voice],
    folder: Path,
    plan: RefinementPlan,
    report: Report,
) -> dict[str, Tensor]:
    """Train to the plan's steps, resuming from a checkpoint, and return the blended weights by name."""
    torch.manual_seed(plan.seed)
    student = load_student().requires_grad_(True).train()
    before = {name: value.clone() for name, value in student.state_dict().items()}
    optimizer = torch.optim.AdamW(student.parameters(), plan.rate, betas=(0.9, 0.98), weight_decay=0.01)
    parts: Parts = {"student": student, "optimizer": optimizer}
    run = TrainingRun(folder / "student_refined.pt", plan, student, parts, report, (20, 100))
    batches, validation, losses = Batches(clips, plan), Batches(held, plan), RefinementLoss(voices)

    def blended() -> dict[str, Tensor]:
        return {name: before[name].lerp(value, plan.share) for name, value in run.average.items()}

    def check() -> dict[str, float]:
        shown = CausalContentEncoder()
        shown.load_state_dict(blended())
        return validate(shown, validation)

    for step in range(run.first_step, plan.steps):
        set_learning_rate(learning_rate(plan.rate, step, plan.steps, plan.cool_down), optimizer)
        found = losses(student, batches.with_prosody(step), step)
        optimizer.zero_grad(set_to_none=True)
        torch.stack(list(found.values())).sum().backward()
        if torch.isfinite(nn.utils.clip_grad_norm_(student.parameters(), 1.0)):
            optimizer.step()
        run.update_average(min(0.995, step / (step + 20)))
        run.record(step, {name: value.item() for name, value in found.items()}, check)
    return blended()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add corpus and steps."""
    parser.add_argument("--corpus", required=True, type=Path, help="folder with manifest.tsv and the recordings")
    parser.add_argument("--out", required=True, type=Path, help="folder for features, checkpoints and the weights")
    parser.add_argument("--hours", type=float, default=3.0, help="of the corpus, in turn from all speakers")
    parser.add_argument("--steps", type=int, default=RefinementPlan.steps)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Train, write the weights, and yield where they are."""
    rows, features = chosen_rows(options.corpus, options.hours), options.out / "student_features"
    prepare(options.corpus, features, rows, time.monotonic() + 10**9, show_progress)
    clips, held = (load_clips(features, some) for some in split_rows(rows))
    voices = [load_voice(DEMO_VOICES / name) for name in _VOICES]
    weights = refine(clips, held, voices, options.out, RefinementPlan(steps=options.steps), show_progress)
    weights["usual"] = load_student().usual
    hours = round(sum(len(clip.content) for clip in clips) / FRAME_RATE / 3600, 2)
    card = {
        "name": "Timbre Studio student",
        "licence": "CC BY 4.0",
        "hours_of_refinement": hours,
        "made_with": "python -m engine.pretraining student, then student-refinement",
        "made_from": "the corpus of the base weights, whose card names the sources",
    }
    save_weights(options.out / STUDENT.name, weights, card)
    yield f"The student's weights are {options.out / STUDENT.name}."
