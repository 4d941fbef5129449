"""Loading torch without the parts that a conversion does not need: each comes when it is used, alone or with all."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest

from engine.torch_loading import _WhenUsed

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
    assert found["left out"] == found["parts"] == 25
    assert found["uses"] == 32


def test_nothing_is_postponed_where_torch_is_loaded():
    import torch

    from engine.torch_loading import load_for_graphics, postpone_parts_of_torch

    finders = list(sys.meta_path)
    postpone_parts_of_torch()
    load_for_graphics()
    assert sys.meta_path == finders
    assert torch.optim.AdamW


class SlowLoader(Loader):
    """A loader of one name that begins, and waits to be told to go on."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.asked = Event(), Event(), []

    def exec_module(self, module: ModuleType) -> None:
        self.asked.append(hasattr(module, "answer"))  # as modules that import each other in a ring ask
        self.begun.set()
        assert self.go_on.wait(60)
        vars(module)["answer"] = 42


def test_a_part_that_two_threads_use_is_loaded_once_and_the_second_waits():
    slow = SlowLoader()
    spec = ModuleSpec("torch.ao", _WhenUsed(slow))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: module.answer)
        assert slow.begun.wait(60)
        second = threads.submit(lambda: module.answer)
        slow.go_on.set()
        assert (first.result(60), second.result(60)) == (42, 42)
    assert slow.asked == [False]
    with pytest.raises(AttributeError):
        _ = module.question
