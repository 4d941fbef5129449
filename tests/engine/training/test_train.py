"""A training as its user lives through it: begun, stopped, killed, gone on with, too long, out of memory."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from engine.analysis.envelope import BANDS
from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.datasets.dataset import create_dataset
from engine.errors import AudioError, Cancelled, DatasetError, TrainingError
from engine.features.clips import Clip, analyse_clip, analysed_clips
from engine.training import train as module
from engine.training.checkpoint import CHECKPOINT_FILE, save_checkpoint
from engine.training.fine_tuning import FineTuning
from engine.training.history import EVALUATIONS_FOLDER, TRAINING_FORMAT, TrainingHistory, read_history
from engine.training.plan import TrainingPlan
from engine.training.train import EARLIER_FOLDER, estimate_training, train, train_dataset
from engine.units import SAMPLE_RATE, hertz_to_semitones
from engine.voices.profile import VoiceProfile
from engine.voices.voice import load_voice, save_voice
from tests.trainings import skip_estimates
from tests.waiting import OwnClock

PLAN = TrainingPlan(epochs=2, batch=4, foreign=1, save_s=3600.0, evaluate_epochs=100)
TIMES = ("seconds", "estimate")

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("short_auditions")]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory, sing) -> list[Path]:
    """Fourteen seconds of one voice."""
    folder = tmp_path_factory.mktemp("recordings")
    paths = [folder / f"{number}.wav" for number in range(2)]
    for number, path in enumerate(paths):
        soundfile.write(path, sing(7.0, hertz=150.0 + 20 * number, seed=number), SAMPLE_RATE)
    return paths


@pytest.fixture(scope="module")
def clips(recordings) -> list[Clip]:
    return analysed_clips(recordings)


@pytest.fixture(scope="module")
def told() -> list[tuple[float, str]]:
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("trained") / "training"


@pytest.fixture(scope="module")
def trained(short_auditions, clips, folder, told):
    profile = VoiceProfile("Mia", gender="female", consent={"by": "Mia"}, other={"mood": 3})
    return train(clips, PLAN, folder, lambda fraction, message: told.append((fraction, message)), profile)


@pytest.fixture(scope="module")
def first_epoch(short_auditions, clips, tmp_path_factory) -> Path:
    """The folder of a training that has had one epoch."""
    folder = tmp_path_factory.mktemp("first epoch") / "training"
    with pytest.MonkeyPatch.context() as patch:
        skip_estimates(patch)
        train(clips, replace(PLAN, epochs=1), folder)
    return folder


@pytest.fixture
def begun(first_epoch, tmp_path) -> Path:
    """A copy of it."""
    return shutil.copytree(first_epoch, tmp_path / "begun")


def curve(folder: Path) -> dict:
    """The record of a training without what depends on the clock."""

    def timeless(value):
        if isinstance(value, dict):
            return {name: timeless(one) for name, one in value.items() if name not in TIMES}
        return [timeless(one) for one in value] if isinstance(value, list) else value

    return timeless(read_history(folder).as_json())


def same_weights(one, other) -> bool:
    pairs = zip(one.decoder.state_dict().values(), other.decoder.state_dict().values(), strict=True)
    return torch.equal(one.timbre, other.timbre) and all(torch.equal(a, b) for a, b in pairs)


# ---- what a training gives


def test_train_returns_a_voice_that_saves_loads_and_converts(trained, tmp_path, sing):
    # notes up to six semitones above 150 and 170 Hz
    lowest, highest = hertz_to_semitones(150.0), hertz_to_semitones(170.0) + 6
    pitch = trained.card.pitch
    assert lowest - 1 < pitch.low < pitch.median < pitch.high < highest + 1
    assert len(trained.retrieval_frames) > 500
    assert (trained.contrast >= 1).all()
    save_voice(trained, tmp_path / "mia", trained.preview)
    loaded = load_voice("mia", tmp_path)
    assert loaded.preview
    output = convert(Audio(sing(0.5)[None], SAMPLE_RATE), loaded, ConversionSettings(takes=2)).takes[1].audio
    assert output.sample_count == SAMPLE_RATE // 2
    assert np.isfinite(output.samples).all()


def test_train_writes_the_profile_and_the_measurements_to_the_card(trained, clips):
    card = trained.card
    expected = ("mia", "Mia", "female", {"by": "Mia"}, {"mood": 3})
    assert (card.id, card.name, card.gender, card.consent, card.other) == expected
    assert card.vocal_range["min"] in ("C#3", "D3", "D#3")
    assert card.training["epochs"] == 2
    assert card.training["best_epoch"] in (0, 2)
    assert card.training["minutes"] == pytest.approx(11 / 60, abs=0.06)
    assert set(card.training["scores"]) >= {"likeness", "mel_distance", "pitch_error_cents", "voicing_error", "score"}


def test_train_restarts_a_training_of_an_earlier_format_and_keeps_it_aside(clips, first_epoch, begun, monkeypatch):
    skip_estimates(monkeypatch)
    plan, first = replace(PLAN, epochs=1), Path(EVALUATIONS_FOLDER) / "000001"
    state = torch.load(begun / CHECKPOINT_FILE, weights_only=True)
    save_checkpoint(begun / CHECKPOINT_FILE, state | {"format": TRAINING_FORMAT - 1})
    train(clips, plan, begun)
    assert same_weights(load_voice(begun / first), load_voice(first_epoch / first))
    history = read_history(begun)
    assert [line["epoch"] for line in history.epochs] == [1]
    assert any(event.text.startswith("Started again") for event in history.events)
    aside = begun / f"{EARLIER_FOLDER}-{TRAINING_FORMAT - 1}"
    assert torch.load(aside / CHECKPOINT_FILE, weights_only=True)["format"] == TRAINING_FORMAT - 1
    assert same_weights(load_voice(aside / first), load_voice(first_epoch / first))
    # and what one of another format had begun comes to lie beside it, instead of being deleted
    save_checkpoint(begun / CHECKPOINT_FILE, state | {"format": TRAINING_FORMAT - 2})
    scored(monkeypatch, [0.1, 0.2])
    train(clips, plan, begun)
    for before in (1, 2):
        kept = torch.load(begun / f"{EARLIER_FOLDER}-{TRAINING_FORMAT - before}" / CHECKPOINT_FILE, weights_only=True)
        assert kept["format"] == TRAINING_FORMAT - before


def test_train_refuses_a_training_started_by_a_later_version(clips, begun):
    state = torch.load(begun / CHECKPOINT_FILE, weights_only=True)
    save_checkpoint(begun / CHECKPOINT_FILE, state | {"format": TRAINING_FORMAT + 1})
    before = (begun / CHECKPOINT_FILE).read_bytes()
    with pytest.raises(TrainingError, match="later version of Timbre Studio started this training"):
        train(clips, PLAN, begun)
    assert (begun / CHECKPOINT_FILE).read_bytes() == before


def test_train_saves_each_evaluation_as_a_voice_with_recordings(trained, folder):
    history = read_history(folder)
    assert [line["epoch"] for line in history.evaluations] == [0, 2]
    for line in history.evaluations:
        evaluation = folder / EVALUATIONS_FOLDER / line["folder"]
        assert {"speech-high.flac", "singing-high.flac", "held-out-1.flac"} <= {p.name for p in evaluation.iterdir()}
        assert load_voice(evaluation).preview
    best = folder / EVALUATIONS_FOLDER / history.best["folder"]
    assert same_weights(trained, load_voice(best))


def test_read_history_returns_curves_and_estimate(trained, folder):
    history = read_history(folder)
    assert history.state == "completed"
    assert [line["epoch"] for line in history.epochs] == [1, 2]
    assert all(line["steps"] == 2 for line in history.epochs)  # 11 s are 8 pieces, a batch is 4
    assert all(np.isfinite(line["envelope"]) for line in history.epochs)
    assert history.estimate.total_s > 0


def test_train_reports_epoch_scores_and_time_left(trained, told):
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert any("for 2 epochs" in message for _, message in told)
    assert any("epoch 1 of 2" in m and "likeness" in m and "score" in m and "left" in m for _, m in told)


def test_train_returns_the_same_voice_if_all_epochs_are_completed(trained, clips, folder, monkeypatch):
    monkeypatch.setattr(FineTuning, "step", lambda *_: pytest.fail("trained further"))
    before = curve(folder)
    assert same_weights(train(clips, PLAN, folder), trained)
    assert same_weights(train(clips, replace(PLAN, epochs=1), folder), trained)
    assert curve(folder) == before


def test_estimate_training_adds_up_setup_epochs_and_evaluations(clips, monkeypatch):
    """Steps that take a known time, by a clock of the test's own."""
    clock = OwnClock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(FineTuning, "step", lambda *_: clock.sleep(0.3))
    estimate = estimate_training(clips, replace(PLAN, epochs=10))
    assert estimate.epoch_s == pytest.approx(2 * 0.3, rel=0.02)  # 8 pieces in batches of 4
    expected_s = estimate.setup_s + 10 * estimate.epoch_s + 2 * estimate.evaluation_s
    assert estimate.total_s == pytest.approx(expected_s, rel=0.02)


def test_train_reports_each_stage_before_the_first_step(clips, tmp_path, monkeypatch):
    def stop(*_: object) -> None:
        raise Cancelled

    said: list[tuple[float, str]] = []
    monkeypatch.setattr(FineTuning, "step", lambda *_: None)
    monkeypatch.setattr(module._Training, "_train_epoch", stop)
    with pytest.raises(Cancelled):
        train(clips, PLAN, tmp_path / "training", lambda share, text: said.append((share, text)))
    assert {share for share, _ in said} == {0.0}
    texts = list(dict.fromkeys(text for _, text in said))
    assert texts[:3] == ["loading the networks", "preparing the evaluation recordings", "timing a few steps"]
    assert texts[3].startswith("about ")
    assert texts[4] == "testing the untrained voice"


@pytest.mark.slow  # it says something only where nothing else is going on
@pytest.mark.parametrize("others", [0, 2])
def test_estimate_training_is_within_a_quarter_on_an_idle_and_a_busy_machine(clips, tmp_path, others):
    plan = replace(PLAN, epochs=40)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        estimate = estimate_training(clips, plan)
        started = time.monotonic()
        train(clips, plan, tmp_path / "training")
        took_s = time.monotonic() - started
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert estimate.total_s == pytest.approx(took_s, rel=0.25)


# ---- stopped and gone on with


@pytest.mark.parametrize("patience", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_train_resumed_after_a_stop_equals_an_uninterrupted_training(
    clips, trained, folder, tmp_path, monkeypatch, patience
):
    """Stopped in the middle of an epoch or at its end, and curve and voice are the same to the last bit."""
    skip_estimates(monkeypatch)
    steps = 0

    def stop(fraction: float, message: str) -> None:
        nonlocal steps
        steps += message.startswith("epoch")
        if steps == patience:
            raise Cancelled

    with pytest.raises(Cancelled):
        train(clips, PLAN, tmp_path, stop)
    assert read_history(tmp_path).state == "training"
    again = train(clips, PLAN, tmp_path)
    assert curve(tmp_path) == curve(folder)
    assert same_weights(load_voice(again.folder), load_voice(trained.folder))


def test_train_with_more_epochs_resumes_after_the_last_epoch(clips, begun, monkeypatch):
    scored(monkeypatch, [0.1])
    train(clips, PLAN, begun)
    history = read_history(begun)
    assert [line["epoch"] for line in history.epochs] == [1, 2]
    assert [line["epoch"] for line in history.evaluations] == [0, 1, 2]
    assert history.ceiling == 2


def test_train_falls_back_to_the_previous_checkpoint_if_one_is_truncated(clips, folder, trained, begun):
    checkpoint = begun / CHECKPOINT_FILE
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1000])
    train(clips, PLAN, begun)
    assert curve(begun)["epochs"] == curve(folder)["epochs"]


def test_train_refuses_two_damaged_checkpoints_and_deletes_nothing(clips, begun):
    checkpoints = list(begun.glob("checkpoint*"))
    assert len(checkpoints) == 2
    for path in checkpoints:
        path.write_bytes(b"x")
    with pytest.raises(TrainingError, match="damaged"):
        train(clips, PLAN, begun)
    assert sorted(begun.glob("checkpoint*")) == sorted(checkpoints)


def test_train_refuses_to_resume_with_other_recordings_or_settings(trained, clips, folder):
    with pytest.raises(TrainingError, match="recordings are not those"):
        train([clips[0], clips[1].piece(0, 600)], replace(PLAN, epochs=3), folder)
    with pytest.raises(TrainingError, match=r"started with batch 4, seed 0"):
        train(clips, replace(PLAN, epochs=3, batch=3, seed=1), folder)


TRAINER = """
import sys
from pathlib import Path
import torch
from engine.training import checkpoint_audition as audition
from engine.training import train as training
from engine.features.clips import analysed_clips
from engine.training.plan import TrainingPlan
torch.set_num_threads(1)
audition.FOREIGN = Path(sys.argv[1])
plan = TrainingPlan(epochs=3, batch=4, foreign=1, save_s=0.0, evaluate_epochs=100)
clips = analysed_clips([Path(name) for name in sys.argv[3:]])
training.train(clips, plan, Path(sys.argv[2]), lambda fraction, message: print("told", flush=True))
print("completed", flush=True)
"""


def start_training(foreign: Path, folder: Path, recordings: list[Path]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", TRAINER, str(foreign), str(folder), *map(str, recordings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


# one kill of a worker process in mid-training is also in tests/studio/executors/test_faults.py, which is never left out
@pytest.mark.slow
@pytest.mark.parametrize(("seed", "most"), [(1, 1), (2, 3), (3, 3), (4, 3)])
def test_train_resumed_after_kills_equals_an_uninterrupted_training(short_foreign, recordings, tmp_path, seed, most):
    """Processes are ended by SIGKILL at random moments until one gets through; compared with one left alone."""
    random = np.random.default_rng(seed)
    for name in ("killed", "alone"):
        (tmp_path / name).mkdir()
    kills = 0
    for _ in range(20):
        process = start_training(short_foreign, tmp_path / "killed", recordings)
        told = 0
        patience = int(random.integers(2, 5)) if kills < most else 10**6
        for line in process.stdout:
            told += line == "told\n"
            if told == patience:
                time.sleep(float(random.uniform(0, 0.3)))
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
        process.stdout.close()
        if process.wait() == 0:
            break
    assert kills == most
    alone = start_training(short_foreign, tmp_path / "alone", recordings)
    assert "completed" in alone.communicate()[0]
    assert curve(tmp_path / "killed") == curve(tmp_path / "alone")
    voices = [load_voice(p / EVALUATIONS_FOLDER / "000003") for p in (tmp_path / "killed", tmp_path / "alone")]
    assert same_weights(*voices)


# ---- the best checkpoint


def scored(monkeypatch, scores: list[float]) -> None:
    """Let the auditions give these likenesses, one after the other, instead of measuring."""
    given = iter(scores)

    def evaluate(self, voice, folder):
        for part in self.parts:
            soundfile.write(folder / f"{part.name}.flac", part.audio.samples.T, SAMPLE_RATE)
        return module.AuditionScores(next(given), 0.0, 0.0, 0.0, 0.0)

    monkeypatch.setattr(module.Audition, "evaluate", evaluate)
    skip_estimates(monkeypatch)
    monkeypatch.setattr("engine.training.snapshot.measure_contrast", lambda *_: (torch.zeros(BANDS), torch.ones(BANDS)))
    monkeypatch.setattr(FineTuning, "step", lambda self, *_: {"envelope": 0.5})


def test_train_returns_the_best_checkpoint_without_early_stopping(clips, tmp_path, monkeypatch):
    scored(monkeypatch, [0.1, 0.3, 0.9, 0.5, 0.4, 0.3])
    voice = train(clips, replace(PLAN, epochs=5, evaluate_epochs=1, patience=0), tmp_path)
    assert voice.card.training["best_epoch"] == 2
    assert voice.folder == tmp_path / EVALUATIONS_FOLDER / "000002"
    assert read_history(tmp_path).epoch == 5


def test_train_stops_early_without_improvement_and_names_the_best_epoch(clips, tmp_path, monkeypatch):
    scored(monkeypatch, [0.1, 0.9, 0.5, 0.4, 0.3, 0.2, 0.2, 0.2, 0.95, *[0.1] * 9])
    told: list[str] = []
    plan = replace(PLAN, epochs=50, evaluate_epochs=1, patience=3)
    train(clips, plan, tmp_path, lambda fraction, message: told.append(message))
    history = read_history(tmp_path)
    assert (history.state, history.epoch, history.best["epoch"]) == ("completed", 4, 1)
    assert "The voice is from epoch 1" in history.events[-1].text
    assert told[-1] == "completed; the best checkpoint is from epoch 1"
    # asked for more, it is patient again from here
    train(clips, replace(plan, epochs=60, patience=4), tmp_path)
    assert read_history(tmp_path).best["epoch"] == 8


def test_train_with_zero_patience_runs_all_epochs(clips, tmp_path, monkeypatch):
    scored(monkeypatch, [0.9] + [0.1] * 8)
    train(clips, replace(PLAN, epochs=8, evaluate_epochs=1, patience=0), tmp_path)
    assert read_history(tmp_path).epoch == 8


def test_train_deletes_weights_but_not_audio_of_old_evaluations_except_the_best(clips, tmp_path, monkeypatch):
    scored(monkeypatch, [0.1, 0.9, *[0.2] * 10])
    monkeypatch.setattr(module, "_WEIGHTS_KEPT", 3)
    train(clips, replace(PLAN, epochs=7, evaluate_epochs=1, patience=0), tmp_path)
    folders = sorted((tmp_path / EVALUATIONS_FOLDER).iterdir())
    assert [int(f.name) for f in folders] == list(range(8))
    assert [int(f.name) for f in folders if (f / "weights.safetensors").exists()] == [1, 5, 6, 7]
    assert all((f / "singing-high.flac").exists() for f in folders)


def test_train_spaces_out_evaluations_and_evaluates_after_the_last_epoch(clips, tmp_path, monkeypatch):
    scored(monkeypatch, [0.0] * 1000)
    monkeypatch.setattr("engine.training.evaluation_schedule._LATER_RARER", 4)
    monkeypatch.setattr(module, "_STEPS_APART", 6)
    monkeypatch.setattr(module, "save_checkpoint", lambda *_: None)
    train(clips, replace(PLAN, epochs=61, evaluate_epochs=0, patience=0, save_s=3600.0), tmp_path)
    epochs = [line["epoch"] for line in read_history(tmp_path).evaluations]
    assert epochs[:4] == [0, 3, 6, 9]
    apart = np.diff(epochs)[:-1]
    assert (np.diff(apart) >= 0).all()
    assert apart[-1] >= 10
    assert epochs[-1] == 61


# ---- what goes wrong


def test_train_skips_and_reports_a_non_finite_step_and_halves_the_learning_rate(clips, tmp_path, monkeypatch):
    shares = []

    def step(self, number, pieces, share):
        shares.append(share)
        return None if number == 2 else {"envelope": 0.5}

    scored(monkeypatch, [0.1, 0.2])
    monkeypatch.setattr(FineTuning, "step", step)
    told: list[str] = []
    train(clips, PLAN, tmp_path, lambda fraction, message: told.append(message))
    assert shares == [1.0, 1.0, 1.0, 0.5]
    [event] = read_history(tmp_path).events
    assert "was skipped" in event.text
    assert "restored" not in event.text
    assert event.text in told
    assert [line["steps"] for line in read_history(tmp_path).epochs] == [2, 1]


def test_train_restores_the_last_checkpoint_if_weights_are_nan(clips, tmp_path, monkeypatch):
    def step(self, number, pieces, share):
        if number == 3:
            with torch.no_grad():
                self.timbre[0] = float("nan")
        return {"envelope": 0.5}

    scored(monkeypatch, [0.1, 0.2])
    monkeypatch.setattr(FineTuning, "step", step)
    voice = train(clips, PLAN, tmp_path)
    assert "last checkpoint was restored" in read_history(tmp_path).events[0].text
    assert torch.isfinite(voice.timbre).all()
    assert all(np.isfinite(line["envelope"]) for line in read_history(tmp_path).epochs)


def test_train_restores_the_learning_rate_after_enough_good_steps(clips, tmp_path, monkeypatch):
    shares = []

    def step(self, number, pieces, share):
        shares.append(share)
        return None if number == 0 else {"envelope": 0.5}

    scored(monkeypatch, [0.1, 0.2])
    monkeypatch.setattr(FineTuning, "step", step)
    monkeypatch.setattr(module, "_STEPS_TO_TRUST", 3)
    train(clips, replace(PLAN, epochs=3), tmp_path)
    assert shares == [1.0, 0.5, 0.5, 0.5, 1.0, 1.0]


def test_train_raises_a_training_error_if_all_steps_are_non_finite(clips, tmp_path, monkeypatch):
    monkeypatch.setattr(FineTuning, "step", lambda *_: None)
    skip_estimates(monkeypatch)
    with pytest.raises(TrainingError, match="lower learning rate"):
        train(clips, replace(PLAN, epochs=50), tmp_path)


def test_train_leaves_out_a_recording_with_nan_and_reports_it(clips, tmp_path, monkeypatch):
    scored(monkeypatch, [0.5] * 9)
    poisoned = replace(clips[0], envelope=np.full_like(clips[0].envelope, np.nan))
    train([*clips, poisoned], replace(PLAN, epochs=1), tmp_path)
    assert "infinite values: 1." in read_history(tmp_path).events[0].text


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")]
)
def test_train_halves_the_batch_when_out_of_memory_and_reports_it(clips, tmp_path, monkeypatch, error):
    sizes = []

    def step(self, number, pieces, share=1.0):
        sizes.append(len(pieces))
        if len(pieces) > 2:
            raise error
        return {"envelope": 0.5}

    scored(monkeypatch, [0.1, 0.2])
    monkeypatch.setattr(FineTuning, "step", step)
    train(clips, replace(PLAN, epochs=1), tmp_path)
    assert sizes[:2] == [4, 2]
    assert max(sizes[1:]) == 2
    assert "batch size is now 2" in read_history(tmp_path).events[0].text


@pytest.mark.parametrize(
    ("met", "error", "words"),
    [
        (MemoryError(), TrainingError, "not enough memory"),  # however small the batch
        (RuntimeError("shapes do not fit"), RuntimeError, "shapes"),
    ],
)
def test_train_raises_what_no_smaller_batch_mends(clips, tmp_path, monkeypatch, met, error, words):
    def step(*_):
        raise met

    monkeypatch.setattr(FineTuning, "step", step)
    skip_estimates(monkeypatch)
    with pytest.raises(error, match=words):
        train(clips, PLAN, tmp_path)


def test_train_reports_a_full_disk_and_resumes_later(clips, folder, trained, begun, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "save_checkpoint", full)
        with pytest.raises(AudioError, match="disk is full"):
            train(clips, replace(PLAN, save_s=0.0), begun)
    train(clips, PLAN, begun)
    assert curve(begun)["epochs"] == curve(folder)["epochs"]


@pytest.mark.parametrize("seconds", [0, 5])
def test_train_refuses_too_little_voice_and_names_its_seconds(sing, tmp_path, seconds):
    samples = np.concatenate([sing(float(seconds)), np.zeros(20 * SAMPLE_RATE, np.float32)])
    with pytest.raises(TrainingError, match=r"only \d\.\d seconds of voice; at least 10 are needed"):
        train([analyse_clip(Audio(samples[None], SAMPLE_RATE))], PLAN, tmp_path / "training")
    assert not (tmp_path / "training").exists()


# ---- from a dataset


def test_train_dataset_trains_in_the_dataset_folder_and_reuses_its_cache(recordings, tmp_path, monkeypatch):
    scored(monkeypatch, [0.1, 0.9])
    dataset = create_dataset(recordings, tmp_path / "mia", {"name": "Mia Two"})
    voice = train_dataset(dataset, replace(PLAN, epochs=1))
    assert voice.card.name == "Mia Two"
    assert read_history(dataset.folder / "training").state == "completed"
    kept = list(dataset.cache.iterdir())
    monkeypatch.setattr("engine.features.clips._analyse", lambda *_: pytest.fail("analysed again"))
    train_dataset(dataset, replace(PLAN, epochs=1))
    assert list(dataset.cache.iterdir()) == kept


def test_train_dataset_refuses_a_dataset_without_voice(tmp_path):
    soundfile.write(
        tmp_path / "noise.wav", np.random.default_rng(0).standard_normal(15 * SAMPLE_RATE) * 0.05, SAMPLE_RATE
    )
    dataset = create_dataset([tmp_path / "noise.wav"], tmp_path / "mia", {"name": "Mia"})
    with pytest.raises(DatasetError):
        train_dataset(dataset, PLAN)


def test_read_history_returns_none_for_an_empty_folder(tmp_path):
    assert read_history(tmp_path) is None
    assert TrainingHistory().state == "training"


# ---- ahead of a graphics card


@pytest.fixture
def ahead(monkeypatch) -> None:
    """The processor trains as a graphics card does, with up to four steps taken as one."""
    monkeypatch.setattr(module, "_MOST_TOGETHER", 4)
    monkeypatch.setattr(module, "FineTuning", partial(FineTuning, ahead=True))


AHEAD = replace(PLAN, epochs=3, batch=2, evaluate_epochs=1)


@pytest.fixture
def sizes(monkeypatch) -> list[int]:
    """The sizes of batches, whose steps do nothing."""
    seen: list[int] = []

    def queue(self, step, share):
        seen.append(len(step.pieces))
        return torch.tensor([0.5, 0.5, 0.0, 0.0, 0.0, 1.0])

    monkeypatch.setattr(FineTuning, "queue", queue)
    return seen


def test_train_ahead_resumed_after_a_stop_equals_an_uninterrupted_training(clips, tmp_path, monkeypatch, ahead):
    skip_estimates(monkeypatch)
    wanted = train(clips, AHEAD, tmp_path / "whole")
    assert [line["epoch"] for line in read_history(tmp_path / "whole").evaluations] == [0, 1, 2, 3]
    told = 0

    def stop(fraction: float, message: str) -> None:
        nonlocal told
        told += message.startswith("epoch")
        if told == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        train(clips, AHEAD, tmp_path / "stopped", stop)
    assert 0 < read_history(tmp_path / "stopped").epoch < 3
    found = train(clips, AHEAD, tmp_path / "stopped")
    assert same_weights(found, wanted)
    assert curve(tmp_path / "stopped")["epochs"] == curve(tmp_path / "whole")["epochs"]


def test_train_ahead_goes_on_while_a_checkpoint_is_auditioned(clips, tmp_path, monkeypatch, ahead, sizes):
    """Each audition waits for an epoch after it: one after the other, they would wait for each other."""
    scored(monkeypatch, [0.1, 0.9, 0.3, 0.2])
    scoring, trained_on = module.Audition.evaluate, threading.Semaphore(0)

    def evaluate(self, voice, folder):
        assert voice.card.training["epochs"] == AHEAD.epochs or trained_on.acquire(timeout=120)
        return scoring(self, voice, folder)

    def train_epoch(self):
        whole(self)
        trained_on.release()

    whole = module._Training._train_epoch
    monkeypatch.setattr(module._Training, "_train_epoch", train_epoch)
    monkeypatch.setattr(module.Audition, "evaluate", evaluate)
    voice = train(clips, AHEAD, tmp_path)
    found = [(line["epoch"], line["likeness"]) for line in read_history(tmp_path).evaluations]
    assert found == [(0, 0.1), (1, 0.9), (2, 0.3), (3, 0.2)]
    assert voice.card.training["best_epoch"] == 1
    assert not list((tmp_path / EVALUATIONS_FOLDER).glob(".*"))


def test_train_ahead_passes_on_what_goes_wrong_in_an_audition(clips, tmp_path, monkeypatch, ahead, sizes):
    def evaluate(self, voice, folder):
        raise AudioError("the disk is full")

    scored(monkeypatch, [])
    monkeypatch.setattr(module.Audition, "evaluate", evaluate)
    with pytest.raises(AudioError, match="disk is full"):
        train(clips, AHEAD, tmp_path)


def test_train_ahead_stops_early_one_evaluation_later(clips, tmp_path, monkeypatch, ahead, sizes):
    """At the same epoch however long auditions take."""
    scored(monkeypatch, [0.1, 0.9, 0.5, 0.4, 0.3, 0.2])
    train(clips, replace(AHEAD, epochs=50, patience=3), tmp_path)
    history = read_history(tmp_path)
    assert (history.state, history.epoch, history.best["epoch"]) == ("completed", 5, 1)


@pytest.mark.parametrize(("batch", "expected"), [(1, [4, 4]), (2, [4, 4]), (3, [4, 4]), (6, [6, 2])])
def test_train_ahead_takes_more_pieces_at_a_time_in_equal_steps(
    clips, tmp_path, monkeypatch, ahead, sizes, batch, expected
):
    """Eight pieces: at most four times the batch that was planned, and two steps of an epoch at least."""
    scored(monkeypatch, [0.1, 0.2])
    train(clips, replace(AHEAD, epochs=1, batch=batch), tmp_path)
    assert sizes == expected


def test_train_ahead_takes_the_batch_of_the_plan_by_default(clips, tmp_path, monkeypatch, sizes):
    monkeypatch.setattr(module, "FineTuning", partial(FineTuning, ahead=True))
    scored(monkeypatch, [0.1, 0.2])
    train(clips, replace(AHEAD, epochs=1, batch=3), tmp_path)
    assert sizes == [3, 3, 2]


def test_train_ahead_halves_the_batch_when_out_of_memory_and_reports_it(clips, tmp_path, monkeypatch, ahead, sizes):
    counted = FineTuning.queue

    def queue(self, step, share):
        if len(step.pieces) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return counted(self, step, share)

    scored(monkeypatch, [0.1, 0.2])
    monkeypatch.setattr(FineTuning, "queue", queue)
    train(clips, replace(AHEAD, epochs=1), tmp_path)
    assert sizes == [2] * 4
    assert "batch size is now 2" in read_history(tmp_path).events[0].text


def test_train_ahead_reports_a_non_finite_step_and_halves_the_learning_rate(clips, tmp_path, monkeypatch, ahead):
    shares = []

    def queue(self, step, share):
        shares.append(share)
        return torch.tensor([0.5, 0.5, 0.0, 0.0, 0.0, 0.0 if step.number == 2 else 1.0])

    scored(monkeypatch, [0.1] * 4)
    monkeypatch.setattr(FineTuning, "queue", queue)
    train(clips, replace(AHEAD, epochs=3), tmp_path)
    assert shares == [1.0] * 4 + [0.5] * 2
    [event] = read_history(tmp_path).events
    assert "was skipped" in event.text
    assert [line["steps"] for line in read_history(tmp_path).epochs] == [2, 1, 2]


def test_estimate_training_ahead_counts_what_auditions_add_to_the_epochs(clips, tmp_path, monkeypatch, ahead):
    """By a clock of the test's own: an audition of 10 s beside an epoch of 0.6 s."""
    clock = OwnClock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(FineTuning, "step", lambda *_: clock.sleep(0.3))
    monkeypatch.setattr(module.Audition, "evaluate", lambda *_: clock.sleep(10.0))
    estimate = estimate_training(clips, replace(AHEAD, epochs=10))
    assert estimate.epoch_s == pytest.approx(0.6, abs=0.1)
    assert estimate.evaluation_s == pytest.approx(10.0 - estimate.epoch_s, abs=1.0)
