"""The reader of faiss files against a file that faiss wrote (reference/make.py)."""

import random
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from engine.rvc.index_file import parse_index, read_index
from engine.rvc.rendering import nearest_vectors
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


def test_nearest_vectors_matches_faiss():
    index, found = parse_index(INDEX), load_file(REFERENCE / "nearest.safetensors")
    tensors = (torch.from_numpy(one.copy()) for one in (index.vectors, index.starts, index.centroids))
    assert torch.allclose(nearest_vectors(found["content"], *tensors, index.probes), found["nearest"], atol=1e-4)


def test_nearest_vectors_searches_one_long_list_in_pieces(monkeypatch):
    """A flat index is one list: the nearest of all, whichever piece they lie in."""
    found = load_file(REFERENCE / "nearest.safetensors")
    vectors = torch.from_numpy(parse_index(INDEX).vectors.copy())
    monkeypatch.setattr("engine.rvc.rendering._VECTORS_AT_ONCE", 7)
    nearest = nearest_vectors(found["content"], vectors, torch.tensor([0, 40]), torch.zeros(1, 256), 1)
    for row, content in zip(nearest, found["content"], strict=True):
        squares, places = (vectors.float() - content).square().sum(1).topk(8, largest=False)
        weights = squares.reciprocal().square()
        assert torch.allclose(row, (weights / weights.sum()) @ vectors[places].float(), atol=1e-4)
    few = nearest_vectors(found["content"], vectors[:3], torch.tensor([0, 3, 3]), torch.eye(2, 256) * 1e3, 2)
    assert torch.isfinite(few).all()


def header(total):
    return struct.pack("<iqqqBi", 256, total, 1 << 20, 1 << 20, 1, 1)


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"IwFl" + header(0), "empty_index", "begins with added_"),  # trained_*.index, which lies beside the whole one
        (b"IwFl" + header(10**7), "too_large", "more than 400,000 vectors"),
        (b"IwFl" + header(100) + struct.pack("<QQ", 1 << 62, 1), "not_an_index", "not an index of RVC"),
        (b"IxF2" + header(400_000) + struct.pack("<Q", 400_000 * 256), "truncated", "cut off"),
        (b"PK\x03\x04" + b"\x00" * 99, "not_an_index", "not an index of RVC"),
    ],
)
def test_parse_index_refuses_unsupported_indexes_with_a_code(tmp_path, content, code, said):
    path = tmp_path / "voice.index"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=said) as caught:
        parse_index(path)
    assert caught.value.code == code


def test_parse_index_raises_only_model_file_errors_for_damaged_files(tmp_path):
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


@pytest.mark.system
def test_read_index_in_a_separate_process_matches_parse_index(tmp_path):
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


@pytest.mark.system
def test_import_rvc_parses_the_index_in_a_separate_process(tmp_path, monkeypatch):
    """A file made by anybody is parsed nowhere else."""
    monkeypatch.setattr("engine.rvc.index_file.parse_index", lambda _: pytest.fail("parsed in this process"))
    (tmp_path / "voices").mkdir()
    model = tmp_path / "Mia.pth"
    torch.save(checkpoint_of("v1"), model)
    card = import_rvc(model, tmp_path / "voices", INDEX)
    kept = sorted(one.name for one in (tmp_path / "voices" / card.id).iterdir())
    assert kept == ["card.json", "weights.safetensors"]
