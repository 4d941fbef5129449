"""How much a model works, by the sizes it declares: multiplications per second of sound, before anything is run.

The largest model of RVC (v2 at 48 kHz) takes 61 billion, and some 1.6 s of one core of an AMD EPYC.
"""

from math import ceil, prod

from engine.rvc.configuration import FRAME_RATE, GeneratorConfiguration
from engine.rvc.sandbox import ModelFileError
from engine.texts import numeral, tr

MOST_PER_S = 200_000_000_000
DECODED_FRAMES = 400  # decoded together, so that memory stays flat
FLOWS, FLOW_LAYERS, FLOW_KERNEL = 4, 3, 5
EDGE_KERNEL = 7  # of the decoder's first and last convolution
_ATTENDED_FRAMES = 2_000  # of a long window: each frame is compared with as many
_SOFTMAX = 5  # multiplications of an exponential, about


def refuse_much_work(name: str, per_s: float) -> None:
    """Raise ModelFileError for more multiplications per second of sound than any model of RVC needs."""
    if per_s > MOST_PER_S:
        raise ModelFileError(
            tr(
                '"{name}" declares networks of {per_s} billion multiplications per second of sound. RVC models need '
                "at most 61 billion, and the studio runs up to {most_per_s} billion: get it from another source.",
                name=name,
                per_s=numeral(per_s / 1000000000.0, ",.0f"),
                most_per_s=numeral(MOST_PER_S / 1000000000.0, ".0f"),
            ),
            "too_large",
        )


def multiplications_per_s(of: GeneratorConfiguration) -> float:
    """Return the multiplications of a generator per second of sound."""
    pieces = 1 + 2 * reach_frames(of) / DECODED_FRAMES  # each is decoded with what it depends on
    return FRAME_RATE * (_of_encoder(of) + _of_flow(of) + pieces * _of_decoder(of))


def reach_frames(of: GeneratorConfiguration) -> int:
    """Return how many frames to either side a sample of the decoder depends on."""
    reach, per_frame = 3.0, 1
    for rate, kernel in zip(of.upsampling, of.upsampling_kernels, strict=True):
        reach += (kernel / rate) / per_frame  # of its input; the excitation reaches less
        per_frame *= rate
        steps = zip(of.block_kernels, of.block_dilations, strict=True)
        plain = 1 if of.block == "1" else 0
        reach += max(sum((size - 1) // 2 * (one + plain) for one in found) for size, found in steps) / per_frame
    return ceil(reach + 3 / per_frame + 2)


def _of_encoder(of: GeneratorConfiguration) -> float:
    """Return those of the text encoder for a frame."""
    attention = 4 * of.hidden**2 + _ATTENDED_FRAMES * (2 * of.hidden + _SOFTMAX * of.heads)
    layer = attention + 2 * of.kernel * of.hidden * of.filter
    return of.content * of.hidden + of.layers * layer + 2 * of.hidden * of.latent


def _of_flow(of: GeneratorConfiguration) -> float:
    """Return those of the flow for a frame."""
    layer = 2 * FLOW_KERNEL * of.hidden**2 + 2 * of.hidden**2
    return FLOWS * (FLOW_LAYERS * layer + of.latent * of.hidden)


def _of_decoder(of: GeneratorConfiguration) -> float:
    """Return those of the decoder for a frame."""
    widths = [of.upsampling_channels >> stage for stage in range(len(of.upsampling) + 1)]
    total, per_frame = float(EDGE_KERNEL * of.latent * widths[0]), 1
    for stage, (rate, kernel) in enumerate(zip(of.upsampling, of.upsampling_kernels, strict=True)):
        total += per_frame * kernel * widths[stage] * widths[stage + 1]
        per_frame *= rate
        excited = 2 * prod(of.upsampling[stage + 1 :]) * widths[stage + 1] if of.has_pitch else 0
        convolved = sum(size * len(steps) for size, steps in zip(of.block_kernels, of.block_dilations, strict=True))
        convolved *= (2 if of.block == "1" else 1) * widths[stage + 1] ** 2
        total += per_frame * (excited + convolved)
    return total + per_frame * EDGE_KERNEL * widths[-1]
