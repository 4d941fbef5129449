"""Separate the vocal of a song from its backing.

A separator is one small interface: stereo samples at SAMPLE_RATE in, the vocal out. The backing is the song less the
vocal, so that both together are the song, to the bit. Here it is a network in ONNX Runtime, HTDemucs (Rouard, Massa and
Défossez, 2023) fine-tuned for vocals, run over overlapping windows of fixed length: a window
at a time is in memory, however long the song is.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime
import soundfile as sf

from engine.audio.cross_fades import cross_fade, rise
from engine.audio.files import open_audio
from engine.audio.session_metadata import SessionPlace, append_place, place_of
from engine.audio.streams import Reader, at_engine_rate
from engine.errors import AudioError, SeparationError
from engine.files import as_path, replacing, shown_name, writing_errors
from engine.forks import refuse_forked
from engine.progress import Report, no_report
from engine.texts import tr
from engine.units import SAMPLE_RATE

_NO_VOCAL_DB = -40.0  # a vocal so far below the song is what leaks of other instruments
_OVERLAP = 4  # windows overlap by a quarter, as the network's authors do
_WINDOW = round(7.8 * SAMPLE_RATE)  # samples, as it was trained
_STEMS = ("drums", "bass", "other", "vocals")
_PROVIDERS = ("CUDAExecutionProvider", "CoreMLExecutionProvider", "DmlExecutionProvider", "CPUExecutionProvider")
STEREO = 2  # channels of what is separated


class Separator(Protocol):
    """Finds the vocal in a song."""

    name: str

    def vocal_of(self, blocks: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the vocal, float32 (2, n), of consecutive blocks (2, n) of a song at SAMPLE_RATE: in total as many
        samples."""
        ...


class OnnxSeparator(Separator):
    """A network with the input `mix` (1, 2, samples) and the output `stems` (1, stems, 2, samples).

    - path: as `checked_separator` returns it

    Raises SeparationError if the file holds no such network, EngineError in a process forked after the engine was used.
    """

    name = "htdemucs_ft vocals"

    def __init__(self, path: Path | str) -> None:
        refuse_forked()
        path = Path(path)
        self.window, self._row = _WINDOW, _STEMS.index("vocals")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # or idle threads keep cores busy
        providers = [one for one in _PROVIDERS if one in onnxruntime.get_available_providers()]
        try:
            self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=providers)
        except Exception as cause:  # ONNX Runtime's errors share no base but this
            raise SeparationError(tr('"{name}" holds no network that ONNX Runtime can run.', name=path.name)) from cause
        found = {one.name: one.shape for one in (*self._session.get_inputs(), *self._session.get_outputs())}
        wanted = {"mix": [1, STEREO, self.window], "stems": [1, len(_STEMS), STEREO, self.window]}
        if found != wanted:
            raise SeparationError(
                tr('"{name}" is not the network for vocals: its inputs and outputs have other shapes.', name=path.name)
            )

    def vocal_of(self, blocks: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the vocal, float32 (2, n), a window at a time: windows fade into each other over a quarter of them."""
        fade_count = self.window // _OVERLAP
        step = self.window - fade_count
        fade = rise(fade_count)
        reader = Reader(blocks, STEREO)
        held, tail = reader.read(self.window), None
        while held.shape[1]:
            following = reader.read(step)
            vocal = self._run(held)
            if tail is not None:
                shared = min(fade_count, vocal.shape[1])
                vocal[:, :shared] = cross_fade(tail, vocal[:, :shared], fade)
            if not following.shape[1]:
                yield vocal
                return
            yield vocal[:, :step]
            tail = vocal[:, step:]
            held = np.concatenate([held[:, step:], following], axis=1)

    def _run(self, samples: np.ndarray) -> np.ndarray:
        """Run the network on a window (2, n), padded with silence to its length; returns (2, n)."""
        refuse_forked()
        count = samples.shape[1]
        padded = np.pad(samples, ((0, 0), (0, self.window - count)))[None]
        stems = self._session.run(["stems"], {"mix": np.ascontiguousarray(padded, np.float32)})[0]
        return np.array(stems[0, self._row, :, :count])


def separate_file(
    song: Path | str, vocal: Path | str, backing: Path | str, separator: Separator, report: Report = no_report
) -> None:
    """Write the vocal of a song and its backing.

    Parameters
    ----------
    song : Path or str
        A finished track; it is separated in stereo.
    vocal, backing : Path or str
        Stereo WAV of 32-bit floats at SAMPLE_RATE; both appear together at the end.
    separator : Separator
        Such as OnnxSeparator.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled between windows.

    Raises
    ------
    AudioError
        If the song cannot be read or contains no vocal, or a file cannot be written.
    """
    song, vocal, backing = as_path(song), Path(vocal), Path(backing)
    power = {"song": 0.0, "vocal": 0.0}
    with open_audio(song) as opened, open_audio(song) as again:
        duration_s = opened.duration_s or 0.0
        reader = Reader(in_stereo(again), STEREO)
        located = place_of(song)
        with float_file(vocal, STEREO, located) as sung, float_file(backing, STEREO, located) as played:
            report(0.0, tr("separating"))
            for block in separator.vocal_of(in_stereo(opened)):
                whole = reader.read(block.shape[1])
                power["song"] += float(np.square(whole, dtype=np.float64).sum())
                power["vocal"] += float(np.square(block, dtype=np.float64).sum())
                sung.write(block.T)
                played.write((whole - block).T)
                done_s = reader.position / SAMPLE_RATE
                report(min(1.0, done_s / duration_s) if duration_s else 0.5, tr("separating"))
            if power["vocal"] <= power["song"] * 10.0 ** (_NO_VOCAL_DB / 10.0):
                raise AudioError(
                    tr('There is no vocal in "{name}": nothing is left to convert.', name=shown_name(song))
                )


def in_stereo(source: Any) -> Iterator[np.ndarray]:
    """Yield blocks (2, n) of a source at SAMPLE_RATE: mono twice, of more channels the first two with the mean of the
    others."""
    for block in at_engine_rate(source):
        if block.shape[0] > STEREO:
            yield (block[:STEREO] + block[STEREO:].mean(0)).astype(np.float32)
        else:
            yield np.repeat(block, STEREO // block.shape[0], axis=0)


@contextmanager
def float_file(path: Path, channels: int, place: SessionPlace | None = None) -> Iterator[sf.SoundFile]:
    """Write a wav of 32-bit floats, which clips nothing, with its place in a session; it appears when the block
    succeeds. Raises AudioError."""
    with writing_errors(path), replacing(path) as unfinished:
        try:
            with sf.SoundFile(unfinished, "w", SAMPLE_RATE, channels, format="WAV", subtype="FLOAT") as file:
                yield file
            if place is not None:
                append_place(unfinished, place.at(SAMPLE_RATE))
        except sf.LibsndfileError as cause:
            raise AudioError(
                tr('"{name}" could not be written: {error_string}', name=path.name, error_string=cause.error_string)
            ) from cause
