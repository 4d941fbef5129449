"""SwiftF0 (Nieradzik, 2025; MIT licence), the network that detects pitch, computed by torch on any device.

Its weights are read from the file in the package `swift-f0`. Three log spectra, of 64, 128 and 32 ms, in 128 bands on a
logarithmic scale, pass through residual convolutions, most of which reach along the frequencies; each frame then has a
score for every one of 95 pitches, and a confidence. Computed here it takes half of ONNX Runtime's time, and gives the
same numbers for any number of threads.
"""

import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engine.analysis.detector_grid import DETECTOR_HOP, DETECTOR_RATE
from engine.carrying import brought, carried
from engine.devices import alone_on
from engine.errors import EngineError
from engine.texts import tr
from engine.workers import Turn, Work, Workers

_PACKAGE, _FILE = "swift-f0==0.3.0", "model.onnx"
_SHA256 = "6385e8c2ebc3872e82c9ff5946228de44cd3be77a750ea53698b7dbfe94b0a22"  # of that file: another has other names
_BANDS = 128
# samples of each transform, and where the file keeps its bands: places in a matrix (bins, _BANDS), and what is there
_BANDS_OF = {1024: ("v123", "v124"), 2048: ("v241", "v242"), 512: ("v342", "v343")}
_ENTRY = "v353", "v354"  # weight and bias of a convolution
# of each residual block: its two convolutions, and the dilation along the frequencies
_BLOCKS = (
    (("v357", "v358"), ("v361", "v362"), 1),
    (("v366", "v367"), ("v370", "v371"), 17),
    (("v375", "v376"), ("v379", "v380"), 27),
    (("v384", "v385"), ("v388", "v389"), 40),
    (("v393", "v394"), ("v397", "v398"), 48),
    (("v402", "v403"), ("v406", "v407"), 2),
)
_JOINT, _SCORE, _PRESENCE = ("v413", "v414"), ("v425", "v426"), ("v417", "v418")
_CONFIDENCE = ("v430", "v431"), ("v434", "v435")
_LOG_HERTZ = "v455"  # of each pitch
_USED_BANDS = 96  # after the blocks
_SOFTEST = 1e-8  # of a magnitude
_SILENT_PEAK = 1e-3  # a softer frame is a texture that the network never saw
# frames of a piece of a long recording, and more than what the network sees on each side of a frame
_PIECE_FRAMES, _AROUND_FRAMES = 1875, 12


@dataclass(frozen=True, eq=False)
class Track:
    """What was detected every DETECTOR_HOP samples, frame i centred on sample i * DETECTOR_HOP: float64 (frames,)."""

    hertz: np.ndarray
    confidence: np.ndarray

    @property
    def times_s(self) -> np.ndarray:
        """Return the centres of the frames in seconds, float64 (frames,)."""
        return np.arange(len(self.hertz)) * (DETECTOR_HOP / DETECTOR_RATE)


def detect(samples: np.ndarray, device: torch.device | str = "cpu") -> Track:
    """Detect the pitch and the confidence in it of samples (samples,) at DETECTOR_RATE, whose level matters.

    Raises EngineError if the file of the network is missing or another one.
    """
    network = _network(torch.device(device))
    frames = max(1, len(samples) // DETECTOR_HOP)
    hertz, confidence = [], []
    for start in range(0, frames, _PIECE_FRAMES):
        stop, before = min(start + _PIECE_FRAMES, frames), min(start, _AROUND_FRAMES)
        end = None if stop == frames else (stop + _AROUND_FRAMES) * DETECTOR_HOP
        piece = torch.from_numpy(np.asarray(samples[(start - before) * DETECTOR_HOP : end], np.float32))
        with alone_on(torch.device(device)), torch.inference_mode():
            near, best, sure = (found.numpy() for found in brought(network(*carried([piece], torch.device(device)))))
        kept = slice(before, before + stop - start)
        hertz.append(_hertz(near[kept], best[kept], network.log_hertz))
        confidence.append(sure[kept].astype(np.float64))
    hops = np.pad(np.abs(samples), (0, max(0, DETECTOR_HOP - len(samples))))[: frames * DETECTOR_HOP]
    is_silent = hops.reshape(frames, DETECTOR_HOP).max(1) < _SILENT_PEAK
    return Track(np.concatenate(hertz), np.where(is_silent, 0.0, np.concatenate(confidence)))


def detect_stream(blocks: Iterable[np.ndarray], workers: Workers) -> Iterator[Track]:
    """Detect the pitch of a recording given in consecutive blocks (samples,), side by side: yield the parts in order.

    The parts together are what `detect` gives for the whole. Raises EngineError as it does.
    """
    return workers.in_order(_detected(*held) for held in _around(blocks))


def _around(blocks: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, int, int]]:
    """Yield samples, and which of their frames have not been given and have all around them that decides on them."""
    held, before = np.zeros(0, np.float32), 0
    for block in blocks:
        held = np.concatenate([held, block])
        stop = len(held) // DETECTOR_HOP - _AROUND_FRAMES
        if stop > before:
            yield held, before, stop
            first = max(0, stop - _AROUND_FRAMES)
            held, before = held[first * DETECTOR_HOP :], stop - first
    if (stop := len(held) // DETECTOR_HOP or min(1, len(held))) > before:
        yield held, before, stop


def _detected(samples: np.ndarray, start: int, stop: int) -> Work[Track]:
    """Detect the frames from `start` to `stop`."""
    yield Turn.ANY_ORDER
    track = detect(samples)
    return Track(track.hertz[start:stop], track.confidence[start:stop])


def _hertz(near: np.ndarray, best: np.ndarray, log_hertz: np.ndarray) -> np.ndarray:
    """Return the mean of the best pitch and its neighbours by their scores, near (frames, 3), in hertz: (frames,)."""
    weights = np.exp(near.astype(np.float64) - near.max(1, keepdims=True))
    places = (best[:, None] + np.array([-1, 0, 1])).clip(0, len(log_hertz) - 1)
    hertz: np.ndarray = np.exp((weights * log_hertz[places]).sum(1) / weights.sum(1))
    return hertz


Convolution = tuple[Tensor, Tensor]  # weight and bias


@dataclass(frozen=True, eq=False)
class _Bands:
    """Which bins of a transform each band adds up, one band after the other, with which weights; where it begins."""

    bins: Tensor
    weights: Tensor
    begins: Tensor

    def of(self, magnitude: Tensor) -> Tensor:
        """Return the bands (_BANDS, frames) of spectra (frames, bins).

        The sums of a matrix product would depend on the number of threads, those of bags do not.
        """
        rows = magnitude.T.contiguous()
        return functional.embedding_bag(self.bins, rows, self.begins, mode="sum", per_sample_weights=self.weights)

    @staticmethod
    def stored(places: np.ndarray, values: np.ndarray, device: torch.device) -> "_Bands":
        """Return the bands of a matrix (bins, _BANDS) of which the file keeps what is not zero."""
        order = np.argsort(places % _BANDS, kind="stable")
        begins = np.searchsorted((places % _BANDS)[order], np.arange(_BANDS))
        bins, weights = (places // _BANDS)[order], values[order]
        return _Bands(*(torch.from_numpy(one).to(device) for one in (bins.astype(np.int64), weights, begins)))


@dataclass(frozen=True, eq=False)
class _Network:
    """The weights of the network, on one device."""

    windows: dict[int, Tensor]  # of each transform
    bands: dict[int, "_Bands"]
    entry: Convolution
    blocks: list[tuple[Convolution, Convolution, int]]
    joint: Convolution
    score: Convolution
    presence: Convolution
    confidence: tuple[Convolution, Convolution]
    log_hertz: np.ndarray  # float64 (pitches,)

    def __call__(self, samples: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return of samples (samples,) the scores of the best pitch and its neighbours (frames, 3), the number of that
        pitch (frames,), and the confidence (frames,)."""
        spectra = self._spectra(samples)
        hidden = functional.conv2d(spectra, *self.entry, padding=1).relu_()
        for first, second, dilation in self.blocks[:-1]:
            hidden = _residual(hidden, first, second, dilation)
        first, second, dilation = self.blocks[-1]
        reach = dilation * (first[0].shape[2] // 2)
        hidden = _residual(hidden[:, :, : _USED_BANDS + 2 * reach], first, second, dilation)[:, :, :_USED_BANDS]
        joint = functional.conv2d(functional.pad(hidden, (1, 1, 1, 0)), *self.joint).relu_()
        weight, bias = self.score  # of so few channels a convolution would be a matrix product
        scores = ((joint[0] * weight[0]).sum(0) + bias).T
        best = scores.argmax(1)
        around = torch.stack([best, best + 1, best + 2], 1)
        near = functional.pad(scores, (1, 1), value=-torch.inf).gather(1, around)
        presence = functional.conv2d(joint, *self.presence, padding=(2, 0)).amax(2)
        presence = torch.cat([presence, spectra.mean((1, 2))[:, None]], 1)
        first, second = self.confidence
        sure = functional.conv1d(functional.conv1d(presence, *first, padding=1).relu_(), *second)
        return near, best, sure[0, 0].sigmoid()

    def _spectra(self, samples: Tensor) -> Tensor:
        """Return the log spectra of samples (samples,): (1, transforms, _BANDS, frames)."""
        frames = max(1, len(samples) // DETECTOR_HOP)
        longest = max(self.windows)
        missing = max(0, (frames - 1) * DETECTOR_HOP + longest // 2 - len(samples))
        padded = functional.pad(samples, (longest // 2, missing))
        found = []
        for size, window in self.windows.items():
            first = (longest - size) // 2
            pieces = padded[first : first + (frames - 1) * DETECTOR_HOP + size].unfold(0, size, DETECTOR_HOP)
            spectrum = torch.fft.rfft(pieces * window)
            magnitude = torch.addcmul(spectrum.real.square(), spectrum.imag, spectrum.imag).sqrt_()
            found.append(self.bands[size].of(magnitude))
        spectra = (torch.stack(found)[None] + _SOFTEST).log_()
        return spectra.contiguous(memory_format=torch.channels_last)


def _residual(hidden: Tensor, first: Convolution, second: Convolution, dilation: int) -> Tensor:
    """Return hidden (1, channels, bands, frames) after two convolutions that are added to it."""
    padding = dilation * (first[0].shape[2] // 2), first[0].shape[3] // 2
    inner = functional.conv2d(hidden, *first, padding=padding, dilation=(dilation, 1)).relu_()
    return functional.conv2d(inner, *second, padding=padding, dilation=(dilation, 1)).add_(hidden).relu_()


# ---- weights ----


@lru_cache(maxsize=2)
def _network(device: torch.device) -> _Network:
    stored = _stored()

    def convolution(names: tuple[str, str]) -> Convolution:
        weight, bias = (torch.from_numpy(stored[name]).to(device) for name in names)
        return weight.contiguous(memory_format=torch.channels_last) if weight.dim() == 4 else weight, bias

    first, second = _CONFIDENCE
    return _Network(
        {size: torch.hann_window(size).to(device) for size in _BANDS_OF},
        {size: _Bands.stored(stored[places], stored[values], device) for size, (places, values) in _BANDS_OF.items()},
        convolution(_ENTRY),
        [(convolution(one), convolution(other), dilation) for one, other, dilation in _BLOCKS],
        convolution(_JOINT),
        convolution(_SCORE),
        convolution(_PRESENCE),
        (convolution(first), convolution(second)),
        stored[_LOG_HERTZ],
    )


def _stored() -> dict[str, np.ndarray]:
    """Return the constants of the network by their names in its file. Raises EngineError."""
    package = importlib.util.find_spec("swift_f0")  # whose import would load ONNX Runtime
    if package is None or not package.submodule_search_locations:
        raise _missing()
    try:
        model = (Path(package.submodule_search_locations[0]) / _FILE).read_bytes()
    except OSError as cause:
        raise _missing() from cause
    if sha256(model).hexdigest() != _SHA256:
        raise _missing()
    return dict(_initializers(model))


def _missing() -> EngineError:
    return EngineError(
        tr(
            "The pitch detector is missing or another version: pip install --force-reinstall {package}.",
            package=_PACKAGE,
        )
    )


_TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 11: np.float64}  # TensorProto.DataType
_GRAPH, _INITIALIZER = 7, 5  # fields of ModelProto and of GraphProto
_DIMS, _TYPE, _NAME, _RAW = 1, 2, 8, 9  # of TensorProto


def _initializers(model: bytes) -> Iterator[tuple[str, np.ndarray]]:
    """Yield names and values of the constants in an ONNX file (onnx.proto, in the encoding of Protocol Buffers)."""
    for number, graph in _fields(model):
        for inner, tensor in _fields(graph) if number == _GRAPH else ():
            if inner == _INITIALIZER:
                held = list(_fields(tensor))
                one = dict(held)
                shape = [size for number, size in held if number == _DIMS]
                values = np.frombuffer(one[_RAW], np.dtype(_TYPES[one[_TYPE]]).newbyteorder("<"))
                yield bytes(one[_NAME]).decode(), values.reshape(shape).astype(_TYPES[one[_TYPE]])


def _fields(message: bytes | memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the numbers and values of the fields of a message: integers, and bytes of whatever has a length."""
    view, place = memoryview(message), 0
    value: Any
    while place < len(view):
        key, place = _varint(view, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(view, place)
        elif kind == 2:
            length, place = _varint(view, place)
            value, place = view[place : place + length], place + length
        else:  # numbers of a fixed size
            value, place = None, place + (8 if kind == 1 else 4)
        yield key >> 3, value


def _varint(view: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = view[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place
