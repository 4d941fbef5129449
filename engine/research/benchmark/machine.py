"""The machine that figures depend on, and the memory of this process."""

import os
import platform
from pathlib import Path

import torch

from engine.errors import EngineError


def describe_machine() -> dict[str, str | int | float]:
    """Describe the system, the CPU and the versions the figures depend on."""
    return {
        "system": platform.platform(),
        "processor": _processor_name(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _processor_name() -> str:
    listing = Path("/proc/cpuinfo")
    names = [line for line in listing.read_text().splitlines() if "model name" in line] if listing.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process, in 1e6 bytes.

    On Linux from /proc: there `getrusage` also counts memory of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError as cause:
        raise EngineError("Peak memory can only be measured on Linux and macOS; leave it out with --parts.") from cause
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS counts bytes
