"""`python -m engine.pretraining --corpus DIR --out DIR`: train the base weights on a corpus folder.

Analyses the corpus once, trains the acoustic networks and the synthesizer, and writes base.safetensors with its card.
After a stop, each part resumes from its last checkpoint; the same seed gives the same base.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch

from engine.pretraining.acoustic import AcousticPlan, train_acoustic
from engine.pretraining.corpus import prepare_corpus
from engine.pretraining.feature_means import prepare_means
from engine.pretraining.vocoder import SynthesizerPlan, train_synthesizer
from engine.pretraining.vocoder_refinement import RefinementPlan, refine_synthesizer
from engine.progress import Report

P = TypeVar("P", AcousticPlan, SynthesizerPlan, RefinementPlan)
PARTS = ("analyse", "acoustic", "synthesizer", "refine", "publish")


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if options.threads:
        torch.set_num_threads(options.threads)
    out = Path(options.out)
    corpus = prepare_corpus(Path(options.corpus), out / "features", _every_few_seconds())
    means = prepare_means(corpus, _every_few_seconds())
    if "acoustic" in options.parts:
        acoustic = _with_steps(AcousticPlan(seed=options.seed), options.acoustic_steps)
        train_acoustic(corpus, means, out, acoustic, device, _print_line)
    if "synthesizer" in options.parts:
        synthesizer = _with_steps(SynthesizerPlan(seed=options.seed), options.synthesizer_steps)
        train_synthesizer(corpus, out, synthesizer, device, _print_line)
    if "refine" in options.parts:
        refinement = _with_steps(RefinementPlan(), options.refinement_steps)
        refine_synthesizer(corpus, out, refinement, device, _print_line, options.refine_published)
    if "publish" in options.parts:
        from engine.pretraining.publish import publish_base

        publish_base(corpus, means, out)
    return 0


def _with_steps(plan: P, steps: int | None) -> P:
    return replace(plan, steps=steps) if steps else plan


def _print_line(fraction: float, message: str) -> None:
    print(f"{fraction:6.1%}  {message}", flush=True)


def _every_few_seconds() -> Report:
    """Return a report that prints at most every five seconds, and at the end."""
    printed = time.monotonic()

    def report(fraction: float, message: str) -> None:
        nonlocal printed
        if time.monotonic() - printed > 5 or fraction == 1:
            _print_line(fraction, message)
            printed = time.monotonic()

    return report


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.pretraining", description=__doc__)
    parser.add_argument("--corpus", required=True, help="folder with manifest.tsv and the recordings")
    parser.add_argument("--out", required=True, help="folder for features, checkpoints, logs and the weights")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="only these (default: all)")
    parser.add_argument("--device", help="cuda or cpu (default: cuda if available)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--acoustic-steps", type=int, help=f"({AcousticPlan.steps})")
    parser.add_argument("--synthesizer-steps", type=int, help=f"({SynthesizerPlan.steps})")
    parser.add_argument("--refinement-steps", type=int, help=f"({RefinementPlan.steps})")
    parser.add_argument(
        "--refine-published", type=Path, metavar="FILE", help="refine the synthesizer of these base weights"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
