"""What torch reads from the environment is set before it is loaded, whichever door it comes through."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cores import TORCH_ENVIRONMENT

ROOT = Path(__file__).parents[2]
# what the environment says at the moment when torch is first asked for
_LISTEN = """
import os, runpy, sys
class Listener:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            names = "OMP_WAIT_POLICY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
            os.write(1, " ".join(str(os.environ.get(name)) for name in names).encode())
            os._exit(0)
sys.meta_path.insert(0, Listener())
"""
DOORS = {
    "from engine import convert": "from engine import convert",
    "engine.convert": "import engine; engine.convert",
    "from engine import widgets": "from engine import widgets",
    "python -m studio": "sys.argv[1:] = ['convert', sys.argv[1], '--voice', 'kathleen']; "
    "runpy.run_module('studio', run_name='__main__')",
    "python -m engine.benchmark": "sys.argv[1:] = ['--help']; "
    "runpy.run_module('engine.benchmark', run_name='__main__')",
    "python -m engine.pretraining": "sys.argv[1:] = ['--help']; "
    "runpy.run_module('engine.pretraining', run_name='__main__')",
}


def said(program: str, **given: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in TORCH_ENVIRONMENT}
    environment |= given
    sample = str(ROOT / "engine" / "samples" / "speech.flac")
    call = [sys.executable, "-c", program, sample]
    return subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("door", DOORS)
def test_torch_is_loaded_after_its_environment_is_set(door):
    assert said(_LISTEN + DOORS[door]) == "PASSIVE 128"


def test_what_the_user_has_set_is_kept():
    assert said(_LISTEN + DOORS["from engine import convert"], OMP_WAIT_POLICY="ACTIVE") == "ACTIVE 128"


def test_importing_the_engine_does_no_work():
    loaded = "import sys; before = set(sys.modules); import engine, os; "
    loaded += "print(sorted({n.split('.')[0] for n in set(sys.modules) - before} & {'numpy', 'torch', 'scipy'}), "
    loaded += "[n for n in sys.modules if n.startswith('engine.')], 'OMP_WAIT_POLICY' in os.environ)"
    assert said(loaded) == "[] [] False"


# glibc would take the second array from its heap, since one of that size has gone back before
_MAPPED = """
import ctypes
from engine import convert
import numpy as np

class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena o s h mapped u f used free keep".split()]

heap = ctypes.CDLL(None).mallinfo2
heap.restype = Heap
np.ones(30 << 20, np.uint8)
before = heap().mapped
array = np.ones(20 << 20, np.uint8)
print(heap().mapped - before >= 20 << 20)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only glibc counts its heap"
)
def test_large_arrays_have_memory_of_their_own():
    assert said(_MAPPED) == "True"
    assert said(_MAPPED, MALLOC_MMAP_THRESHOLD_=str(32 << 20)) == "False"
