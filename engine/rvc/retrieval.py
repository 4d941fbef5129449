"""Retrieval in an RVC index: each frame of content moves towards its nearest frames of the voice's recordings."""

import torch
from torch import Tensor

_NEIGHBOURS = 8
_FRAMES_AT_ONCE, _VECTORS_AT_ONCE = 500, 10_000  # compared together, so that memory stays flat whatever the index


def nearest_vectors(content: Tensor, vectors: Tensor, starts: Tensor, centroids: Tensor, probes: int) -> Tensor:
    """Return the mean of the eight nearest vectors for each frame of content (frames, width), weighted by the inverse
    square of their squared distance, as RVC weights them.

    vectors (n, width), starts, centroids, probes: see `engine.rvc.index_file.VoiceIndex`. Only vectors in the lists of
    the nearest centroids are compared, as faiss does.
    """
    found = content.clone()
    for first in range(0, len(content), _FRAMES_AT_ONCE):
        block = content[first : first + _FRAMES_AT_ONCE]
        places = _nearest_places(block, vectors, starts, centroids, probes)
        for row, there in enumerate(places):
            own = vectors[there[there >= 0]].float()
            if len(own):
                squares = (own - block[row]).square().sum(1)
                weights = squares.clamp_min(1e-9).reciprocal().square()
                found[first + row] = (weights / weights.sum()) @ own
    return found


def _nearest_places(block: Tensor, vectors: Tensor, starts: Tensor, centroids: Tensor, probes: int) -> Tensor:
    """Return where the nearest vectors of each frame lie, (frames, _NEIGHBOURS); -1 where there are fewer."""
    lists = torch.cdist(block, centroids.float()).topk(min(probes, len(centroids)), 1, largest=False).indices
    distances = torch.full((len(block), _NEIGHBOURS), torch.inf)
    places = torch.full(distances.shape, -1)
    for one in lists.unique().tolist():
        rows = (lists == one).any(1).nonzero()[:, 0]
        for begin in range(int(starts[one]), stop := int(starts[one + 1]), _VECTORS_AT_ONCE):
            end = min(begin + _VECTORS_AT_ONCE, stop)
            there = torch.arange(begin, end).expand(len(rows), -1)
            compared = torch.cdist(block[rows], vectors[begin:end].float())
            nearest = torch.cat([distances[rows], compared], 1).topk(_NEIGHBOURS, 1, largest=False)
            distances[rows] = nearest.values
            places[rows] = torch.cat([places[rows], there], 1).gather(1, nearest.indices)
    return places
