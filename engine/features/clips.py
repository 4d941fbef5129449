"""Clips: recordings of a voice on the frame grid, analysed once and kept on disk.

A recording is read window by window, so one of an hour needs no more memory for its samples than one of a minute. A
clip takes 250 bytes per frame, and 128 more per augmentation. The cache names clips by the digest of their recording:
a renamed file is not analysed again, a changed one is.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from engine.analysis.dryness import Dryness, DrynessMeter
from engine.analysis.envelope import SILENT, Level, measure_envelope, measure_level
from engine.analysis.loudness import measure_loudness, without_rumble
from engine.analysis.pitch import Pitch, detect_pitch
from engine.analysis.voice_presence import VoicePresence
from engine.analysis.windows import cut_windows
from engine.audio.files import Audio, open_audio
from engine.audio.own_channels import OneChannel, channel_of_one_voice
from engine.audio.streams import Source, at_engine_rate
from engine.audio.tracks import track_digest
from engine.errors import AudioError
from engine.features.augmentations import VOICE_AUGMENTATIONS
from engine.features.recording_content import RecordingContent
from engine.features.survey import bands_with_signal
from engine.files import replacing
from engine.networks.base import load_base
from engine.progress import Report, no_report
from engine.reprs import Brief
from engine.texts import tr
from engine.units import FRAME_RATE, SAMPLE_RATE

FORMAT = "6"  # of the files; raised whenever the analysis changes, also by another listener or content encoder


@dataclass(frozen=True, repr=False)
class Clip(Brief):
    """One analysed recording, a frame every 10 ms.

    - envelope: float16 or float32 (frames, bands), spectral envelope in nepers, relative to the recording's level
    - pitch: of each frame
    - loudness_db: float32 (frames,), in dB of full scale
    - level: of the recording
    - bands: how many of them, from the lowest, hold signal
    - content: float16 (augmentations, frames, 64), what is said; the first augmentation is the recording as it is
    - name: for messages
    - path: the file it comes from
    - first_frame: where in it
    - channel: the one that was analysed, from 0, where the channels hold voices of their own; None where they hold one
      voice
    - dryness: whether the recording is one dry voice; None for a part of it
    """

    envelope: np.ndarray
    pitch: Pitch
    loudness_db: np.ndarray
    level: Level
    bands: int
    content: np.ndarray
    name: str = ""
    path: Path | None = None
    first_frame: int = 0
    channel: int | None = None
    dryness: Dryness | None = None

    @property
    def duration_s(self) -> float:
        """Seconds."""
        return len(self.pitch) / FRAME_RATE

    def piece(self, first: int, stop: int) -> "Clip":
        """Return the frames from `first` up to `stop`, at the level of the whole."""
        rows = slice(first, stop)
        return replace(
            self,
            envelope=self.envelope[rows],
            pitch=self.pitch[rows],
            loudness_db=self.loudness_db[rows],
            content=self.content[:, rows],
            first_frame=self.first_frame + first,
            dryness=None,
        )


def analyse_clip(audio: Audio, name: str = "", augmentations: int = 1) -> Clip:
    """Analyse a recording in memory, with its content in so many augmentations."""
    return _analyse(audio, name, augmentations)


def analysed_clip(path: Path, cache: Path | None = None, augmentations: int = VOICE_AUGMENTATIONS) -> Clip:
    """Load the clip of a file from the folder `cache`, or analyse the file and keep the clip there.

    augmentations: the least number wanted. Raises AudioError if the file cannot be read.
    """
    kept = cache / f"{track_digest(path)}.safetensors" if cache and path.is_file() else None
    found = _load(kept, path.name) if kept else None
    if found is None or len(found.content) < augmentations:
        channel = channel_of_one_voice(path)
        with open_audio(path) as recording:
            chosen = recording if channel is None else OneChannel(recording, channel)
            found = replace(_analyse(chosen, path.name, augmentations), channel=channel)
        if kept:
            _save(kept, found)
    return replace(found, path=path)


def analysed_clips(
    paths: Sequence[Path | str], cache: Path | str | None = None, report: Report = no_report
) -> list[Clip]:
    """Analyse recordings of a voice for training, or load what was analysed before.

    Parameters
    ----------
    paths : sequence of Path or str
        The recordings.
    cache : Path or str, optional
        A folder that keeps the clips; finished ones stay when the work is cancelled.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.

    Returns
    -------
    list of Clip
        In the order of the paths.

    Raises
    ------
    AudioError
        If a file cannot be read, or is too short.

    Examples
    --------
    >>> clips = analysed_clips(["recordings/one.flac", "recordings/two.flac"], cache="clips")
    >>> [round(clip.duration_s, 1) for clip in clips]
    [8.9, 6.4]
    """
    clips = []
    kept = Path(cache) if cache else None
    for number, path in enumerate(map(Path, paths)):
        report(number / len(paths), tr("analysing {name}", name=path.name))
        clips.append(analysed_clip(path, kept))
    return clips


def arrays_of(clip: Clip) -> dict[str, np.ndarray]:
    """Return the arrays of a clip by name, in the form that safetensors takes."""
    arrays = {
        "envelope": clip.envelope,
        "hertz": clip.pitch.hertz,
        "voicing": clip.pitch.voicing,
        "beyond": np.zeros(len(clip.pitch), np.int8) if clip.pitch.beyond is None else clip.pitch.beyond,
        "loudness_db": clip.loudness_db,
        "content": clip.content,
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's contents, 64 hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _analyse(recording: Source, name: str, augmentations: int) -> Clip:
    envelopes, pitches, loudness = [], [], []
    meter = DrynessMeter()
    content = RecordingContent(load_base(), augmentations)
    for window in cut_windows(at_engine_rate(recording)):
        mid = without_rumble(window.voice)
        pitch = detect_pitch(mid, SAMPLE_RATE)
        envelope = measure_envelope(mid, pitch)
        level_db = measure_loudness(mid)
        meter.add(mid, pitch, level_db, window.core)
        envelopes.append(envelope[window.core])
        loudness.append(level_db[window.core])
        pitches.append(pitch[window.core])
        content.add(window, mid, envelope, pitch.voicing)
    if not envelopes:
        raise AudioError(
            tr('"{name}" is too short to analyse.', name=name) if name else tr("The recording is too short to analyse.")
        )
    whole = np.concatenate(envelopes)
    level, loudness_db = measure_level(whole), np.concatenate(loudness)
    return Clip(
        # half precision is 0.004 nepers at the level of silence: far below what is learned
        np.maximum(whole - level.nepers, SILENT).astype(np.float16),
        Pitch.joined(pitches),
        loudness_db,
        level,
        bands_with_signal(whole, level),
        content.finish(len(whole)),
        name,
        dryness=meter.finish(loudness_db, len(loudness_db) / FRAME_RATE),
    )


def _save(path: Path, clip: Clip) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    notes = {"format": FORMAT, "nepers": repr(clip.level.nepers), "bands": str(clip.bands)}
    dryness = asdict(clip.dryness) if clip.dryness else None
    notes["recording"] = json.dumps({"channel": clip.channel, "dryness": dryness})
    with replacing(path) as unfinished:
        save_file(arrays_of(clip), unfinished, notes)


def _load(path: Path, name: str) -> Clip | None:
    """Read a clip from a file of the cache; None if it is missing, damaged or of another format."""
    try:
        with safe_open(path, "numpy") as file:
            notes = file.metadata()
            if notes["format"] != FORMAT:
                return None
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - the file is no dict
        pitch = Pitch(arrays["hertz"], arrays["voicing"], arrays["beyond"])
        level, bands = Level(float(notes["nepers"])), int(notes["bands"])
        recording = json.loads(notes["recording"])
        clip = Clip(arrays["envelope"], pitch, arrays["loudness_db"], level, bands, arrays["content"], name)
        return replace(clip, channel=recording["channel"], dryness=_dryness_from(recording["dryness"]))
    except Exception:  # noqa: BLE001 - safetensors raises its own kinds; whatever it is, the recording is analysed again
        return None


def _dryness_from(values: dict[str, Any] | None) -> Dryness | None:
    if values is None:
        return None
    presence = VoicePresence(**values["presence"])
    return Dryness(**values | {"presence": presence, "floors_db": tuple(values["floors_db"])})
