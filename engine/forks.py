"""Processes forked from one that has computed: there the threads of torch and ONNX Runtime are gone, and waited for."""

import os
from functools import lru_cache

from engine.errors import EngineError
from engine.texts import tr


def refuse_forked() -> None:
    """Raise EngineError in a process that was forked after this program had computed: what it computes would hang.

    >>> refuse_forked()
    """
    if _first_to_compute() != os.getpid():
        raise EngineError(
            tr(
                "This process was forked after the engine had been used, so the engine would hang in it: start "
                'processes with multiprocessing.get_context("spawn"), or use threads.'
            )
        )


@lru_cache(maxsize=1)
def _first_to_compute() -> int:
    """Return the number of the process that asked first: a forked one inherits the answer."""
    return os.getpid()
