"""The time stamps of a recording: where they leave a gap, so that silence can fill it."""

from pathlib import Path

import av

from engine.audio.containers import Container
from engine.audio.structure import damaged
from engine.errors import AudioError
from engine.files import shown_name
from engine.texts import tr
from engine.units import in_words

LARGEST_GAP_S = 3600.0  # a longer one is taken for a wrong time stamp
_JITTER_S = 0.015  # of time stamps: WebM counts milliseconds, and recorders take theirs from a clock


class Clock:
    """The time stamps of a recording's frames, in samples."""

    def __init__(self, path: Path, container: Container, rate: int) -> None:
        self._path, self._rate = path, rate
        self._is_flac = container.name == "flac"
        self._is_timed = container.timed or self._is_flac
        self._shift = 0.0  # what is added to the stamps

    def start(self, first: av.AudioFrame, position: int, may_be_late: bool) -> None:
        """Take the first frame, which lies at a position; a late one may follow silence, unless it starts a stream."""
        stamp = self._stamp(first)
        if stamp <= 0 or not may_be_late:
            self._shift = position - stamp

    def _stamp(self, frame: av.AudioFrame) -> float:
        return float((frame.pts or 0) * (frame.time_base or 0) * self._rate)

    def silence_before(self, frame: av.AudioFrame, position: int) -> int:
        """Return how many samples are missing between `position`, where the sound so far ends, and a frame.

        Raises AudioError for a gap longer than LARGEST_GAP_S, and for one in a FLAC, where it is damage.
        """
        if frame.pts is None or not self._is_timed:
            return 0
        ahead = self._stamp(frame) + self._shift - position
        if ahead <= _JITTER_S * self._rate:
            return 0
        if self._is_flac:
            raise damaged(self._path)
        if ahead > LARGEST_GAP_S * self._rate:
            at, gap = in_words(position / self._rate), in_words(ahead / self._rate)
            raise AudioError(
                tr(
                    '"{name}" has a gap of {gap} in its time stamps after {at}: export it as WAV or FLAC.',
                    name=shown_name(self._path),
                    gap=gap,
                    at=at,
                )
            )
        packets = round(ahead / frame.samples) * frame.samples  # mostly whole packets are lost, and stamps are rounded
        return packets if abs(packets - ahead) <= float(frame.time_base or 0) * self._rate else round(ahead)
