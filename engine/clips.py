"""Clips: recordings of a voice on the frame grid, analysed once and kept on disk.

A recording is read window by window, so one of an hour needs no more memory for its sound than one of a minute; what
is kept of it is 250 bytes for each frame. Analysed clips are filed under the contents of their recording, so a renamed
file is not analysed again, and a changed one is.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from engine.audio import Audio, open_audio
from engine.envelope import SILENT, Level
from engine.errors import AudioError
from engine.frames import FRAME_RATE
from engine.heard_windows import HeardWindows
from engine.loudness import measure_loudness
from engine.mean_colour import measure_colour
from engine.pitch import Pitch
from engine.recordings import HeldRecording, Source, at_engine_rate
from engine.survey import bands_with_signal
from engine.windows import cut_windows

FORMAT = "3"  # of the files; raised whenever the analysis changes, also by other weights/colour.safetensors


@dataclass(frozen=True)
class Clip:
    """One recording on the frame grid.

    envelope: float16 or float32 (frames, BANDS), nepers relative to the recording's level; loudness_db: float32
    (frames,), below full scale; bands: how many of them, from the lowest, hold signal; path: the file it comes from,
    and first_frame: where in it.
    """

    envelope: np.ndarray
    pitch: Pitch
    loudness_db: np.ndarray
    level: Level
    bands: int
    name: str = ""
    path: Path | None = None
    first_frame: int = 0

    @property
    def duration_s(self) -> float:
        """Seconds."""
        return len(self.pitch) / FRAME_RATE

    def piece(self, first: int, stop: int) -> "Clip":
        """The frames from `first` up to `stop`, at the level of the whole."""
        rows = slice(first, stop)
        return replace(
            self,
            envelope=self.envelope[rows],
            pitch=self.pitch[rows],
            loudness_db=self.loudness_db[rows],
            first_frame=self.first_frame + first,
        )


def analyse_clip(audio: Audio, name: str = "") -> Clip:
    """A recording in memory as a clip."""
    return _analyse(HeldRecording(audio), name)


def analysed_clip(path: Path, cache: Path | None = None) -> Clip:
    """The clip of a file, from the folder `cache` where it was analysed before; else analysed, and kept there.

    Raises AudioError for a file that cannot be read.
    """
    kept = cache / f"{fingerprint(path)}.safetensors" if cache and path.is_file() else None
    found = _load(kept, path.name) if kept else None
    if found is None:
        with open_audio(path) as recording:
            found = _analyse(recording, path.name)
        if kept:
            _save(kept, found)
    return replace(found, path=path)


def analysed_clips(
    paths: Sequence[Path], cache: Path | None = None, report: Callable[[float, str], None] = lambda fraction, text: None
) -> list[Clip]:
    """The clips of several files; `report` may raise Cancelled, after which what was analysed stays in `cache`.

    >>> clips = analysed_clips([Path("recordings/one.flac"), Path("recordings/two.flac")], cache=Path("clips"))
    >>> [round(clip.duration_s, 1) for clip in clips]
    [8.9, 6.4]
    """
    clips = []
    for number, path in enumerate(paths):
        report(number / len(paths), f"analysing {path.name}")
        clips.append(analysed_clip(path, cache))
    return clips


def arrays_of(clip: Clip) -> dict[str, np.ndarray]:
    """What a clip holds for each frame or band, by name, as safetensors takes it."""
    arrays = {
        "envelope": clip.envelope,
        "hertz": clip.pitch.hertz,
        "voicing": clip.pitch.voicing,
        "loudness_db": clip.loudness_db,
        "mean": clip.level.mean,
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's contents, 64 hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _analyse(recording: Source, name: str) -> Clip:
    envelopes, hertz, voicing, loudness = [], [], [], []
    for window in cut_windows(at_engine_rate(recording)):
        heard = HeardWindows().hear(window)
        envelopes.append(heard.envelope[window.core])
        loudness.append(measure_loudness(heard.mid)[window.core])
        hertz.append(heard.pitch.hertz[window.core])
        voicing.append(heard.pitch.voicing[window.core])
    if not envelopes:
        raise AudioError(f'"{name}" is too short to analyse.' if name else "The recording is too short to analyse.")
    envelope = np.concatenate(envelopes)
    pitch = Pitch(np.concatenate(hertz), np.concatenate(voicing))
    level = measure_colour(envelope, pitch.voicing)
    return Clip(
        # half precision is 0.004 nepers at the level of silence: far below what is learned
        np.maximum(envelope - level.nepers, SILENT).astype(np.float16),
        pitch,
        np.concatenate(loudness),
        level,
        bands_with_signal(envelope, level),
        name,
    )


def _save(path: Path, clip: Clip) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    notes = {"format": FORMAT, "nepers": repr(clip.level.nepers), "bands": str(clip.bands)}
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        save_file(arrays_of(clip), unfinished, notes)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _load(path: Path, name: str) -> Clip | None:
    """The clip in a file of the cache; None where there is none, or it is damaged or of another format."""
    try:
        with safe_open(path, "numpy") as file:
            notes = file.metadata()
            if notes["format"] != FORMAT:
                return None
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - the file is no dict
        pitch = Pitch(arrays["hertz"], arrays["voicing"])
        level = Level(float(notes["nepers"]), arrays["mean"])
        return Clip(arrays["envelope"], pitch, arrays["loudness_db"], level, int(notes["bands"]), name)
    except Exception:  # safetensors raises its own kinds; whatever it is, the recording is analysed again
        return None
