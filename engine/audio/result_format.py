"""The sample rate and the bits of the files that results become.

The engine renders at SAMPLE_RATE. A session at 48 kHz gets 48 kHz back, exactly as many samples as it sent; a recording
of less than 44.1 kHz gets 44.1 kHz, since the rendered voice has more than it can hold.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engine.audio.channels import Samples
from engine.audio.encoders import DEPTHS, M4A, M4A_RATES, MP3_RATES
from engine.audio.files import READ_BLOCK, AudioWriter, open_audio
from engine.audio.streams import at_rate
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.settings import check_settings, text_setting
from engine.units import SAMPLE_RATE

SOURCE: Final = "source"
_RATES = {".mp3": MP3_RATES, M4A: M4A_RATES}  # of formats that do not hold all


@dataclass(frozen=True)
class ResultFormat:
    """The form of results. Raises SettingsError for another word.

    >>> ResultFormat().rate_for(48_000, ".wav"), ResultFormat().rate_for(16_000, ".wav"), ResultFormat("44100").depth
    (48000, 44100, 24)
    """

    rate: str = text_setting(
        SOURCE,
        "Hertz of the results; source is the rate of the recording, but at least 44100.",
        (SOURCE, str(SAMPLE_RATE), "48000"),
    )
    bits: str = text_setting(
        str(DEPTHS[0]), "Bits of a sample in .wav, .flac and .aiff; 16 are dithered.", tuple(map(str, DEPTHS))
    )

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def depth(self) -> int:
        """Bits of a sample."""
        return int(self.bits)

    def rate_for(self, recording_rate: int, suffix: str) -> int:
        """Return the rate in hertz of a result in this format: `source` is the highest that the format holds, up to the
        recording's."""
        if self.rate != SOURCE:
            return int(self.rate)
        wanted = max(recording_rate, SAMPLE_RATE)
        return max((rate for rate in _RATES.get(suffix.lower(), ()) if rate <= wanted), default=wanted)


PUBLISHED: Final = ResultFormat(str(SAMPLE_RATE))  # what the service gives unless it is asked for another form


def write_result(
    rendered: Path,
    target: Path,
    form: ResultFormat,
    recording: Path,
    statement: Statement | None = None,
    installation: Installation | None = None,
) -> str | None:
    """Write a rendered file in this form; return why it carries no content credentials, if it should.

    recording: what it was rendered from; a result at its rate has exactly as many samples. statement, installation: as
    of AudioWriter. Raises AudioError if a file cannot be read or written; an existing target is then untouched.

    >>> write_result(Path("vocal.flac"), Path("vocal.wav"), ResultFormat("48000", "16"), Path("vocal.flac"))
    >>> with open_audio("vocal.wav") as written:
    ...     written.rate, written.duration_s
    (48000, 3.0)
    """
    with open_audio(recording) as original:
        rate = form.rate_for(original.rate, target.suffix)
        is_back = rate == original.rate != SAMPLE_RATE
        count = sum(block.shape[1] for block in original.blocks(READ_BLOCK)) if is_back else None
    with (
        open_audio(rendered) as opened,
        AudioWriter(target, rate, opened.channels, statement, installation, bits=form.depth) as writer,
    ):
        blocks = at_rate(opened, rate)
        for block in blocks if count is None else _of_length(blocks, count, opened.channels):
            writer.write(block)
    return writer.unsigned


def _of_length(blocks: Iterable[Samples], count: int, channels: int) -> Iterator[Samples]:
    """Yield blocks (channels, n) of `count` samples in all: there and back, rates round to one more or one less."""
    for block in blocks:
        yield block[:, :count]
        count -= min(count, block.shape[1])
    yield np.zeros((channels, count), np.float32)
