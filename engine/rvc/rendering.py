"""Render content with an RVC model, whichever file it came in: the noise depends on seed and position alone."""

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from engine.errors import VoiceError
from engine.networks.synthesizer import noise_at
from engine.rvc.configuration import FRAME_RATE
from engine.rvc.generator import NOISE_SCALE, Generator, coarse_pitch, excitation
from engine.rvc.onnx_models import OnnxModel, seeded_session
from engine.rvc.retrieval import nearest_vectors

_SOURCE_NOISE = 1 << 40  # another stream of the same seed


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


@dataclass(frozen=True, eq=False)
class TorchRendering:
    """A generator of this project with the weights of a `.pth`."""

    generator: Generator
    speaker: int

    @property
    def version(self) -> str:
        """Which layer of ContentVec it reads: v1, v2."""
        return self.generator.configuration.version

    @property
    def sample_rate(self) -> int:
        """Of its samples, in hertz."""
        return self.generator.configuration.sample_rate

    def render(self, content: Tensor, hertz: Tensor, moment: Moment) -> np.ndarray:
        """Render (see `Rendering`)."""
        of, frames, device = self.generator.configuration, len(content), content.device
        latent = noise_at(moment.first_frame * of.latent, frames * of.latent, moment.seed).reshape(frames, of.latent)
        noise = noise_at(moment.first_frame * of.hop, frames * of.hop, moment.seed + _SOURCE_NOISE)
        # on the processor: not every device has the 64-bit floats that the phase needs
        source = excitation(hertz.cpu()[None], torch.from_numpy(noise)[None], of.sample_rate, of.hop, moment.cycles)
        given = (content[None], hertz[None], torch.from_numpy(latent.T.copy())[None], source)
        return self.generator(*(one.to(device) for one in given), self.speaker)[0].cpu().numpy()

    def on(self, device: torch.device) -> "TorchRendering":
        """Return the same networks on a device."""
        if self.generator.speakers.weight.device == device:
            return self
        import copy

        return replace(self, generator=copy.deepcopy(self.generator).to(device))

    def digest(self) -> str:
        """Return a digest of the weights and the speaker."""
        digest = sha256(str(self.speaker).encode())
        for value in self.generator.state_dict().values():
            digest.update(value.cpu().contiguous().numpy().data)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class OnnxRendering:
    """An ONNX model, run by ONNX Runtime on the processor.

    A session is made for each window, since its random nodes take their seeds when it is made: the same seed gives the
    same samples, wherever an edit begins.
    """

    path: Path
    model: OnnxModel
    speaker: int

    @property
    def version(self) -> str:
        """Which layer of ContentVec it reads: v1, v2."""
        return "v1" if self.model.content == 256 else "v2"

    @property
    def sample_rate(self) -> int:
        """Of its samples, in hertz."""
        return self.model.sample_rate

    def render(self, content: Tensor, hertz: Tensor, moment: Moment) -> np.ndarray:
        """Render (see `Rendering`)."""
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
        try:
            session = seeded_session(self.path, (moment.seed * 1_000_003 + moment.first_frame) % (1 << 31))
            samples = np.asarray(session.run(None, given)[0], np.float32).reshape(-1)
        except Exception as cause:  # ONNX Runtime raises its own kinds
            raise VoiceError(
                f"This ONNX model does not run with {frames} frames: it must be one file, and take any number of them. "
                "Import the .pth that it was made of."
            ) from cause
        wanted = frames * self.sample_rate // FRAME_RATE
        return np.pad(samples[:wanted], (0, max(0, wanted - len(samples))))

    def on(self, device: torch.device) -> "OnnxRendering":
        """Return the model itself: it runs on the processor."""
        return self

    def digest(self) -> str:
        """Return a digest of the file and the speaker."""
        return sha256(self.path.read_bytes() + str(self.speaker).encode()).hexdigest()


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
