"""What a training does not learn from, so that it can be judged by it."""

from collections.abc import Sequence

import numpy as np

from engine.features.clips import Clip
from engine.units import FRAME_RATE

_SHARE = 0.1
_MOST_S = 30.0  # all of it is rendered at every evaluation
_LONGEST_S, _SHORTEST_S = 12.0, 2.0  # of one piece
_MOST_PIECES = 4
_FEWEST_RECORDINGS = 6  # of fewer, the end of the longest is held out instead of one whole
_GAP_FRAMES = 100  # between what is learned from and what is held out of the same recording


def hold_out(clips: Sequence[Clip], seed: int) -> tuple[list[Clip], list[Clip]]:
    """Clips to learn from and clips to be judged by, none longer than 12 s: a tenth of the sound, at most 30 s.

    Whole recordings where there are six or more, of which a fitting few are drawn, or the first 12 s of those that are
    longer; else the end of the longest one.
    """
    sought_s = min(_MOST_S, _SHARE * sum(clip.duration_s for clip in clips))
    if len(clips) < _FEWEST_RECORDINGS:
        return _end_of_longest(clips, sought_s)
    fitting = [i for i, clip in enumerate(clips) if clip.duration_s >= _SHORTEST_S and clip.pitch.voiced.any()]
    aside: list[int] = []
    for i in np.random.default_rng([seed, 17]).permutation(fitting) if fitting else []:
        held_s = sum(min(clips[j].duration_s, _LONGEST_S) for j in aside)
        # a recording so long that it takes much from the learning is passed over
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
