"""The generator of RVC models: content and pitch in, samples out. Written from the papers; no code of RVC is used.

    content, coarse pitch --> text encoder (transformer with relative positions) --> mean and spread of the latent
    latent + seeded noise --> residual coupling flow, backwards, conditioned on the speaker --> latent of the voice
    latent, sine of the pitch --> NSF-HiFi-GAN --> samples at 32, 40 or 48 kHz

VITS (Kim et al., 2021): encoder, flow; its relative positions: Shaw et al., 2018. HiFi-GAN (Kong et al., 2020):
decoder. NSF (Wang et al., 2019): sine excitation. Models without pitch have no excitation. Frames are 10 ms.

Weights keep the names that RVC files give them; `published_name` translates.
"""

import re
from collections.abc import Mapping
from math import prod, sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.errors import VoiceError
from engine.rvc.configuration import GeneratorConfiguration
from engine.rvc.operations import DECODED_FRAMES, EDGE_KERNEL, FLOW_KERNEL, FLOW_LAYERS, FLOWS, reach_frames
from engine.texts import tr

NOISE_SCALE = 0.66666  # of the latent; what RVC renders with
_WINDOW = 10  # frames: relative positions that attention knows, on each side
_SLOPE, _LAST_SLOPE = 0.1, 0.01  # of leaky rectifiers
_PITCHES = 256
_SINE, _VOICED_NOISE = 0.1, 0.003  # amplitudes of the excitation
_LOWEST_HERTZ, _HIGHEST_HERTZ = 50.0, 1100.0  # of the coarse pitch

_PUBLISHED = (
    (r"^encoder\.blocks\.(\d+)\.attention\.relative_(key|value)s$", r"enc_p.encoder.attn_layers.\1.emb_rel_\2"),
    (r"^encoder\.blocks\.(\d+)\.attention\.(query|key|value|leave)", r"enc_p.encoder.attn_layers.\1.conv_\2"),
    (r"^encoder\.blocks\.(\d+)\.attention_norm", r"enc_p.encoder.norm_layers_1.\1"),
    (r"^encoder\.blocks\.(\d+)\.network_norm", r"enc_p.encoder.norm_layers_2.\1"),
    (r"^encoder\.blocks\.(\d+)\.widen", r"enc_p.encoder.ffn_layers.\1.conv_1"),
    (r"^encoder\.blocks\.(\d+)\.narrow", r"enc_p.encoder.ffn_layers.\1.conv_2"),
    (r"^encoder\.content", "enc_p.emb_phone"),
    (r"^encoder\.pitch", "enc_p.emb_pitch"),
    (r"^encoder\.leave", "enc_p.proj"),
    (r"^flow\.(\d+)\.enter", r"flow.flows.\1.pre"),
    (r"^flow\.(\d+)\.leave", r"flow.flows.\1.post"),
    (r"^flow\.(\d+)\.speaker", r"flow.flows.\1.enc.cond_layer"),
    (r"^flow\.(\d+)\.gates", r"flow.flows.\1.enc.in_layers"),
    (r"^flow\.(\d+)\.residuals", r"flow.flows.\1.enc.res_skip_layers"),
    (r"^decoder\.enter", "dec.conv_pre"),
    (r"^decoder\.leave", "dec.conv_post"),
    (r"^decoder\.speaker", "dec.cond"),
    (r"^decoder\.excitation_gain", "dec.m_source.l_linear"),
    (r"^decoder\.excitation", "dec.noise_convs"),
    (r"^decoder\.upsampling", "dec.ups"),
    (r"^decoder\.blocks", "dec.resblocks"),
    (r"^speakers", "emb_g"),
)
_LETTERS = {"query": "q", "key": "k", "value": "v", "leave": "o"}


class _ChannelNorm(nn.Module):
    """Layer norm over the channels of (batch, channels, frames)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, hidden: Tensor) -> Tensor:
        return functional.layer_norm(hidden.mT, self.gamma.shape, self.gamma, self.beta).mT


class _RelativeAttention(nn.Module):
    """Self-attention with learned keys and values for positions up to ten frames away, shared by all heads."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.leave = (nn.Conv1d(channels, channels, 1) for _ in range(4))
        self.relative_keys = nn.Parameter(torch.zeros(1, 2 * _WINDOW + 1, channels // heads))
        self.relative_values = nn.Parameter(torch.zeros(1, 2 * _WINDOW + 1, channels // heads))

    def forward(self, hidden: Tensor) -> Tensor:
        batch, channels, frames = hidden.shape
        width = channels // self.heads

        def of_heads(values: Tensor) -> Tensor:
            return values.view(batch, self.heads, width, frames).mT

        query = of_heads(self.query(hidden)) / sqrt(width)
        scores = query @ of_heads(self.key(hidden)).mT
        near = query @ self.relative_keys.mT  # (batch, heads, frames, positions)
        positions = [at for at in range(-_WINDOW, _WINDOW + 1) if abs(at) < frames]
        for at in positions:
            rows = slice(max(0, -at), frames - max(0, at))
            scores.diagonal(at, 2, 3).add_(near[:, :, rows, at + _WINDOW])
        weights = scores.softmax(3)
        mixed = weights @ of_heads(self.value(hidden))
        there = torch.zeros_like(near)
        for at in positions:
            there[:, :, max(0, -at) : frames - max(0, at), at + _WINDOW] = weights.diagonal(at, 2, 3)
        mixed = mixed + there @ self.relative_values
        return self.leave(mixed.mT.reshape(batch, channels, frames))


class _EncoderBlock(nn.Module):
    def __init__(self, of: GeneratorConfiguration) -> None:
        super().__init__()
        self.attention = _RelativeAttention(of.hidden, of.heads)
        self.attention_norm = _ChannelNorm(of.hidden)
        self.widen = nn.Conv1d(of.hidden, of.filter, of.kernel, padding=of.kernel // 2)
        self.narrow = nn.Conv1d(of.filter, of.hidden, of.kernel, padding=of.kernel // 2)
        self.network_norm = _ChannelNorm(of.hidden)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = self.attention_norm(hidden + self.attention(hidden))
        return self.network_norm(hidden + self.narrow(self.widen(hidden).relu()))


class _TextEncoder(nn.Module):
    """Content (batch, frames, width) and coarse pitch -> mean and log spread of the latent, (batch, latent, frames)."""

    def __init__(self, of: GeneratorConfiguration) -> None:
        super().__init__()
        self.content = nn.Linear(of.content, of.hidden)
        self.pitch = _table(_PITCHES, of.hidden) if of.has_pitch else None
        self.blocks = nn.ModuleList(_EncoderBlock(of) for _ in range(of.layers))
        self.leave = nn.Conv1d(of.hidden, 2 * of.latent, 1)

    def forward(self, content: Tensor, pitch: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.content(content)
        if self.pitch is not None:
            hidden = hidden + self.pitch(pitch)
        hidden = functional.leaky_relu(hidden * sqrt(hidden.shape[2]), _SLOPE).mT
        for block in self.blocks:
            hidden = block(hidden)
        mean, log_spread = self.leave(hidden).chunk(2, 1)
        return mean, log_spread


class _Coupling(nn.Module):
    """One step of the flow, backwards: one half of the channels moves the other (WaveNet gates)."""

    def __init__(self, of: GeneratorConfiguration) -> None:
        super().__init__()
        half, hidden, pad = of.latent // 2, of.hidden, FLOW_KERNEL // 2
        self.enter, self.leave = nn.Conv1d(half, hidden, 1), nn.Conv1d(hidden, half, 1)
        self.speaker = nn.Conv1d(of.speaker_width, 2 * hidden * FLOW_LAYERS, 1)
        self.gates = nn.ModuleList(nn.Conv1d(hidden, 2 * hidden, FLOW_KERNEL, padding=pad) for _ in range(FLOW_LAYERS))
        last = FLOW_LAYERS - 1
        self.residuals = nn.ModuleList(
            nn.Conv1d(hidden, hidden if layer == last else 2 * hidden, 1) for layer in range(FLOW_LAYERS)
        )

    def forward(self, latent: Tensor, speaker: Tensor) -> Tensor:
        still, moved = latent.chunk(2, 1)
        hidden, total = self.enter(still), torch.zeros(())
        biases = self.speaker(speaker).chunk(FLOW_LAYERS, 1)
        for gate, residual, bias in zip(self.gates, self.residuals, biases, strict=True):
            value, opened = (gate(hidden) + bias).chunk(2, 1)
            out = residual(value.tanh() * opened.sigmoid())
            if residual is not self.residuals[-1]:
                step, out = out.chunk(2, 1)
                hidden = hidden + step
            total = total.to(out.device) + out
        return torch.cat([still, moved - self.leave(total)], 1)


class _PairedBlock(nn.Module):
    """HiFi-GAN's first residual block: a dilated and a plain convolution per step."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.convs1 = nn.ModuleList(_same(channels, kernel, dilation) for dilation in dilations)
        self.convs2 = nn.ModuleList(_same(channels, kernel, 1) for _ in dilations)

    def forward(self, hidden: Tensor) -> Tensor:
        for first, second in zip(self.convs1, self.convs2, strict=True):
            step = first(functional.leaky_relu(hidden, _SLOPE))
            hidden = hidden + second(functional.leaky_relu(step, _SLOPE))
        return hidden


class _SingleBlock(nn.Module):
    """HiFi-GAN's second residual block."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.convs = nn.ModuleList(_same(channels, kernel, dilation) for dilation in dilations)

    def forward(self, hidden: Tensor) -> Tensor:
        for one in self.convs:
            hidden = hidden + one(functional.leaky_relu(hidden, _SLOPE))
        return hidden


def _same(channels: int, kernel: int, dilation: int) -> nn.Conv1d:
    return nn.Conv1d(channels, channels, kernel, dilation=dilation, padding=dilation * (kernel - 1) // 2)


class _Decoder(nn.Module):
    """Latent (batch, latent, frames) and excitation (batch, 1, frames * hop) -> samples (batch, frames * hop)."""

    def __init__(self, of: GeneratorConfiguration) -> None:
        super().__init__()
        self.kernels = len(of.block_kernels)
        channels = [of.upsampling_channels >> stage for stage in range(len(of.upsampling) + 1)]
        self.enter = nn.Conv1d(of.latent, channels[0], EDGE_KERNEL, padding=EDGE_KERNEL // 2)
        self.speaker = nn.Conv1d(of.speaker_width, channels[0], 1)
        self.upsampling, self.blocks = nn.ModuleList(), nn.ModuleList()
        self.excitation = nn.ModuleList() if of.has_pitch else None
        self.excitation_gain = nn.Linear(1, 1) if of.has_pitch else None
        block = _PairedBlock if of.block == "1" else _SingleBlock
        for stage, (rate, kernel) in enumerate(zip(of.upsampling, of.upsampling_kernels, strict=True)):
            wide, narrow = channels[stage : stage + 2]
            self.upsampling.append(nn.ConvTranspose1d(wide, narrow, kernel, rate, padding=(kernel - rate) // 2))
            if self.excitation is not None:
                down = prod(of.upsampling[stage + 1 :])
                shape = (1, 1, 0) if stage + 1 == len(of.upsampling) else (2 * down, down, down // 2)
                self.excitation.append(nn.Conv1d(1, narrow, *shape))
            for size, dilations in zip(of.block_kernels, of.block_dilations, strict=True):
                self.blocks.append(block(narrow, size, dilations))
        self.leave = nn.Conv1d(channels[-1], 1, EDGE_KERNEL, padding=EDGE_KERNEL // 2, bias=False)
        self.reach = reach_frames(of)

    def forward(self, latent: Tensor, excitation: Tensor, speaker: Tensor) -> Tensor:
        hidden = self.enter(latent) + self.speaker(speaker)
        if self.excitation_gain is not None:
            excitation = self.excitation_gain(excitation.mT).tanh().mT
        for stage, upsample in enumerate(self.upsampling):
            hidden = upsample(functional.leaky_relu(hidden, _SLOPE))
            if self.excitation is not None:
                hidden = hidden + self.excitation[stage](excitation)
            blocks = self.blocks[stage * self.kernels : (stage + 1) * self.kernels]
            summed = blocks[0](hidden)
            for one in blocks[1:]:
                summed += one(hidden)
            hidden = summed / self.kernels
        return self.leave(functional.leaky_relu(hidden, _LAST_SLOPE)).tanh()[:, 0]


def _table(rows: int, width: int) -> nn.Embedding:
    """Return a table of zeros: random ones without memory would make PyTorch load its compiler, which takes seconds."""
    return nn.Embedding.from_pretrained(torch.zeros(rows, width))


class Generator(nn.Module):
    """Render content as samples in a voice."""

    def __init__(self, configuration: GeneratorConfiguration) -> None:
        super().__init__()
        self.configuration = configuration
        self.encoder = _TextEncoder(configuration)
        # every second place holds a flip of the channels, which has no weights
        self.flow = nn.ModuleDict({str(2 * step): _Coupling(configuration) for step in range(FLOWS)})
        self.decoder = _Decoder(configuration)
        self.speakers = _table(configuration.speakers, configuration.speaker_width)

    def forward(
        self, content: Tensor, hertz: Tensor, noise: Tensor, excitation: Tensor, speaker: Tensor | int = 0
    ) -> Tensor:
        """Return samples (batch, frames * hop) at the configuration's rate.

        Parameters: content (batch, frames, 256 or 768); hertz (batch, frames), 0 where unvoiced; noise of unit variance
        (batch, latent, frames); excitation (batch, frames * hop), see `excitation`; speaker: number of the table.
        """
        table = self.speakers(torch.as_tensor(speaker, device=content.device).reshape(-1))[..., None]
        mean, log_spread = self.encoder(content, coarse_pitch(hertz))
        latent = mean + log_spread.exp() * noise * NOISE_SCALE
        for step in reversed(range(FLOWS)):
            latent = self.flow[str(2 * step)](latent.flip(1), table)
        return self._decode(latent, excitation[:, None], table)

    def _decode(self, latent: Tensor, excitation: Tensor, speaker: Tensor) -> Tensor:
        """Decode in pieces with all the context they depend on: the same samples in flat memory."""
        hop, reach, frames = self.configuration.hop, self.decoder.reach, latent.shape[2]
        pieces = []
        for first in range(0, frames, DECODED_FRAMES):
            stop = min(first + DECODED_FRAMES, frames)
            begin, end = max(0, first - reach), min(frames, stop + reach)
            there = slice(begin * hop, end * hop)
            samples = self.decoder(latent[:, :, begin:end], excitation[:, :, there], speaker)
            pieces.append(samples[:, (first - begin) * hop : (stop - begin) * hop])
        return torch.cat(pieces, 1)


def coarse_pitch(hertz: Tensor) -> Tensor:
    """Return the pitch on 255 steps of the mel scale, 1 where unvoiced."""
    lowest, highest = (1127.0 * torch.tensor(1.0 + one / 700.0).log() for one in (_LOWEST_HERTZ, _HIGHEST_HERTZ))
    mels = 1127.0 * (1.0 + hertz / 700.0).log()
    steps = (mels - lowest.to(mels)) * (_PITCHES - 2) / (highest - lowest).to(mels) + 1.0
    return torch.where(mels > 0, steps, torch.ones_like(steps)).clamp(1, _PITCHES - 1).round().long()


def excitation(hertz: Tensor, noise: Tensor, rate: int, hop: int, cycles: float = 0.0) -> Tensor:
    """Return the sine of the pitch with a little noise, and louder noise where it is unvoiced, (batch, frames * hop).

    hertz (batch, frames), 0 where unvoiced; noise of unit variance, (batch, frames * hop); cycles: the phase before.
    """
    frequency = hertz.double().repeat_interleave(hop, 1)
    phase = (cycles + (frequency / rate).cumsum(1)).remainder(1.0)
    sine = _SINE * (2 * torch.pi * phase).sin().float()
    voiced = (frequency > 0).float()
    return sine * voiced + noise * (voiced * _VOICED_NOISE + (1 - voiced) * _SINE / 3)


# ---- weights ----


def published_name(name: str) -> str:
    """Return the name that RVC files give a weight of `Generator`."""
    for pattern, replacement in _PUBLISHED:
        changed, count = re.subn(pattern, replacement, name)
        if count:
            if ".attn_layers." in changed:
                changed = re.sub(r"_(query|key|value|leave)$", lambda found: f"_{_LETTERS[found[1]]}", changed)
                changed = re.sub(r"conv_(query|key|value|leave)", lambda found: f"conv_{_LETTERS[found[1]]}", changed)
            return changed
    raise ValueError(f"no published name for {name}")


def generator_from(configuration: GeneratorConfiguration, weights: Mapping[str, Tensor]) -> Generator:
    """Build a generator from the weights of an RVC file, in evaluation mode.

    Strictly: each weight must be there in its shape, and none besides them but those of the posterior encoder
    (`enc_q.`), which only training needs; and all must be numbers. Raises VoiceError that names the first that is not.
    """
    left = {name: value for name, value in weights.items() if not name.startswith("enc_q.")}
    with torch.device("meta"):
        generator = Generator(configuration)
    state = {}
    for name, wanted in generator.state_dict().items():
        published = published_name(name)
        value = _take(left, published)
        if value is None:
            raise VoiceError(
                tr(
                    "The weights of this RVC model are incomplete: {published} is missing. Download it again, or "
                    "extract it in RVC again.",
                    published=published,
                )
            )
        if value.shape != wanted.shape:
            shapes = tr("{shape} instead of {wanted}", shape=tuple(value.shape), wanted=tuple(wanted.shape))
            raise VoiceError(
                tr(
                    "The weights of this RVC model do not fit its configuration: {published} is {shapes}. It was made "
                    "by another program, or changed: extract it in RVC again.",
                    published=published,
                    shapes=shapes,
                )
            )
        if not value.isfinite().all():
            raise VoiceError(
                tr(
                    "The weights of this RVC model are damaged: {published} contains values that are not numbers. "
                    "Use an earlier checkpoint of the same training.",
                    published=published,
                )
            )
        state[name] = value
    if left:
        raise VoiceError(
            tr(
                "The weights of this RVC model do not fit its configuration: {left} is unknown. It was made by "
                "another program: extract it in RVC.",
                left=min(left),
            )
        )
    generator.load_state_dict(state, strict=True, assign=True)
    return generator.eval().requires_grad_(False)


def _take(weights: dict[str, Tensor], name: str) -> Tensor | None:
    """Take a weight out, as float32: as it is, or from its length and direction (weight norm; Salimans and Kingma,
    2016), under the old names or those of newer PyTorch."""
    if name in weights:
        return weights.pop(name).float()
    owner = name.removesuffix(".weight")
    for length, direction in (
        (f"{owner}.weight_g", f"{owner}.weight_v"),
        (f"{owner}.parametrizations.weight.original0", f"{owner}.parametrizations.weight.original1"),
    ):
        if length in weights and direction in weights:
            long, wide = weights.pop(length).float(), weights.pop(direction).float()
            if wide.ndim != 3 or long.shape != (len(wide), 1, 1):
                return wide[:0]  # of no weight's shape
            return long * wide / wide.norm(dim=(1, 2), keepdim=True)
    return None
