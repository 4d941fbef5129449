"""Train a voice: fine-tune the base on its recordings, keep the best checkpoint, and resume after interruptions.

    clips --> hold some out --> epoch after epoch: steps --> evaluate (audition, score) --> checkpoint
                                                     ^                                          |
                                                     +----- resumes here after a stop ----------+

The folder of a training holds `checkpoint.pt` (and the one before it), `history.json`, `originals/` with the recordings
of the audition, and `evaluations/000040/` for the evaluation after 40 epochs: a voice like any other, with its
renderings beside it. `train` returns the best of them.

On a graphics card the steps are queued ahead of it, and a checkpoint is auditioned beside the next epochs: what was
found is taken when the next one is due, so that no time decides when training ends.
"""

import copy
import hashlib
import itertools
import math
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import torch

from engine.analysis.pitch import Pitch
from engine.analysis.style import measure_style
from engine.audio.files import read_audio, write_audio
from engine.conversion.convert import statement_for
from engine.conversion.settings import ConversionSettings
from engine.cores import usable_cores
from engine.datasets.dataset import TRAINING_FOLDER, Dataset
from engine.datasets.report import examined, refuse_unusable, usable_recordings
from engine.devices import AUTO, Device, working_device
from engine.errors import Cancelled, TrainingError
from engine.features.clips import Clip, analysed_clips
from engine.files import writing_errors
from engine.networks.base import load_base
from engine.progress import Report, no_report
from engine.provenance.statement import file_digest
from engine.texts import as_data, joined, ntr, numeral, tr
from engine.training.checkpoint import CHECKPOINT_FILE, load_checkpoint, previous, save_checkpoint
from engine.training.checkpoint_audition import Audition, AuditionScores
from engine.training.evaluation_schedule import EvaluationSchedule
from engine.training.fine_tuning import Figures, FineTuning
from engine.training.history import (
    EVALUATIONS_FOLDER,
    ORIGINALS_FOLDER,
    TRAINING_FORMAT,
    Estimate,
    TrainingEvent,
    TrainingHistory,
    TrainingSummary,
    history_from_json,
    write_history,
)
from engine.training.holdout import hold_out
from engine.training.pieces import PIECE_FRAMES, Piece, epoch_pieces
from engine.training.plan import TrainingPlan
from engine.training.snapshot import portray, snapshot
from engine.units import FRAME_RATE, rounded_duration
from engine.voices.card import PREVIEW_FILE, WEIGHTS_FILE, new_identifier
from engine.voices.profile import VoiceProfile
from engine.voices.voice import Voice, load_voice, save_voice

LEAST_VOICE_S = 10.0  # of voiced sound; less is not enough to train on
EARLIER_FOLDER = "earlier-version"  # and its format: a training by an earlier version, which cannot resume
_OF_AN_EPOCH = ("position", "sums", "steps_in_epoch", "seconds_in_epoch")
_COUNTERS = ("step", *_OF_AN_EPOCH, "batch", "rate_share", "bad_steps", "good_steps", "patient_from")
_STEPS_APART = 60  # between two evaluations at the beginning
_APART_BESIDE = 2  # times as many where evaluations run beside the training, which would else wait for them
_MOST_TOGETHER = 1  # times the plan's batch, on a graphics card; 4 learned more slowly (engine/README.md, GPUs)
_LEAST_STEPS = 2  # of an epoch there
_STEPS_AHEAD = 32  # are queued before their losses are fetched
_TIMED_STEPS = 3
_MOST_BAD_STEPS = 20  # with fewer than _STEPS_TO_TRUST good ones between them; then skipping does not help
_STEPS_TO_TRUST = 200  # good ones, after which the learning rate may rise again
_SLOWEST_SHARE = 1 / 64
_WEIGHTS_KEPT = 30  # evaluations that keep their weights; older ones keep only the audio


def train(
    clips: Sequence[Clip],
    plan: TrainingPlan,
    folder: Path | str,
    report: Report = no_report,
    profile: VoiceProfile | None = None,
    device: str = AUTO,
) -> Voice:
    """Train a voice on recordings of it, or resume the training in a folder.

    Parameters
    ----------
    clips : sequence of Clip
        As `analysed_clips` or `usable_clips` return them.
    plan : TrainingPlan
        Its `epochs` are the total; a training that has as many is not trained further.
    folder : Path or str
        Keeps checkpoints and history; the same folder resumes, also on another device.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled, which is passed on after the state is saved.
    profile : VoiceProfile, optional
        Who the voice is.
    device : str
        auto, cpu, or a GPU such as cuda or mps.

    Returns
    -------
    Voice
        The best checkpoint; `save_voice` keeps it.

    Raises
    ------
    TrainingError
        If there is too little voice, the recordings are not those the training started with, or it cannot continue.

    Examples
    --------
    >>> clips = analysed_clips(["recordings/one.flac", "recordings/two.flac"])
    >>> voice = train(clips, TrainingPlan(epochs=1), "training", profile=VoiceProfile(name="Mia"))
    >>> voice.card.name, voice.card.training["epochs"]
    ('Mia', 1)
    """
    refuse_too_little(clips)
    profile = profile or VoiceProfile(name=tr("Voice"))
    training = _Training(clips, plan, Path(folder), profile, working_device(device), report)
    training.run()
    return training.best_voice()


def train_dataset(dataset: Dataset, plan: TrainingPlan, report: Report = no_report, device: str = AUTO) -> Voice:
    """Train a voice on the usable recordings of a dataset, in its folder.

    Parameters
    ----------
    dataset : Dataset
        Made by `create_dataset`.
    plan, report, device
        As for `train`.

    Returns
    -------
    Voice
        The best checkpoint; `save_voice` keeps it.

    Raises
    ------
    DatasetError
        If there is nothing to train on.
    TrainingError
        As `train`.

    Examples
    --------
    >>> from engine import create_dataset
    >>> mia = create_dataset("recordings", "mia", {"name": "Mia"})
    >>> train_dataset(mia, TrainingPlan(epochs=1)).card.name
    'Mia'
    """
    clips = usable_clips(dataset, lambda fraction, message: report(0.0, message))
    return train(clips, plan, dataset.folder / TRAINING_FOLDER, report, dataset.profile, device)


def usable_clips(dataset: Dataset, report: Report = no_report) -> list[Clip]:
    """Return the usable recordings of a dataset, analysed; the analysis is kept in the dataset.

    Parameters
    ----------
    dataset : Dataset
        Made by `create_dataset`.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.

    Returns
    -------
    list of Clip
        For `train`.

    Raises
    ------
    DatasetError
        If there is too little voice in them.

    Examples
    --------
    >>> from engine import create_dataset
    >>> mia = create_dataset("recordings", "mia", {"name": "Mia"})
    >>> [clip.name for clip in usable_clips(mia)]
    ['one.flac', 'two.flac']
    """
    found = examined(dataset, report)
    refuse_unusable(found)
    return analysed_clips(usable_recordings(found, dataset.recordings), dataset.cache, report)


def estimate_training(clips: Sequence[Clip], plan: TrainingPlan, device: str = AUTO) -> Estimate:
    """Estimate how long a training takes here by timing a few steps and one rendering, about 5 s.

    Parameters
    ----------
    clips, plan, device
        As for `train`.

    Returns
    -------
    Estimate
        In seconds.

    Raises
    ------
    TrainingError
        If there is too little voice.

    Examples
    --------
    >>> clips = analysed_clips(["recordings/one.flac", "recordings/two.flac"])
    >>> estimate_training(clips, TrainingPlan(epochs=100)).total_s > 1
    True
    """
    refuse_too_little(clips)
    with tempfile.TemporaryDirectory() as folder:
        return _Training(clips, plan, Path(folder), VoiceProfile(name=tr("Voice")), working_device(device)).estimate()


class _Training:
    """A training in progress: `tuning`, the counters below, and `history` change."""

    def __init__(
        self,
        clips: Sequence[Clip],
        plan: TrainingPlan,
        folder: Path,
        profile: VoiceProfile,
        device: Device,
        report: Report = no_report,
    ) -> None:
        self.plan, self.folder, self.device, self.report = plan, folder, device, report
        self.started = time.monotonic()
        report(0.0, tr("loading the networks"))
        self.recordings = _identity(clips)
        sound = sound_clips(clips)
        self.card = portray(profile, sound, new_identifier(profile.name, ()))
        self.preview = _preview_part(sound)
        self.base = load_base(device=device.torch_device)
        learned, self.held_out = hold_out(sound, plan.seed)
        self.tuning = FineTuning(self.base, learned, plan, device.precision)
        self.history = TrainingHistory()
        self.step = self.position = 0  # steps in all; finished pieces of the current epoch
        self.sums: dict[str, float] = {}  # of the current epoch's losses
        self.steps_in_epoch, self.seconds_in_epoch = 0, 0.0
        self.batch, self.rate_share = self._own_batch(), 1.0
        self.bad_steps = self.good_steps = 0
        self.patient_from = 0  # number of evaluations when the ceiling was last raised
        self.saved_at = time.monotonic()
        self.beside: ThreadPoolExecutor | None = None  # where checkpoints are auditioned while the training goes on
        self.awaited: tuple[int, Future[AuditionScores]] | None = None  # of which epoch
        if len(sound) < len(clips):
            left_out = len(clips) - len(sound)
            self._add_event(
                tr(
                    "Recordings left out because their analysis gave NaN or infinite values: {left_out}.",
                    left_out=left_out,
                )
            )
        self._resume()
        self._take_together()
        self.good = copy.deepcopy(self.tuning.state())

    # ---- the whole

    def run(self) -> None:
        """Train until the ceiling, or until nothing has improved for `patience` evaluations."""
        if self.history.state == "completed" and self.plan.epochs <= self.history.ceiling:
            return
        if self.plan.epochs > self.history.ceiling:
            self.patient_from = len(self.history.evaluations)
        self.history.state, self.history.ceiling = "training", self.plan.epochs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.report(self._fraction(), tr("preparing the evaluation recordings"))
        audition = self._audition()
        if not self.tuning.ahead:
            self._run(audition)
            return
        with ThreadPoolExecutor(1, "audition") as self.beside:
            self._run(audition)

    def _run(self, audition: Audition) -> None:
        try:
            if not self.history.evaluations:
                self.history.estimate = self._estimate(audition)
                self.report(
                    0.0,
                    ntr(
                        "about {total_s} for {epochs} epoch",
                        "about {total_s} for {epochs} epochs",
                        epochs=self.plan.epochs,
                        total_s=rounded_duration(self.history.estimate.total_s),
                    ),
                )
                self._evaluate(audition)
            while self.history.epoch < self.plan.epochs and not self._has_stopped_improving():
                self._train_epoch()
                if self._evaluation_is_due():
                    self._evaluate(audition)
            self._take_evaluation()
        except Cancelled:
            self._take_evaluation()
            self._save()
            raise
        self._complete()

    def estimate(self) -> Estimate:
        """See `estimate_training`."""
        return self._estimate(self._audition())

    def best_voice(self) -> Voice:
        """Load the voice of the best evaluation, with the whole training on its card."""
        best = self.history.best
        assert best is not None
        voice = load_voice(self.folder / EVALUATIONS_FOLDER / best["folder"])
        scores = {name: best[name] for name in (*(f.name for f in fields(AuditionScores)), "score")}
        return replace(voice, card=replace(voice.card, training=asdict(self._summary(best["epoch"], scores))))

    # ---- one epoch

    def _train_epoch(self) -> None:
        """Train on the rest of the current epoch."""
        pieces = epoch_pieces(self.tuning.clips, self.plan.seed, self.history.epoch, self.tuning.loud)
        while self.position < len(pieces):
            batches = self._batches(pieces[self.position :])
            if self.tuning.ahead:
                self._learn_ahead(batches[:_STEPS_AHEAD])
            else:
                self._learn(batches[0])
            if time.monotonic() - self.saved_at >= self.plan.save_s:
                self._save()
            self.report(self._fraction(self.position / len(pieces)), self._progress())
        epoch = {"epoch": self.history.epoch + 1, "steps": self.steps_in_epoch}
        means = {name: round(total / max(1, self.steps_in_epoch), 5) for name, total in self.sums.items()}
        self.history.epochs.append(epoch | {"seconds": round(self.seconds_in_epoch, 2)} | means)
        self.position, self.sums, self.steps_in_epoch, self.seconds_in_epoch = 0, {}, 0, 0.0

    def _learn(self, pieces: Sequence[Piece]) -> None:
        """Take one step and handle its failure."""
        started = time.monotonic()
        try:
            figures = self.tuning.step(self.step, pieces, self.rate_share)
        except (MemoryError, RuntimeError) as cause:
            if not _is_out_of_memory(cause):
                raise
            self._take_smaller_batches(cause)
            return
        if figures is None or not self.tuning.is_sound():
            figures = None
            self._recover()
        self._count(pieces, figures)
        self.seconds_in_epoch += time.monotonic() - started

    def _learn_ahead(self, batches: Sequence[Sequence[Piece]]) -> None:
        """Queue some steps, then fetch all their losses at once, and handle failures."""
        started, queued, failure = time.monotonic(), [], None
        try:
            for step in self.tuning.draw(self.step, batches):
                queued.append(self.tuning.queue(step, self.rate_share))
        except (MemoryError, RuntimeError) as cause:
            if not _is_out_of_memory(cause):
                raise
            failure = cause
        if queued:
            read = self.tuning.read(queued)
            if None in read:  # all had the same rate, so the first of them is as good as all
                self._recover()
            for pieces, figures in zip(batches, read, strict=False):
                self._count(pieces, figures)
        if failure:
            self._take_smaller_batches(failure)
        self.seconds_in_epoch += time.monotonic() - started

    def _count(self, pieces: Sequence[Piece], figures: Figures | None) -> None:
        """Add up what a step returned; None if it was left out."""
        self.step += 1
        self.position += len(pieces)
        if figures is None:
            return
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.steps_in_epoch += 1
        self.good_steps += 1
        if self.good_steps >= _STEPS_TO_TRUST:
            self.bad_steps, self.good_steps = 0, 0
            self.rate_share = min(1.0, 2 * self.rate_share)

    def _batches(self, pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
        """Cut the pieces of an epoch that are left into batches; of steps taken together into about equal ones."""
        if self.tuning.together == 1:
            return [pieces[first : first + self.batch] for first in range(0, len(pieces), self.batch)]
        steps = math.ceil(len(pieces) / self.batch)
        ends = [round(len(pieces) * number / steps) for number in range(steps + 1)]
        return [pieces[first:end] for first, end in itertools.pairwise(ends)]

    def _own_batch(self) -> int:
        """Return how many pieces a step takes: as many as planned, or _MOST_TOGETHER times as many on a card."""
        if not self.tuning.ahead:
            return self.plan.batch
        most = math.ceil(self._pieces_in_epoch() / _LEAST_STEPS)
        return max(self.plan.batch, min(most, _MOST_TOGETHER * self.plan.batch))

    def _take_together(self) -> None:
        self.tuning.together = max(1.0, self.batch / self.plan.batch)

    def _recover(self) -> None:
        """Skip a step that gave NaN or infinite losses, restore the weights if they are damaged, and lower the rate."""
        self.bad_steps, self.good_steps = self.bad_steps + 1, 0
        if self.bad_steps > _MOST_BAD_STEPS:
            raise TrainingError(
                tr(
                    "The training cannot continue: its losses keep becoming NaN or infinite. Start from scratch with "
                    "a lower learning rate, and check the data report for damaged recordings."
                )
            )
        restored = not self.tuning.is_sound()
        if restored:
            self.tuning.restore(self.good)
        self.rate_share = max(_SLOWEST_SHARE, self.rate_share / 2)
        self._add_event(
            joined(
                " ",
                [
                    tr("A step that produced NaN or infinite losses was skipped."),
                    *([tr("The last checkpoint was restored.")] if restored else []),
                    tr(
                        "The learning rate is now {learning_rate}.",
                        learning_rate=numeral(self.plan.learning_rate * self.rate_share, ".2g"),
                    ),
                ],
            )
        )

    def _take_smaller_batches(self, cause: BaseException) -> None:
        if self.batch == 1:
            raise TrainingError(
                tr(
                    "There is not enough memory to train, even with the smallest batch. Close other programs and start "
                    "the training again: it resumes where it stopped."
                )
            ) from cause
        self.batch //= 2
        self._take_together()
        self._add_event(tr("Memory ran out, so the batch size is now {batch}.", batch=self.batch))

    # ---- evaluations

    def _audition(self) -> Audition:
        timbre, originals = self.tuning.target_timbre.cpu(), self.folder / ORIGINALS_FOLDER
        at_once = max(1, usable_cores() // 2) if self.tuning.ahead else 1
        return Audition(load_base(), timbre, self.held_out, originals, self.device.identifier, at_once)

    def _evaluation_is_due(self) -> bool:
        asked = self.plan.evaluate_epochs
        schedule = EvaluationSchedule(asked or self._epochs_apart(), growing=not asked)
        last = self.awaited[0] if self.awaited else self.history.evaluations[-1]["epoch"]
        return schedule.is_due(self.history.epoch, last, self.plan.epochs)

    def _epochs_apart(self) -> int:
        steps = _STEPS_APART * (_APART_BESIDE if self.tuning.ahead else 1)
        return math.ceil(steps / math.ceil(self._pieces_in_epoch() / self.plan.batch))

    def _pieces_in_epoch(self) -> int:
        return sum(-(-len(clip.pitch) // PIECE_FRAMES) for clip in self.tuning.clips)

    def _evaluate(self, audition: Audition) -> None:
        """Have the voice rendered, scored and kept: at once, or beside the training."""
        self._take_evaluation()
        if not self.history.evaluations:
            self.report(0.0, tr("testing the untrained voice"))
        started = time.monotonic()
        epoch = self.history.epoch
        unfinished = self.folder / EVALUATIONS_FOLDER / f".{_folder_name(epoch)}.part"
        save_voice(snapshot(self.tuning, self.card, {"epochs": epoch, "steps": self.step}), unfinished)
        if self.beside is None:
            self._keep(epoch, self._auditioned(audition, unfinished), time.monotonic() - started)
        else:
            self.awaited = epoch, self.beside.submit(self._auditioned, audition, unfinished)

    def _take_evaluation(self) -> None:
        """Wait for the evaluation that runs beside the training, if one does, and keep it."""
        if self.awaited:
            started, (epoch, evaluated) = time.monotonic(), self.awaited
            self.awaited = None
            self._keep(epoch, evaluated.result(), time.monotonic() - started)

    def _auditioned(self, audition: Audition, unfinished: Path) -> AuditionScores:
        """Render and score the voice in a folder."""
        voice = load_voice(unfinished)
        scores = audition.evaluate(voice, unfinished)
        self._write_preview(voice, unfinished)
        return scores

    def _keep(self, epoch: int, scores: AuditionScores, seconds: float) -> None:
        """Keep an evaluation; its folder is complete before the history lists it. seconds: that training waited."""
        final = self.folder / EVALUATIONS_FOLDER / _folder_name(epoch)
        shutil.rmtree(final, ignore_errors=True)
        os.replace(final.with_name(f".{final.name}.part"), final)
        figures = asdict(scores) | {"score": round(scores.score, 5)}
        line = {"epoch": epoch, "folder": final.name} | figures
        self.history.evaluations.append(line | {"seconds": round(seconds, 2)})
        self._thin_out()
        self._save()
        self.report(self._fraction(), self._progress())

    def _write_preview(self, voice: Voice, folder: Path) -> None:
        recording = f"{self.preview}.flac"
        original = self.folder / ORIGINALS_FOLDER / recording
        source = file_digest(original) if original.is_file() else None  # or the voice has been deleted meanwhile
        statement = statement_for(voice, ConversionSettings(transpose="auto"), source)
        write_audio(folder / PREVIEW_FILE, replace(read_audio(folder / recording), statement=statement))

    def _thin_out(self) -> None:
        """Delete the weights of older evaluations, except the best; keep their audio."""
        best = self.history.best
        for line in self.history.evaluations[:-_WEIGHTS_KEPT]:
            if line is not best:
                (self.folder / EVALUATIONS_FOLDER / line["folder"] / WEIGHTS_FILE).unlink(missing_ok=True)

    def _has_stopped_improving(self) -> bool:
        waited = min(self.history.evaluations_since_best, len(self.history.evaluations) - self.patient_from)
        return self.plan.patience > 0 and waited >= self.plan.patience

    def _complete(self) -> None:
        best = self.history.best
        assert best is not None
        if self.history.epoch < self.plan.epochs:
            self._add_event(
                tr(
                    "Nothing has improved since epoch {best_epoch}, so training stopped at epoch {epoch}. The voice is "
                    "from epoch {best_epoch}.",
                    best_epoch=best["epoch"],
                    epoch=self.history.epoch,
                )
            )
        self.history.state = "completed"
        self._save()
        self.report(1.0, tr("completed; the best checkpoint is from epoch {epoch}", epoch=best["epoch"]))

    # ---- time

    def _estimate(self, audition: Audition) -> Estimate:
        """Time a few steps of a copy and one rendering, as fast as they are beside other work."""
        self.report(0.0, tr("timing a few steps"))
        trial = FineTuning(self.base, self.tuning.clips, self.plan, self.device.precision, ahead=self.tuning.ahead)
        trial.together = self.tuning.together
        pieces = epoch_pieces(self.tuning.clips, self.plan.seed, 0)
        took = []
        for number in range(_TIMED_STEPS):
            started = time.monotonic()
            trial.step(number, pieces[: self.batch])
            took.append(time.monotonic() - started)
        epoch_s = statistics.median(took) * math.ceil(len(pieces) / self.batch)
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            audition.evaluate(snapshot(trial, self.card, {}), Path(folder))
            evaluation_s = time.monotonic() - started
        if self.tuning.ahead:  # beside the epochs until the next one, and only the rest is waited for
            evaluation_s = max(0.0, evaluation_s - epoch_s * (self.plan.evaluate_epochs or self._epochs_apart()))
        setup_s = time.monotonic() - self.started
        timed = Estimate(round(epoch_s, 4), round(evaluation_s, 2), 0.0, self._epochs_apart(), round(setup_s, 2))
        return replace(timed, total_s=round(timed.seconds_of(self.plan.epochs, self.plan.evaluate_epochs), 1))

    def _seconds_left(self) -> float | None:
        """Estimate from the last epochs and evaluations; None before the first epoch."""
        epochs, evaluations = self.history.epochs[-10:], self.history.evaluations[-10:]
        if not epochs:
            return None
        epoch_s = sum(line["seconds"] for line in epochs) / len(epochs)
        evaluation_s = sum(line["seconds"] for line in evaluations) / max(1, len(evaluations))  # none while it waits
        timed = Estimate(epoch_s, evaluation_s, 0.0, self._epochs_apart())
        every = self.plan.evaluate_epochs
        return timed.seconds_of(self.plan.epochs, every) - timed.seconds_of(self.history.epoch, every)

    def _fraction(self, of_epoch: float = 0.0) -> float:
        return min(1.0, (self.history.epoch + of_epoch) / self.plan.epochs)

    def _progress(self) -> str:
        """Return the progress message: epoch, loss, scores, time left."""
        history = self.history
        text = tr("epoch {epoch} of {epochs}", epoch=history.epoch, epochs=self.plan.epochs)
        if history.epochs:
            text = tr(
                "{text}, difference {value}",
                text=text,
                value=numeral(history.epochs[-1].get("envelope", math.nan), ".3f"),
            )
        if history.evaluations and (best := history.best):
            last = history.evaluations[-1]
            scores = tr(
                "score {score} (best {best_score} at epoch {epoch})",
                score=numeral(last["score"], ".3f"),
                best_score=numeral(best["score"], ".3f"),
                epoch=best["epoch"],
            )
            text = tr(
                "{text}, likeness {likeness}, {scores}",
                text=text,
                likeness=numeral(last["likeness"], ".3f"),
                scores=scores,
            )
        if (left_s := self._seconds_left()) is not None and history.epoch < self.plan.epochs:
            text = tr("{text}, about {left_s} left", text=text, left_s=rounded_duration(left_s))
        return text

    def _add_event(self, text: str) -> None:
        self.history.events.append(TrainingEvent(self.history.epoch, text))
        self.report(self._fraction(), text)

    # ---- on disk

    def _save(self) -> None:
        self.good = copy.deepcopy(self.tuning.state())
        counters = {name: getattr(self, name) for name in _COUNTERS}
        state = {"format": TRAINING_FORMAT, "plan": asdict(self.plan), "recordings": self.recordings}
        state |= {"tuning": self.good, "counters": counters, "history": as_data(self.history.as_json())}
        with writing_errors(self.folder / CHECKPOINT_FILE):
            save_checkpoint(self.folder / CHECKPOINT_FILE, state)
            write_history(self.history, self.folder)
        self.saved_at = time.monotonic()

    def _resume(self) -> None:
        """Resume from the checkpoint, if there is one. Raises TrainingError if it belongs to another training."""
        state = load_checkpoint(self.folder / CHECKPOINT_FILE)
        if state is None:
            return
        if state.get("format", 1) > TRAINING_FORMAT:
            raise TrainingError(tr("A later version of Timbre Studio started this training; update to resume it."))
        if state.get("format", 1) < TRAINING_FORMAT:
            # the earlier version analysed the recordings differently, so its checkpoints cannot be mixed with new ones
            self._add_event(tr("Started again, because an earlier version of Timbre Studio had started this training."))
            with writing_errors(self.folder / CHECKPOINT_FILE):
                self._set_aside(state.get("format", 1))
                write_history(self.history, self.folder)
            return
        if state["recordings"] != self.recordings:
            raise TrainingError(
                tr(
                    "The recordings are not those this training started with. Start it from scratch, or make a new "
                    "voice from the new recordings."
                )
            )
        if changed := self.plan.differences(state["plan"]):
            values = ", ".join(f"{name} {state['plan'].get(name)}" for name in changed)
            raise TrainingError(
                tr("This training started with {values}. Resume with the same, or start from scratch.", values=values)
            )
        self.tuning.restore(state["tuning"])
        for name, value in state["counters"].items():
            setattr(self, name, value)
        self.history = history_from_json(state["history"])

    def _set_aside(self, begun_as: int) -> None:
        """Move the earlier training aside; the checkpoint last, so that this can be repeated after a kill."""
        earlier, checkpoint = self.folder / f"{EARLIER_FOLDER}-{begun_as}", self.folder / CHECKPOINT_FILE
        earlier.mkdir(exist_ok=True)
        for path in (self.folder / EVALUATIONS_FOLDER, previous(checkpoint), checkpoint):
            if path.exists() and not (earlier / path.name).exists():
                path.replace(earlier / path.name)
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _summary(self, best_epoch: int, scores: Mapping[str, float]) -> TrainingSummary:
        """Summarise the training for the card."""
        frames = sum(len(clip.pitch) for clip in self.tuning.clips)
        minutes = round(frames / FRAME_RATE / 60, 1)
        return TrainingSummary(minutes, self.history.epoch, best_epoch, self.step, scores)


def _folder_name(epoch: int) -> str:
    """Return the folder of an evaluation."""
    return f"{epoch:06d}"


def refuse_too_little(clips: Sequence[Clip]) -> None:
    """Raise TrainingError if there is less than LEAST_VOICE_S of voiced sound."""
    voiced_s = sum(int(clip.pitch.voiced.sum()) for clip in clips) / FRAME_RATE
    if voiced_s < LEAST_VOICE_S:
        raise TrainingError(
            ntr(
                "There is only {voiced_s} second of voice; at least {least_voice_s} are needed. Five minutes work "
                "well.",
                "There are only {voiced_s} seconds of voice; at least {least_voice_s} are needed. Five minutes work "
                "well.",
                voiced_s=numeral(voiced_s, ".1f"),
                least_voice_s=numeral(LEAST_VOICE_S, ".0f"),
            )
        )


def sound_clips(clips: Sequence[Clip]) -> list[Clip]:
    """Return the clips that hold only finite values."""
    return [clip for clip in clips if np.isfinite(clip.envelope).all() and np.isfinite(clip.pitch.hertz).all()]


def _identity(clips: Sequence[Clip]) -> str:
    """Return a digest of the recordings and their order, whatever their names."""
    digest = hashlib.sha256()
    for clip in clips:
        digest.update(clip.pitch.hertz.tobytes())
        digest.update(np.float32(clip.level.nepers).tobytes())
    return digest.hexdigest()


def _preview_part(clips: Sequence[Clip]) -> str:
    """Choose the foreign recording for the preview: singing for a singing voice, else speech."""
    pitch = Pitch.joined(clip.pitch for clip in clips)
    sung = measure_style(pitch, np.concatenate([clip.loudness_db for clip in clips])) == "melodic"
    return "singing-high" if sung else "speech-high"


def _is_out_of_memory(cause: BaseException) -> bool:
    """Detect torch's RuntimeError too, whose words differ between devices."""
    return isinstance(cause, MemoryError | torch.OutOfMemoryError) or "memory" in str(cause).lower()
