"""What models of strangers could do on this machine beyond what they may, found out once by a process that tries."""

import os
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.confinement.readable import gpu_paths
from engine.rvc.sandbox import ModelProcess


@dataclass(frozen=True)
class LimitsHere:
    """What a process that works on a model can still do: read the files of the user who runs the studio, start other
    processes, call over the network, look into other processes."""

    reads: bool
    starts: bool
    calls: bool
    sees: bool

    @property
    def confine(self) -> bool:
        """Whether a model can do nothing to anybody's files and processes."""
        return not (self.reads or self.starts or self.sees)


@lru_cache(maxsize=1)
def limits_here() -> LimitsHere:
    """Find out what holds here; takes half a second, the first time. Raises VoiceError where no process starts."""
    with tempfile.TemporaryDirectory() as folder:
        given, secret = Path(folder) / "given", Path(folder) / "secret"
        for path in (given, secret):
            path.write_bytes(b"x")
            path.chmod(0o600)
        # where there is a GPU, models are rendered on it under fewer limits
        device = "cuda" if gpu_paths("cuda") else "cpu"
        process = ModelProcess("engine.confinement.trial", given, device=device)
        try:
            can, _ = process.call("attempt", [str(secret), os.getpid()])
        finally:
            process.stop()
    return LimitsHere(**can)
