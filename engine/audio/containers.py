"""Audio files that can be read: the one list, the limits, and how a file is told by its first bytes, not its suffix.

WAV: Microsoft RIFF; RF64: EBU Tech 3306; BW64: ITU-R BS.2088. AIFF: Apple, 1989. Ogg: RFC 3533. WebM and MKA: RFC 8794
(EBML) and RFC 9559 (Matroska). MPEG-TS: ISO/IEC 13818-1. ID3v2: id3.org, 2000. MPEG audio frames: ISO/IEC 11172-3 and
13818-3.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from engine.errors import AudioError
from engine.files import shown_name
from engine.texts import ntr, tr

_OF_BYTES = frozenset(f"pcm_{kind}" for kind in ("u8", "s8", "alaw", "mulaw"))
_PCM = _OF_BYTES | {f"pcm_{kind}{order}" for kind in ("s16", "s24", "s32", "f32", "f64") for order in ("le", "be")}
_MPEG = frozenset({"mp3", "mp2"})
_STORED = _PCM | _MPEG | {"aac", "ac3", "eac3", "alac", "flac", "opus"}


@dataclass(frozen=True)
class Container:
    """A kind of file. `name` is FFmpeg's, `title` is for users; `start` matches the first bytes.

    codecs: the encodings read from it, by FFmpeg's names. timed: its packets have time stamps of their own. media_type:
    how it is served. played: whether all browsers play it.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]  # the usual one first
    media_type: str
    start: re.Pattern[bytes]
    codecs: frozenset[str]
    timed: bool = False
    played: bool = False


def _begins(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


CONTAINERS = (
    Container("wav", "WAV", (".wav", ".wave", ".bwf", ".rf64"), "audio/wav", _begins(rb"(RIFF|RF64|BW64).{4}WAVE"),
              _PCM | _MPEG | {"adpcm_ms", "adpcm_ima_wav", "gsm_ms"}, played=True),
    Container("flac", "FLAC", (".flac",), "audio/flac", _begins(rb"fLaC"), frozenset({"flac"}), played=True),
    Container("mp3", "MP3", (".mp3", ".mp2"), "audio/mpeg", _begins(rb"\xff[\xe2-\xe5\xf2-\xf5\xfa-\xfd]"), _MPEG,
              played=True),
    Container("ogg", "OGG, OPUS", (".ogg", ".oga", ".opus"), "audio/ogg", _begins(rb"OggS"),
              frozenset({"vorbis", "opus", "flac"}), timed=True, played=True),
    Container("mov", "M4A, MP4, MOV", (".m4a", ".mp4", ".mov", ".m4b", ".3gp"), "audio/mp4",
              _begins(rb".{4}(ftyp|moov|mdat|wide|free|skip)"), _STORED | {"adpcm_ima_qt", "amr_nb", "amr_wb"},
              timed=True, played=True),
    Container("aac", "AAC", (".aac",), "audio/aac", _begins(rb"\xff[\xf0\xf1\xf8\xf9]"), frozenset({"aac"})),
    Container("aiff", "AIFF", (".aiff", ".aif", ".aifc"), "audio/aiff", _begins(rb"FORM.{4}AIF[FC]"),
              _PCM | {"adpcm_ima_qt", "gsm"}),
    Container("matroska", "WebM, MKA", (".webm", ".mka", ".mkv"), "audio/webm", _begins(rb"\x1aE\xdf\xa3"),
              (_STORED | {"vorbis"}) - {"pcm_alaw", "pcm_mulaw"}, timed=True),
    Container("mpegts", "MPEG-TS", (".mts", ".m2ts"), "video/mp2t",
              _begins(rb"(\x47.{187}){2}\x47|(.{4}\x47.{187}){2}.{4}\x47"), _MPEG | {"aac", "ac3", "eac3"}, timed=True),
    Container("caf", "CAF", (".caf",), "audio/x-caf", _begins(rb"caff"), _PCM | {"alac", "flac"}),
    Container("w64", "W64", (".w64",), "audio/x-w64", _begins(rb"riff\x2e\x91\xcf\x11"), _PCM),
    Container("au", "AU", (".au", ".snd"), "audio/basic", _begins(rb"\.snd"), _PCM),
)  # fmt: skip
AUDIO_SUFFIXES = (
    *(container.suffixes[0] for container in CONTAINERS),
    *(suffix for container in CONTAINERS for suffix in container.suffixes[1:]),
)
READABLE = " or ".join(", ".join(container.title for container in CONTAINERS).rsplit(", ", 1))
# sound of kinds that are not read, by the first bytes
FOREIGN = {
    tr("an MP3 of free format"): _begins(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb][\x00-\x0b]"),
    tr("a big-endian WAV"): _begins(rb"RIFX.{4}WAVE"),  # FFmpeg takes its samples for little-endian ones
    "AMR": _begins(rb"#!AMR"),
    "DSD": _begins(rb"DSD |FRM8.{8}DSD "),
    "WMA": _begins(rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11"),
    "WavPack": _begins(rb"wvpk"),
    "Monkey's Audio": _begins(rb"MAC "),
    "True Audio": _begins(rb"TTA[12]"),
    "Musepack": _begins(rb"MP\+|MPCK"),
    "RealAudio": _begins(rb"\.RMF|\.ra\xfd"),
    "AC-3": _begins(rb"\x0b\x77"),
    "DTS": _begins(rb"\x7f\xfe\x80\x01"),
    "VOC": _begins(rb"Creative Voice File"),
    "MIDI": _begins(rb"MThd"),
    "AVI": _begins(rb"RIFF.{4}AVI "),
    tr("Flash video"): _begins(rb"FLV\x01"),
    "MPEG video": _begins(rb"\0\0\x01[\xb3\xba]"),
}
LOWEST_RATE, HIGHEST_RATE, MOST_CHANNELS = 8_000, 192_000, 8  # hertz, and channels, of what is read and written
_HEAD = 400  # bytes that tell a container
_JUNK = 1 << 17  # bytes in which the first frames of an MP3 are looked for
_MOST_TAGS = 100
_FRAMES = 3  # that must follow one another, unless the file ends
_KBPS = {
    "layer 2": (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),  # of MPEG 1, as the next
    "layer 3": (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    "low": (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),  # of MPEG 2 and 2.5
}
_RATES = (44_100, 48_000, 32_000)


@dataclass(frozen=True)
class Found:
    """What the first bytes of a file tell: its container, or the name of a kind that is not read, or neither.

    start: the byte where the container begins, after tags and junk.
    """

    container: Container | None = None
    start: int = 0
    foreign: str = ""


def look_at(path: Path) -> Found:
    """Recognise a file by its first bytes. Raises OSError."""
    with path.open("rb") as file:
        start = 0
        for _ in range(_MOST_TAGS):  # some tagging programs write a second ID3v2 tag before the first
            file.seek(start)
            head = file.read(_HEAD)
            if head[:3] != b"ID3" or len(head) < 10:
                break
            start += 10 + sum((byte & 0x7F) << 7 * place for place, byte in enumerate(reversed(head[6:10])))
        for container in CONTAINERS:
            if container is not _MP3 and container.start.match(head):
                return Found(container, start)
        for name, pattern in FOREIGN.items():
            if pattern.match(head):
                return Found(start=start, foreign=name)
        file.seek(start)
        junk = _first_mpeg_frame(file.read(_JUNK))
    return Found() if junk is None else Found(_MP3, start + junk)


def recognise(path: Path) -> tuple[Container, int]:
    """Return the container of a file, and the byte where it begins.

    Raises AudioError for a file that is missing, empty, unreadable or not audio.
    """
    try:
        if path.is_dir():
            raise AudioError(tr('"{name}" is a folder, not an audio file.', name=shown_name(path)))
        if not path.exists():
            raise AudioError(tr('The file "{path}" does not exist.', path=shown_name(path, str(path))))
        if not path.is_file():
            raise AudioError(tr('"{name}" is not a regular file.', name=shown_name(path)))
        if not path.stat().st_size:
            raise AudioError(tr('"{name}" is empty (0 bytes).', name=shown_name(path)))
        found = look_at(path)
    except (OSError, ValueError) as error:
        raise AudioError(
            tr(
                '"{name}" cannot be opened: {error}.',
                name=shown_name(path),
                error=getattr(error, "strerror", None) or error,
            )
        ) from error
    if found.foreign:
        raise AudioError(
            tr(
                '"{name}" is {foreign}, which cannot be read: export it as WAV or FLAC.',
                name=shown_name(path),
                foreign=found.foreign,
            )
        )
    if found.container is None:
        raise AudioError(
            tr(
                '"{name}" is not an audio file in a supported format ({readable}).',
                name=shown_name(path),
                readable=READABLE,
            )
        )
    return found.container, found.start


def refuse_outside_limits(path: Path, rate: int, channels: int) -> None:
    """Raise AudioError if a file's sample rate or number of channels is not supported."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise AudioError(
            tr(
                '"{name}" has a sample rate of {rate} Hz; supported are {lowest_rate} to {highest_rate} Hz.',
                name=shown_name(path),
                rate=rate,
                lowest_rate=LOWEST_RATE,
                highest_rate=HIGHEST_RATE,
            )
        )
    if not 1 <= channels <= MOST_CHANNELS:
        raise AudioError(
            ntr(
                '"{name}" has {channels} channel; supported are 1 to {most_channels}.',
                '"{name}" has {channels} channels; supported are 1 to {most_channels}.',
                channels=channels,
                name=shown_name(path),
                most_channels=MOST_CHANNELS,
            )
        )


_MP3 = next(container for container in CONTAINERS if container.name == "mp3")


def _first_mpeg_frame(content: bytes) -> int | None:
    """Return where MPEG frames begin that follow one another, perhaps behind zeros or a broken tag; None if nowhere."""
    for match in _MP3.start.finditer(content):
        place = match.start()
        for _ in range(_FRAMES):
            length = mpeg_frame_length(content[place : place + 4])
            place += length
            if not length or place >= len(content):
                break
        if length and (place < len(content) or not match.start()):  # among junk, the end is no evidence
            return match.start()
    return None


def mpeg_frame_length(head: bytes) -> int:
    """Return the bytes of the MPEG frame (layer II or III) with this header; 0 if it is none, or one of free format."""
    if len(head) < 4 or not _MP3.start.match(head):
        return 0
    is_layer_2, is_mpeg1, halvings = bool(head[1] & 4), bool(head[1] & 8), (2, 0, 1, 0)[head[1] >> 3 & 3]
    kbps, rate, is_padded = head[2] >> 4, head[2] >> 2 & 3, head[2] >> 1 & 1
    if kbps in (0, 15) or rate == 3:
        return 0
    per_frame = 144 if is_layer_2 or is_mpeg1 else 72
    bits_per_s = 1000 * _KBPS["low" if not is_mpeg1 else "layer 2" if is_layer_2 else "layer 3"][kbps - 1]
    return per_frame * bits_per_s // (_RATES[rate] >> halvings) + is_padded
