"""Small RVC models with random weights, made of the stored reference."""

import json
from pathlib import Path

from safetensors import safe_open

REFERENCE = Path(__file__).parent / "reference" / "rvc.safetensors"


def checkpoint_of(case):
    """The content of a .pth, in half precision as RVC writes it."""
    with safe_open(REFERENCE, "pt") as file:
        facts = json.loads(file.metadata()["cases"])[case]
        start = f"{case}/weight."
        weights = {
            name.removeprefix(start): file.get_tensor(name) for name in list(file.keys()) if name.startswith(start)
        }
    rate = f"{facts['config'][17] // 1000}k"
    return {
        "weight": weights, "config": facts["config"], "info": "20epoch", "sr": rate, "f0": facts["f0"],
        "version": facts["version"],
    }  # fmt: skip
