"""The data set of a voice that an imported one teaches, with the imported voice's scores.

The scores are those of every training, with the same recordings: the ones held out, and three of other people. So the
taught voice's scores, once it is trained, can be read beside its teacher's.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from engine.conversion.settings import ConversionSettings
from engine.datasets.dataset import MODEL_FILE, Dataset, create_dataset, load_dataset
from engine.datasets.report import examined, refuse_unusable, usable_recordings
from engine.datasets.teaching import TeachingSource, taught_profile, teaching_recordings
from engine.devices import AUTO
from engine.features.clips import Clip, analysed_clips
from engine.features.speaker_timbre import mean_timbre, speaker_timbres
from engine.files import UNFINISHED, write_atomically
from engine.networks.base import load_base
from engine.progress import Report, no_report, within
from engine.provenance.installation import Installation
from engine.texts import tr
from engine.training.checkpoint_audition import Audition, AuditionScores
from engine.training.holdout import hold_out
from engine.training.plan import TrainingPlan
from engine.training.train import refuse_too_little, sound_clips
from engine.voices.imported import AnyVoice, voice_of
from engine.voices.profile import TAUGHT_BY, profile_text

_SUNG_SHARE, _EXAMINED_SHARE = 0.75, 0.1  # of the progress; the rest is the scores


def teach(
    voice: AnyVoice | str | Path,
    sources: Sequence[TeachingSource],
    folder: Path | str,
    name: str = "",
    report: Report = no_report,
    device: str = AUTO,
    installation: Installation | None = None,
) -> Dataset:
    """Let an imported voice sing recordings, and make a dataset of the results, to `train_dataset` on.

    Its profile contains what is known about the imported voice, and that voice's scores.

    Parameters
    ----------
    voice : ImportedVoice, str or Path
        Loaded, or as `load_any_voice` takes it.
    sources : sequence of TeachingSource
        What it sings, such as `bundled_sources()`.
    folder : Path or str
        The folder of the dataset, which must not exist yet; it is removed after any error.
    name : str
        The name of the new voice; by default that of the imported one.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.
    device, installation
        As for `convert_file`.

    Returns
    -------
    Dataset
        Of what it sang.

    Raises
    ------
    DatasetError, VoiceError, AudioError
        As `teaching_recordings`.
    TrainingError
        If there is too little voice in the results.

    Examples
    --------
    >>> from engine import bundled_sources
    >>> teach("kathleen", bundled_sources(), "taught")
    Traceback (most recent call last):
    engine.errors.VoiceError: Kathleen is a voice of this studio already: only imported RVC models can teach one.
    """
    voice, folder = voice_of(voice), Path(folder)
    sung, started = folder.with_name(f"{folder.name}.sung"), False
    try:
        shutil.rmtree(sung, ignore_errors=True)  # left by a crash
        recordings = teaching_recordings(
            voice, sources, sung, ConversionSettings(), within(report, 0.0, _SUNG_SHARE), device, installation
        )
        dataset = create_dataset(recordings, folder, taught_profile(voice.card, name))
        started = True
        found = examined(dataset, within(report, _SUNG_SHARE, _SUNG_SHARE + _EXAMINED_SHARE))
        refuse_unusable(found)
        clips = analysed_clips(usable_recordings(found, dataset.recordings), dataset.cache)
        refuse_too_little(clips)
        scores = teacher_scores(voice, clips, within(report, _SUNG_SHARE + _EXAMINED_SHARE, 1.0), device)
        return _with_scores(dataset, scores)
    except BaseException:
        if started:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(sung, ignore_errors=True)
        shutil.rmtree(sung.with_name(sung.name + UNFINISHED), ignore_errors=True)


def teacher_scores(
    voice: AnyVoice, clips: Sequence[Clip], report: Report = no_report, device: str = AUTO
) -> AuditionScores:
    """Score the voice that sang the clips, as a training on them scores a checkpoint."""
    report(0.0, tr("scoring the imported voice"))
    base, (learned, held_out) = load_base(), hold_out(sound_clips(clips), TrainingPlan().seed)
    timbre = mean_timbre(*speaker_timbres(base, learned))
    with tempfile.TemporaryDirectory() as place:
        audition = Audition(base, timbre, held_out, Path(place) / "originals", device)
        scores = audition.evaluate(voice, Path(place))
    report(1.0, tr("scoring the imported voice"))
    return scores


def _with_scores(dataset: Dataset, scores: AuditionScores) -> Dataset:
    origin = dataset.profile.other[TAUGHT_BY]
    assert isinstance(origin, dict)  # as `taught_profile` has it
    taught = {**origin, "scores": asdict(scores) | {"score": round(scores.score, 5)}}
    profile = replace(dataset.profile, other={**dataset.profile.other, TAUGHT_BY: taught})
    write_atomically(dataset.folder / MODEL_FILE, profile_text(profile), durable=True)
    return load_dataset(dataset.folder)
