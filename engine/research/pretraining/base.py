"""`python -m engine.pretraining --corpus DIR --out DIR`: train the base weights on a corpus folder.

Analyses the corpus once, trains the acoustic networks and the synthesizer, and writes base.safetensors with its card.
After a stop, each part resumes from its last checkpoint; the same seed gives the same base.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch

from engine.research.command import every_few_seconds, show_progress
from engine.research.pretraining.acoustic import AcousticPlan, train_acoustic
from engine.research.pretraining.corpus import prepare_corpus
from engine.research.pretraining.feature_means import prepare_means
from engine.research.pretraining.vocoder import SynthesizerPlan, train_synthesizer
from engine.research.pretraining.vocoder_refinement import RefinementPlan, refine_synthesizer

P = TypeVar("P", AcousticPlan, SynthesizerPlan, RefinementPlan)
PARTS = ("analyse", "acoustic", "synthesizer", "refine", "publish")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Train the chosen parts, and yield where the weights are."""
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    out = options.out
    corpus = prepare_corpus(options.corpus, out / "features", every_few_seconds())
    means = prepare_means(corpus, every_few_seconds())
    if "acoustic" in options.parts:
        acoustic = _with_steps(AcousticPlan(seed=options.seed), options.acoustic_steps)
        train_acoustic(corpus, means, out, acoustic, device, show_progress)
    if "synthesizer" in options.parts:
        synthesizer = _with_steps(SynthesizerPlan(seed=options.seed), options.synthesizer_steps)
        train_synthesizer(corpus, out, synthesizer, device, show_progress)
    if "refine" in options.parts:
        refinement = _with_steps(RefinementPlan(), options.refinement_steps)
        refine_synthesizer(corpus, out, refinement, device, show_progress, options.refine_published)
    if "publish" in options.parts:
        from engine.research.pretraining.publish import publish_base

        publish_base(corpus, means, out)
    yield f"{', '.join(options.parts)}: {out}"


def _with_steps(plan: P, steps: int | None) -> P:
    return replace(plan, steps=steps) if steps else plan


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add corpus, parts and steps."""
    parser.add_argument("--corpus", type=Path, required=True, help="folder with manifest.tsv and the recordings")
    parser.add_argument("--out", type=Path, required=True, help="folder for features, checkpoints, logs, weights")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="only these (default: all)")
    parser.add_argument("--device", help="cuda or cpu (default: cuda if available)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--acoustic-steps", type=int, help=f"({AcousticPlan.steps})")
    parser.add_argument("--synthesizer-steps", type=int, help=f"({SynthesizerPlan.steps})")
    parser.add_argument("--refinement-steps", type=int, help=f"({RefinementPlan.steps})")
    parser.add_argument(
        "--refine-published", type=Path, metavar="FILE", help="refine the synthesizer of these base weights"
    )
