"""The reader of faiss files against a file that faiss wrote (reference/make.py)."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from engine.rvc.index_file import read_index
from engine.rvc.retrieval import nearest_vectors
from engine.rvc.sandbox import ModelFileError

REFERENCE = Path(__file__).parent / "reference"
INDEX = REFERENCE / "ivf.index"


def test_read_index_gives_the_vectors_of_each_list():
    index = read_index(INDEX)
    assert index.vectors.shape == (40, 256)
    assert index.vectors.dtype == np.float16
    assert (len(index.starts), index.starts[-1], index.probes) == (4, 40, 1)
    nearest = np.square(index.vectors[:, None].astype(np.float32) - index.centroids).sum(2).argmin(1)
    assert (np.diff(index.starts) == np.bincount(nearest, minlength=3)).all()


def test_nearest_vectors_are_those_that_faiss_finds():
    index, found = read_index(INDEX), load_file(REFERENCE / "nearest.safetensors")
    tensors = (torch.from_numpy(one.copy()) for one in (index.vectors, index.starts, index.centroids))
    assert torch.allclose(nearest_vectors(found["content"], *tensors, index.probes), found["nearest"], atol=1e-4)


def test_every_cut_and_random_bytes_give_named_errors(tmp_path):
    content, path, drawn = INDEX.read_bytes(), tmp_path / "voice.index", random.Random(0)
    for length in [*range(200), *range(200, len(content), 977), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError) as caught:
            read_index(path)
        assert caught.value.code == "truncated", length
    for _ in range(300):
        changed = bytearray(content)
        changed[drawn.randrange(130)] = drawn.randrange(256)
        path.write_bytes(changed)
        with suppress(ModelFileError):  # and nothing else
            read_index(path)
