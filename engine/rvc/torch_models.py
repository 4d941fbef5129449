"""Run the generator of a voice that was a `.pth`, in the process where it is safe; see `engine.rvc.rendering`."""

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open

from engine.devices import memory_of
from engine.rvc.configuration import from_json
from engine.rvc.generator import Generator, generator_from
from engine.rvc.messages import Arrays
from engine.rvc.operations import multiplications_per_s, refuse_much_work

INDEX = "index."  # how the names of an index's arrays begin, which lie in the same file


def render(
    path: str, configuration: Mapping[str, object], speaker: int, device: str, **given: np.ndarray
) -> tuple[None, Arrays]:
    """Return samples, float32 (frames * hop,); given: what `Generator` takes, for one of a batch."""
    place = torch.device(device)
    with torch.inference_mode(), memory_of(place):
        generator = _opened(path, json.dumps(configuration), device)
        inputs = {name: torch.from_numpy(values)[None].to(place) for name, values in given.items()}
        return None, {"samples": generator(**inputs, speaker=speaker)[0].cpu().numpy()}


def digest(path: str, configuration: Mapping[str, object], speaker: int, device: str) -> tuple[str, Arrays]:
    """Return a digest of the weights and the speaker."""
    found = sha256(str(speaker).encode())
    for value in _opened(path, json.dumps(configuration), device).state_dict().values():
        found.update(value.cpu().contiguous().numpy().data)
    return found.hexdigest(), {}


@lru_cache(maxsize=1)
def _opened(path: str, configuration: str, device: str) -> Generator:
    of = from_json(json.loads(configuration))
    refuse_much_work(Path(path).parent.name, multiplications_per_s(of))
    with safe_open(path, "pt") as file, torch.inference_mode(False):
        names = [name for name in file.keys() if not name.startswith(INDEX)]  # noqa: SIM118 - the file is not a dict
        return generator_from(of, {name: file.get_tensor(name) for name in names}).to(device)
