"""The reader of faiss files against a file that faiss wrote (reference/make.py)."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from engine.rvc.index_file import parse_index, read_index
from engine.rvc.retrieval import nearest_vectors
from engine.rvc.sandbox import ModelFileError
from engine.voices.imported import import_rvc
from tests.engine.rvc.models import checkpoint_of

REFERENCE = Path(__file__).parent / "reference"
INDEX = REFERENCE / "ivf.index"


def test_parse_index_gives_the_vectors_of_each_list():
    index = parse_index(INDEX)
    assert index.vectors.shape == (40, 256)
    assert index.vectors.dtype == np.float16
    assert (len(index.starts), index.starts[-1], index.probes) == (4, 40, 1)
    nearest = np.square(index.vectors[:, None].astype(np.float32) - index.centroids).sum(2).argmin(1)
    assert (np.diff(index.starts) == np.bincount(nearest, minlength=3)).all()


def test_nearest_vectors_are_those_that_faiss_finds():
    index, found = parse_index(INDEX), load_file(REFERENCE / "nearest.safetensors")
    tensors = (torch.from_numpy(one.copy()) for one in (index.vectors, index.starts, index.centroids))
    assert torch.allclose(nearest_vectors(found["content"], *tensors, index.probes), found["nearest"], atol=1e-4)


def test_every_cut_and_random_bytes_give_named_errors(tmp_path):
    content, path, drawn = INDEX.read_bytes(), tmp_path / "voice.index", random.Random(0)
    for length in [*range(200), *range(200, len(content), 977), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError) as caught:
            parse_index(path)
        assert caught.value.code == "truncated", length
    for _ in range(300):
        changed = bytearray(content)
        changed[drawn.randrange(130)] = drawn.randrange(256)
        path.write_bytes(changed)
        with suppress(ModelFileError):  # and nothing else
            parse_index(path)


def test_read_index_works_in_a_process_of_its_own(tmp_path):
    here, there = parse_index(INDEX), read_index(INDEX, tmp_path / "arrays.safetensors")
    assert there.probes == here.probes
    for name in ("vectors", "starts", "centroids"):
        assert np.array_equal(getattr(there, name), getattr(here, name))
    cut = tmp_path / "voice.index"
    cut.write_bytes(INDEX.read_bytes()[:1000])
    with pytest.raises(ModelFileError, match="is cut off") as caught:
        read_index(cut, tmp_path / "none.safetensors")
    assert caught.value.code == "truncated"
    assert not (tmp_path / "none.safetensors").exists()


def test_import_reads_the_index_apart(tmp_path, monkeypatch):
    """A file made by anybody is parsed nowhere else."""
    monkeypatch.setattr("engine.rvc.index_file.parse_index", lambda _: pytest.fail("parsed in this process"))
    (tmp_path / "voices").mkdir()
    model = tmp_path / "Mia.pth"
    torch.save(checkpoint_of("v1"), model)
    card = import_rvc(model, tmp_path / "voices", INDEX)
    kept = sorted(one.name for one in (tmp_path / "voices" / card.id).iterdir())
    assert kept == ["card.json", "weights.safetensors"]
