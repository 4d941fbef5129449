"""Decode audio files with FFmpeg (PyAV): exactly their samples, each at its time.

FFmpeg receives the container by name, and the content through a file of ours: so a playlist, or a name such as
"concat:...", can never make it open anything else. Where packets have time stamps, gaps between them become silence, so
that a recording stays in time with its backing.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.stream import Discard

from engine.audio.channels import Samples
from engine.audio.containers import Container, recognise
from engine.audio.priming import priming_of, timing_note
from engine.audio.spliced_file import Part, SplicedFile
from engine.audio.structure import changes, damaged, structure_of, truncated
from engine.audio.time_stamps import Clock
from engine.audio.tracks import SEVERAL, SILENT_PEAK, Choice, Track, choose, tracks_in
from engine.errors import AudioError
from engine.files import shown_name, track_of
from engine.texts import tr

_SILENCE = 65_536  # samples per channel of a gap that are given at a time
_LATEST_START_S = 300.0  # an Ogg whose stamps begin later was cut out of a stream (RFC 7845, 4.5)
_BUFFER = 1 << 18  # bytes read at a time
_LEAST_PROBED = 2048  # bytes; FFmpeg takes no fewer
_PROBED = 1 << 16  # bytes of a WAV that may hold another codec than it says: DTS and AC-3 have several frames in them
_TYPES: dict[str, npt.DTypeLike] = {"u8": np.uint8, "s16": np.int16, "s32": np.int32}
_TYPES |= {"flt": np.float32, "dbl": np.float64}
# samples that a whole file may fall short of its header: two long frames of AAC, the delay of an MP3, a block of ADPCM
# or of Vorbis, the padding of a W64, a packet of ALAC in a CAF
_SLACK = {"mov": 4096, "mp3": 1152, "wav": 8192, "ogg": 8192, "w64": 7, "caf": 4096}
_STATE_LENGTHS = {"flac", "aiff", "au", *_SLACK}  # containers whose headers have the number of samples
_STATE_ENDS = {"wav", "mov", "ogg"}  # those whose last block may have padding after that


class Decoder:
    """An open audio file: `rate` in Hz, `channels`, and `sample_count` by its header, None if that does not say.

    tracks: its sound tracks where it may have several, and track the number of the one that is read; notes: what its
    owner should know of how it is read; timing_note: also where its time matters.
    """

    def __init__(self, path: Path) -> None:
        """Open a file. Raises AudioError for anything but complete, readable audio."""
        self._path = path
        self._container, start = recognise(path)
        try:
            structure = structure_of(path, self._container, start)
            self._file = path.open("rb")
        except OSError as error:
            raise AudioError(
                tr('"{name}" cannot be read: {strerror}.', name=shown_name(path), strerror=error.strerror)
            ) from error
        try:
            parts = structure.recordings
            opener = _Opener(path, self._container, self._file)
            self.tracks = opener.tracks(parts[0])
            choice = opener.choice(parts[0], self.tracks)
            self.track = choice.number
            self._links = [_Link(opener, link, link is parts[0], choice.number) for link in parts]
            self.rate, self.channels = self._links[0].rate, self._links[0].channels
            if any((link.rate, link.channels) != (self.rate, self.channels) for link in self._links):
                raise changes(path)
        except BaseException:
            self.close()
            raise
        counts = [link.sample_count for link in self._links]
        self.sample_count = None if None in counts else sum(count or 0 for count in counts)
        longer = (
            tr('"{name}" holds more sound than its header says. All of it is read.', name=shown_name(path))
            if structure.is_longer
            else None
        )
        self.notes = tuple(filter(None, (longer, choice.note)))
        self.timing_note = None if self._links[0].has_known_start else timing_note(path)

    def chunks(self) -> Iterator[Samples]:
        """Yield float32 (channels, n) from the beginning. Raises AudioError where the file proves to be damaged."""
        for link in self._links:
            yield from link.chunks()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Opener:
    """Opens the parts of a file with FFmpeg."""

    def __init__(self, path: Path, container: Container, file: BinaryIO) -> None:
        self.path, self.container, self.file = path, container, file

    def open(self, parts: list[Part], is_pcm: bool = False) -> InputContainer:
        """Open parts of the file. is_pcm: it is known to be, and need not be searched for other codecs again, as
        FFmpeg does in a WAV: by default in 5 MB, for longer than it takes to read them. Raises AudioError."""
        content = SplicedFile(self.file, parts)
        probed = {"probesize": str(_LEAST_PROBED if is_pcm else _PROBED)} if self.container.name == "wav" else {}
        try:
            return av.open(
                content,
                mode="r",
                format=self.container.name,
                buffer_size=_BUFFER,
                metadata_errors="replace",
                options=probed,
            )
        except (av.FFmpegError, OSError, ValueError) as error:
            raise AudioError(
                tr('"{name}" is damaged or incomplete, or is not audio.', name=shown_name(self.path))
            ) from error

    def tracks(self, parts: list[Part]) -> tuple[Track, ...]:
        """Return the sound tracks, where there may be several."""
        if self.container.name not in SEVERAL:
            return ()
        with self.open(parts) as opened:
            return tracks_in(opened, self.container)

    def choice(self, parts: list[Part], tracks: tuple[Track, ...]) -> Choice:
        """Return which track is read. Raises AudioError for one that is not there."""
        return choose(self.path, tracks, track_of(self.path), lambda number: self._is_silent(parts, number))

    def _is_silent(self, parts: list[Part], number: int) -> bool:
        """Return whether a track is silent; reading ends where it sounds. One that is damaged is not silent."""
        with suppress(AudioError):
            return all(
                np.abs(piece).max(initial=0.0) < SILENT_PEAK for piece in _Link(self, parts, True, number).chunks()
            )
        return False

    def stream(self, opened: InputContainer, number: int) -> av.AudioStream:
        """Return the track of this number. Raises AudioError without one, and for an encoding that is not read."""
        for other in opened.streams:
            other.discard = Discard.all
        stream = next(iter(opened.streams.audio[number - 1 :]), None)
        codec = stream.codec_context.codec if stream and stream.codec_context else None
        if stream is None or (codec is None and self.container.name == "mov"):  # whose index may be cut off
            raise AudioError(tr('"{name}" holds no audio, or is incomplete.', name=shown_name(self.path)))
        if codec is None or codec.canonical_name not in self.container.codecs:
            encoding = codec.long_name if codec else tr("an unknown encoding")
            raise AudioError(
                tr(
                    '"{name}" holds {encoding}, which cannot be read: export it as WAV (PCM) or FLAC.',
                    name=shown_name(self.path),
                    encoding=encoding,
                )
            )
        channels = stream.codec_context.channels  # looked at once: each look frees a layout that is an unusual one
        if not channels:
            raise damaged(self.path)
        stream.discard = Discard.default
        # PyAV 18 would free such a layout with each frame too, so the decoder starts without one
        stream.codec_context.layout = f"{channels}C"
        # FFmpeg takes too much from the end of Vorbis in an Ogg and of ALAC in a CAF
        if self.container.name == "caf" or (self.container.name, codec.canonical_name) == ("ogg", "vorbis"):
            stream.codec_context.options = {"flags2": "skip_manual"}
        if codec.canonical_name == "flac":
            stream.codec_context.options = {"err_detect": "crccheck+explode"}
        return stream


class _Link:
    """A recording in a file: all that a track holds but in a chained Ogg, each link of which is one."""

    def __init__(self, opener: _Opener, parts: list[Part], is_first: bool, track: int) -> None:
        self._opener, self._path, self._container = opener, opener.path, opener.container
        self._file, self._parts, self._track = opener.file, parts, track
        with opener.open(parts) as opened:
            stream = opener.stream(opened, track)
            self.rate, self.channels = int(stream.rate or 0), int(stream.channels or 0)
            self._codec, self._delay = stream.codec_context.codec.canonical_name, int(stream.codec_context.delay)
            self._is_pcm = self._codec.startswith("pcm_")
            start_s = float((stream.start_time or 0) * (stream.time_base or 0))
            # a transport stream was cut out of one that runs
            is_cut_out = self._container.name == "mpegts" or (
                self._container.name == "ogg" and start_s > _LATEST_START_S
            )
            self._may_be_late = is_first and self._container.timed and not is_cut_out
            stated = self._stated_length(stream)
            self._primed = priming_of(self._container.name, self._codec, _first_packet(opened, stream), opened.metadata)
            self._may_be_late &= not self._primed.is_taken
            self.has_known_start = self._primed.is_known
            self.sample_count = stated and min(self._primed.count or stated, stated - self._primed.samples)

    def _stated_length(self, stream: av.AudioStream) -> int | None:
        name = self._container.name
        if name not in _STATE_LENGTHS or stream.duration is None or stream.time_base is None:
            return None
        if name == "aiff" and not self._is_pcm:
            return None  # counts packets
        begin = (stream.start_time or 0) * stream.time_base
        end = stream.duration * stream.time_base
        if name == "mov":
            end += begin
        if name == "ogg":  # granules, which may begin anywhere
            end -= Fraction(self._delay, self.rate) + (0 if self._may_be_late else begin)
        count = round(end * self.rate)
        return count if 0 <= count < 2**48 else None

    # ---- samples ----

    def chunks(self) -> Iterator[Samples]:
        """Yield float32 (channels, n), frame by frame."""
        count = 0
        for piece in self._without_padding(self._placed()):
            count += piece.shape[1]
            yield piece
        self._refuse_short(count)

    def _refuse_short(self, count: int) -> None:
        stated = self._mp3_length() if self._container.name == "mp3" else self.sample_count
        if stated is not None and count + _SLACK.get(self._container.name, 0) < stated:
            raise truncated(self._path)

    def _mp3_length(self) -> int | None:
        """Return the length that an MP3 states: without a Xing, Info or VBRI header, which counts the frames, FFmpeg's
        is an estimate, and one that is too large where tags follow."""
        self._file.seek(int(self._parts[0][0]))
        start = self._file.read(256)
        for name, place in ((b"Xing", 8), (b"Info", 8), (b"VBRI", 14)):
            head = start[start.find(name) :] if name in start else b""
            if len(head) >= place + 4 and (name == b"VBRI" or head[7] & 1):
                counted = int.from_bytes(head[place : place + 4]) * (1152 if self.rate >= 32_000 else 576)
                return min(counted, self.sample_count or counted)
        return None

    def _without_padding(self, pieces: Iterator[Samples]) -> Iterator[Samples]:
        """Leave out what the last block has after the end that the header states.

        A header that is wrong by more than two blocks says nothing, and one in milliseconds nothing within one.
        """
        end = self.sample_count if self._container.name in _STATE_ENDS else None
        count = longest = 0
        beyond: list[Samples] = []
        for piece in pieces:
            count, longest = count + piece.shape[1], max(longest, piece.shape[1])
            if end is None or count <= end:
                yield piece
                continue
            inside = max(0, piece.shape[1] - (count - end))
            yield piece[:, :inside]
            beyond.append(piece[:, inside:])
            if count - end > 2 * longest:
                yield from beyond
                end, beyond = None, []
        if end and beyond and count - end <= self.rate // 1000 and self._counts_milliseconds(end):
            yield from beyond

    def _counts_milliseconds(self, end: int) -> bool:
        return self._container.name == "mov" and round(round(1000 * end / self.rate) * self.rate / 1000) == end

    def _placed(self) -> Iterator[Samples]:
        """Yield the samples of each frame, and silence where the time stamps leave a gap before it."""
        clock, position = None, 0
        for frame, is_last in _with_last(self._frames()):
            if clock is None:
                position = -self._priming(frame)
                clock = Clock(self._path, self._container, self.rate)
                clock.start(frame, position, self._may_be_late)
            if frame.sample_rate != self.rate or frame.layout.nb_channels != self.channels:
                raise changes(self._path)
            silent = clock.silence_before(frame, position)
            for start in range(0, silent, _SILENCE):
                yield np.zeros((self.channels, min(_SILENCE, silent - start)), np.float32)
            samples = _floats(frame, self.channels)
            if is_last and self._container.name == "mov" and frame.duration and frame.time_base:
                samples = samples[:, : round(frame.duration * frame.time_base * self.rate)]
            yield samples[:, max(0, -position) :]
            position += silent + samples.shape[1]

    def _priming(self, first: av.AudioFrame) -> int:
        """Return how many samples come before the sound that FFmpeg does not leave out itself, as in an Ogg Vorbis."""
        return first.samples if self._container.name == "ogg" and self._codec == "vorbis" else self._primed.samples

    def _frames(self) -> Iterator[av.AudioFrame]:
        """Yield decoded frames. Junk after the last (old tags) is no damage to an MP3."""
        damage: Exception | None = None
        try:
            with self._opener.open(self._parts, self._is_pcm) as opened:
                for packet in opened.demux(self._opener.stream(opened, self._track)):
                    try:
                        frames = packet.decode()
                    except av.InvalidDataError as error:
                        if self._container.name != "mp3":
                            raise
                        damage = error
                        continue
                    if frames and damage:
                        raise damage
                    yield from frames
        except (av.FFmpegError, OSError, ValueError) as error:
            raise damaged(self._path) from error


def _first_packet(opened: InputContainer, stream: av.AudioStream) -> "av.Packet[av.AudioStream] | None":
    """Return the first packet of a track; None where there is none, which is for the decoder to judge."""
    with suppress(av.FFmpegError, OSError, ValueError):
        return next(opened.demux(stream), None)
    return None


def _with_last(frames: Iterator[av.AudioFrame]) -> Iterator[tuple[av.AudioFrame, bool]]:
    """Yield each frame, and whether it is the last."""
    for frame, following in pairwise(chain(frames, [None])):
        if frame is not None:
            yield frame, following is None


def _floats(frame: av.AudioFrame, channels: int) -> Samples:
    """Convert a frame to float32 (channels, n). PyAV's own way reads past the planes of eight separate channels."""
    kind, is_planar = frame.format.name, frame.format.is_planar
    planes, count = (channels, frame.samples) if is_planar else (1, frame.samples * channels)
    buffers = cast(Sequence[Any], frame.planes)
    raw = np.stack([np.frombuffer(plane, _TYPES[kind.rstrip("p")], count) for plane in buffers[:planes]])
    values = raw if is_planar else raw.reshape(-1, channels).T
    if values.dtype == np.uint8:
        return (values.astype(np.float32) - 128.0) / 128.0
    if values.dtype.kind == "i":
        scale = np.float32(2.0 ** (1 - 8 * values.dtype.itemsize))
        return np.multiply(values, scale, dtype=np.float32, casting="unsafe")
    with np.errstate(over="ignore"):  # doubles beyond the range become infinite, which is refused
        return values.astype(np.float32)
