"""Hold out recordings of a voice to evaluate its training with."""

from collections.abc import Sequence

import numpy as np

from engine.features.clips import Clip
from engine.units import FRAME_RATE

_SHARE = 0.1
_MOST_S = 30.0  # rendered at every evaluation
_LONGEST_S, _SHORTEST_S = 12.0, 2.0  # of one piece
_MOST_PIECES = 4
_FEWEST_RECORDINGS = 6  # with fewer, the end of the longest is held out instead of whole recordings
_GAP_FRAMES = 100  # between the training part and the held-out part of a recording


def hold_out(clips: Sequence[Clip], seed: int) -> tuple[list[Clip], list[Clip]]:
    """Split clips into a training set and a held-out set: a tenth of the duration, at most 30 s, in clips up to 12 s.

    With six recordings or more, some of them are held out, of long ones the first 12 s; else the end of the longest.
    """
    sought_s = min(_MOST_S, _SHARE * sum(clip.duration_s for clip in clips))
    if len(clips) < _FEWEST_RECORDINGS:
        return _end_of_longest(clips, sought_s)
    fitting = [i for i, clip in enumerate(clips) if clip.duration_s >= _SHORTEST_S and clip.pitch.voiced.any()]
    aside: list[int] = []
    for i in np.random.default_rng([seed, 17]).permutation(fitting) if fitting else []:
        held_s = sum(min(clips[j].duration_s, _LONGEST_S) for j in aside)
        # a recording so long that training would miss it is skipped
        if (
            held_s < sought_s
            and len(aside) < _MOST_PIECES
            and clips[i].duration_s <= max(2 * sought_s, 2 * _SHORTEST_S)
        ):
            aside.append(int(i))
    if not aside:
        return _end_of_longest(clips, sought_s)
    longest = round(_LONGEST_S * FRAME_RATE)
    learned = [
        clip.piece(longest + _GAP_FRAMES, len(clip.pitch)) if i in aside else clip
        for i, clip in enumerate(clips)
        if i not in aside or clip.duration_s >= _LONGEST_S + _SHORTEST_S
    ]
    return learned, [clips[i].piece(0, longest) for i in sorted(aside)]


def _end_of_longest(clips: Sequence[Clip], sought_s: float) -> tuple[list[Clip], list[Clip]]:
    longest = max(range(len(clips)), key=lambda i: len(clips[i].pitch))
    whole = clips[longest]
    frames = round(min(max(sought_s, _SHORTEST_S), _LONGEST_S) * FRAME_RATE)
    first = len(whole.pitch) - frames
    learned = [clip.piece(0, first - _GAP_FRAMES) if i == longest else clip for i, clip in enumerate(clips)]
    return learned, [whole.piece(first, len(whole.pitch))]
