"""The listener: the encoder of Whisper base, trained on 680,000 hours of speech in many languages.

Content is derived from two of its layers (engine.networks.content_encoder). It is OpenAI's network (MIT licence;
Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", 2022), implemented here from the paper:
log-mel spectrum, two convolutions, positions, and six pre-norm transformer blocks. What prepared its weights:
engine/EXPERIMENTS.md, "Research that is no longer here".
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import soxr
import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn import functional

from engine.devices import in_halves
from engine.errors import VoiceError
from engine.networks.batches import inside, together
from engine.texts import tr
from engine.units import SAMPLE_RATE

LISTENER = Path(__file__).parents[1] / "weights" / "listener.safetensors"
LISTENER_RATE = 16_000  # hertz
LISTENER_FRAME_RATE = 50  # frames per second: every second frame of the engine's grid
LAYERS = (4, 6)  # used for content; the last one after its norm
WIDTH = 512  # numbers per frame of each layer
FEATURES = len(LAYERS) * WIDTH
LISTENER_FORMAT = "1"  # of the file; other formats are rejected

_TRANSFORM, _HOP, _MELS = 400, 160, 80
_STEP = LISTENER_RATE // LISTENER_FRAME_RATE
_BLOCKS, _EXPANSION = 6, 4
HEADS = 8
POSITIONS = 1500  # frames it was trained on at a time: 30 s
_LONGEST_S, _AROUND_S = 24.0, 3.0  # of a block encoded at once, and of the context on each side
_SILENCE_S = 0.5  # after the end, as in its training
SCALE = ".scale"  # suffix for the row scales of an 8-bit matrix
_RANGE = 8.0  # dynamic range in decades below the loudest frame
_FLOOR = -10.0  # decades
_SOFTEST, _MOST_RAISED = -0.5, 4.0  # decades: softer sound is raised to the softest of the corpus, by no more than that


class _Attention(nn.Module):
    """Self-attention with eight heads: (batch, frames, WIDTH) -> same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(WIDTH, 3 * WIDTH)  # queries, keys, values
        self.leave = nn.Linear(WIDTH, WIDTH)

    def forward(self, sequence: Tensor, heard: Tensor | None = None) -> Tensor:
        batch, frames, _ = sequence.shape
        parts = self.enter(sequence).view(batch, frames, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], heard)
        return self.leave(mixed.transpose(1, 2).reshape(batch, frames, WIDTH))


class ListenerBlock(nn.Module):
    """Pre-norm transformer block."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = _Attention()
        self.network_norm = nn.LayerNorm(WIDTH)
        self.widen = nn.Linear(WIDTH, _EXPANSION * WIDTH)
        self.narrow = nn.Linear(_EXPANSION * WIDTH, WIDTH)

    def forward(self, sequence: Tensor, heard: Tensor | None = None) -> Tensor:
        """heard: (batch, 1, 1, frames), false after the end of shorter recordings; by default all are as long."""
        sequence = sequence + self.attention(self.attention_norm(sequence), heard)
        return sequence + self.narrow(functional.gelu(self.widen(self.network_norm(sequence))))


class Listener(nn.Module):
    """Encode samples at LISTENER_RATE (batch, samples) as features every 20 ms, (batch, frames, FEATURES).

    Frame k is centred on sample 320 k.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(_MELS, WIDTH, 3, padding=1)
        self.second = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(ListenerBlock() for _ in range(_BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.positions: Tensor
        self.mels: Tensor
        self.window: Tensor
        self.register_buffer("positions", torch.zeros(POSITIONS, WIDTH))
        self.register_buffer("mels", torch.zeros(_MELS, _TRANSFORM // 2 + 1))
        # no weight, so it has values wherever a listener without any is made
        self.register_buffer("window", torch.hann_window(_TRANSFORM, device="cpu"), persistent=False)

    def forward(self, samples: Tensor) -> Tensor:
        return self.encode(self.spectrum(samples))

    def spectrum(self, samples: Tensor) -> Tensor:
        """Compute the log-mel spectrum (batch, _MELS, frames) of whole 10 ms hops, from -1.5 to about 1."""
        decades = self.decades(samples)
        return self.ranged(decades, decades.amax((1, 2), keepdim=True))

    def decades(self, samples: Tensor) -> Tensor:
        """Compute the powers (batch, _MELS, frames) in decades, without a limited range."""
        spectrum = torch.stft(samples, _TRANSFORM, _HOP, window=self.window, return_complex=True)[..., :-1]
        return (self.mels @ spectrum.abs().square()).clamp_min(10.0**_FLOOR).log10()

    def ranged(self, decades: Tensor, loudest: Tensor) -> Tensor:
        """Return the log-mel spectrum of powers in decades, given the loudest around them."""
        raised = (_SOFTEST - loudest).clamp(0.0, _MOST_RAISED).minimum(loudest - _FLOOR)  # silence stays silence
        return (decades.maximum(loudest - _RANGE) + raised + 4.0) / 4.0

    def convolve(self, spectrum: Tensor, within: Tensor | None = None) -> Tensor:
        """Turn a log-mel spectrum (batch, _MELS, frames) into (batch, frames / 2, WIDTH), without positions.

        within: (batch, 1, frames), 0 after the end of shorter recordings.
        """
        hidden = functional.gelu(self.first(spectrum if within is None else spectrum * within))
        hidden = self.second(hidden if within is None else hidden * within)
        return functional.gelu(hidden).transpose(1, 2)

    def encode(self, spectrum: Tensor, within: Tensor | None = None) -> Tensor:
        """Encode a log-mel spectrum (batch, _MELS, frames) of at most 30 s as (batch, frames / 2, FEATURES).

        within: as for `convolve`.
        """
        hidden = self.convolve(spectrum, within)
        heard = None if within is None else within[:, None, :, ::2] > 0.0
        hidden = hidden + self.positions[: hidden.shape[1]]
        layers = []
        for number, block in enumerate(self.blocks, 1):
            hidden = block(hidden, heard)
            if number in LAYERS:
                layers.append(self.norm(hidden) if number == _BLOCKS else hidden)
        return torch.cat(layers, 2)


def listen(listener: Listener, samples: np.ndarray, rate: int = SAMPLE_RATE, roughly: bool = False) -> np.ndarray:
    """Extract features of mono `samples`, float (samples,) at `rate`: float16 (frames, FEATURES), frame k at 20 ms x k.

    Long recordings are encoded in overlapping blocks. roughly: encode in bfloat16 where the hardware supports it: three
    times as fast, with a correlation of 0.9999.
    """
    device, step = listener.window.device, _STEP
    resampled, frames = resampled_in_silence(samples, rate)
    core, around = round(_LONGEST_S * LISTENER_FRAME_RATE), round(_AROUND_S * LISTENER_FRAME_RATE)
    found = []
    for first in range(0, frames, core) if frames > core + around else [0]:
        stop = min(first + core, frames) if frames > core + around else frames
        begin = max(first - around, 0)
        piece = resampled[begin * step : (stop + around) * step]
        with torch.inference_mode():
            spectrum = listener.spectrum(torch.from_numpy(piece)[None].to(device))  # whose powers need float32
            with in_halves(device) if roughly else nullcontext():
                features = listener.encode(spectrum)[0]
        found.append(features[first - begin : stop - begin].cpu().numpy().astype(np.float16))
    return np.concatenate(found)


def resampled_in_silence(samples: np.ndarray, rate: int = SAMPLE_RATE) -> tuple[np.ndarray, int]:
    """Return samples (samples,) as the listener hears them, float32 at LISTENER_RATE, and of how many frames.

    They end in silence, up to a whole second, since matrix libraries set up again for every new length.
    """
    resampled = samples if rate == LISTENER_RATE else soxr.resample(samples, rate, LISTENER_RATE)
    silence = round(_SILENCE_S * LISTENER_RATE)
    silence += -(len(resampled) + silence) % LISTENER_RATE
    return np.pad(np.asarray(resampled, np.float32), (0, silence)), len(resampled) // _STEP + 1


def listen_together(listener: Listener, samples: Sequence[Tensor]) -> list[Tensor]:
    """Return the features (frames, FEATURES) of each of several recordings `resampled_in_silence` of at most 30 s."""
    hops = [len(one) // _HOP for one in samples]
    within = inside(hops, listener.window.device)
    spectrum = listener.spectrum(together(samples))
    features = listener.encode(spectrum, None if within is None else within.mT)
    return [row[: count // 2] for row, count in zip(features, hops, strict=True)]


def on_frames(features: Tensor, frames: int) -> Tensor:
    """Interpolate features every 20 ms (..., k, width) to the engine's 10 ms grid, float32 (..., frames, width).

    Frame i lies at i / 2; between two features it is their mean, and the last one is repeated.
    """
    even = features.float()
    odd = (even + torch.cat([even[..., 1:, :], even[..., -1:, :]], -2)) / 2
    both = torch.stack([even, odd], -2).flatten(-3, -2)[..., :frames, :]
    missing = frames - both.shape[-2]
    return both if missing <= 0 else torch.cat([both, both[..., -1:, :].expand(*both.shape[:-2], missing, -1)], -2)


def missing_weights(path: Path) -> VoiceError:
    """Return the error for weights that cannot be read."""
    return VoiceError(tr("The weights {name} are missing or damaged; install Timbre Studio again.", name=path.name))


def other_weights(path: Path) -> VoiceError:
    """Return the error for weights that fit no network of this version."""
    text = tr("The weights {name} belong to another version of the engine; install it again.", name=path.name)
    return VoiceError(text)


def load_listener(path: Path = LISTENER) -> Listener:
    """Load the listener from its file, in evaluation mode.

    Raises VoiceError if the file is missing, damaged or from another version.
    """
    return with_stored_weights(empty_listener(), read_listener(path), path)


def read_listener(path: Path = LISTENER) -> dict[str, Tensor]:
    """Return the tensors of the listener's file as they are stored, by name.

    Matrices are whole numbers of 8 bits, their rows' scales are beside them with the suffix SCALE.

    Raises VoiceError if the file is missing, damaged or from another version.
    """
    try:
        with safe_open(path, "pt") as file:
            version = (file.metadata() or {}).get("format")
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - the file is not a dict
    except Exception as cause:  # safetensors raises its own kinds
        raise missing_weights(path) from cause
    if version != LISTENER_FORMAT:
        raise other_weights(path)
    return stored


def empty_listener() -> Listener:
    """Make a listener whose weights have no values: random ones, soon replaced, take longer than all the rest."""
    with torch.device("meta"):
        return Listener()


def with_stored_weights(listener: Listener, stored: Mapping[str, Tensor], path: Path) -> Listener:
    """Give a listener the tensors of its file as float32, in evaluation mode. Raises VoiceError if they do not fit."""
    try:
        names = [name for name in stored if SCALE not in name]
        whole = {name: _whole(stored[name], stored.get(name + SCALE)) for name in names}
        listener.load_state_dict(whole, strict=True, assign=True)
    except RuntimeError as cause:
        raise other_weights(path) from cause
    return listener.eval().requires_grad_(False)


def _whole(values: Tensor, scale: Tensor | None) -> Tensor:
    whole = values.to(torch.float32, copy=True)  # not the file's own memory
    return whole if scale is None else whole.mul_(scale.float().view(-1, *[1] * (values.ndim - 1)))
