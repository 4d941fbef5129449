"""The parts of content credentials that no signature covers: boxes (JUMBF, ISO 19566-5), their labels, and padding.

They carry nothing, and readers pass over what is wrong with them. In files of this program they are known to the byte,
so that a change of a single bit is found there too.
"""

import mmap
import re
from pathlib import Path

_STORE = b"jumdc2pa"  # the description of the outermost box, 12 bytes after its beginning
_LABELS = (b"c2pa\0", b"c2pa.assertions\0", b"c2pa.claim.v2\0", b"c2pa.signature\0")
_BEFORE_LABELS = b"\0\x11\0\x10\x80\0\0\xaa\x008\x9bq\x03"  # the end of each type (UUID), and that a label follows
_PADDING = re.compile(rb"cpad(?:X(?P<short>.)|Y(?P<long>..))", re.DOTALL)  # CBOR: a key of three letters, and bytes

# of an M4A, whose first box no signature covers either (C2PA 2.1, A.5): as FFmpeg writes it, and the box of credentials
_M4A_BEGINS = b"\0\0\0\x1cftypM4A \0\0\2\0M4A isomiso2"
_M4A_BOX = b"uuid" + bytes.fromhex("d8fec3d61b0e483c92975828877ec481") + b"\0\0\0\0manifest\0" + bytes(8)

_NO_CONTENT = b"\xf6"  # CBOR: null, where a signature could hold what it signs


def is_untouched(path: Path) -> bool:
    """Return whether the frame of the credentials of a file is as this program writes it. Raises OSError."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        begin = content.find(_STORE) - 12
        if begin < 0 or (content[4:8] == b"ftyp" and not _is_m4a(content)):
            return False
        store = content[begin : begin + int.from_bytes(content[begin : begin + 4])]
    has_labels = all(_BEFORE_LABELS + label in store for label in _LABELS)
    return has_labels and _is_filled(store, 0, len(store)) and _is_blank(store)


def _is_m4a(content: mmap.mmap) -> bool:
    """Return whether an M4A begins as this program writes it, with the box of credentials second and boxes after it."""
    begin = len(_M4A_BEGINS)
    after = begin + int.from_bytes(content[begin : begin + 4])
    return (
        content[:begin] == _M4A_BEGINS
        and content[begin + 4 : begin + 4 + len(_M4A_BOX)] == _M4A_BOX
        and content[after + 4 : after + 8] in (b"free", b"mdat", b"moov")
    )


def _is_filled(store: bytes, begin: int, end: int) -> bool:
    """Return whether boxes lie there without gaps, and boxes within boxes."""
    while begin < end:
        size, kind = int.from_bytes(store[begin : begin + 4]), store[begin + 4 : begin + 8]
        if size < 8 or begin + size > end or (kind == b"jumb" and not _is_filled(store, begin + 8, begin + size)):
            return False
        begin += size
    return bool(store)


def _is_blank(store: bytes) -> bool:
    """Return whether the signature has padding with nothing in it, and no content."""
    found = _PADDING.search(store, store.rfind(_LABELS[-1]))
    if found is None:
        return False
    size = int.from_bytes(found["short"] or found["long"])
    return store[found.end() : found.end() + size + 1] == b"\0" * size + _NO_CONTENT
