"""The sample rate and the bits of the files that results become.

The engine renders at SAMPLE_RATE. A session at 48 kHz gets 48 kHz back, exactly as many samples as it sent; a recording
of less than 44.1 kHz gets 44.1 kHz, since the rendered voice has more than it can hold.
"""

from dataclasses import dataclass
from typing import Final

from engine.settings import check_settings, text_setting
from engine.texts import tr
from engine.units import SAMPLE_RATE

SOURCE: Final = "source"
FLOAT = 32  # bits: a float, which may be above full scale
DEPTHS = (24, 16, FLOAT)  # bits of a sample, where the format has a choice
MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
M4A_RATES = (*MP3_RATES, 88_200, 96_000)
_OF_FLOATS = (".wav", ".aiff")
_RATES = {".mp3": MP3_RATES, ".m4a": M4A_RATES}  # of formats that do not hold all


@dataclass(frozen=True)
class ResultFormat:
    """The form of results. Raises SettingsError for another word.

    >>> ResultFormat().rate_for(48_000, ".wav"), ResultFormat().rate_for(16_000, ".wav"), ResultFormat("44100").depth
    (48000, 44100, 24)
    """

    rate: str = text_setting(
        SOURCE,
        tr("Sample rate of the results in hertz; source is that of the recording, but at least 44100."),
        (tr("source"), str(SAMPLE_RATE), "48000"),
    )
    bits: str = text_setting(
        str(DEPTHS[0]),
        tr(
            "Bits per sample in .wav, .flac and .aiff; 16 is dithered; 32 is floating point, which keeps levels "
            "above full scale (.flac then has 24)."
        ),
        tuple(map(str, DEPTHS)),
    )

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def depth(self) -> int:
        """Bits of a sample."""
        return int(self.bits)

    def keeps_levels_in(self, suffix: str) -> bool:
        """Return whether results in this format may be above full scale."""
        return self.depth == FLOAT and suffix.lower() in _OF_FLOATS

    def rate_for(self, recording_rate: int, suffix: str) -> int:
        """Return the rate in hertz of a result in this format: `source` is the highest that the format holds, up to the
        recording's."""
        if self.rate != SOURCE:
            return int(self.rate)
        wanted = max(recording_rate, SAMPLE_RATE)
        return max((rate for rate in _RATES.get(suffix.lower(), ()) if rate <= wanted), default=wanted)


PUBLISHED: Final = ResultFormat(str(SAMPLE_RATE))  # what the service gives unless it is asked for another form
