"""Small RVC models with random weights, made of the stored reference."""

import json
from importlib import import_module
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from engine.rvc import contentvec
from engine.rvc.sandbox_limits import SandboxLimits
from engine.voices.imported import import_rvc

REFERENCE = Path(__file__).parent / "reference" / "rvc.safetensors"


def checkpoint_of(case):
    """The content of a .pth, in half precision as RVC writes it."""
    with safe_open(REFERENCE, "pt") as file:
        facts = json.loads(file.metadata()["cases"])[case]
        start = f"{case}/weight."
        weights = {
            name.removeprefix(start): file.get_tensor(name) for name in list(file.keys()) if name.startswith(start)
        }
    known = {name: facts[name] for name in ("config", "f0", "version")}
    return known | {"weight": weights, "info": "20epoch", "sr": f"{facts['config'][17] // 1000}k"}


def write_small_contentvec(home):
    """Put a small ContentVec with random weights where a data folder has the real one."""
    drawn = torch.Generator().manual_seed(0)
    found = load_file(REFERENCE.with_name("hubert.safetensors"))
    weights = {name.removeprefix("weight."): one for name, one in found.items() if name.startswith("weight.")}
    weights = contentvec._without_norm("x", {name: one for name, one in weights.items() if "masked" not in name})
    weights |= {"final_proj.weight": torch.randn(256, 24, generator=drawn), "final_proj.bias": torch.zeros(256)}
    (home / "models").mkdir(exist_ok=True)
    save_file(weights, home / "models" / "contentvec.safetensors")


def use_small_contentvec(monkeypatch, apart=False):
    """Load it as what it is: 24 channels, two heads and four groups, spread to what a v2 model reads.

    apart: whether models are read and rendered in processes of their own, as they are outside tests.
    """
    made, content = contentvec.ContentVec.__init__, contentvec.ContentVec.content
    monkeypatch.setattr(contentvec.ContentVec, "__init__", lambda self, weights, *_: made(self, weights, 2, 4))
    monkeypatch.setattr(
        contentvec.ContentVec,
        "content",
        lambda self, samples, version: (
            content(self, samples, version) if version == "v1" else content(self, samples, version).repeat(1, 1, 32)
        ),
    )
    if not apart:
        work_in_this_process(monkeypatch)


def work_in_this_process(monkeypatch):
    """Read and render here, which is faster; tests/engine/rvc/test_sandbox.py does it in processes of their own."""

    def call(self, function, arguments, arrays=None, seconds=0.0, largest=0):
        values, found = getattr(import_module(self._module), function)(*arguments, **(arrays or {}))
        assert sum(one.nbytes for one in found.values()) <= largest
        return values, found

    monkeypatch.setattr("engine.rvc.sandbox.ModelProcess.call", call)
    monkeypatch.setattr("engine.rvc.sandbox_limits.limits_here", lambda: SandboxLimits(False, False, False, False))


def import_small(voices, case, index=None, **options):
    """Import a model, as Mia.pth, into a folder of voices; return its card."""
    voices.mkdir(exist_ok=True)
    path = voices.parent / "Mia.pth"
    torch.save(checkpoint_of(case), path)
    return import_rvc(path, voices, index, **options)
