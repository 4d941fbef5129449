"""Loading torch, which takes longer than to convert a phrase: early, and no more of it than a conversion needs.

Both functions must come before torch is imported, and after `engine.cores.prepare_torch`.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

# What `import torch` brings, and only programs use that train, export, distribute or debug networks. The first, which
# takes longest, tells torch on loading what shapes operations return: whoever compiles networks must not postpone it.
POSTPONED = frozenset(f"torch.{part}" for part in (
    "_meta_registrations", "distributed._meta_registrations", "export", "compiler",
    "ao", "quantization", "nn.intrinsic", "nn.qat", "nn.quantizable", "nn.quantized",
    "optim", "distributions", "masked", "quasirandom", "profiler", "testing", "mps", "mtia",
    "_tensor_docs", "_storage_docs", "_size_docs",
))  # fmt: skip
_WITH_GENERATORS = "torch._meta_registrations"  # brings `torch._prims.rng_prims`, which makes torch.Generator usable


def begin_loading_torch() -> None:
    """Load torch's library in a thread of its own, while other modules are imported; returns at once.

    That is a sixth of importing torch, which does it with the interpreter's lock; so it does where this does not work.
    """
    found = find_spec("torch")
    places = [Path(place, "lib", "libtorch_cpu.so") for place in (found and found.submodule_search_locations) or ()]
    load = getattr(ctypes.CDLL(None), "dlopen", None) if sys.platform == "linux" else None
    if load and places and places[0].exists() and "torch" not in sys.modules:
        threading.Thread(target=load, args=(os.fsencode(places[0]), os.RTLD_NOW), name="torch").start()


def postpone_parts_of_torch() -> None:
    """Let `import torch` leave the parts in `POSTPONED` out; each is loaded when something of it is first used."""
    if "torch" not in sys.modules and not any(isinstance(one, _Postponing) for one in sys.meta_path):
        sys.meta_path.insert(0, _Postponing())


class _Postponing(MetaPathFinder):
    """Finds the parts that are postponed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in POSTPONED else None
        if spec is not None and spec.loader is not None:
            spec.loader = _WhenUsed(spec.loader)
        return spec


class _WhenUsed(Loader):
    """Loads a module when a name in it is first looked up.

    `importlib.util.LazyLoader` does so for names of all modules too, `__file__` as an example, which torch itself looks
    up in every module there is.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader, self._lock, self._begun = loader, threading.RLock(), False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        def look_up(name: str) -> object:
            if name.startswith("__") and name != "__all__":
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            with self._lock:
                if not self._begun:
                    self._begun = True
                    assert module.__spec__ is not None
                    module.__loader__ = module.__spec__.loader = self._loader
                    self._loader.exec_module(module)
                if vars(module).get("__getattr__") is look_up:
                    del module.__getattr__
            return getattr(module, name)

        module.__getattr__ = look_up  # type: ignore[method-assign]
        if module.__name__ == _WITH_GENERATORS:
            base, parts = sys.modules["torch._opaque_base"], sys.modules["torch._C"]
            parts._set_generator_metaclass(base.OpaqueBaseMeta)
