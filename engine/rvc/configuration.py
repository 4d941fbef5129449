"""The shape of an RVC generator, as its file states it: a list of eighteen values without names."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from engine.errors import VoiceError
from engine.texts import tr

RATES = (32_000, 40_000, 48_000)
FRAME_RATE = 100  # frames per second of every generator
CONTENT_WIDTHS = {"v1": 256, "v2": 768}
LAYERS = {"v1": 9, "v2": 12}  # of ContentVec
_VALUES = 18
_WIDTH_AT = 17  # in a list of one more, of a fork whose models have either width in either version
_MOST = 4096  # of any size: a checkpoint from anybody must not ask for all memory
_DEEPEST = 12  # layers, stages, kernels
_NO_RVC = tr(
    "The configuration in this file is not that of an RVC model (v1 or v2, at 32, 40 or 48 kHz): extract the "
    "model in RVC again."
)


@dataclass(frozen=True)
class GeneratorConfiguration:
    """Sizes of the networks (see `engine.rvc.generator`)."""

    version: str  # v1, v2
    has_pitch: bool
    sample_rate: int
    latent: int  # channels
    hidden: int
    filter: int
    heads: int
    layers: int
    kernel: int
    block: str  # kind of the residual blocks: 1, 2
    block_kernels: tuple[int, ...]
    block_dilations: tuple[tuple[int, ...], ...]
    upsampling: tuple[int, ...]
    upsampling_channels: int
    upsampling_kernels: tuple[int, ...]
    speakers: int
    speaker_width: int

    def __post_init__(self) -> None:
        """Check the sizes. Raises VoiceError for what no RVC generator is."""
        sizes = [self.latent, self.hidden, self.filter, self.heads, self.layers, self.kernel, self.speakers]
        sizes += [*self.block_kernels, *self.upsampling, *self.upsampling_kernels, self.upsampling_channels]
        sizes += [self.speaker_width, *(one for dilations in self.block_dilations for one in dilations)]
        fits = (
            self.version in CONTENT_WIDTHS
            and isinstance(self.sample_rate, int)
            and self.sample_rate in RATES
            and self.block in ("1", "2")
            and all(isinstance(one, int) and not isinstance(one, bool) and 0 < one <= _MOST for one in sizes)
            and max(self.layers, len(self.upsampling), len(self.block_kernels)) <= _DEEPEST
            and len(self.upsampling) == len(self.upsampling_kernels) > 0
            and len(self.block_kernels) == len(self.block_dilations) > 0
            and all(0 < len(one) <= _DEEPEST for one in self.block_dilations)
            and prod(self.upsampling) * FRAME_RATE == self.sample_rate
            and self.hidden % self.heads == 0
            and self.latent % 2 == 0
            and all(
                kernel >= rate and (kernel - rate) % 2 == 0
                for rate, kernel in zip(self.upsampling, self.upsampling_kernels, strict=True)
            )
            and all(kernel % 2 for kernel in (*self.block_kernels, self.kernel))
            and self.upsampling_channels >> len(self.upsampling) > 0
        )
        if not fits:
            raise VoiceError(_NO_RVC)

    @property
    def content(self) -> int:
        """Numbers per frame that the generator expects of ContentVec."""
        return CONTENT_WIDTHS[self.version]

    @property
    def hop(self) -> int:
        """Samples per frame."""
        return prod(self.upsampling)


def from_json(values: Any) -> GeneratorConfiguration:
    """Read the fields of a configuration. Raises VoiceError."""
    try:
        tuples = {name: tuple(values[name]) for name in ("block_kernels", "upsampling", "upsampling_kernels")}
        tuples["block_dilations"] = tuple(tuple(one) for one in values["block_dilations"])
        return GeneratorConfiguration(**{**values, **tuples})
    except (TypeError, KeyError, ValueError) as cause:
        raise VoiceError(tr("The configuration of this RVC model is damaged; import it again.")) from cause


def from_checkpoint(values: object, version: object, has_pitch: object, speakers: int) -> GeneratorConfiguration:
    """Read the configuration of a `.pth`: the list, "v1" or "v2", whether it follows a pitch, and how many speakers
    its table has, in any of the ways that RVC and its forks write them. Raises VoiceError.
    """
    if isinstance(values, dict):
        values = list(values.values())
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) not in (_VALUES, _VALUES + 1):
        raise VoiceError(_NO_RVC)
    if len(values) > _VALUES:
        version = {width: name for name, width in CONTENT_WIDTHS.items()}.get(values[_WIDTH_AT], "")
        values = [*values[:_WIDTH_AT], values[_WIDTH_AT + 1]]
    try:
        return GeneratorConfiguration(
            version=_version(version),
            has_pitch=_flag(has_pitch),
            sample_rate=_rate(values[17]),
            latent=values[2],
            hidden=values[3],
            filter=values[4],
            heads=values[5],
            layers=values[6],
            kernel=values[7],
            block=str(values[9]),
            block_kernels=tuple(values[10]),
            block_dilations=tuple(tuple(one) for one in values[11]),
            upsampling=tuple(values[12]),
            upsampling_channels=values[13],
            upsampling_kernels=tuple(values[14]),
            speakers=speakers,
            speaker_width=values[16],
        )
    except (TypeError, ValueError, KeyError) as cause:
        raise VoiceError(_NO_RVC) from cause


def _version(stated: object) -> str:
    """Read "v2", "V2", "2" or 2; v1 models may state none. Raises ValueError."""
    if stated is None:
        return "v1"
    if not isinstance(stated, str | int) or isinstance(stated, bool):
        raise ValueError(stated)
    return f"v{str(stated).strip().lower().removeprefix('v')}"


def _flag(stated: object) -> bool:
    """Read 1, "1", True or "True"; models without it follow a pitch. Raises KeyError, ValueError."""
    if not isinstance(stated, str | int | None):
        raise ValueError(stated)
    return {"none": True, "true": True, "1": True, "false": False, "0": False}[str(stated).strip().lower()]


def _rate(stated: object) -> int:
    """Read 48000, "48000" or "48k". Raises ValueError."""
    if isinstance(stated, str):
        plain = stated.strip().lower().removesuffix("hz").strip()
        stated = float(plain.removesuffix("k")) * (1_000 if plain.endswith("k") else 1)
    if not isinstance(stated, int | float) or stated not in RATES:
        raise ValueError(stated)
    return int(stated)
