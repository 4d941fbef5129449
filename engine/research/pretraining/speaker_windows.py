"""Windows of the corpus' recordings as timbres, each recording as it is and in two simulated conditions.

The conditions are the same for all recordings of a speaker, as a person's recordings are often made in one room with
one microphone; only the level differs from recording to recording.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.signal import lfilter

from engine.analysis.envelope import band_centres, measure_level
from engine.datasets.recording_quality import audible_frames
from engine.features.clips import analysed_clip
from engine.features.speaker_directions import voiced_windows
from engine.networks.base import load_base
from engine.networks.timbre_encoder import TIMBRE, timbre_input
from engine.progress import Report
from engine.research.pretraining.corpus import working_processes
from engine.units import DECIBELS_PER_NEPER, FRAME_RATE

CONDITIONS = 3  # the recording as it is, and two simulated ones, the last always in a room
_WINDOW_FRAMES, _HOP_FRAMES = 300, 100


@dataclass(frozen=True)
class Recording:
    """A recording of the corpus; `speaker` begins with the set and a slash. Its number seeds the simulated levels."""

    number: int
    path: str
    speaker: str
    sex: str


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows with enough voice: their timbres, float32 (windows, TIMBRE), and (windows,) of whom and of what they are.

    condition: 0 is the recording as it is.
    """

    timbres: np.ndarray
    speaker: np.ndarray
    sex: np.ndarray
    recording: np.ndarray
    condition: np.ndarray

    def chosen(self, which: np.ndarray) -> "Windows":
        """Return some of them, given as mask or numbers."""
        return Windows(*(values[which] for values in vars(self).values()))


def embed_recordings(corpus: Path, cache: Path, recordings: Sequence[Recording], report: Report) -> Windows:
    """Encode the windows of each recording in each condition; analysed recordings are kept in the folder `cache`."""
    found = []
    with working_processes() as pool:
        jobs = [(corpus, cache, recording) for recording in recordings]
        for done, (recording, timbres) in enumerate(zip(recordings, pool.imap(_embed, jobs, chunksize=8), strict=True)):
            condition = np.arange(CONDITIONS).repeat(timbres.shape[1])
            whose = [np.full(len(condition), value) for value in (recording.speaker, recording.sex, recording.number)]
            found.append((timbres.reshape(-1, TIMBRE), *whose, condition))
            report((done + 1) / len(recordings), f"encoded {recording.path}")
    return Windows(*(np.concatenate(values) for values in zip(*found, strict=True)))


def _embed(job: tuple[Path, Path, Recording]) -> np.ndarray:
    """Return the timbres of a recording's windows in each condition, float32 (CONDITIONS, windows, TIMBRE)."""
    corpus, cache, recording = job
    clip, base = analysed_clip(corpus / recording.path, cache, 0), load_base()
    starts, stops = voiced_windows(clip.pitch.voiced & audible_frames(clip), _WINDOW_FRAMES, _HOP_FRAMES)
    speaker = zlib.crc32(recording.speaker.replace("/", "").encode())
    found = []
    for condition in range(CONDITIONS):
        envelope, nepers = clip.envelope.astype(np.float32), 0.0
        if condition:
            envelope = simulate_condition(envelope, np.random.default_rng([speaker, condition]), condition == 2)
            level_db = np.random.default_rng([recording.number, condition]).normal(0, 3)
            nepers = measure_level(envelope).nepers + level_db / DECIBELS_PER_NEPER
        heard = timbre_input(torch.from_numpy(envelope), nepers)
        with torch.inference_mode():
            found.append(base.timbre.over_windows(heard, torch.from_numpy(starts), torch.from_numpy(stops)).numpy())
    return np.stack(found)


def simulate_condition(envelope: np.ndarray, draw: np.random.Generator, in_room: bool) -> np.ndarray:
    """Return an envelope as another microphone in another room would give it, float32 (frames, BANDS).

    envelope: nepers relative to the level. in_room: surely in a room; else in three of ten draws.
    """
    octaves = np.log2(band_centres() / 1000)
    gain_db = draw.normal(0, 1.5) * octaves
    for _ in range(3):  # height, centre and width of a resonance
        gain_db += draw.normal(0, 3) * np.exp(-0.5 * ((octaves - draw.uniform(-3, 3.5)) / draw.uniform(0.3, 1.0)) ** 2)
    if draw.random() < 0.5:  # a low cut of second order
        gain_db -= 10 * np.log10(1 + (draw.uniform(60, 200) / band_centres()) ** 4)
    power = np.exp(2 * (envelope + gain_db / DECIBELS_PER_NEPER))
    if in_room or draw.random() < 0.3:
        decay = 10 ** (-6 / (FRAME_RATE * draw.uniform(0.3, 1.0)))  # of power: 60 dB in so many seconds
        reverberant_db = draw.uniform(-13, -3)  # relative to the direct sound
        power += 10 ** (reverberant_db / 10) * (1 - decay) / decay * lfilter([1.0], [1.0, -decay], power, axis=0)
    if draw.random() < 0.5:
        power += 10 ** ((-draw.uniform(25, 50) - draw.uniform(0, 4.343) * octaves) / 10)
    simulated: np.ndarray = (0.5 * np.log(power)).astype(np.float32)
    return simulated
