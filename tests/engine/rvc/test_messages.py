"""Messages as they are sent, and as a program in a model might send them."""

import io
import json
import struct

import numpy as np
import pytest

from engine.rvc.messages import receive, send


def test_receive_returns_what_send_wrote():
    pipe = io.BytesIO()
    send(pipe, {"values": [1, None]}, {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros(0, np.int64)})
    pipe.seek(0)
    values, arrays = receive(pipe, 24)
    assert values == {"values": [1, None]}
    assert [(one.dtype.name, one.shape) for one in arrays.values()] == [("float32", (2, 3)), ("int64", (0,))]


HEADERS = [
    *(b"", b"1", b"null", b"[]", b"[1]", b"[1, 2]", b"[1, null, 3]", b'[1, {"a": 2}]', b'[1, {"a": ["float32"]}]'),
    *(b'[1, {"a": ["float32", 3]}]', b'[1, {"a": ["float32", [-1]]}]', b'[1, {"a": ["float32", [1.5]]}]'),
    *(b'[1, {"a": ["float32", [true]]}]', b'[1, {"a": ["float32", ["4"]]}]', b'[1, {"a": ["object", [1]]}]'),
    *(b'[1, {"a": [["float32"], [1]]}]', b'[1, {"a": [{}, [1]]}]', b'[1, {"a": ["float32", [1000000000000]]}]'),
    *(b"[" * 100_000, b'[1, {"a": ["float32", ' + b"[" * 100_000, b"\xff\xfe", b'[1, {"a": ["float32", [NaN]]}]'),
]


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_receive_refuses_what_is_no_message_in_one_way(header):
    with pytest.raises(ValueError):  # noqa: PT011 - of json and of ours
        receive(io.BytesIO(struct.pack("<Q", len(header)) + header), 1000)


def test_receive_refuses_a_header_without_end_before_it_reads_it():
    with pytest.raises(ValueError, match="a message of"):
        receive(io.BytesIO(struct.pack("<Q", 1 << 62)), 1000)
    with pytest.raises(EOFError):
        receive(io.BytesIO(struct.pack("<Q", 100) + json.dumps([1, {}]).encode()), 1000)
