"""What was rendered, in files and in memory, in the form in which it is wanted."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.audio.channels import Samples
from engine.audio.files import Audio, AudioWriter, open_audio
from engine.audio.headroom import Lowered
from engine.audio.resampling import resample, resampled_length
from engine.audio.result_format import ResultFormat
from engine.audio.session_metadata import place_of
from engine.audio.streams import at_rate
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.units import SAMPLE_RATE


def write_result(
    rendered: Path,
    target: Path,
    form: ResultFormat,
    recording: Path,
    statement: Statement | None = None,
    installation: Installation | None = None,
    lowered_db: float = 0.0,
) -> str | None:
    """Write a rendered file in this form; return why it carries no content credentials, if it should.

    recording: what it was rendered from: a result as long as that, at its rate, has exactly as many samples; it lies
    where that does in a session. statement, installation: as of AudioWriter. lowered_db: by how much it is softer than
    the recording, which floats give back. Raises AudioError if a file cannot be read or written; an existing target
    then stays.

    >>> write_result(Path("vocal.flac"), Path("vocal.wav"), ResultFormat("48000", "16"), Path("vocal.flac"))
    >>> with open_audio("vocal.wav") as written:
    ...     written.rate, written.duration_s
    (48000, 3.0)
    """
    with open_audio(recording) as original:
        rate = form.rate_for(original.rate, target.suffix)
        is_back = rate == original.rate != SAMPLE_RATE
        count = sum(block.shape[1] for block in original.blocks()) if is_back else 0
    place = place_of(rendered if rendered.suffix.lower() == ".wav" else recording)  # others hold none
    with (
        open_audio(rendered) as opened,
        AudioWriter(target, rate, opened.channels, statement, installation, place, bits=form.depth) as writer,
    ):
        is_whole = is_back and opened.sample_count == resampled_length(count, rate, opened.rate)
        blocks = at_rate(Lowered(opened, -lowered_db) if form.keeps_levels_in(target.suffix) else opened, rate)
        for block in _of_length(blocks, count, opened.channels) if is_whole else blocks:
            writer.write(block)
    return writer.unsigned


def _of_length(blocks: Iterable[Samples], count: int, channels: int) -> Iterator[Samples]:
    """Yield blocks (channels, n) of `count` samples in all: there and back, rates round to one more or one less."""
    for block in blocks:
        yield block[:, :count]
        count -= min(count, block.shape[1])
    yield np.zeros((channels, count), np.float32)


def rate_of_results(rate: int | str, recording: Audio) -> int:
    """Return the rate in hertz that results in memory have, as files do. Raises SettingsError for another word.

    >>> rate_of_results("source", Audio(np.zeros(9), 96_000)), rate_of_results(48000, Audio(np.zeros(9), 44_100))
    (96000, 48000)
    """
    return ResultFormat(rate=str(rate)).rate_for(recording.rate, "")


def at_result_rate(rendered: Audio, rate: int, recording: Audio) -> Audio:
    """Return what was rendered from a recording at another rate: at that of the recording, with as many samples as it.

    >>> recording = Audio(np.zeros(48_001), 48_000)
    >>> at_result_rate(Audio(np.zeros(44_101), 44_100), 48_000, recording).sample_count
    48001
    """
    if rate == rendered.rate:
        return rendered
    samples = resample(rendered.samples, rendered.rate, rate)
    count = recording.sample_count
    if rate == recording.rate and rendered.sample_count == resampled_length(count, rate, SAMPLE_RATE):
        samples = np.pad(samples[:, :count], ((0, 0), (0, max(0, count - samples.shape[1]))))  # rates round
    return replace(rendered, samples=samples, rate=rate, place=rendered.place and rendered.place.at(rate))
