"""Read the `.pth` files of RVC: unpickled with `weights_only`, in a process of its own, into safetensors.

A finished model is a dictionary of `weight`, `config`, `version`, `f0` and `sr`. What else carries the same suffix is
answered by name.
"""

import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from engine.errors import VoiceError
from engine.files import named, shown_name
from engine.rvc.configuration import LAYERS, GeneratorConfiguration, from_checkpoint, from_json
from engine.rvc.foreign_files import (
    beginning_of,
    no_model,
    refuse_foreign,
    refuse_foreign_pickle,
    refuse_other_encoder,
    refuse_other_programs,
)
from engine.rvc.messages import Arrays
from engine.rvc.operations import multiplications_per_s, refuse_much_work
from engine.rvc.sandbox import ModelFileError, run_apart, too_demanding, unsafe
from engine.texts import joined, tr

SPEAKER_TABLE = "emb_g.weight"
_ZIP, _OLD_PICKLE = b"PK\x03\x04", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_CUT = ("central directory", "unexpected EOF", "truncated", "corrupt", "ran out", "not enough", "tried to read")


def read_checkpoint(path: Path, target: Path) -> GeneratorConfiguration:
    """Write the weights of an RVC model as safetensors to `target`, under the names and in the precision of the file,
    and return its configuration. Raises ModelFileError."""
    return from_json(run_apart("engine.rvc.checkpoint:extract", path, target=target))


def extract(source: str, name: str = "") -> tuple[dict[str, Any], Arrays]:
    """Do the work of `read_checkpoint`, in the process where it is safe."""
    path = named(Path(source), name)
    content = load_pickle(path)
    weights = _weights_of(path, content)
    speakers = weights.get(SPEAKER_TABLE)
    count = len(speakers) if speakers is not None and speakers.ndim == 2 else 1
    try:
        configuration = from_checkpoint(content["config"], content.get("version"), content.get("f0"), count)
    except VoiceError as cause:
        raise ModelFileError(joined(": ", (f'"{shown_name(path)}"', str(cause))), "wrong_shapes") from cause
    refuse_much_work(shown_name(path), multiplications_per_s(configuration))
    refuse_other_encoder(shown_name(path), content, LAYERS[configuration.version])
    return asdict(configuration), as_file(weights)


def as_file(weights: Mapping[str, Tensor]) -> Arrays:
    """Return weights as the safetensors file that `run_apart` writes."""
    # copied, since a file of anybody's may let weights share their numbers
    copies = {name: value.clone(memory_format=torch.contiguous_format) for name, value in weights.items()}
    return {"file": np.frombuffer(save(copies), np.uint8)}


def load_pickle(path: Path, safe: list[Any] | None = None) -> Any:
    """Load what torch.save wrote, tensors and plain values alone. Raises ModelFileError.

    safe: classes that may stand in the file, as `torch.serialization.safe_globals` takes them.
    """
    refuse_foreign(path)
    start = beginning_of(path)
    if start.startswith(_ZIP):
        _refuse_packed(path)
    elif not start.startswith(_OLD_PICKLE):
        cut = _OLD_PICKLE.startswith(start) or _ZIP.startswith(start)
        raise truncated(shown_name(path)) if cut else no_model(shown_name(path), start)
    with _named(shown_name(path)), torch.serialization.safe_globals(safe or []):
        return torch.load(path, map_location="cpu", weights_only=True)


def tensors_of(name: str, values: object, size: int) -> dict[str, Tensor]:
    """Return the tensors of a state dict; size: of their file, in bytes.

    Raises ModelFileError for anything else in it, and for tensors larger than the file, which repeat few numbers
    without end or have none.
    """
    if not isinstance(values, Mapping) or not values:
        raise no_model(name)
    found = {key: value for key, value in values.items() if isinstance(key, str) and isinstance(value, Tensor)}
    if len(found) != len(values) or not all(
        one.is_floating_point() and not one.is_sparse and not one.is_meta for one in found.values()
    ):
        raise no_model(name)
    if sum(one.numel() * one.element_size() for one in found.values()) > size:
        raise too_demanding(name)
    return found


def truncated(name: str) -> ModelFileError:
    """Return the error of a file that ends too early."""
    return ModelFileError(tr('"{name}" is cut off or damaged: download or copy it again.', name=name), "truncated")


def _weights_of(path: Path, content: object) -> dict[str, Tensor]:
    """Return the weights of a finished model. Raises ModelFileError for the other files that people have."""
    name = shown_name(path)
    if not isinstance(content, Mapping):
        raise no_model(name)
    inner = content.get("weight", content.get("model"))
    names = set(inner) if isinstance(inner, Mapping) else set(content)
    refuse_other_programs(name, names)
    if "optimizer" in content or any(str(one).startswith("discriminators.") for one in names):
        raise ModelFileError(
            tr(
                '"{name}" is a training file of RVC (G_ or D_), not a finished model: choose the small .pth in the '
                "folder assets/weights of RVC, or extract one there (ckpt processing).",
                name=name,
            ),
            "training_file",
        )
    if "weight" not in content:
        raise no_model(name)
    if content.get("config") is None:
        raise ModelFileError(
            tr(
                '"{name}" has no configuration, so the shape of its networks is unknown: extract it in RVC again.',
                name=name,
            ),
            "no_configuration",
        )
    return tensors_of(name, content["weight"], path.stat().st_size)


def _refuse_packed(path: Path) -> None:
    """Raise ModelFileError for a ZIP that is cut off, or whose members grow when they are read."""
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
            if any(one.compress_type != zipfile.ZIP_STORED or one.file_size != one.compress_size for one in members):
                raise no_model(shown_name(path))
            if sum(one.file_size for one in members) > path.stat().st_size:
                raise no_model(shown_name(path))
            if not any(one.filename.endswith("data.pkl") for one in members):
                raise no_model(shown_name(path))
    except (zipfile.BadZipFile, struct.error, EOFError, OSError, ValueError, RuntimeError, IndexError) as cause:
        raise truncated(shown_name(path)) from cause


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Turn what unpickling raises into named errors."""
    try:
        yield
    except MemoryError as cause:
        raise too_demanding(name) from cause
    except (EOFError, IndexError, struct.error) as cause:
        raise truncated(name) from cause
    except RuntimeError as cause:
        memory = "alloc" in str(cause)
        raise too_demanding(name) if memory else truncated(name) from cause
    except Exception as cause:  # a pickle made by anybody raises anything
        if type(cause).__name__ != "UnpicklingError":
            raise no_model(name) from cause
        if any(word in str(cause) for word in _CUT):
            raise truncated(name) from cause
        refuse_foreign_pickle(name, str(cause))
        raise unsafe(name) from cause
