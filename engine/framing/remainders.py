"""What lies at the end of a file and is no sound: tags and zeros. Its size costs no time: only probes of it are read.

ID3v1 and ID3v2.4 (id3.org), APE tags 1 and 2, Lyrics3 2.00. Zeros are what disks and programs fill files up with.
"""

import string
from typing import BinaryIO

PROBE = 1 << 12  # bytes looked at in one place; no stream of compressed sound has so many zeros in a row
_PROBES = 16
_MOST_TAGS = 100
_ID3V1, _ENHANCED, _APE, _ID3V2, _LYRICS = 128, 227, 32, 10, 15  # bytes at the end that tell a tag
_STARTS = (b"ID3", b"TAG", b"APETAGEX", b"LYRICSBEGIN")
_TEXT = frozenset(string.printable.encode()) | {0}


def without_tags(file: BinaryIO, start: int, stop: int) -> int:
    """Return where the tags at the end of `start` to `stop` begin; `stop` where there are none."""
    for _ in range(_MOST_TAGS):
        first = max(start, stop - _tag_before(file, start, stop))
        if first == stop:
            break
        stop = first
    return stop


def _tag_before(file: BinaryIO, start: int, stop: int) -> int:
    """Return the bytes of the tag that ends here; 0 if there is none."""
    end = _last(file, start, stop, _ID3V1 + _ENHANCED)
    if end[-_ID3V1:][:3] == b"TAG" and len(end) >= _ID3V1:
        return _ID3V1 + (_ENHANCED if end[:4] == b"TAG+" else 0)
    if end[-_APE:].startswith(b"APETAGEX"):
        size, flags = int.from_bytes(end[-20:-16], "little"), int.from_bytes(end[-12:-8], "little")
        return size + (_APE if flags >> 31 else 0)
    if end[-_ID3V2:].startswith(b"3DI"):
        return 2 * _ID3V2 + sum((byte & 0x7F) << 7 * place for place, byte in enumerate(reversed(end[-4:])))
    if end.endswith(b"LYRICS200") and end[-_LYRICS:-9].isdigit():
        return int(end[-_LYRICS:-9]) + _LYRICS
    return 0


def without_padding(file: BinaryIO, start: int, stop: int) -> int:
    """Return where the zeros that fill the end of compressed sound begin, which has no PROBE zeros in a row itself."""
    if stop - start <= PROBE or not is_zero(file, stop - PROBE, stop):
        return stop
    low, high = start, stop - PROBE  # here are zeros from `high` on
    while high - low > PROBE:
        middle = (low + high) // 2
        low, high = (low, middle) if is_zero(file, middle, middle + PROBE) else (middle, high)
    file.seek(low)
    return low + len(file.read(high - low).rstrip(b"\0"))


def is_filling(file: BinaryIO, start: int, stop: int) -> bool:
    """Return whether what lies here is no sound by its look: a tag, text, or zeros wherever it is looked at."""
    file.seek(start)
    head = file.read(min(PROBE, stop - start))
    if head.startswith(_STARTS) or _TEXT.issuperset(head):
        return head.startswith(_STARTS) or any(head) or _is_zero_in_places(file, start, stop)
    return False


def _is_zero_in_places(file: BinaryIO, start: int, stop: int) -> bool:
    step = max(PROBE, (stop - start) // _PROBES)
    places = [*range(start, stop, step), max(start, stop - PROBE)]
    return all(is_zero(file, place, min(place + PROBE, stop)) for place in places)


def is_zero(file: BinaryIO, start: int, stop: int) -> bool:
    """Return whether these bytes, few of them, are zeros."""
    file.seek(start)
    return not any(file.read(stop - start))


def _last(file: BinaryIO, start: int, stop: int, count: int) -> bytes:
    file.seek(max(start, stop - count))
    return file.read(min(count, stop - start))
