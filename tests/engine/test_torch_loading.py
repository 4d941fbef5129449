"""Loading torch without the parts that a conversion does not need: each comes when it is used, alone or with all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# in processes forked from one that has loaded torch once, and has not computed
PROGRAM = """
import json, os, sys
from engine.torch_loading import _POSTPONED, is_postponed, load, load_for_graphics, postpone_parts_of_torch

postpone_parts_of_torch()
import torch

def step():
    layer = torch.nn.Linear(3, 3)
    optimiser = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(3)).sum().backward()
    optimiser.step()

def compiler():
    import torch._dynamo
    return torch.ones(3, device="meta") + 1

uses = {
    "a generator": lambda: torch.Generator("cpu").manual_seed(1),
    "a step of training": step,
    "the compiler": compiler,
    "cond": lambda: torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.ones(2),)),
    "vmap": lambda: torch.vmap(torch.sin)(torch.ones(2)),
    "graphics": load_for_graphics,
    "all": lambda: [load(sys.modules[name]) for name in _POSTPONED],
} | {name: lambda name=name: load(sys.modules[name]) for name in _POSTPONED}
left_out = [name for name in _POSTPONED if is_postponed(sys.modules[name])]
failed = []
for name, use in uses.items():
    if not (child := os.fork()):
        try:
            use()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
print(json.dumps({"parts": len(_POSTPONED), "left out": len(left_out), "uses": len(uses), "failed": failed}))
"""


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each use")
def test_postponed_parts_of_torch_are_left_out_and_work_when_they_are_used():
    call = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failed"] == []
    assert found["left out"] == found["parts"] == 24
    assert found["uses"] == 31


def test_nothing_is_postponed_where_torch_is_loaded():
    import torch

    from engine.torch_loading import load_for_graphics, postpone_parts_of_torch

    finders = list(sys.meta_path)
    postpone_parts_of_torch()
    load_for_graphics()
    assert sys.meta_path == finders
    assert torch.optim.AdamW
