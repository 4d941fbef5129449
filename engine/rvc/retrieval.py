"""Retrieval in an RVC index: each frame of content moves towards its nearest frames of the voice's recordings."""

import torch
from torch import Tensor

_NEIGHBOURS = 8
_FRAMES_AT_ONCE = 500


def nearest_vectors(content: Tensor, vectors: Tensor, starts: Tensor, centroids: Tensor, probes: int) -> Tensor:
    """Return the mean of the eight nearest vectors for each frame of content (frames, width), weighted by the inverse
    square of their squared distance, as RVC weights them.

    vectors (n, width), starts, centroids, probes: see `engine.rvc.index_file.VoiceIndex`. Only vectors in the lists of
    the nearest centroids are compared, as faiss does.
    """
    found = content.clone()
    for first in range(0, len(content), _FRAMES_AT_ONCE):
        block = content[first : first + _FRAMES_AT_ONCE]
        lists = torch.cdist(block, centroids.float()).topk(min(probes, len(centroids)), 1, largest=False).indices
        for row, probed in enumerate(lists.tolist()):
            own = torch.cat([vectors[int(starts[one]) : int(starts[one + 1])] for one in probed]).float()
            if len(own):
                squares = (own - block[row]).square().sum(1)
                near, places = squares.topk(min(_NEIGHBOURS, len(own)), largest=False)
                weights = near.clamp_min(1e-9).reciprocal().square()
                found[first + row] = (weights / weights.sum()) @ own[places]
    return found
