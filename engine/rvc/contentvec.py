"""ContentVec, the listener of RVC models: the architecture of HuBERT base (Hsu et al., 2021) with weights that were
trained to leave the speaker out (Qian et al., 2022). Written from the paper; the weights are not part of the studio.

    samples at 16 kHz --> seven convolutions --> 50 frames a second --> convolutional positions --> 12 post-norm blocks
    v1 models read layer 9 through the final projection (256 numbers), v2 models layer 12 (768)

`install` takes the user's own file, in the layout of Transformers or the old one of fairseq. It lies in the data folder
afterwards, as safetensors. Modules are named as in Transformers, so that weights need no translation.
"""

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import soxr
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from engine.errors import VoiceError
from engine.files import make_private_folder, named, shown_name
from engine.rvc.checkpoint import as_file, load_pickle, tensors_of
from engine.rvc.configuration import LAYERS
from engine.rvc.foreign_files import refuse_foreign
from engine.rvc.messages import Arrays
from engine.rvc.sandbox import ModelFileError, run_apart
from engine.rvc.sources import CONTENTVEC_FILE
from engine.rvc.sources import contentvec_path as contentvec_path
from engine.texts import tr
from engine.units import SAMPLE_RATE

RATE = 16_000  # hertz
HOP, FIELD = 320, 400  # samples: between two frames, and that one frame depends on
_CONVOLUTIONS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))  # length, stride
_WIDTH, _LAYERS, _PROJECTED = 768, 12, 256  # of HuBERT base, which RVC reads
_FAIRSEQ = (
    (r"^feature_extractor\.conv_layers\.(\d+)\.0\.", r"feature_extractor.conv_layers.\1.conv."),
    (r"^feature_extractor\.conv_layers\.(\d+)\.2\.", r"feature_extractor.conv_layers.\1.layer_norm."),
    (r"^post_extract_proj\.", "feature_projection.projection."),
    (r"^layer_norm\.", "feature_projection.layer_norm."),
    (r"^encoder\.pos_conv\.0\.", "encoder.pos_conv_embed.conv."),
    (r"\.self_attn\.", ".attention."),
    (r"\.self_attn_layer_norm\.", ".layer_norm."),
    (r"\.fc1\.", ".feed_forward.intermediate_dense."),
    (r"\.fc2\.", ".feed_forward.output_dense."),
)
_UNUSED = re.compile(r"^(mask_emb|masked_spec_embed|label_embs_concat|encoder\.layers\.\d+\.adapter.*)$")


class _Convolution(nn.Module):
    def __init__(self, narrow: int, wide: int, length: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(narrow, wide, length, stride, bias=False)
        self.layer_norm = nn.GroupNorm(wide, wide) if narrow == 1 else None  # the first alone

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = self.conv(hidden)
        return functional.gelu(hidden if self.layer_norm is None else self.layer_norm(hidden))


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(width, width) for _ in range(4))

    def forward(self, hidden: Tensor) -> Tensor:
        batch, frames, width = hidden.shape

        def of_heads(values: Tensor) -> Tensor:
            return values.view(batch, frames, self.heads, width // self.heads).transpose(1, 2)

        query, key, value = (of_heads(one(hidden)) for one in (self.q_proj, self.k_proj, self.v_proj))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.out_proj(mixed.transpose(1, 2).reshape(batch, frames, width))


class _Block(nn.Module):
    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.attention = _Attention(width, heads)
        self.layer_norm = nn.LayerNorm(width)
        self.feed_forward = nn.ModuleDict(
            {"intermediate_dense": nn.Linear(width, inner), "output_dense": nn.Linear(inner, width)}
        )
        self.final_layer_norm = nn.LayerNorm(width)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = self.layer_norm(hidden + self.attention(hidden))
        wide = functional.gelu(self.feed_forward["intermediate_dense"](hidden))
        return self.final_layer_norm(hidden + self.feed_forward["output_dense"](wide))


class ContentVec(nn.Module):
    """Encode samples at RATE (batch, samples) as layers of (batch, frames, width); frame k begins at sample 320 k."""

    def __init__(self, weights: dict[str, Tensor], heads: int = 12, groups: int = 16) -> None:
        """Take the sizes from the weights, which are then loaded strictly. Raises RuntimeError or KeyError."""
        super().__init__()
        channels = len(weights["feature_extractor.conv_layers.0.conv.weight"])
        width = len(weights["feature_projection.projection.weight"])
        positions = weights["encoder.pos_conv_embed.conv.weight"].shape[2]
        inner = len(weights["encoder.layers.0.feed_forward.intermediate_dense.weight"])
        layers = 1 + max(int(found[1]) for name in weights if (found := re.match(r"encoder\.layers\.(\d+)\.", name)))
        convolutions = (
            _Convolution(1 if place == 0 else channels, channels, *shape) for place, shape in enumerate(_CONVOLUTIONS)
        )
        self.feature_extractor = nn.ModuleDict({"conv_layers": nn.ModuleList(convolutions)})
        self.feature_projection = nn.ModuleDict(
            {"layer_norm": nn.LayerNorm(channels), "projection": nn.Linear(channels, width)}
        )
        placing = nn.Conv1d(width, width, positions, padding=positions // 2, groups=groups)
        self.encoder = nn.ModuleDict(
            {
                "pos_conv_embed": nn.ModuleDict({"conv": placing}),
                "layer_norm": nn.LayerNorm(width),
                "layers": nn.ModuleList(_Block(width, inner, heads) for _ in range(layers)),
            }
        )
        projected = weights.get("final_proj.weight")
        self.final_proj = None if projected is None else nn.Linear(width, len(projected))
        self.load_state_dict(weights, strict=True)
        self.eval().requires_grad_(False)

    @property
    def is_base(self) -> bool:
        """Return whether it has the sizes that models of RVC read."""
        projection = cast(nn.Linear, self.feature_projection["projection"])
        layers = cast(nn.ModuleList, self.encoder["layers"])
        projected = _PROJECTED if self.final_proj is None else self.final_proj.out_features
        return (projection.out_features, len(layers), projected) == (_WIDTH, _LAYERS, _PROJECTED)

    def forward(self, samples: Tensor, layer: int) -> Tensor:
        hidden = samples[:, None]
        for convolution in cast(nn.ModuleList, self.feature_extractor["conv_layers"]):
            hidden = convolution(hidden)
        hidden = self.feature_projection["projection"](self.feature_projection["layer_norm"](hidden.mT))
        placing = cast(nn.ModuleDict, self.encoder["pos_conv_embed"])["conv"]
        placed = placing(hidden.mT)[:, :, : hidden.shape[1]]
        hidden = self.encoder["layer_norm"](hidden + functional.gelu(placed).mT)
        for block in cast(nn.ModuleList, self.encoder["layers"])[:layer]:
            hidden = block(hidden)
        return hidden

    def content(self, samples: Tensor, version: str) -> Tensor:
        """Return what a v1 or v2 model reads, (batch, frames, 256 or 768). Raises VoiceError without the projection."""
        if version != "v1":
            return self.forward(samples, len(cast(nn.ModuleList, self.encoder["layers"])))
        if self.final_proj is None:
            raise VoiceError(
                tr(
                    "These weights of ContentVec lack the final projection that v1 RVC models need: run "
                    "`timbre-studio rvc fetch`."
                )
            )
        return self.final_proj(self.forward(samples, LAYERS["v1"]))


def content_of(contentvec: ContentVec, samples: np.ndarray, frames: int, version: str) -> Tensor:
    """Return the content of mono samples at SAMPLE_RATE on the 10 ms grid, (frames, width): each frame twice."""
    resampled = soxr.resample(samples, SAMPLE_RATE, RATE).astype(np.float32)
    needed = (frames + 1) // 2 * HOP + FIELD - HOP
    resampled = np.pad(resampled, (0, max(0, needed - len(resampled))))
    device = next(contentvec.parameters()).device
    found = contentvec.content(torch.from_numpy(resampled)[None].to(device), version)[0]
    return found.repeat_interleave(2, 0)[:frames]


# ---- weights ----


def install(source: Path) -> Path:
    """Convert a ContentVec file, or the one in a folder, and keep it in the data folder; return where it lies.

    Raises ModelFileError.
    """
    path = _file_in(source)
    target = contentvec_path()
    make_private_folder(target.parent)
    unfinished = target.with_suffix(f".{os.getpid()}.unfinished")
    try:
        run_apart("engine.rvc.contentvec:convert", path, target=unfinished)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def convert(source: str, name: str = "") -> tuple[None, Arrays]:
    """Return a ContentVec file of any known layout as safetensors, in the process where it is safe to read."""
    path = named(Path(source), name)
    tensors = _published(path)
    try:
        network = ContentVec({name: value.float() for name, value in tensors.items()})
    except (KeyError, RuntimeError, ValueError) as cause:
        raise _wrong(shown_name(path)) from cause
    if not network.is_base or not all(one.isfinite().all() for one in tensors.values()):
        raise _wrong(shown_name(path))
    return None, as_file(tensors)


def load_contentvec(path: Path | None = None, device: torch.device | None = None) -> ContentVec:
    """Load ContentVec from the data folder, once. Raises VoiceError that says how to get it where it is missing."""
    path = path or contentvec_path()
    try:
        stat = path.stat()
    except FileNotFoundError as cause:
        raise VoiceError(
            tr(
                "This voice needs ContentVec, which is not part of the studio: run `timbre-studio rvc fetch` (378 "
                "MB), or `timbre-studio rvc use FILE` with a copy of your own."
            )
        ) from cause
    return _loaded(path, device or torch.device("cpu"), (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=1)
def _loaded(path: Path, device: torch.device, state: tuple[int, int]) -> ContentVec:
    try:
        with torch.inference_mode(False):
            return ContentVec({name: value.float() for name, value in load_file(path).items()}).to(device)
    except (KeyError, RuntimeError, ValueError, SafetensorError, OSError) as cause:
        damaged = tr(
            "ContentVec ({contentvec_file}) is damaged: run `timbre-studio rvc fetch` again.",
            contentvec_file=CONTENTVEC_FILE,
        )
        raise VoiceError(damaged) from cause


def _file_in(source: Path) -> Path:
    if not source.is_dir():
        return source
    for name in ("model.safetensors", "pytorch_model.bin", "hubert_base.pt", "checkpoint_best_legacy_500.pt"):
        if (source / name).is_file():
            return source / name
    raise ModelFileError(
        tr(
            '"{name}" holds no ContentVec: no model.safetensors, pytorch_model.bin, hubert_base.pt or '
            "checkpoint_best_legacy_500.pt.",
            name=source.name,
        ),
        "not_contentvec",
    )


def _published(path: Path) -> dict[str, Tensor]:
    """Return the weights of a file under the names of Transformers, without weight norm."""
    if path.suffix == ".safetensors":
        refuse_foreign(path)
        try:
            found = load_file(path)
        except (SafetensorError, OSError) as cause:
            raise _wrong(shown_name(path)) from cause
    else:
        content = load_pickle(path, _stand_ins())
        inner = content.get("model", content) if isinstance(content, dict) else content
        found = tensors_of(shown_name(path), inner, path.stat().st_size)
    named = {}
    for name, value in found.items():
        name = name.removeprefix("hubert.")
        if "post_extract_proj.weight" in found or "feature_extractor.conv_layers.0.0.weight" in found:
            for pattern, replacement in _FAIRSEQ:
                name = re.sub(pattern, replacement, name)
        if not _UNUSED.match(name):
            named[name] = value
    return _without_norm(shown_name(path), named)


def _without_norm(name: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    conv = "encoder.pos_conv_embed.conv."
    for length, direction in (
        ("weight_g", "weight_v"),
        ("parametrizations.weight.original0", "parametrizations.weight.original1"),
    ):
        if conv + length in weights and conv + direction in weights:
            long, wide = weights.pop(conv + length).float(), weights.pop(conv + direction).float()
            if wide.ndim != 3 or long.shape != (1, 1, wide.shape[2]):
                raise _wrong(name)
            weights[conv + "weight"] = long * wide / wide.norm(dim=(0, 1), keepdim=True)
    return weights


def _stand_ins() -> list[Any]:
    """Return what old fairseq files hold besides weights, as empty objects: nothing of them is used or run."""
    names = (
        "fairseq.data.dictionary.Dictionary",
        "argparse.Namespace",
        "omegaconf.dictconfig.DictConfig",
        "omegaconf.listconfig.ListConfig",
        "omegaconf.base.ContainerMetadata",
        "omegaconf.base.Metadata",
        "omegaconf.nodes.AnyNode",
    )
    return [(type(tr("Unused"), (), {}), name) for name in names]


def _wrong(name: str) -> ModelFileError:
    text = tr(
        '"{name}" is not ContentVec: use pytorch_model.bin from content-vec-best, or hubert_base.pt from RVC.',
        name=name,
    )
    return ModelFileError(text, "not_contentvec")
