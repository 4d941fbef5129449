"""Measure what a model of RVC costs on this machine beside a voice of this studio, through the same `convert`.

    python -m engine.benchmark rvc --seconds 10

Weights are random where none are at hand (cost does not depend on them): a v2 model at 40 kHz in the published sizes,
and HuBERT base. With ContentVec installed, that is used.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from engine.audio.files import Audio, read_audio
from engine.conversion.convert import convert
from engine.conversion.preview import SAMPLE
from engine.provenance.installation import HOME_VARIABLE
from engine.research.tables import table
from engine.rvc.configuration import from_checkpoint
from engine.rvc.contentvec import content_of, load_contentvec
from engine.rvc.generator import Generator, published_name
from engine.rvc.rendering import Moment, TorchRendering
from engine.rvc.sandbox import ModelProcess
from engine.rvc.sources import contentvec_path
from engine.units import SAMPLE_RATE
from engine.voices.imported import ImportedVoice
from engine.voices.voice import load_voice

_V2 = [1025, 32, 192, 192, 768, 2, 6, 3, 0.0, "1", [3, 7, 11], [[1, 3, 5]] * 3, [10, 10, 2, 2], 512, [16, 16, 4, 4], 1]
_V2 += [256, 40_000]


def hubert_base(seed: int = 0) -> dict[str, torch.Tensor]:
    """Return random weights in the sizes of HuBERT base."""
    drawn = torch.Generator().manual_seed(seed)
    shapes = {"encoder.pos_conv_embed.conv.weight": (768, 48, 128), "encoder.pos_conv_embed.conv.bias": (768,)}
    for layer, (length, narrow) in enumerate([(10, 1), *[(3, 512)] * 4, *[(2, 512)] * 2]):
        shapes[f"feature_extractor.conv_layers.{layer}.conv.weight"] = (512, narrow, length)
    shapes |= _norm("feature_extractor.conv_layers.0.layer_norm", 512) | _norm("feature_projection.layer_norm", 512)
    shapes |= _norm("encoder.layer_norm", 768) | _linear("feature_projection.projection", 512, 768)
    for layer in range(12):
        name = f"encoder.layers.{layer}."
        for one in ("q", "k", "v", "out"):
            shapes |= _linear(f"{name}attention.{one}_proj", 768, 768)
        shapes |= _norm(f"{name}layer_norm", 768) | _norm(f"{name}final_layer_norm", 768)
        shapes |= _linear(f"{name}feed_forward.intermediate_dense", 768, 3072)
        shapes |= _linear(f"{name}feed_forward.output_dense", 3072, 768)
    return {name: torch.randn(shape, generator=drawn) * 0.02 for name, shape in shapes.items()}


def _norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _linear(name: str, narrow: int, wide: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (wide, narrow), f"{name}.bias": (wide,)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the length."""
    parser.add_argument("--seconds", type=float, default=10.0)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield a table of the seconds of work per second of sound."""
    seconds = options.seconds
    sample = read_audio(SAMPLE)
    length = round(seconds * sample.rate)
    audio = Audio(np.tile(sample.samples, -(-length // sample.samples.shape[1]))[:, :length], sample.rate)
    with tempfile.TemporaryDirectory() as place:
        if not contentvec_path().exists():
            os.environ[HOME_VARIABLE] = place
            contentvec_path().parent.mkdir(parents=True)
            save_file(hubert_base(), contentvec_path())
        torch.manual_seed(0)
        of, path = from_checkpoint(_V2, "v2", 1, 1), Path(place) / "generator.safetensors"
        save_file({published_name(name): value for name, value in Generator(of).state_dict().items()}, path)
        process = ModelProcess("engine.rvc.torch_models", path, threads=torch.get_num_threads())
        contentvec, own = load_contentvec(), load_voice("kathleen")
        imported = ImportedVoice(own.card, networks := TorchRendering(path, of, 0, process), None)
        frames = round(seconds * 100)
        samples, hertz = audio.samples[0][: frames * SAMPLE_RATE // 100], torch.full((frames,), 220.0)

        def encoded() -> torch.Tensor:
            with torch.inference_mode():
                return content_of(contentvec, samples, frames, "v2")

        content = encoded()

        def rendered() -> None:
            with torch.inference_mode():
                networks.render(content, hertz, Moment(0, 0, 0.0))

        rows: dict[str, Callable[[], object]] = {
            "ContentVec": encoded,
            "generator, v2 at 40 kHz": rendered,
            "convert with an RVC model": lambda: convert(audio, imported),
            "convert with a voice of this studio": lambda: convert(audio, own),
        }
        header = [f"{seconds:g} s of singing, {torch.get_num_threads()} threads", "s of work per s of sound"]
        yield table(header, [[name, f"{_least_s(work) / seconds:.3f}"] for name, work in rows.items()])


def _least_s(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(2):  # the first sets up
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return min(spent)
