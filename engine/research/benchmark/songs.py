"""`python -m engine.benchmark songs --sources DIR --voices koguchi kathleen`

Measure what becomes of songs, with recordings over backings made for it (chords, drums and noise):

level       a vocal with its true backing: loudness against the backing before and after, in LU; the largest difference
            between the mix less the backing and the vocal's lane, and between the lengths, in samples; similarity to
            the singer of the recording of the mix less the backing, beside that of the conversion.
robustness  what is left of other sounds in a separated vocal: the backing at -20 and -12 dB, a harmony a third above at
            -6 dB. Similarity to the voice and to the source, and pitch against the dry recording, beside the conversion
            of the dry one. The outputs (--keep) are named for the counting of words.
cost        seconds of work on a song beside separation and conversion (alignment, two pitches, joins, mix), and the
            peak memory of it, each length in a process of its own.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path

import librosa
import numpy as np

from engine.audio.files import Audio, read_audio, write_audio
from engine.audio.resampling import resample
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.performance import compare_performances, trace
from engine.evaluation.scores import speaker_similarity
from engine.progress import no_report
from engine.research.benchmark.machine import describe_machine, peak_memory_mb
from engine.research.benchmark.recordings import SAMPLES, add_inputs, find_recordings, target_recordings
from engine.research.command import log
from engine.research.tables import table
from engine.songs.alignment import align
from engine.songs.mixing import Lane, mix_files, programme_lufs
from engine.songs.part_conversion import quiet_joins
from engine.songs.parts import Part
from engine.songs.separation import Separator, float_file
from engine.songs.song import FolderStages, Song, SongFiles, Stem, make_song
from engine.songs.two_pitches import find_two_pitches
from engine.units import SAMPLE_RATE
from engine.voices.card import DEMO_VOICES, list_voices
from engine.voices.voice import Voice, load_voice

PARTS = ("level", "robustness", "cost")
CONDITIONS = ("dry", "backing -20 dB", "backing -12 dB", "harmony -6 dB")
LENGTHS_MINUTES = (1.0, 5.0, 60.0)
_HARMONY_SEMITONES = 4
_SETTINGS = ConversionSettings(transpose="auto")


@dataclass(frozen=True)
class LevelRow:
    """A vocal with its true backing; loudness in LU, differences in full scale and samples, similarities 0..1."""

    source: str
    voice: str
    loudness_change: float
    largest_difference: float
    length_error: int
    mix_similarity: float
    conversion_similarity: float


@dataclass(frozen=True)
class RobustnessRow:
    """A conversion of a recording with other sounds in it."""

    condition: str
    source: str
    voice: str
    speaker_similarity: float
    source_similarity: float
    pitch_accuracy: float
    pitch_corr: float


@dataclass(frozen=True)
class CostRow:
    """Work on a song beside separation and conversion, in a process of its own."""

    minutes: float
    align_s: float
    two_pitches_s: float
    joins_s: float
    mix_s: float
    seconds: float  # all of it
    peak_mb: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is measured, and on what."""
    add_inputs(parser)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=CONDITIONS, help="of robustness")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the outputs of robustness, a folder for each kind"
    )
    parser.add_argument(
        "--minutes", nargs="+", type=float, default=LENGTHS_MINUTES, help="lengths whose cost to measure"
    )


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield a table for each part."""
    yield str(describe_machine())
    if "level" in options.parts or "robustness" in options.parts:
        sources = find_recordings(options.sources)
        voices = [load_voice(name) for name in options.voices or [card.id for card in list_voices(DEMO_VOICES)]]
    if "level" in options.parts:
        yield _listed(measure_level(sources, voices))
    if "robustness" in options.parts:
        rows = measure_robustness(sources, voices, options.targets, options.keep, options.conditions)
        yield _listed(rows)
        yield table(["", *names_of(RobustnessRow)[3:]], [_means(name, rows) for name in options.conditions])
    if "cost" in options.parts:
        for minutes in options.minutes:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                yield _listed([pool.submit(measure_cost, minutes).result()])


Row = LevelRow | RobustnessRow | CostRow


def backing(seconds: float, seed: int = 0) -> np.ndarray:
    """Make a backing of chords, drums and noise, float32 (2, samples) at SAMPLE_RATE; repeated every 16 seconds."""
    span, random = 16.0, np.random.default_rng(seed)
    time_s = np.arange(round(span * SAMPLE_RATE)) / SAMPLE_RATE
    roots = np.array([110.0, 130.8, 87.3, 98.0])[(time_s // 4).astype(int)]
    chord = np.zeros(len(time_s))
    for ratio in (1.0, 1.2599, 1.4983, 2.0):
        cycles = np.cumsum(roots * ratio) / SAMPLE_RATE
        chord += sum(np.sin(2 * np.pi * number * cycles) / number for number in range(1, 7))
    kick = np.sin(2 * np.pi * 55 * (time_s % 0.5)) * np.exp(-18 * (time_s % 0.5))
    snare = random.standard_normal(len(time_s)) * np.exp(-25 * ((time_s + 0.5) % 1.0))
    wide = random.standard_normal((2, len(time_s)))
    loop = 0.03 * chord + 0.25 * kick + 0.1 * snare + 0.003 * wide
    whole = np.tile(loop, (1, int(np.ceil(seconds / span))))[:, : round(seconds * SAMPLE_RATE)]
    return whole.astype(np.float32)


def measure_level(sources: Sequence[Path], voices: Sequence[Voice]) -> list[LevelRow]:
    """Mix conversions of recordings with a true backing."""
    evaluator, rows = Evaluator(words=False), []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for source in sources:
            samples = _mono(source)
            played = backing(len(samples) / SAMPLE_RATE)
            write_audio(place / "vocal.wav", Audio(np.stack([samples, samples]), SAMPLE_RATE))
            write_audio(place / "backing.wav", Audio(played, SAMPLE_RATE))
            singer = evaluator.embed(source)
            for voice in voices:
                log(f"{source.name} over a backing to {voice.card.id}")
                rows.append(_level(place, source, voice, evaluator, singer))
    return rows


def measure_robustness(
    sources: Sequence[Path], voices: Sequence[Voice], corpus: Path | None, kept: Path | None, conditions: Sequence[str]
) -> list[RobustnessRow]:
    """Convert recordings with other sounds in them."""
    evaluator, rows = Evaluator(words=False), []
    targets = {voice.card.id: evaluator.target_embedding(target_recordings(voice, corpus)) for voice in voices}
    for source in sources:
        dry = _mono(source)
        singer, performance = evaluator.embed(source), trace(Audio(dry[None], SAMPLE_RATE))
        for condition, samples in spoilt(dry, conditions):
            for voice in voices:
                log(f"{source.name}, {condition}, to {voice.card.id}")
                done = convert(Audio(samples[None], SAMPLE_RATE), voice, _SETTINGS)
                output = done.takes[0].audio
                if kept is not None:
                    folder = kept / condition.replace(" ", "_")
                    folder.mkdir(parents=True, exist_ok=True)
                    write_audio(folder / f"{source.name}--{voice.card.id}.wav", output)
                found = evaluator.embed(output)
                scores = compare_performances(performance, trace(output), done.transpose)
                rows.append(
                    RobustnessRow(
                        condition, source.name, voice.card.id, speaker_similarity(found, targets[voice.card.id]) or 0.0,
                        speaker_similarity(found, singer) or 0.0, scores.pitch_accuracy or 0.0,
                        scores.pitch_corr or 0.0,
                    )
                )  # fmt: skip
    return rows


def spoilt(dry: np.ndarray, conditions: Sequence[str] = CONDITIONS) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the recording (samples,) in each of the conditions."""
    others = backing(len(dry) / SAMPLE_RATE).mean(0)[: len(dry)]
    others = np.pad(others, (0, len(dry) - len(others)))
    added = {
        CONDITIONS[0]: lambda: 0.0 * dry,
        CONDITIONS[1]: lambda: 10 ** (-20 / 20) * _as_loud(others, dry),
        CONDITIONS[2]: lambda: 10 ** (-12 / 20) * _as_loud(others, dry),
        CONDITIONS[3]: lambda: 10 ** (-6 / 20) * _as_loud(_harmony(dry), dry),
    }
    for condition in conditions:
        yield condition, (dry + added[condition]()).astype(np.float32)


def _harmony(dry: np.ndarray) -> np.ndarray:
    shifted: np.ndarray = librosa.effects.pitch_shift(dry, sr=SAMPLE_RATE, n_steps=_HARMONY_SEMITONES)
    return shifted


def _as_loud(samples: np.ndarray, other: np.ndarray) -> np.ndarray:
    return samples * np.sqrt(np.mean(np.square(other)) / np.mean(np.square(samples)))


def measure_cost(minutes: float) -> CostRow:
    """Measure the work on a song of this length beside separation and conversion; for a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        vocal, played = Path(folder, "vocal.wav"), Path(folder, "backing.wav")
        _write_long(vocal, played, minutes)
        started = time.perf_counter()
        align(vocal, played)
        aligned = time.perf_counter()
        find_two_pitches(vocal)
        looked = time.perf_counter()
        quiet_joins(vocal, [20.0, minutes * 40.0])
        joined = time.perf_counter()
        lanes = [Lane(vocal, original=vocal), Lane(played)]
        stems = [Path(folder, f"{name}-out.wav") for name in ("vocal", "backing")]
        mix_files(lanes, Path(folder, "mix.wav"), stems, no_report)
        ended = time.perf_counter()
    steps_s = (aligned - started, looked - aligned, joined - looked, ended - joined)
    return CostRow(minutes, *steps_s, ended - started, peak_memory_mb())


def _level(place: Path, source: Path, voice: Voice, evaluator: Evaluator, singer: np.ndarray | None) -> LevelRow:
    mix, vocal, backing_out = (place / f"{name}-out.wav" for name in ("mix", "vocal", "backing"))
    files = SongFiles(mix, vocal, backing_out)
    song = Song(Stem(place / "vocal.wav", (Part(0.0, voice.card.id),)), place / "backing.wav")
    with tempfile.TemporaryDirectory(dir=place) as stages:

        def none() -> Separator:
            raise AssertionError("nothing is separated here")

        done = make_song(song, files, lambda _: voice, FolderStages(Path(stages)), none, _SETTINGS)
    mixed, lane, played = (read_audio(path).samples for path in (files.mix, files.vocal, place / "backing.wav"))
    alone = mixed - played * np.float32(10 ** (done.mix.gain_db / 20))
    loudness = [
        (programme_lufs(vocal) or 0.0) - (programme_lufs(other) or 0.0)
        for vocal, other in ((place / "vocal.wav", place / "backing.wav"), (files.vocal, files.backing))
    ]
    plain = convert(read_audio(place / "vocal.wav"), voice, _SETTINGS).takes[0].audio
    # the judge trims by level, so both are compared at the same
    level = 10 ** ((done.mix.corrections_db[0] + done.mix.gain_db) / 20)
    judged = (Audio(alone, SAMPLE_RATE), Audio(plain.samples * np.float32(level), SAMPLE_RATE))
    similarities = [speaker_similarity(evaluator.embed(audio), singer) or 0.0 for audio in judged]
    return LevelRow(
        source.name, voice.card.id, loudness[1] - loudness[0] , float(np.abs(alone - lane).max()),
        mixed.shape[1] - played.shape[1], *similarities,
    )  # fmt: skip


def _mono(source: Path) -> np.ndarray:
    audio = read_audio(source)
    return resample(audio.mono(), audio.rate, SAMPLE_RATE)


def _write_long(vocal: Path, played: Path, minutes: float) -> None:
    """Write a stereo vocal and its backing, ten seconds at a time."""
    sung = _mono(SAMPLES / "singing.flac")[: 8 * SAMPLE_RATE]
    piece = np.stack([sung, 0.7 * sung])
    loop = backing(16.0)[:, : piece.shape[1]]
    with float_file(vocal, 2) as one, float_file(played, 2) as other:
        for _ in range(round(minutes * 60 / 8)):
            one.write(piece.T)
            other.write(loop.T)


def names_of(kind: type[Row]) -> list[str]:
    """Return the columns of a table."""
    return list(kind.__dataclass_fields__)


def _listed(rows: Sequence[Row]) -> str:
    cells = [[f"{one:.4g}" if isinstance(one, float) else str(one) for one in astuple(row)] for row in rows]
    return table(names_of(type(rows[0])), cells)


def _means(condition: str, rows: Sequence[RobustnessRow]) -> list[str]:
    means = np.mean([astuple(row)[3:] for row in rows if row.condition == condition], axis=0)
    return [condition, *(f"{value:.3f}" for value in means)]
