"""`python -m engine.benchmark training --corpus DIR --speaker SET/SPEAKER --minutes 3 --epochs 100 --work DIR`

Measure time and memory for making a voice on this machine: analysis, data report, training. The voices of the best and
of the last checkpoint are left in the work folder as `kept` and `last`, to be scored with
`python -m engine.benchmark --parts quality --voices WORK/kept WORK/last`.
"""

import argparse
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from engine.audio.files import open_audio
from engine.datasets.report import examine_recordings
from engine.features.clips import Clip, analysed_clips
from engine.research.benchmark.machine import describe_machine, peak_memory_mb
from engine.research.benchmark.recordings import find_recordings
from engine.research.command import show_progress
from engine.training.history import EVALUATIONS_FOLDER, read_history
from engine.training.plan import TrainingPlan
from engine.training.train import train
from engine.voices.profile import VoiceProfile
from engine.voices.voice import Voice, load_voice, save_voice

CLIPS_FOLDER, TRAINING_FOLDER = "clips", "training"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add whose recordings, and how long the voice is trained."""
    parser.add_argument("--corpus", type=Path, required=True, help="folder with a folder for each speaker")
    parser.add_argument("--speaker", required=True, metavar="SET/SPEAKER", help="speaker folder in the corpus")
    parser.add_argument("--minutes", type=float, default=3.0, help="of audio (default: 3)")
    parser.add_argument("--epochs", type=int, default=TrainingPlan.epochs)
    parser.add_argument("--patience", type=int, default=TrainingPlan.patience, help="0 never stops early")
    parser.add_argument("--work", type=Path, required=True, help="folder for the training and its voices")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield the figures as JSON."""
    plan = TrainingPlan(epochs=options.epochs, patience=options.patience)
    figures = run_training_benchmark(options.corpus, options.speaker, options.minutes, plan, options.work)
    yield json.dumps(describe_machine() | figures, indent=2)


def run_training_benchmark(
    corpus: Path, speaker: str, minutes: float, plan: TrainingPlan, work: Path
) -> dict[str, float | int]:
    """Make a voice from the first `minutes` of a speaker's recordings, without caches, and time it.

    Raises EngineError if no voice can be made from the recordings.
    """
    recordings = first_recordings(find_recordings(corpus / speaker), minutes * 60)
    for name in (CLIPS_FOLDER, TRAINING_FOLDER):
        shutil.rmtree(work / name, ignore_errors=True)
    clips, analysis_s = _timed_analysis(recordings, work / CLIPS_FOLDER)
    sound_s = sum(clip.duration_s for clip in clips)
    started = time.perf_counter()
    examine_recordings(recordings, cache=work / CLIPS_FOLDER)
    report_s = time.perf_counter() - started
    started = time.perf_counter()
    kept = train(clips, plan, work / TRAINING_FOLDER, show_progress, VoiceProfile("Trained"))
    training_s = time.perf_counter() - started
    history = read_history(work / TRAINING_FOLDER)
    assert history is not None
    assert history.best is not None
    last = load_voice(work / TRAINING_FOLDER / EVALUATIONS_FOLDER / history.evaluations[-1]["folder"])
    for name, voice in (("kept", kept), ("last", last)):
        _keep(voice, name, speaker, work)
    return {
        "sound_s": round(sound_s, 1),
        "analysis_times_real_time": round(sound_s / analysis_s, 1),
        "analysis_and_report_times_real_time": round(sound_s / (analysis_s + report_s), 1),
        "training_s": round(training_s, 1),
        "estimated_s": history.estimate.total_s if history.estimate else 0.0,
        "epochs": history.epoch,
        "kept_epoch": history.best["epoch"],
        "epoch_s_per_minute_of_sound": round(
            sum(line["seconds"] for line in history.epochs) / history.epoch / (sound_s / 60), 2
        ),
        "peak_memory_mb": round(peak_memory_mb()),
    }


def first_recordings(recordings: Sequence[Path], most_s: float) -> list[Path]:
    """Return the first recordings that together last at most `most_s` seconds; at least one."""
    chosen: list[Path] = []
    total_s = 0.0
    for path in recordings:
        with open_audio(path) as recording:
            duration_s = recording.duration_s or 0.0
        if not chosen or total_s + duration_s <= most_s:
            chosen.append(path)
            total_s += duration_s
    return chosen


def _timed_analysis(recordings: Sequence[Path], cache: Path) -> tuple[list[Clip], float]:
    analysed_clips(recordings[:1])  # loads the networks
    started = time.perf_counter()
    clips = analysed_clips(recordings, cache)
    return clips, time.perf_counter() - started


def _keep(voice: Voice, name: str, speaker: str, work: Path) -> None:
    card = replace(voice.card, id=name, corpus_speaker=speaker)
    save_voice(replace(voice, card=card), work / name, voice.preview)
