"""Loading torch, which takes longer than to convert a phrase: early, and no more of it than a conversion needs.

Both functions must come before torch is imported, and after `engine.cores.prepare_torch`.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

# What `import torch` brings, and only programs use that train, export, distribute or debug networks. Of the second few
# each needs those before it; the order is torch's.
_APART = (
    *("ao", "distributions", "masked", "mps", "mtia", "nn.intrinsic", "nn.qat", "nn.quantizable", "nn.quantized"),
    *("optim", "profiler", "quantization", "quasirandom", "testing", "utils.data", "_size_docs", "_storage_docs"),
    *("_tensor_docs", "_native"),
)
_IN_ORDER = tuple("export func _higher_order_ops distributed._meta_registrations _meta_registrations compiler".split())
_POSTPONED = tuple(f"torch.{part}" for part in (*_APART, *_IN_ORDER))
_TAKEN = frozenset({"cond", "while_loop", "vmap"})  # functions that torch takes from them for names of its own
_FOR_GRAPHICS = "torch._native"  # registers operations for graphics cards
_WITH_GENERATORS = "torch._meta_registrations"  # brings `torch._prims.rng_prims`, which makes torch.Generator usable
_NEEDS_ALL = "torch._dynamo"  # compiles networks


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
    """Let `import torch` leave out parts that no conversion needs; each is loaded when something of it is first used.

    Those that it takes to compile networks are loaded before that; see also `load_for_graphics`.
    """
    if "torch" not in sys.modules and not any(isinstance(one, _Postponing) for one in sys.meta_path):
        sys.meta_path.insert(0, _Postponing())


class _Postponing(MetaPathFinder):
    """Finds the parts that are postponed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == _NEEDS_ALL:
            load(sys.modules[_POSTPONED[-1]])
        spec = PathFinder.find_spec(name, path, target) if name in _POSTPONED else None
        if spec is not None and spec.loader is not None:
            spec.loader = _WhenUsed(spec.loader)
        return spec


def load_for_graphics() -> None:
    """Load what was postponed of what torch does on graphics cards."""
    if _FOR_GRAPHICS in sys.modules:
        load(sys.modules[_FOR_GRAPHICS])


def is_postponed(module: ModuleType) -> bool:
    """Return whether a part of torch is still to be loaded."""
    return isinstance(module.__loader__, _WhenUsed)


def load(module: ModuleType) -> None:
    """Load a part of torch unless it is loaded."""
    if isinstance(module.__loader__, _WhenUsed):
        module.__loader__.load(module)


def _before(name: str) -> tuple[str, ...]:
    """Return what must be loaded before a part."""
    first, place = len(_APART), _POSTPONED.index(name)
    return _POSTPONED[first:place]


class _WhenUsed(Loader):
    """Loads a module when a name in it is first looked up.

    `importlib.util.LazyLoader` does so for names of all modules too, `__file__` as an example, which torch itself looks
    up in every module there is.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader, self._lock, self._begun = loader, threading.RLock(), False
        self._look_up: Callable[[str], object] | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        def look_up(name: str) -> object:
            if name.startswith("__") and name != "__all__":
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            if name in _TAKEN and is_postponed(module):
                return lambda *given, **named: look_up_loaded(name)(*given, **named)
            return look_up_loaded(name)

        def look_up_loaded(name: str) -> Any:
            self.load(module)  # or wait until another thread has
            if vars(module).get("__getattr__") is look_up:  # this one is about to, and asks whether it has the name yet
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return getattr(module, name)

        vars(module)["__getattr__"] = self._look_up = look_up
        if module.__name__ == _WITH_GENERATORS:
            base, parts = sys.modules["torch._opaque_base"], sys.modules["torch._C"]
            parts._set_generator_metaclass(base.OpaqueBaseMeta)

    def load(self, module: ModuleType) -> None:
        with self._lock:
            if not self._begun:
                for part in _before(module.__name__):
                    load(sys.modules[part])
                self._begun = True
                assert module.__spec__ is not None
                module.__loader__ = module.__spec__.loader = self._loader
                self._loader.exec_module(module)
                if vars(module)["__getattr__"] is self._look_up:  # it may have one of its own
                    del vars(module)["__getattr__"]
