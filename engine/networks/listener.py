"""The listener: the encoder of Whisper base, which has learned from 680,000 hours what is said, in any language.

Content is read from two of its layers (engine.networks.content_encoder). It is OpenAI's network (MIT licence; Radford
et al., "Robust Speech Recognition via Large-Scale Weak Supervision", 2022), written here from the paper: log-mel
spectrum, two convolutions, positions, and six pre-norm transformer blocks. `python -m engine.pretraining.listener`
prepares its weights.
"""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import soxr
import torch
from safetensors import safe_open
from safetensors.numpy import save
from torch import Tensor, nn
from torch.nn import functional

from engine.devices import multiplies_halves
from engine.errors import VoiceError
from engine.files import write_atomically
from engine.units import SAMPLE_RATE

LISTENER = Path(__file__).parents[1] / "weights" / "listener.safetensors"
LISTENER_RATE = 16_000  # hertz
LISTENER_FRAME_RATE = 50  # frames per second: every second frame of the engine's grid
LAYERS = (4, 6)  # that content is read from; the last one after its norm
WIDTH = 512  # numbers per frame of each layer
FEATURES = len(LAYERS) * WIDTH
LISTENER_FORMAT = "1"  # of the file; a file of another one is refused

_TRANSFORM, _HOP, _MELS = 400, 160, 80
_BLOCKS, _HEADS, _EXPANSION = 6, 8, 4
_POSITIONS = 1500  # frames that it was trained on at a time: 30 s
_LONGEST_S, _AROUND_S = 24.0, 3.0  # of a block that is encoded at once, and of the context on each side
_SILENCE_S = 0.5  # after the end, as its training had
_SCALE = ".scale"  # behind the name of a matrix of 8 bits: what each of its rows is multiplied with
_STEPS = 127
_RANGE = 8.0  # decades below the loudest moment that are told apart


class _Attention(nn.Module):
    """Self-attention of eight heads: (batch, frames, WIDTH) -> the same."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(WIDTH, 3 * WIDTH)  # queries, keys, values
        self.leave = nn.Linear(WIDTH, WIDTH)

    def forward(self, sequence: Tensor) -> Tensor:
        batch, frames, _ = sequence.shape
        parts = self.enter(sequence).view(batch, frames, 3, _HEADS, WIDTH // _HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts)
        return self.leave(mixed.transpose(1, 2).reshape(batch, frames, WIDTH))


class _Block(nn.Module):
    """Pre-norm transformer block."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = _Attention()
        self.network_norm = nn.LayerNorm(WIDTH)
        self.widen = nn.Linear(WIDTH, _EXPANSION * WIDTH)
        self.narrow = nn.Linear(_EXPANSION * WIDTH, WIDTH)

    def forward(self, sequence: Tensor) -> Tensor:
        sequence = sequence + self.attention(self.attention_norm(sequence))
        return sequence + self.narrow(functional.gelu(self.widen(self.network_norm(sequence))))


class Listener(nn.Module):
    """Samples at LISTENER_RATE (batch, samples) -> FEATURES numbers every 20 ms, (batch, frames, FEATURES).

    Frame k is centred on sample 320 k.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(_MELS, WIDTH, 3, padding=1)
        self.second = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(_Block() for _ in range(_BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.positions: Tensor
        self.mels: Tensor
        self.window: Tensor
        self.register_buffer("positions", torch.zeros(_POSITIONS, WIDTH))
        self.register_buffer("mels", torch.zeros(_MELS, _TRANSFORM // 2 + 1))
        self.register_buffer("window", torch.hann_window(_TRANSFORM), persistent=False)

    def forward(self, samples: Tensor) -> Tensor:
        return self.encode(self.spectrum(samples))

    def spectrum(self, samples: Tensor) -> Tensor:
        """Log-mel spectrum (batch, _MELS, frames) of whole hops, 10 ms each, from -1.5 to about 1."""
        spectrum = torch.stft(samples, _TRANSFORM, _HOP, window=self.window, return_complex=True)[..., :-1]
        decades = (self.mels @ spectrum.abs().square()).clamp_min(1e-10).log10()
        decades = decades.maximum(decades.amax((1, 2), keepdim=True) - _RANGE)
        return (decades + 4.0) / 4.0

    def encode(self, spectrum: Tensor) -> Tensor:
        """Features (batch, frames / 2, FEATURES) of a log-mel spectrum (batch, _MELS, frames) of at most 30 s."""
        hidden = functional.gelu(self.second(functional.gelu(self.first(spectrum)))).transpose(1, 2)
        hidden = hidden + self.positions[: hidden.shape[1]]
        layers = []
        for number, block in enumerate(self.blocks, 1):
            hidden = block(hidden)
            if number in LAYERS:
                layers.append(self.norm(hidden) if number == _BLOCKS else hidden)
        return torch.cat(layers, 2)


def listen(listener: Listener, samples: np.ndarray, rate: int = SAMPLE_RATE, roughly: bool = False) -> np.ndarray:
    """Features of mono `samples`, float (samples,) at `rate`: float16 (frames, FEATURES), frame k at 20 ms x k.

    Of a long recording, stretches that overlap are listened to one after the other. roughly: in bfloat16 where the
    device is made for it, three times as fast, and 0.9999 correlated.
    """
    device = listener.window.device
    resampled = samples if rate == LISTENER_RATE else soxr.resample(samples, rate, LISTENER_RATE)
    step = LISTENER_RATE // LISTENER_FRAME_RATE
    frames = len(resampled) // step + 1
    # to whole seconds, since matrix libraries prepare themselves for every length anew
    silence = round(_SILENCE_S * LISTENER_RATE)
    silence += -(len(resampled) + silence) % LISTENER_RATE
    resampled = np.pad(np.asarray(resampled, np.float32), (0, silence))
    core, around = round(_LONGEST_S * LISTENER_FRAME_RATE), round(_AROUND_S * LISTENER_FRAME_RATE)
    found = []
    for first in range(0, frames, core) if frames > core + around else [0]:
        stop = min(first + core, frames) if frames > core + around else frames
        begin = max(first - around, 0)
        piece = resampled[begin * step : (stop + around) * step]
        in_halves = roughly and multiplies_halves(device)  # said of no other device: torch has it for some kinds alone
        halves = torch.autocast(device.type, torch.bfloat16) if in_halves else nullcontext()
        with torch.inference_mode(), halves:
            features = listener(torch.from_numpy(piece)[None].to(device))[0]
        found.append(features[first - begin : stop - begin].cpu().numpy().astype(np.float16))
    return np.concatenate(found)


def on_frames(features: Tensor, frames: int) -> Tensor:
    """Features every 20 ms (..., k, width) on the engine's grid of 10 ms, (..., frames, width), float32.

    Frame i lies at i / 2; what lies between two is their mean, and the last is held.
    """
    even = features.float()
    odd = (even + torch.cat([even[..., 1:, :], even[..., -1:, :]], -2)) / 2
    both = torch.stack([even, odd], -2).flatten(-3, -2)[..., :frames, :]
    missing = frames - both.shape[-2]
    return both if missing <= 0 else torch.cat([both, both[..., -1:, :].expand(*both.shape[:-2], missing, -1)], -2)


def load_listener(path: Path = LISTENER) -> Listener:
    """The listener from its file, in evaluation mode. Raises VoiceError where that is missing, damaged or of another
    version."""
    mend = "install Timbre Studio again, or run python -m engine.pretraining.listener."
    try:
        with safe_open(path, "pt") as file:
            version = (file.metadata() or {}).get("format")
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - the file is no dict
    except Exception as cause:  # safetensors raises its own kinds
        raise VoiceError(f"The listener's weights {path.name} are missing or damaged; {mend}") from cause
    if version != LISTENER_FORMAT:
        raise VoiceError(f"The listener's weights {path.name} are of another version; {mend}")
    listener = Listener()
    try:
        names = [name for name in stored if _SCALE not in name]
        whole = {name: _whole(stored[name], stored.get(name + _SCALE)) for name in names}
        listener.load_state_dict(whole, strict=True)
    except RuntimeError as cause:
        raise VoiceError(f"The listener's weights {path.name} are of another version; {mend}") from cause
    return listener.eval().requires_grad_(False)


def _whole(values: Tensor, scale: Tensor | None) -> Tensor:
    return values.float() if scale is None else values.float() * scale.float().view(-1, *[1] * (values.ndim - 1))


def write_listener(path: Path, weights: Mapping[str, np.ndarray], card: Mapping[str, Any]) -> None:
    """The listener's weights (float32, by name) as a file with `card` as JSON beside it, whole or not at all.

    Matrices at 8 bits, each row with its own scale; the rest as it is in half precision, filters in single.
    """
    stored: dict[str, np.ndarray] = {}
    for name, values in weights.items():
        if values.ndim < 2 or name == "positions":
            stored[name] = values.astype(np.float16)
        elif name == "mels":
            stored[name] = values
        else:
            rows = np.abs(values).reshape(len(values), -1).max(1)
            scale = (np.maximum(rows, 1e-12) / _STEPS).astype(np.float32)
            spread = scale.reshape(-1, *[1] * (values.ndim - 1))
            stored[name] = np.rint(values / spread).astype(np.int8)
            stored[name + _SCALE] = scale
    write_atomically(path, save(stored, {"format": LISTENER_FORMAT}))
    text = json.dumps(card, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path.with_suffix(".json"), text.encode())
