"""What iXML (ixml.info, 3.01) says of a recording and is still true of one made of it: tracks, scene, take, time code.

Sizes and times in it belong to the file that it lay in, so they are written anew.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

_FIELDS = ("PROJECT", "SCENE", "TAPE", "TAKE", "CIRCLED", "NOTE")
_SPEED = ("NOTE", "MASTER_SPEED", "CURRENT_SPEED", "TIMECODE_RATE", "TIMECODE_FLAG")
_TRACK = ("CHANNEL_INDEX", "INTERLEAVE_INDEX", "NAME", "FUNCTION")
_MOST_TRACKS = 64
_Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SessionSheet:
    """fields, speed: names and texts. tracks: those of each. stamp: a time reference in samples, and their rate."""

    fields: _Fields
    speed: _Fields
    tracks: tuple[_Fields, ...]
    stamp: tuple[int, int] | None = None

    def written(self, rate: int, time_reference: int | None) -> bytes:
        """Return the XML for a file at this rate that begins at this sample of the session."""
        root = Element("BWFXML")
        for name, text in (("IXML_VERSION", "3.01"), *self.fields):
            SubElement(root, name).text = text
        speed = SubElement(root, "SPEED")
        for name, text in (*self.speed, *_stamp_fields(rate, time_reference)):
            SubElement(speed, name).text = text
        if self.tracks:
            listed = SubElement(root, "TRACK_LIST")
            SubElement(listed, "TRACK_COUNT").text = str(len(self.tracks))
            for fields in self.tracks:
                track = SubElement(listed, "TRACK")
                for name, text in fields:
                    SubElement(track, name).text = text
        made: bytes = ElementTree.tostring(root, "UTF-8", xml_declaration=True)
        return made


def _stamp_fields(rate: int, time_reference: int | None) -> Iterator[tuple[str, str]]:
    yield "FILE_SAMPLE_RATE", str(rate)
    if time_reference is not None:
        yield "TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_HI", str(time_reference >> 32)
        yield "TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_LO", str(time_reference & 0xFFFF_FFFF)
        yield "TIMESTAMP_SAMPLE_RATE", str(rate)


def read_sheet(content: bytes) -> SessionSheet | None:
    """Return what an iXML chunk says; None for one that cannot be read, or has entities, which it needs none of."""
    content = content.rstrip(b"\0 \r\n\t")
    if b"<!" in content.replace(b"<!--", b""):
        return None
    try:
        root = ElementTree.fromstring(content)  # noqa: S314 - it has no entities
    except (ElementTree.ParseError, ValueError, LookupError):
        return None
    speed = root.find("SPEED")
    tracks = [_texts(track, _TRACK) for track in root.findall("TRACK_LIST/TRACK")[:_MOST_TRACKS]]
    return SessionSheet(
        _texts(root, _FIELDS),
        () if speed is None else _texts(speed, _SPEED),
        tuple(filter(None, tracks)),
        None if speed is None else _stamp(speed),
    )


def _texts(element: Element, names: tuple[str, ...]) -> _Fields:
    return tuple((name, text) for name in names if (text := (element.findtext(name) or "").strip()))


def _stamp(speed: Element) -> tuple[int, int] | None:
    with suppress(ValueError):
        high, low, rate = (
            int(speed.findtext(name, ""))
            for name in (
                "TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_HI",
                "TIMESTAMP_SAMPLES_SINCE_MIDNIGHT_LO",
                "TIMESTAMP_SAMPLE_RATE",
            )
        )
        if 0 <= high < 2**31 and 0 <= low < 2**32 and rate > 0:
            return high << 32 | low, rate
    return None
