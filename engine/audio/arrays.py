"""Samples as people have them, brought to the engine's: float32 (channels, samples), full scale is -1..1.

librosa gives floats (samples,), torchaudio floats (channels, samples), scipy and sound cards integers. soundfile gives
(samples, channels), which is refused: taken for channels it would be thousands of them.
"""

from typing import SupportsFloat

import numpy as np
import numpy.typing as npt

from engine.audio.channels import Samples
from engine.audio.containers import MOST_CHANNELS
from engine.errors import AudioError
from engine.texts import numeral, tr

_LARGEST_BYTES = 4  # of an integer that holds samples; longer ones are numbers of other kinds
_SHOWN = 100  # characters of what another library says
_LOUDEST = 8.0  # of floats in memory: 18 dB above full scale, which no recording is; integers are far above
_SCALES = tuple(2**bits for bits in (15, 23, 31))  # full scale of integers that became floats
_UNSIGNED_8 = 128  # silence, in 8 bits without a sign


def samples_of(values: npt.ArrayLike) -> Samples:
    """Return any array of samples as float32 (channels, samples), integers scaled to -1..1.

    Raises AudioError for a shape or a type of number that holds no recording.

    >>> samples_of(np.array([0, 16384, -32768], np.int16)).tolist()
    [[0.0, 0.5, -1.0]]
    """
    try:
        given = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as cause:  # ragged lists, tensors on a GPU or with a gradient
        raise AudioError(
            tr("These samples cannot be read as an array of numbers: {cause}.", cause=str(cause)[:_SHOWN])
        ) from cause
    _refuse_other_shapes(given)
    return _scaled(np.atleast_2d(given))


def refuse_unscaled(samples: Samples) -> None:
    """Raise AudioError for samples that were integers, and became floats without being scaled.

    >>> refuse_unscaled(np.array([[0.0, 32767.0]], np.float32))
    Traceback (most recent call last):
    engine.errors.AudioError: These samples go up to 32767, where full scale is 1: did you mean samples / 32768?
    """
    peak = float(np.abs(samples).max(initial=0.0))
    if not _LOUDEST < peak < np.inf:  # NaN and infinity are refused when the recording is used
        return
    scale = next((scale for scale in _SCALES if peak <= scale), None)
    if scale is None:
        raise AudioError(
            tr(
                "These samples go up to {peak}, where full scale is 1: give floats from -1 to 1, or 16-bit integers.",
                peak=numeral(peak, ".6g"),
            )
        )
    raise AudioError(
        tr(
            "These samples go up to {peak}, where full scale is 1: did you mean samples / {scale}?",
            peak=numeral(peak, ".6g"),
            scale=scale,
        )
    )


def rate_of(rate: SupportsFloat) -> int:
    """Return a sample rate in Hz as a whole number. Raises AudioError unless it is one above 0.

    >>> rate_of(44100.0)
    44100
    """
    try:
        hertz = float(rate)
    except (TypeError, ValueError) as cause:
        raise AudioError(
            tr("The rate must be a number of samples per second, not {rate}.", rate=f"{rate!r:.40}")
        ) from cause
    if not hertz > 0 or not hertz.is_integer():
        raise AudioError(
            tr("The rate must be a whole number of samples per second above 0, not {hertz}.", hertz=numeral(hertz, "g"))
        )
    return int(hertz)


def _refuse_other_shapes(given: np.ndarray) -> None:
    if given.ndim not in (1, 2):
        raise AudioError(
            tr(
                "Samples have the shape (samples,) or (channels, samples), not {shape}: give one recording at a time.",
                shape=given.shape,
            )
        )
    if given.ndim == 2 and not 1 <= len(given) <= MOST_CHANNELS:
        hint = tr("did you mean samples.T?") if given.shape[1] <= MOST_CHANNELS < len(given) else tr("give others.")
        raise AudioError(
            tr(
                "A recording has 1 to {most_channels} channels, and samples of the shape {shape} are {given} "
                "channels: {hint}",
                most_channels=MOST_CHANNELS,
                shape=given.shape,
                given=len(given),
                hint=hint,
            )
        )


def _scaled(given: np.ndarray) -> Samples:
    if given.dtype.kind == "i" and given.dtype.itemsize <= _LARGEST_BYTES:  # their lowest value is -1
        return np.asarray(given / -float(np.iinfo(given.dtype).min), np.float32)
    if given.dtype == np.uint8:
        return np.asarray((given - float(_UNSIGNED_8)) / _UNSIGNED_8, np.float32)
    if given.dtype.kind != "f":
        raise AudioError(
            tr(
                "Samples of the type {dtype} have no known full scale: give floats from -1 to 1, or 16-bit integers.",
                dtype=given.dtype,
            )
        )
    with np.errstate(over="ignore"):  # of doubles; infinity is refused when the recording is used
        return np.asarray(given, np.float32)
