"""How many people recordings hold, and which moments are whose.

The moments of a recording are split in two where the two parts point in clearly different directions, and each part
again; then the parts of all recordings in the same way. A part with little voice points less surely, so the limit
falls with the seconds of voice in it, as a correlation between two unreliable measures does (Spearman, 1904).

The limit was set on speakers whose recordings the discriminant had not been fitted to; engine/MEASUREMENTS.md has how
often one person is called two, and two people one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.features.speaker_directions import SpeakerTrack
from engine.filters import compiled, moving_median

LEAST_VOICED_S = 1.5  # of a person; less is a laugh, a cry or a slip
_ALIKE = 0.6  # cosine between two people, of surely measured directions, at most
_HALF_SURE_S = 1.0  # of voice; a direction measured on so much is half noise
_MOST_CLUSTERED = 1000  # moments; of more, every second, third, ... is clustered, and the rest joins the nearest part
_BY_MEAN = 2  # `average`, by its number in scipy's _hierarchy.pyx
_ROUNDS = 3
_SMOOTHED = 3  # windows
_SHORTEST_TURN_S = 1.0


@dataclass(frozen=True)
class Turn:
    """A stretch of a recording in which one speaker is heard; speakers are numbered, the one heard most first."""

    speaker: int
    start_s: float
    stop_s: float


def find_speakers(tracks: Sequence[SpeakerTrack]) -> list[tuple[Turn, ...]]:
    """Return the turns of each recording, in order; none where too little is heard to know."""
    parts = [split_speakers(track.directions, track.voiced_s, in_order=True) for track in tracks]
    whose = [(number, part) for number, labels in enumerate(parts) for part in np.unique(labels)]
    if not whose:
        return [() for _ in tracks]
    directions, voiced_s = [], []
    for number, part in whose:
        here = parts[number] == part
        weight = tracks[number].voiced_s * here
        directions.append(_unit(weight @ tracks[number].directions))
        voiced_s.append(weight.sum())
    labels = split_speakers(np.stack(directions), np.array(voiced_s), in_order=False)
    heard_s = np.bincount(labels, voiced_s)
    rank = np.argsort(np.argsort(-heard_s, kind="stable"))
    speaker = {place: int(rank[label]) for place, label in zip(whose, labels, strict=True)}
    return [
        _turns(track, np.array([speaker[number, part] for part in labels_here], int))
        for number, (track, labels_here) in enumerate(zip(tracks, parts, strict=True))
    ]


def split_speakers(directions: np.ndarray, voiced_s: np.ndarray, in_order: bool) -> np.ndarray:
    """Return the number of the speaker of each direction, int (directions,), from 0.

    directions: float (directions, DIRECTIONS), of length 1; voiced_s: (directions,). in_order: whether each is followed
    by the next in time, so that those between two speakers hold some of both.
    """
    labels = np.zeros(len(directions), int)
    is_second = _second_half(directions, voiced_s, in_order)
    if is_second is not None:
        for half in (False, True):
            here = is_second == half
            labels[here] = split_speakers(directions[here], voiced_s[here], in_order) + (labels.max() + 1) * half
    return labels


def _second_half(directions: np.ndarray, voiced_s: np.ndarray, in_order: bool) -> np.ndarray | None:
    """Return which directions belong to a second speaker, bool (directions,); None if there is only one."""
    if voiced_s.sum() < 2 * LEAST_VOICED_S:
        return None
    thin = slice(None, None, -(-len(directions) // _MOST_CLUSTERED))
    found = _halves(directions[thin], voiced_s[thin] * len(directions) / len(directions[thin]))
    if found is None:
        return None
    centres, is_second = found, np.zeros(len(directions), bool)
    for _ in range(_ROUNDS):
        is_second = directions @ (centres[1] - centres[0]) > 0
        sure = _inside(is_second) if in_order else np.ones(len(directions), bool)
        weights = [voiced_s * (is_second == half) * sure for half in (False, True)]
        if not all(weight.any() for weight in weights):
            return None
        centres = np.stack([_unit(weight @ directions) for weight in weights])
    heard_s = np.array([voiced_s[~is_second].sum(), voiced_s[is_second].sum()])
    if heard_s.min() < LEAST_VOICED_S:
        return None
    limit = _ALIKE * np.sqrt(np.prod(heard_s / (heard_s + _HALF_SURE_S)))
    return is_second if centres[0] @ centres[1] < limit else None


def _halves(directions: np.ndarray, voiced_s: np.ndarray) -> np.ndarray | None:
    """Return the directions of the two parts that are least alike, (2, DIRECTIONS), single odd moments left out."""
    merged = _merged(directions) if len(directions) > 1 else []
    clusters = [[number] for number in range(len(directions))]
    for left, right in merged:
        clusters.append(clusters[left] + clusters[right])
    whole = len(clusters) - 1
    while whole >= len(directions):
        parts = merged[whole - len(directions)]
        sides = [clusters[part] for part in parts]
        enough = [voiced_s[side].sum() >= LEAST_VOICED_S for side in sides]
        if all(enough):
            return np.stack([_unit(voiced_s[side] @ directions[side]) for side in sides])
        whole = parts[0] if enough[0] else parts[1] if enough[1] else -1
    return None


def _merged(directions: np.ndarray) -> list[list[int]]:
    """Return which two clusters become one, those first that are most alike: `linkage` of scipy.cluster.hierarchy, by
    the mean of cosines, without the packages around its compiled parts. Clusters count on from the directions."""
    count = len(directions)
    apart = np.zeros(count * (count - 1) // 2)
    places = np.ascontiguousarray(directions, np.float64)
    compiled("scipy.spatial._distance_wrap").pdist_cosine_double_wrap(places, apart)
    steps: np.ndarray = compiled("scipy.cluster._hierarchy").nn_chain(apart, count, _BY_MEAN)
    return steps[:, :2].astype(int).tolist()


def _inside(labels: np.ndarray) -> np.ndarray:
    """Return which have neighbours with the same label: all where there are none such of a label, bool (n,)."""
    same = np.pad(labels[1:] == labels[:-1], 1, constant_values=True)
    inside = same[1:] & same[:-1]
    return inside if inside[labels].any() and inside[~labels].any() else np.ones(len(labels), bool)


def _turns(track: SpeakerTrack, speakers: np.ndarray) -> tuple[Turn, ...]:
    if not len(speakers):
        return ()
    smooth = moving_median(speakers, _SMOOTHED)
    edges = np.flatnonzero(np.diff(smooth)) + 1
    between_s = (track.middles_s[edges - 1] + track.middles_s[edges]) / 2
    bounds_s = [0.0, *between_s.tolist(), track.stop_s]
    turns: list[Turn] = []
    for first, (start_s, stop_s) in zip([0, *edges.tolist()], pairwise(bounds_s), strict=True):
        speaker = int(smooth[first])
        is_longer = stop_s - start_s >= _SHORTEST_TURN_S
        if turns and (speaker == turns[-1].speaker or not is_longer):
            turns[-1] = Turn(turns[-1].speaker, turns[-1].start_s, stop_s)
        else:
            turns.append(Turn(speaker, start_s, stop_s))
    return tuple(turns)


def _unit(vector: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return unit
