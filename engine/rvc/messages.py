"""Messages through a pipe: values as JSON, then arrays of numbers as they lie in memory. Nothing in them is run."""

import json
import struct
from collections.abc import Mapping
from math import prod
from typing import Any, BinaryIO

import numpy as np

_LENGTH = struct.Struct("<Q")
_LONGEST_VALUES = 1 << 20
_KINDS = ("float16", "float32", "int64", "uint8")

Arrays = Mapping[str, np.ndarray]


def send(pipe: BinaryIO, values: object, arrays: Arrays) -> None:
    """Write one message. Raises OSError where nobody reads."""
    shapes = {name: (one.dtype.name, one.shape) for name, one in arrays.items()}
    header = json.dumps([values, shapes]).encode()
    pipe.write(_LENGTH.pack(len(header)) + header)
    for one in arrays.values():
        pipe.write(np.ascontiguousarray(one).data.cast("B") if one.size else b"")
    pipe.flush()


def receive(pipe: BinaryIO, largest: int) -> tuple[Any, dict[str, np.ndarray]]:
    """Read one message, whose arrays have at most `largest` bytes altogether.

    Raises EOFError at the end of the pipe, and ValueError for what is no message.
    """
    (length,) = _LENGTH.unpack(_read(pipe, _LENGTH.size))
    if length > _LONGEST_VALUES:
        raise ValueError(f"a message of {length} bytes")
    values, shapes = _header(_read(pipe, length))
    if sum(np.dtype(kind).itemsize * prod(shape) for kind, shape in shapes.values()) > largest:
        raise ValueError(f"arrays {shapes}, of more than {largest} bytes")
    return values, {name: _array(pipe, kind, shape) for name, (kind, shape) in shapes.items()}


def _header(content: bytes | bytearray) -> tuple[Any, dict[str, tuple[str, list[int]]]]:
    """Return the values of a message, and kind and shape of its arrays. Raises ValueError for anything else."""
    try:
        values, shapes = json.loads(content)
        sizes = [size for _, shape in shapes.values() for size in shape]
        if all(kind in _KINDS for kind, _ in shapes.values()) and all(type(one) is int and one >= 0 for one in sizes):
            return values, {name: (kind, shape) for name, (kind, shape) in shapes.items()}
    except (TypeError, AttributeError, RecursionError) as cause:  # whoever wrote it may be a program in a model
        raise ValueError("no message") from cause
    raise ValueError(f"arrays {shapes}")


def _array(pipe: BinaryIO, kind: str, shape: list[int]) -> np.ndarray:
    content = _read(pipe, np.dtype(kind).itemsize * prod(shape))
    return np.frombuffer(content, kind).reshape(shape)


def _read(pipe: BinaryIO, count: int) -> bytearray:
    content = bytearray(count)
    filled = 0
    while filled < count:
        read = pipe.readinto(memoryview(content)[filled:])  # type: ignore[attr-defined]
        if not read:
            raise EOFError
        filled += read
    return content
