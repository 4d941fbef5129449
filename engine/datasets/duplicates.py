"""Find near duplicates: copies of a recording that were re-encoded, made louder or softer, or cut shorter.

Every frame of a recording becomes a 32-bit word: whether the difference between neighbouring bands grows or shrinks
(Haitsma and Kalker, 2002). A gain changes none of the bits and an encoder few, so copies share many words in the same
order. Words that occur in two recordings suggest an alignment; the share of bits that differ there decides. Two takes
of one song differ in half of their bits, like unrelated recordings.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.ndimage import uniform_filter1d

from engine.datasets.recording_quality import audible_frames
from engine.features.clips import Clip

_FIRST_BAND, _BANDS_TOGETHER, _BITS = 8, 2, 32  # of the envelope's bands, from 200 Hz to 5 kHz
_SMOOTHING_FRAMES = 9
_STEP_FRAMES = 8  # between the spectra that are compared
_MOST_ALIKE = 12  # words that occur more often are silence or steady tones, common to all recordings
_FEWEST_SHARED = 2  # words in common at one offset that make two recordings worth comparing
_MOST_PLACES = 3
_DIFFERENT_BITS = 0.3  # share; copies stay below, half is chance
_COVERED = 0.6  # share of the shorter recording contained in the other
_FEWEST_FRAMES = 50

Words = tuple[np.ndarray, np.ndarray]  # uint32 (frames,), and bool (frames,): where the recording is audible


def words_of(clip: Clip) -> Words:
    """Compute the acoustic fingerprint of a recording, four bytes per frame."""
    stop = _FIRST_BAND + _BANDS_TOGETHER * (_BITS + 1)
    bands = clip.envelope[:, _FIRST_BAND:stop].astype(np.float32)
    smooth = uniform_filter1d(bands.reshape(len(bands), _BITS + 1, _BANDS_TOGETHER).mean(2), _SMOOTHING_FRAMES, axis=0)
    slope = np.diff(smooth, axis=1)
    grows = np.zeros(slope.shape, bool)
    grows[_STEP_FRAMES:] = slope[_STEP_FRAMES:] > slope[:-_STEP_FRAMES]
    words = grows @ (np.uint64(1) << np.arange(_BITS, dtype=np.uint64))
    return words.astype(np.uint32), audible_frames(clip) & (np.arange(len(words)) >= _STEP_FRAMES)


def near_duplicates(recordings: Sequence[Words]) -> dict[int, int]:
    """Return the number of each copy, mapped to the number of the earlier recording it is a copy of."""
    found: dict[int, int] = {}
    for (earlier, later), offsets in sorted(_proposals(recordings).items()):
        if later in found or earlier in found:
            continue
        if any(_is_copy(recordings[earlier], recordings[later], offset) for offset in offsets):
            found[later] = earlier
    return found


def _proposals(recordings: Sequence[Words]) -> dict[tuple[int, int], list[int]]:
    """Return pairs that share words, with the possible offsets in frames from the earlier to the later."""
    if not recordings:
        return {}
    numbers = np.concatenate([np.full(audible.sum(), i, np.int64) for i, (_, audible) in enumerate(recordings)])
    frames = np.concatenate([np.flatnonzero(audible) for _, audible in recordings])
    words = np.concatenate([values[audible] for values, audible in recordings])
    order = np.argsort(words, kind="stable")
    words, numbers, frames = words[order], numbers[order], frames[order]
    first = np.searchsorted(words, words, "left")
    rare = np.searchsorted(words, words, "right") - first <= _MOST_ALIKE
    places = []
    for step in range(1, _MOST_ALIKE):
        shared = (words[step:] == words[:-step]) & rare[step:] & (numbers[step:] != numbers[:-step])
        left, right = np.flatnonzero(shared), np.flatnonzero(shared) + step
        places.append(np.stack([numbers[left], numbers[right], frames[right] - frames[left]], axis=1))
    found, counts = np.unique(np.concatenate(places), axis=0, return_counts=True)
    proposals: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for row in np.argsort(-counts, kind="stable"):
        earlier, later, offset = found[row].tolist()
        if counts[row] >= _FEWEST_SHARED and len(proposals[earlier, later]) < _MOST_PLACES:
            proposals[earlier, later].append(offset)
    return proposals


def _is_copy(earlier: Words, later: Words, offset: int) -> bool:
    start, stop = max(0, -offset), min(len(earlier[0]), len(later[0]) - offset)
    here, there = slice(start, stop), slice(start + offset, stop + offset)
    both = earlier[1][here] & later[1][there]
    shorter = min(earlier[1].sum(), later[1].sum())
    if both.sum() < max(_FEWEST_FRAMES, _COVERED * shorter):
        return False
    different = np.bitwise_count(earlier[0][here][both] ^ later[0][there][both])
    return float(different.mean()) / _BITS < _DIFFERENT_BITS
