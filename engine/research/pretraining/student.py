"""`python -m engine.pretraining student --corpus DIR --out DIR`: train the causal student of the listener.

Each recording's content is computed once, as a conversion does. The student sees log-mel frames of the recording, or of
a copy that is higher or lower, in a room, in noise or through a poor line, and has to give the clean recording's
content from what precedes each frame. Preparation and training both resume after a stop.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
import soxr
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

from engine.analysis.envelope import frame_loudness
from engine.audio.files import Audio, read_audio
from engine.devices import in_halves
from engine.errors import TrainingError
from engine.features.clips import analyse_clip
from engine.features.degradation import degrade
from engine.files import replacing
from engine.networks.base import load_base
from engine.networks.causal_content import (
    FRAMES_AT_ONCE,
    FRAMES_PER_STEP,
    STUDENT,
    STUDENT_MELS,
    CausalContentEncoder,
)
from engine.networks.listener import LISTENER_RATE
from engine.networks.mel_frames import MEL_HOP, MEL_TRANSFORM, log_mel_inside
from engine.progress import Report
from engine.research.command import show_progress
from engine.research.pretraining.corpus import EXCLUDED, read_manifest
from engine.research.pretraining.training_run import (
    Parts,
    TrainingRun,
    learning_rate,
    save_weights,
    set_learning_rate,
)
from engine.units import FRAME_RATE, SAMPLE_RATE

_COPIES = 3  # of each recording: as it is, one higher, one lower
_SMALLEST, _LARGEST = 1.06, 1.28  # factors of pitch, formants and speed
_LONGEST_S = 30.0  # of a recording that is used
SKIPPED_STEPS = 20  # at the start of a crop, whose past is missing
_VALIDATION = "librispeech_tc100_1utt"  # one recording of each speaker; those of some speakers are held out
_HELD_OUT = 24
_ACTIVE_DECADES = 3.0  # below the loud frames (30 dB)


@dataclass(frozen=True)
class StudentPlan:
    """Settings of the training; saved inside its checkpoints."""

    steps: int = 4000
    batch: int = 16
    frames: int = 300
    rate: float = 1.5e-3
    cool_down: float = 0.5
    seed: int = 7


@dataclass(frozen=True)
class StudentClip:
    """A recording and its copies. mel: float16 (copies, frames, STUDENT_MELS); content: float16 (frames, CONTENT).

    prosody: float32 (frames, 3): hertz, voicing, loudness in nepers below the level.
    """

    mel: np.ndarray
    content: np.ndarray
    prosody: np.ndarray
    mean: np.ndarray  # (copies, STUDENT_MELS), of the active frames


def chosen_rows(corpus: Path, hours: float) -> list[dict[str, str]]:
    """Choose recordings of about so many hours in turn from all speakers; those of one speaker in a fixed order."""
    speakers = defaultdict(list)
    for row in read_manifest(corpus):
        if row["set"] not in EXCLUDED:
            speakers[row["set"], row["speaker"]].append(row)
    random = np.random.default_rng(11)
    queues = [[rows[i] for i in random.permutation(len(rows))] for _, rows in sorted(speakers.items())]
    left = hours * 3600
    chosen = []
    for row in (row for turn in zip_longest(*queues) for row in turn if row):
        if left <= 0:
            break
        chosen.append(row)
        left -= min(float(row["seconds"]), _LONGEST_S)
    return chosen


def prepare(corpus: Path, folder: Path, rows: list[dict[str, str]], until: float, report: Report) -> bool:
    """Analyse recordings into `folder`, one file each, those there are first; stop at `until` (of time.monotonic).

    Returns whether all are done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    base = load_base()
    for number, row in enumerate(rows):
        target = _file_of(folder, row)
        if target.exists():
            continue
        if time.monotonic() > until:
            return False
        audio = read_audio(corpus / row["path"])
        samples = soxr.resample(audio.mono(), audio.rate, SAMPLE_RATE)[: round(_LONGEST_S * SAMPLE_RATE)]
        clip = analyse_clip(Audio(samples[None].astype(np.float32), SAMPLE_RATE), row["path"], 1)
        random = np.random.default_rng([number, 5])
        mel = np.stack([_copy_mel(base.listener.mels, samples, copy, random) for copy in range(_COPIES)])
        frames = min(mel.shape[1], len(clip.content[0])) // FRAMES_PER_STEP * FRAMES_PER_STEP
        loudness = frame_loudness(clip.envelope.astype(np.float32))
        prosody = np.stack([clip.pitch.hertz[:frames], clip.pitch.voicing[:frames], loudness[:frames]], 1)
        arrays = {"mel": mel[:, :frames].astype(np.float16), "content": clip.content[0, :frames].copy()}
        arrays["prosody"] = prosody.astype(np.float32)
        arrays["mel"] = np.ascontiguousarray(arrays["mel"])
        with replacing(target) as unfinished:
            save_file(arrays, unfinished)
        report((number + 1) / len(rows), f"analysed {row['path']}")
    return True


def _file_of(folder: Path, row: dict[str, str]) -> Path:
    return folder / (row["path"].replace("/", "__") + ".safetensors")


def _copy_mel(filters: Tensor, samples: np.ndarray, copy: int, random: np.random.Generator) -> np.ndarray:
    """Compute log-mel frames (frames, STUDENT_MELS) of one copy on the recording's own time."""
    factor = 1.0 if copy == 0 else float(np.exp(random.uniform(np.log(_SMALLEST), np.log(_LARGEST))))
    faster = factor if copy % 2 else 1 / factor
    heard = degrade(samples, random) if random.random() < 0.5 and copy else samples
    resampled = soxr.resample(heard, SAMPLE_RATE * faster, LISTENER_RATE).astype(np.float32)
    mel = log_mel(torch.from_numpy(resampled), filters).numpy()
    frames = int(len(samples) / SAMPLE_RATE * 100)
    place = np.minimum(np.arange(frames) / faster, len(mel) - 1.001)
    left = place.astype(int)
    part = (place - left)[:, None].astype(np.float32)
    return mel[left] * (1 - part) + mel[left + 1] * part


def log_mel(samples: Tensor, filters: Tensor) -> Tensor:
    """Compute frames (frames, mels) in decades of power from samples (n,) at 16 kHz with filters (mels, bins)."""
    window = torch.hann_window(MEL_TRANSFORM)
    padded = torch.nn.functional.pad(samples, (MEL_TRANSFORM // 2, MEL_TRANSFORM // 2))
    return log_mel_inside(padded.unfold(0, MEL_TRANSFORM, MEL_HOP) * window, filters)


def active_mean(frames: np.ndarray) -> np.ndarray:
    """Average the frames (frames, mels) that are within 30 dB of the loud ones, (mels,)."""
    loudness = frames.max(1)
    return frames[loudness > np.percentile(loudness, 95) - _ACTIVE_DECADES].mean(0)


def split_rows(rows: list[dict[str, str]]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Split recordings into those to train on and those of held-out speakers."""
    held = [row for row in rows if row["set"] == _VALIDATION][:_HELD_OUT] or rows[:1]
    return [row for row in rows if row not in held], held


def load_clips(folder: Path, rows: list[dict[str, str]]) -> list[StudentClip]:
    """Load the recordings that are prepared."""
    clips = []
    for row in rows:
        path = _file_of(folder, row)
        if path.exists():
            arrays = load_file(path)
            if arrays["mel"].shape[1] >= 2 * SKIPPED_STEPS * FRAMES_PER_STEP:
                mean = np.stack([active_mean(copy.astype(np.float32)) for copy in arrays["mel"]])
                clips.append(StudentClip(arrays["mel"], arrays["content"], arrays["prosody"], mean))
    return clips


class Batches:
    """Draw crops with their perturbations; deterministic in seed and step."""

    def __init__(self, clips: list[StudentClip], plan: StudentPlan) -> None:
        self.clips, self.plan = clips, plan
        lengths = np.array([len(clip.content) for clip in clips], np.float64)
        self._shares = lengths / lengths.sum()

    def make(self, step: int, perturbed: bool = True) -> tuple[Tensor, Tensor]:
        """Return frames (batch, frames, STUDENT_MELS) relative to their mean, and content (batch, frames, CONTENT)."""
        mels, contents, _prosody = self.with_prosody(step, perturbed)
        return mels, contents

    def with_prosody(self, step: int, perturbed: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same, and the prosody (batch, frames, 3)."""
        random = np.random.default_rng([self.plan.seed, step])
        mels, contents, prosodies = [], [], []
        for number in random.choice(len(self.clips), self.plan.batch, p=self._shares):
            clip = self.clips[number]
            first = int(random.integers(0, max(len(clip.content) - self.plan.frames, 0) + 1))
            rows = (first + np.arange(self.plan.frames)) % len(clip.content)
            copy = int(random.integers(len(clip.mel))) if perturbed else 0
            mel = clip.mel[copy, rows].astype(np.float32) - clip.mean[copy]
            mels.append(_disturb(mel, random) if perturbed else mel)
            contents.append(clip.content[rows].astype(np.float32))
            prosodies.append(clip.prosody[rows])
        mel, content, prosody = (torch.from_numpy(np.stack(found)) for found in (mels, contents, prosodies))
        return mel, content, prosody


def _disturb(mel: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Add a gain, a smooth equalizer and a noise floor to frames (frames, STUDENT_MELS) in decades."""
    position = np.pi * np.arange(6)[:, None] * (np.arange(STUDENT_MELS) + 0.5) / STUDENT_MELS
    curve = (random.standard_normal(6) * 0.12) @ np.cos(position)
    mel = mel + curve.astype(np.float32) + np.float32(random.normal(0, 0.25))
    if random.random() < 0.4:
        floor = np.float32(random.uniform(-3.0, -0.8)) + (random.standard_normal(6) * 0.2) @ np.cos(position)
        grains = np.log10(np.maximum(random.gamma(4.0, 0.25, mel.shape), 1e-2)).astype(np.float32)
        mel = np.logaddexp(mel * 2.302585, (floor.astype(np.float32) + grains) * 2.302585) / 2.302585
    return mel.astype(np.float32)


def wanted_content(content: Tensor) -> Tensor:
    """Arrange content (batch, frames, CONTENT) as steps give it: (batch, steps, FRAMES_AT_ONCE, CONTENT)."""
    earlier = FRAMES_AT_ONCE - FRAMES_PER_STEP
    padded = torch.cat([content[:, :1].expand(-1, earlier, -1), content], 1)
    return padded.unfold(1, FRAMES_AT_ONCE, FRAMES_PER_STEP).transpose(2, 3)


def student_loss(found: Tensor, content: Tensor) -> Tensor:
    """Mean absolute difference of all frames that steps give, older (better known) ones counting more."""
    difference = (found - wanted_content(content)).abs().mean(3)[:, SKIPPED_STEPS:]
    weight = torch.linspace(1.5, 0.5, FRAMES_AT_ONCE)
    return (difference * weight).mean()


def validate(student: CausalContentEncoder, batches: Batches) -> dict[str, float]:
    """Measure agreement on speakers not trained on, by look-ahead: the share of variance that is explained.

    Not the cosine: contents have a large part in common, so that any two frames agree by 0.97.
    """
    student.eval()
    with torch.inference_mode():
        mel, content = batches.make(10**7, perturbed=False)
        found, _ = student(mel, student.start(len(mel)))
        wanted = wanted_content(content)
        missed = (found - wanted).square()[:, SKIPPED_STEPS:].mean((0, 1, 3))
        explained = 1 - missed / (wanted - content.mean((0, 1))).square()[:, SKIPPED_STEPS:].mean((0, 1, 3))
    student.train()
    return {f"agreement_{10 * (FRAMES_AT_ONCE - 1 - i)}ms": round(float(explained[i]), 4) for i in (1, 3, 5, 7)}


def train(
    clips: list[StudentClip],
    held: list[StudentClip],
    folder: Path,
    plan: StudentPlan,
    until: float,
    report: Report,
) -> dict[str, Tensor]:
    """Train to the plan's steps or to `until` (of time.monotonic), and return the averaged weights by name.

    The rate of learning falls over the last half of whichever comes first.
    """
    torch.manual_seed(plan.seed)
    student = CausalContentEncoder()
    optimizer = torch.optim.AdamW(student.parameters(), plan.rate, betas=(0.9, 0.98), weight_decay=0.01)
    parts: Parts = {"student": student, "optimizer": optimizer}
    run = TrainingRun(folder / "student.pt", plan, student, parts, report, (20, 100))
    batches, validation = Batches(clips, plan), Batches(held, plan)
    begun = time.monotonic()
    student.train()
    for step in range(run.first_step, plan.steps):
        passed = (time.monotonic() - begun) / max(until - begun, 1e-9)
        if passed >= 1:
            break
        by_time = round(plan.steps * passed)
        set_learning_rate(learning_rate(plan.rate, max(step, by_time), plan.steps, plan.cool_down), optimizer)
        mel, content = batches.make(step)
        with in_halves(mel.device):
            loss = student_loss(student(mel, student.start(len(mel)))[0], content)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if torch.isfinite(nn.utils.clip_grad_norm_(student.parameters(), 1.0)):
            optimizer.step()
        run.update_average(min(0.995, step / (step + 20)))
        run.record(step, {"difference": loss.item()}, lambda: _validate_average(student, run, validation))
    return run.average


def _validate_average(student: CausalContentEncoder, run: TrainingRun, held: Batches) -> dict[str, float]:
    averaged = CausalContentEncoder()
    averaged.load_state_dict(run.average)
    return validate(averaged, held)


def _card(folder: Path, clips: list[StudentClip]) -> dict[str, object]:
    """Return the card: what it is, what it was made from, and its last scores."""
    lines = [json.loads(line) for line in (folder / "student.jsonl").read_text().splitlines()]
    scored = [line for line in lines if "agreement_40ms" in line]
    return {
        "name": "Timbre Studio student",
        "licence": "CC BY 4.0",
        "made_with": "python -m engine.pretraining student",
        "hours": round(sum(len(clip.content) for clip in clips) / FRAME_RATE / 3600, 2),
        "made_from": "the corpus of the base weights, whose card names the sources",
        "scores": scored[-1] if scored else {},
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add corpus and steps."""
    parser.add_argument("--corpus", required=True, type=Path, help="folder with manifest.tsv and the recordings")
    parser.add_argument("--out", required=True, type=Path, help="folder for features, checkpoints and the weights")
    parser.add_argument("--hours", type=float, default=6.7, help="of the corpus, in turn from all speakers")
    parser.add_argument("--steps", type=int, default=StudentPlan.steps)
    parser.add_argument("--minutes", type=float, default=10**6, help="stop after so many; the same command resumes")
    parser.add_argument("--prepare-only", action="store_true")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Train, write the weights, and yield where they are."""
    until = time.monotonic() + 60 * options.minutes
    rows, features = chosen_rows(options.corpus, options.hours), options.out / "student_features"

    if options.prepare_only:
        if not prepare(options.corpus, features, rows, until, show_progress):
            raise TrainingError("The features are not complete yet; run the same command again.")
        yield f"The features are in {features}."
        return
    if not all(_file_of(features, row).exists() for row in rows):
        prepare(options.corpus, features, rows, until, show_progress)
    clips, held = (load_clips(features, some) for some in split_rows(rows))
    weights = train(clips, held, options.out, StudentPlan(steps=options.steps), until, show_progress)
    weights["usual"] = torch.from_numpy(np.mean([clip.mean[0] for clip in clips], 0))
    save_weights(options.out / STUDENT.name, weights, _card(options.out, clips))
    yield f"The student's weights are {options.out / STUDENT.name}."
