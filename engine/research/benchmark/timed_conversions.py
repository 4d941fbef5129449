"""The program of a process that times conversions, of this checkout or of the one that PYTHONPATH names.

    python -P timed_conversions.py THREADS VOICE

It is run as a file, and uses only what every version since 0.14 has. Each line of its input is a conversion as JSON
(`source`, `output`, `transpose`, `device`); for each it prints the seconds it took, those of all cores, and the peak
of memory since the process began.
"""

import inspect
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from engine.conversion.convert import convert_file
from engine.conversion.settings import AUTO, by_style
from engine.cores import prepare_torch
from engine.errors import EngineError
from engine.research.benchmark.machine import peak_memory_mb
from engine.voices.voice import load_voice


def main(threads: int, name: str) -> None:
    """Answer until the input ends."""
    prepare_torch()
    import torch

    torch.set_num_threads(threads)
    voice = load_voice(Path(name) if Path(name).is_absolute() else name)
    converting: Callable[..., object] = convert_file
    if "threads" in inspect.signature(convert_file).parameters:  # since 0.19
        converting = partial(converting, threads=threads)
    for line in sys.stdin:
        asked = json.loads(line)
        settings = by_style(AUTO, {"transpose": asked["transpose"]})
        wall, processor = time.perf_counter(), time.process_time()
        try:
            converting(asked["source"], [asked["output"]], voice, settings, device=asked["device"])
        except EngineError as error:
            _write({"error": str(error)})
            continue
        answer = {"wall_s": time.perf_counter() - wall, "processor_s": time.process_time() - processor}
        card = torch.cuda.max_memory_reserved() / 1e6 if asked["device"].startswith("cuda") else 0.0
        _write(answer | {"peak_mb": peak_memory_mb(), "card_mb": card})


def _write(answer: dict[str, float] | dict[str, str]) -> None:
    sys.stdout.writelines([json.dumps(answer), "\n"])
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
