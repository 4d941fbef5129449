"""Render content with an RVC model, whichever file it came in: the noise depends on seed and position alone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import file_digest
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from engine.networks.excitation import noise_at
from engine.rvc.configuration import FRAME_RATE, GeneratorConfiguration
from engine.rvc.generator import NOISE_SCALE, coarse_pitch, excitation
from engine.rvc.onnx_models import OnnxModel
from engine.rvc.sandbox import ModelProcess

_SOURCE_NOISE = 1 << 40  # another stream of the same seed
_LOUDEST = 1.001  # what all generators end with keeps samples within 1
_NEIGHBOURS = 8
_FRAMES_AT_ONCE, _VECTORS_AT_ONCE = 500, 10_000  # compared together, so that memory stays flat whatever the index


@dataclass(frozen=True)
class Moment:
    """Where a rendering begins: seed of its noise, frame of the recording, phase of the excitation in cycles."""

    seed: int
    first_frame: int
    cycles: float


class Rendering(Protocol):
    """The networks of an imported voice."""

    @property
    def version(self) -> str:
        """Which layer of ContentVec it reads: v1, v2."""
        ...

    @property
    def sample_rate(self) -> int:
        """Of its samples, in hertz."""
        ...

    def render(self, content: Tensor, hertz: Tensor, moment: Moment) -> np.ndarray:
        """Return float32 samples of whole frames; content (frames, width), hertz (frames,), 0 where unvoiced."""
        ...

    def on(self, device: torch.device) -> "Rendering":
        """Return the same networks on a device."""
        ...

    def digest(self) -> str:
        """Return a digest of the weights."""
        ...


def is_sound(samples: np.ndarray) -> bool:
    """Return whether all samples are numbers that a generator may render."""
    return bool(np.abs(samples).max(initial=0.0) <= _LOUDEST)


def _samples(found: Mapping[str, np.ndarray], count: int, process: ModelProcess) -> np.ndarray:
    """Return so many samples of an answer. Raises ModelFileError for one that a program in the model has made."""
    samples = found.get("samples")
    if samples is None or samples.dtype != np.float32 or samples.shape != (count,):
        raise process.broken()
    return samples


@dataclass(frozen=True, eq=False)
class TorchRendering(Rendering):
    """The generator of this project with the weights of a `.pth`, in a process of its own."""

    weights: Path
    configuration: GeneratorConfiguration
    speaker: int
    process: ModelProcess
    device: str = "cpu"

    @property
    def version(self) -> str:
        return self.configuration.version

    @property
    def sample_rate(self) -> int:
        return self.configuration.sample_rate

    def render(self, content: Tensor, hertz: Tensor, moment: Moment) -> np.ndarray:
        of, frames, hertz = self.configuration, len(content), hertz.cpu()
        latent = noise_at(moment.first_frame * of.latent, frames * of.latent, moment.seed).reshape(frames, of.latent)
        noise = noise_at(moment.first_frame * of.hop, frames * of.hop, moment.seed + _SOURCE_NOISE)
        # here, on the processor: not every device has the 64-bit floats that the phase needs
        source = excitation(hertz[None], torch.from_numpy(noise)[None], of.sample_rate, of.hop, moment.cycles)[0]
        given = {"content": content.cpu(), "hertz": hertz, "excitation": source}
        arrays = {name: values.numpy() for name, values in given.items()} | {"noise": latent.T}
        _, found = self.process.call("render", self._asked(), arrays, frames / FRAME_RATE, 4 * frames * of.hop)
        return _samples(found, frames * of.hop, self.process)

    def on(self, device: torch.device) -> "TorchRendering":
        name = str(device)
        return self if name == self.device else replace(self, process=self.process.on(name), device=name)

    def digest(self) -> str:
        """Return a digest of the weights and the speaker."""
        return str(self.process.call("digest", self._asked())[0])

    def _asked(self) -> list[object]:
        return [str(self.weights), asdict(self.configuration), self.speaker, self.device]


@dataclass(frozen=True, eq=False)
class OnnxRendering(Rendering):
    """An ONNX model, run by ONNX Runtime on the processor, in a process of its own."""

    path: Path
    model: OnnxModel
    speaker: int
    process: ModelProcess

    @property
    def version(self) -> str:
        return "v1" if self.model.content == 256 else "v2"

    @property
    def sample_rate(self) -> int:
        return self.model.sample_rate

    def render(self, content: Tensor, hertz: Tensor, moment: Moment) -> np.ndarray:
        frames, names = len(content), self.model.inputs
        given = {
            names.content: content.cpu().numpy()[None].astype(self.model.precision),
            names.length: np.array([frames], np.int64),
            names.speaker: np.array([self.speaker], np.int64),
        }
        if names.pitch and names.hertz:
            given[names.pitch] = coarse_pitch(hertz.cpu())[None].numpy()
            given[names.hertz] = hertz.cpu().numpy()[None].astype(self.model.precision)
        if names.noise:
            width = self.model.latent
            drawn = noise_at(moment.first_frame * width, frames * width, moment.seed).reshape(frames, width)
            # RVC's own exports leave out the scale that its .pth renders with
            given[names.noise] = (NOISE_SCALE * drawn.T[None]).astype(self.model.precision)
        seed = (moment.seed * 1_000_003 + moment.first_frame) % (1 << 31)
        samples = frames * self.sample_rate // FRAME_RATE
        asked = [str(self.path), seed, frames, samples]
        _, found = self.process.call("run", asked, given, frames / FRAME_RATE, 4 * samples)
        return _samples(found, samples, self.process)

    def on(self, device: torch.device) -> "OnnxRendering":
        """Return the model itself: it runs on the processor."""
        return self

    def digest(self) -> str:
        """Return a digest of the file and the speaker."""
        with self.path.open("rb") as file:
            found = file_digest(file, "sha256")
        found.update(str(self.speaker).encode())
        return found.hexdigest()


@dataclass(frozen=True, eq=False)
class RetrievalIndex:
    """The vectors of an `.index` (see `engine.rvc.index_file`)."""

    vectors: Tensor  # float16 (n, width)
    starts: Tensor
    centroids: Tensor
    probes: int

    def nearest(self, content: Tensor) -> Tensor:
        """Return the weighted mean of the nearest vectors for each frame of content (frames, width)."""
        found = nearest_vectors(content.cpu(), self.vectors, self.starts, self.centroids, self.probes)
        return found.to(content.device)


def nearest_vectors(content: Tensor, vectors: Tensor, starts: Tensor, centroids: Tensor, probes: int) -> Tensor:
    """Return the mean of the eight nearest vectors for each frame of content (frames, width), weighted by the inverse
    square of their squared distance, as RVC weights them.

    vectors (n, width), starts, centroids, probes: see `engine.rvc.index_file.VoiceIndex`. Only vectors in the lists of
    the nearest centroids are compared, as faiss does.
    """
    found = content.clone()
    for first in range(0, len(content), _FRAMES_AT_ONCE):
        block = content[first : first + _FRAMES_AT_ONCE]
        places = _nearest_places(block, vectors, starts, centroids, probes)
        for row, there in enumerate(places):
            own = vectors[there[there >= 0]].float()
            if len(own):
                squares = (own - block[row]).square().sum(1)
                weights = squares.clamp_min(1e-9).reciprocal().square()
                found[first + row] = (weights / weights.sum()) @ own
    return found


def _nearest_places(block: Tensor, vectors: Tensor, starts: Tensor, centroids: Tensor, probes: int) -> Tensor:
    """Return where the nearest vectors of each frame lie, (frames, _NEIGHBOURS); -1 where there are fewer."""
    lists = torch.cdist(block, centroids.float()).topk(min(probes, len(centroids)), 1, largest=False).indices
    distances = torch.full((len(block), _NEIGHBOURS), torch.inf)
    places = torch.full(distances.shape, -1)
    for one in lists.unique().tolist():
        rows = (lists == one).any(1).nonzero()[:, 0]
        for begin in range(int(starts[one]), stop := int(starts[one + 1]), _VECTORS_AT_ONCE):
            end = min(begin + _VECTORS_AT_ONCE, stop)
            there = torch.arange(begin, end).expand(len(rows), -1)
            compared = torch.cdist(block[rows], vectors[begin:end].float())
            nearest = torch.cat([distances[rows], compared], 1).topk(_NEIGHBOURS, 1, largest=False)
            distances[rows] = nearest.values
            places[rows] = torch.cat([places[rows], there], 1).gather(1, nearest.indices)
    return places
