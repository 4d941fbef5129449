"""Read the `.index` files of RVC without faiss: vectors of the voice's recordings, sorted into lists by centroid.

The layout (little-endian), as faiss writes it: four letters, then the fields of that class.

    IwFl    header, lists u64, probes u64, quantizer (IxF2), direct map, inverted lists
    IxF2    header, count of numbers u64, numbers f32          (also IxFI, IxFl: a flat index of its own)
    header  width i32, vectors i64, two unused i64, trained u8, metric i32 (above 1: argument f32)
    map     kind u8, count u64, i64 each (kind 2: count u64 again, 16 bytes each)
    ilar    lists u64, bytes per vector u64, "full" or "sprs", sizes, then of each list its vectors and its i64 ids
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from safetensors.numpy import load_file, save

from engine.files import named, shown_name
from engine.rvc.foreign_files import refuse_foreign
from engine.rvc.messages import Arrays
from engine.rvc.sandbox import ModelFileError, run_apart
from engine.texts import joined, numeral, tr

WIDTHS = (256, 768)
_MOST_VECTORS, _MOST_LISTS = 400_000, 100_000
_FLAT = (b"IxF2", b"IxFI", b"IxFl")


@dataclass(frozen=True, eq=False)
class VoiceIndex:
    """vectors: float16 (vectors, width), list after list; starts: int64 (lists + 1,), where each list begins;
    centroids: float32 (lists, width); probes: how many lists a search looks into."""

    vectors: np.ndarray
    starts: np.ndarray
    centroids: np.ndarray
    probes: int


def read_index(path: Path, target: Path) -> VoiceIndex:
    """Read an index in a process of its own, which leaves its arrays in `target`. Raises what `parse_index` raises."""
    found = run_apart("engine.rvc.index_file:extract", path, target=target)
    return VoiceIndex(**load_file(target), probes=found["probes"])


def extract(source: str, name: str = "") -> tuple[dict[str, int], Arrays]:
    """Do the work of `read_index`, in the process where it is safe."""
    index = parse_index(named(Path(source), name))
    arrays = {"vectors": index.vectors, "starts": index.starts, "centroids": index.centroids}
    file = save({name: np.ascontiguousarray(values) for name, values in arrays.items()})
    return {"probes": index.probes}, {"file": np.frombuffer(file, np.uint8)}


def parse_index(path: Path) -> VoiceIndex:
    """Parse an index of type IVF,Flat or Flat. Raises ModelFileError for anything else, and for one that is cut off."""
    refuse_foreign(path)
    with path.open("rb") as file:
        try:
            index = _Reader(file, path.stat().st_size).index()
        except _Unknown as cause:
            raise ModelFileError(joined(" ", (f'"{shown_name(path)}"', cause.why)), cause.code) from cause
        except (EOFError, struct.error) as cause:
            raise ModelFileError(
                tr('"{name}" is cut off: download or copy it again.', name=shown_name(path)), "truncated"
            ) from cause
    if not (np.isfinite(index.vectors).all() and np.isfinite(index.centroids).all()):
        text = tr(
            '"{name}" contains values that are not numbers: make it again in RVC, or import the model without it.',
            name=shown_name(path),
        )
        raise ModelFileError(text, "not_an_index")
    return index


class _Unknown(Exception):
    """Not the layout that is read here."""

    code = "not_an_index"
    why = tr("is not an index of RVC (a flat or IVF,Flat index of faiss): use the file whose name begins with added_.")


class _Empty(_Unknown):
    """RVC writes one without vectors beside the whole one."""

    code = "empty_index"
    why = tr("is an index without vectors: use the one beside it whose name begins with added_.")


class _TooLarge(_Unknown):
    code = "too_large"
    why = tr(
        "has more than {most_vectors} vectors: make a smaller index in RVC, or import the model without it.",
        most_vectors=numeral(_MOST_VECTORS, ","),
    )


class _Reader:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def index(self) -> VoiceIndex:
        kind = self._bytes(4)
        if kind in _FLAT:
            vectors = self._flat()
            starts = np.array([0, len(vectors)])
            return VoiceIndex(_halves(vectors), starts, vectors[:1] * 0, 1)
        if kind != b"IwFl":
            raise _Unknown
        width, total = self._header()
        lists, probes = self._values("QQ")
        if not 0 < lists <= _MOST_LISTS or self._bytes(4) not in _FLAT:
            raise _Unknown
        centroids = self._flat()
        self._skip_map()
        if centroids.shape != (lists, width):
            raise _Unknown
        sizes = self._sizes(lists, 4 * width)
        if sizes.sum() != total:
            raise _Unknown
        found = [self._list(int(size), width) for size in sizes]
        starts = np.concatenate([[0], sizes.cumsum()]).astype(np.int64)
        return VoiceIndex(np.concatenate(found), starts, centroids, int(min(max(probes, 1), lists, 16)))

    def _header(self) -> tuple[int, int]:
        width, total, _, _, trained, metric = self._values("iqqqBi")
        if metric > 1:
            self._bytes(4)
        if width not in WIDTHS or total < 0 or trained != 1 or metric != 1:
            raise _Unknown
        if total == 0:
            raise _Empty
        if total > _MOST_VECTORS:
            raise _TooLarge
        return width, total

    def _flat(self) -> np.ndarray:
        width, total = self._header()
        (count,) = self._values("Q")
        if count != width * total:
            raise _Unknown
        return self._array(count, np.float32).reshape(total, width)

    def _skip_map(self) -> None:
        (kind,) = self._values("B")
        for size in (8, 16)[: 1 + (kind == 2)]:
            (count,) = self._values("Q")
            self._bytes(size * count)

    def _sizes(self, lists: int, code: int) -> np.ndarray:
        if self._bytes(4) != b"ilar" or self._values("QQ") != (lists, code):
            raise _Unknown
        kind = self._bytes(4)
        (count,) = self._values("Q")
        if count > 2 * lists or kind not in (b"full", b"sprs"):
            raise _Unknown
        given = self._array(count, np.uint64)
        if kind == b"full" and count == lists:
            sizes = given
        elif kind == b"sprs" and count % 2 == 0 and (given[::2] < lists).all():
            sizes = np.zeros(lists, np.uint64)
            sizes[given[::2]] = given[1::2]
        else:
            raise _Unknown
        if (sizes > _MOST_VECTORS).any():
            raise _Unknown
        return sizes.astype(np.int64)

    def _list(self, size: int, width: int) -> np.ndarray:
        vectors = self._array(size * width, np.float32).reshape(size, width)
        self._bytes(8 * size)  # their numbers, which nobody needs
        return _halves(vectors)

    def _values(self, form: str) -> tuple[int, ...]:
        form = "<" + form
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _array(self, count: int, kind: type) -> np.ndarray:
        return np.frombuffer(self._bytes(count * np.dtype(kind).itemsize), np.dtype(kind).newbyteorder("<"))

    def _bytes(self, count: int) -> bytes:
        if count > self._left:  # before any memory is taken for them
            raise EOFError
        self._left -= count
        content = self._file.read(count)
        if len(content) != count:
            raise EOFError
        return content


def _halves(vectors: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return vectors.astype(np.float16)
