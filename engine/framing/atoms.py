"""Atoms of MP4, M4A and MOV (ISO/IEC 14496-12): how many there are, and where those end that decoding needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_MOST_ATOMS = 400_000  # of a file: 16 hours of fragments of a second
_HOLDERS = b"moov trak mdia minf stbl edts dinf udta meta ilst mvex moof traf ----".split()
_NEEDED = {b"ftyp", b"moov", b"moof", b"mdat", b"styp", b"sidx", b"mfra", b"wide"}


@dataclass(frozen=True)
class Atom:
    """path: its name after those of the atoms that hold it; stop: where it ends."""

    path: tuple[bytes, ...]
    stop: int


class TooManyAtoms(Exception):
    """There are more than are looked at."""


def atoms_of(file: BinaryIO, start: int, length: int, most: int = _MOST_ATOMS) -> Iterator[Atom]:
    """Yield the atoms of a file, each before those in it. Raises TooManyAtoms for more than `most`."""
    waiting: list[tuple[int, int, tuple[bytes, ...]]] = [(start, length, ())]
    count = 0
    while waiting:
        place, stop, path = waiting.pop()
        if stop - place < 8:
            continue
        count += 1
        if count > most:
            raise TooManyAtoms
        file.seek(place)
        head = file.read(16)
        size, name, header = int.from_bytes(head[:4]), head[4:8], 8
        if size == 1:
            size, header = int.from_bytes(head[8:16]), 16
        end = stop if size == 0 and not path and any(name) else place + size
        if end - place < header:
            continue
        waiting.append((end, stop, path))
        inner = (*path, name)
        body, inside = place + header, min(end, stop)
        yield Atom(inner, end if not path else inside)
        if name in _HOLDERS and (not path or path[0] in _HOLDERS):
            # of `meta`, QuickTime's has no version
            skipped = 4 if name == b"meta" and head[12:16] not in (b"hdlr", b"mhdr", b"keys") else 0
            waiting.append((body + skipped, inside, inner))


def end_of_atoms(file: BinaryIO, start: int, length: int) -> int:
    """Return where the last atom ends that decoding needs; the end of the file where that is not clear.

    Raises TooManyAtoms.
    """
    stop = start
    for atom in atoms_of(file, start, length):
        if len(atom.path) == 1 and atom.path[0] in _NEEDED:
            stop = atom.stop
    return stop if start < stop <= length else length
