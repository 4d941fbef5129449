"""Where the last frame of AAC in ADTS (ISO/IEC 13818-7, 6.2) or of MPEG audio ends, before padding."""

import re
from collections.abc import Callable
from typing import BinaryIO

from engine.audio.containers import mpeg_frame_length

_LARGEST = 1 << 13  # bytes of a frame
_SYNC = re.compile(rb"\xff[\xe0-\xff]")
_FRAMES = 2  # that must follow one another


def adts_frame_length(head: bytes) -> int:
    """Return the bytes of the frame with this header of seven bytes; 0 if it is none."""
    if len(head) < 7 or head[0] != 0xFF or head[1] & 0xF6 != 0xF0:
        return 0
    length = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    return length if length >= 7 else 0


FRAME_LENGTHS: dict[str, Callable[[bytes], int]] = {"aac": adts_frame_length, "mp3": mpeg_frame_length}


def last_frame_stop(file: BinaryIO, container: str, start: int, stop: int, length: int) -> int:
    """Return where the frame ends that holds the byte before `stop`, behind which are zeros or tags; `stop` without.

    length: of the file; the last bytes of a frame may be zeros themselves.
    """
    frame_length, low = FRAME_LENGTHS[container], max(start, stop - 4 * _LARGEST)
    file.seek(low)
    content = file.read(min(length, stop + _LARGEST) - low)
    for match in _SYNC.finditer(content, 0, max(0, stop - low)):
        place = match.start()
        for number in range(len(content)):
            frame = frame_length(content[place : place + 7])
            place += frame
            if not frame or place > len(content):
                break
            if low + place >= stop and (number + 1 >= _FRAMES or match.start() + low == start):
                return low + place
    return stop
