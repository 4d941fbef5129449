"""The corpus as frames: every clip is analysed once and kept in memory-mapped flat files."""

import csv
import json
import multiprocessing
import multiprocessing.pool
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile
import soxr
import torch

from engine.analysis.envelope import BANDS, bands_below, measure_envelope, measure_level
from engine.analysis.pitch import detect_pitch
from engine.errors import TrainingError
from engine.features.augmentations import AUGMENTATIONS, augmented_features
from engine.files import replacing, write_atomically
from engine.networks.listener import FEATURES, Listener, load_listener
from engine.progress import Report
from engine.units import HOP, SAMPLE_RATE, frame_count

EXCLUDED = {"pjs"}  # share-alike: kept out of the base weights
_HELD_BACK = {"kerstin": 10, "turkish_makam_acapella": 10}  # clips of the only speakers of a language, to score it with
_FEATURES_FILE = "listener_features.bin"
_FILES = {
    "audio": (np.int16, (HOP,)),
    "envelope": (np.float16, (BANDS,)),
    "hertz": (np.float32, ()),
    "voicing": (np.float32, ()),
}


@dataclass(frozen=True)
class ClipEntry:
    """Position of a clip in the flat files, and its properties."""

    path: str
    group: str  # the set it comes from
    speaker: str
    kind: str
    first_frame: int
    frames: int
    bands: int  # bands below the recording's own bandwidth
    nepers: float


class Corpus:
    """Analysed clips; arrays are memory maps over all frames, `audio` with HOP samples for each frame."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            entries = json.loads((folder / "clips.json").read_text())
        except (OSError, ValueError) as cause:
            raise TrainingError(f"{folder} holds no analysed corpus; run the preparation first.") from cause
        self.clips = [ClipEntry(**entry) for entry in entries]
        total = sum(clip.frames for clip in self.clips)
        for name, (kind, shape) in _FILES.items():
            setattr(self, name, np.memmap(folder / f"{name}.bin", kind, "r", shape=(total, *shape)))
        listener_features = sum(feature_frames(clip.frames) for clip in self.clips)
        self.first_feature = np.cumsum([0] + [feature_frames(clip.frames) for clip in self.clips])
        self.listener_features = np.memmap(
            folder / _FEATURES_FILE, np.float16, "r", shape=(AUGMENTATIONS, listener_features, FEATURES)
        )

    audio: np.ndarray
    envelope: np.ndarray
    hertz: np.ndarray
    voicing: np.ndarray
    listener_features: np.ndarray


def prepare_corpus(corpus: Path, folder: Path, report: Report) -> Corpus:
    """Analyse every clip of `corpus`/manifest.tsv into `folder` with the listener's features, once, and open it."""
    if not (folder / "clips.json").exists():
        _analyse_all(corpus, folder, report)
    if not (folder / _FEATURES_FILE).exists():
        _extract_all_features(folder, report)
    return Corpus(folder)


def working_processes() -> multiprocessing.pool.Pool:
    """Start one process per CPU, with one thread each."""
    return multiprocessing.get_context("spawn").Pool(os.cpu_count(), torch.set_num_threads, (1,))


def _analyse_all(corpus: Path, folder: Path, report: Report) -> None:
    manifest = read_manifest(corpus)
    without = held_back(manifest)
    rows = [row for row in manifest if row["set"] not in EXCLUDED and row["path"] not in without]
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[ClipEntry] = []
    first_frame = 0
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / f"{name}.bin").open("wb")) for name in _FILES}
        pool = stack.enter_context(working_processes())
        jobs = [(corpus, row) for row in rows]
        for row, arrays in zip(rows, pool.imap(_analyse_clip, jobs, chunksize=8), strict=True):
            for name, (kind, shape) in _FILES.items():
                assert arrays[name].dtype == kind
                assert arrays[name].shape[1:] == shape
                files[name].write(arrays[name].tobytes())
            entries.append(_entry(row, first_frame, arrays["envelope"].astype(np.float32)))
            first_frame += entries[-1].frames
            report(len(entries) / len(rows), f"analysed {row['path']}")
    write_atomically(folder / "clips.json", json.dumps([asdict(entry) for entry in entries]))


def _entry(row: dict[str, str], first_frame: int, envelope: np.ndarray) -> ClipEntry:
    return ClipEntry(
        path=row["path"],
        group=row["set"],
        speaker=f"{row['set']}/{row['speaker']}",
        kind=row["kind"],
        first_frame=first_frame,
        frames=len(envelope),
        bands=bands_below(min(int(row["original_rate"]) / 2, 20_000)),
        nepers=measure_level(envelope).nepers,
    )


def feature_frames(frames: int) -> int:
    """Return how many frames of the listener cover so many of the engine's."""
    return frames // 2 + 1


def _extract_all_features(folder: Path, report: Report) -> None:
    clips = [ClipEntry(**entry) for entry in json.loads((folder / "clips.json").read_text())]
    rows = np.cumsum([0] + [feature_frames(clip.frames) for clip in clips])
    jobs = [(folder, number, clip.first_frame, clip.frames) for number, clip in enumerate(clips)]
    with replacing(folder / _FEATURES_FILE) as unfinished, working_processes() as pool:
        listener_features = np.memmap(unfinished, np.float16, "w+", shape=(AUGMENTATIONS, int(rows[-1]), FEATURES))
        for number, found in enumerate(pool.imap(_extract_features, jobs, chunksize=8)):
            listener_features[:, rows[number] : rows[number + 1]] = found
            report((number + 1) / len(clips), f"extracted features of {clips[number].path}")
        listener_features.flush()


def _extract_features(job: tuple[Path, int, int, int]) -> np.ndarray:
    """Extract the listener's features of a clip in all augmentations, (AUGMENTATIONS, frames / 2, FEATURES)."""
    folder, number, first_frame, frames = job
    audio = np.memmap(folder / "audio.bin", np.int16, "r").reshape(-1, HOP)
    samples = audio[first_frame : first_frame + frames].ravel().astype(np.float32) / 32767
    random = np.random.default_rng([number, 3])
    return np.stack(
        [augmented_features(_listener(), samples, augmentation, random) for augmentation in range(AUGMENTATIONS)]
    )


@lru_cache(maxsize=1)
def _listener() -> Listener:
    return load_listener()


def read_manifest(corpus: Path) -> list[dict[str, str]]:
    """Read the rows of the corpus' manifest.tsv. Raises TrainingError if it is missing."""
    try:
        with (corpus / "manifest.tsv").open(newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))
    except OSError as cause:
        raise TrainingError(f"{corpus} has no manifest.tsv: give the folder of the training corpus.") from cause


def held_back(manifest: list[dict[str, str]]) -> set[str]:
    """Choose the clips to hold back for scoring German and Turkish, the same every time, by path."""
    chosen: set[str] = set()
    for name, count in _HELD_BACK.items():
        paths = sorted(row["path"] for row in manifest if row["set"] == name)
        chosen.update(np.random.default_rng(5).permutation(paths)[:count].tolist())
    return chosen


def _analyse_clip(job: tuple[Path, dict[str, str]]) -> dict[str, np.ndarray]:
    corpus, row = job
    samples, rate = soundfile.read(corpus / row["path"], dtype="float32", always_2d=True)
    mono = samples.mean(1)
    full = soxr.resample(mono, rate, SAMPLE_RATE)
    frames = frame_count(len(full))
    pitch = detect_pitch(mono, rate)
    length = min(frames, len(pitch)) - 1  # whole hops only
    if length < 1:
        raise TrainingError(f"{row['path']} is shorter than a frame; take it out of the manifest.")
    full = full[: length * HOP]
    pitch = pitch[: length + 1]
    envelope = measure_envelope(full, pitch)[:length]
    return {
        "audio": (full.clip(-1, 1) * 32767).astype(np.int16).reshape(length, HOP),
        "envelope": envelope.astype(np.float16),
        "hertz": pitch.hertz[:length],
        "voicing": pitch.voicing[:length],
    }


MANY_SPEAKERS = {"librispeech_tc100_1utt", "speechocean762"}


def split_speakers(clips: list[ClipEntry], share: float, seed: int) -> tuple[list[ClipEntry], list[ClipEntry]]:
    """Split clips into training and validation by speaker; only sets with many speakers give validation speakers."""
    everyone = {clip.speaker for clip in clips}
    if len(everyone) < 2:
        raise TrainingError("A base needs recordings of at least two speakers, one of them for validation.")
    many = sorted({clip.speaker for clip in clips if clip.group in MANY_SPEAKERS}) or sorted(everyone)
    count = max(1, round(len(everyone) * share))
    aside = set(np.random.default_rng(seed).permutation(many)[:count])
    return [c for c in clips if c.speaker not in aside], [c for c in clips if c.speaker in aside]


# By minutes alone, accented read speech would dominate; singing and native speech are worth more per minute.
_OF_SPEECH = {"speechocean762": 0.5, "librispeech_tc100_1utt": 1.5, "librispeech_tc100_3spk": 1.0, "ljspeech": 1.5}
_WEIGHTS = {**_OF_SPEECH, "turkish_makam_acapella": 2.5, "vocobox_martin": 2.0, "berklee_vowels": 2.0}


def clip_weight(clip: ClipEntry) -> float:
    """Return the weight of a second of a clip in drawing crops."""
    return _WEIGHTS.get(clip.group, 1.0)


def draw_crops(
    clips: list[ClipEntry], frames: int, seed: int, step: int, batch: int
) -> Iterator[tuple[ClipEntry, int]]:
    """Draw `batch` random crops (clip, first frame in the flat files), deterministic in seed and step."""
    random = np.random.default_rng([seed, step])
    weights = np.array([max(clip.frames, frames) * clip_weight(clip) for clip in clips])
    for number in random.choice(len(clips), batch, p=weights / weights.sum()):
        clip = clips[number]
        yield clip, clip.first_frame + int(random.integers(0, max(clip.frames - frames, 0) + 1))
