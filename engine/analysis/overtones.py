"""Overtone singing: a harmonic that a narrow resonance raises above all others, and a detector takes for the note.

The note is the drone's, whose partials below the raised one carry it: several in a row at its multiples, with hardly
anything between them. Below a high note or a whistle there is nothing of that kind. (Bloothooft et al., "Acoustics and
perception of overtone singing", J. Acoust. Soc. Am., 1992.)
"""

import numpy as np

from engine.filters import moving_median, rfft

_LOWEST_HERTZ, _HIGHEST_HERTZ = 65.0, 400.0  # of a drone
_LEAST_HERTZ = 480.0  # of the tone that was detected; below, detectors do not err
_SECONDS = 0.128  # of the window: partials of the lowest drone are apart
_LOBE_BINS = 2  # on each side of a partial
_HIGHER = 2.5  # than the drone: octaves are for others to judge
_NUMBERS = np.arange(4, 25)  # of the harmonic that is raised
_FEWEST = 3  # partials in a row
_AUDIBLE = 10.0**-2.0  # power below the raised harmonic, of its own: what leaks from headphones is softer
_APART = 0.85  # share of that power that lies at the partials
_STANDING_OUT = 10.0  # power of a partial, of that between it and the next ones
_PRESENT = 10.0**-2.7  # of a partial, of all below the raised harmonic
_EVERY = 2  # frames
_SMOOTH_FRAMES = 5


def find_drones(samples: np.ndarray, rate: int, hop: int, hertz: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the drone's pitch in hertz where a harmonic of it was taken for the note, else 0: (frames,).

    samples: mono (samples,); hertz: what was detected every `hop` samples (frames,); asked: which frames are analysed,
    bool (frames,).
    """
    found = np.zeros(len(hertz))
    frames = np.flatnonzero(asked & (hertz > _LEAST_HERTZ))
    frames = frames[frames % _EVERY == 0]
    if not len(frames):
        return found
    size = round(_SECONDS * rate)
    padded = np.pad(samples, (size // 2, size))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, size)[frames * hop]
    powers = np.square(np.abs(rfft(pieces * np.hanning(size).astype(np.float32))))
    for frame, power in zip(frames, powers, strict=True):
        drone = _drone(power, rate / size)
        if drone and drone * _HIGHER < hertz[frame]:
            found[frame : frame + _EVERY] = drone
    return np.where(moving_median(found > 0.0, _SMOOTH_FRAMES, "reflect"), found, 0.0)


def _drone(power: np.ndarray, bin_hertz: float) -> float:
    """Return the pitch in hertz of the drone in a spectrum (bins,); 0 if there is none."""
    first = int(_LEAST_HERTZ / bin_hertz)
    peak = first + int(power[first:].argmax())
    below = power[: peak - 2 * _LOBE_BINS]
    total = float(below[int(0.8 * _LOWEST_HERTZ / bin_hertz) :].sum())
    if total < _AUDIBLE * float(power[peak - _LOBE_BINS : peak + _LOBE_BINS + 1].sum()):
        return 0.0
    exact = _vertex(power, peak)
    for number in _NUMBERS:
        spacing = exact / number
        if _LOWEST_HERTZ <= spacing * bin_hertz <= _HIGHEST_HERTZ and _is_comb(below, spacing, int(number), total):
            return float(spacing * bin_hertz)
    return 0.0


def _is_comb(below: np.ndarray, spacing: float, number: int, total: float) -> bool:
    """Return whether the power below a harmonic (bins,) lies at multiples of `spacing` bins, several in a row."""
    places = np.rint(spacing * np.arange(1, number)).astype(int)
    places = places[places + _LOBE_BINS < len(below)]
    partials = np.stack([below[places + away] for away in range(-_LOBE_BINS, _LOBE_BINS + 1)]).sum(0)
    between = below[np.rint(spacing * (np.arange(len(places) + 1) + 0.5)).astype(int).clip(max=len(below) - 1)]
    stands_out = (partials > _PRESENT * total) & (partials > _STANDING_OUT * np.maximum(between[:-1], between[1:]))
    row = best = 0
    for is_there in stands_out:
        row = row + 1 if is_there else 0
        best = max(best, row)
    return best >= _FEWEST and float(partials.sum()) > _APART * total


def _vertex(power: np.ndarray, peak: int) -> float:
    """Return where a peak lies between bins: the vertex of a parabola through the log spectrum."""
    before, at, after = (float(np.log(power[min(peak + by, len(power) - 1)] + 1e-20)) for by in (-1, 0, 1))
    return peak + float(np.clip(0.5 * (before - after) / min(before - 2 * at + after, -1e-9), -0.5, 0.5))
