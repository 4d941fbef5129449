"""An untrained voice: the base's decoder with the timbre, retrieval frames and range of its own recordings.

Training starts from it. The untrained voice of a dataset is kept beside the recordings, in a folder that is a voice
like any other; the folder of the training is not touched. It is made once, and again when the recordings or the profile
change. It is deleted when a trained voice is kept.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from engine.datasets.dataset import MODEL_FILE, UNTRAINED_FOLDER, Dataset
from engine.devices import AUTO, working_device
from engine.errors import DatasetError, VoiceError
from engine.features.clips import Clip
from engine.networks.base import load_base
from engine.progress import Report, no_report
from engine.texts import tr
from engine.training.fine_tuning import FineTuning
from engine.training.plan import TrainingPlan
from engine.training.snapshot import portray, snapshot
from engine.training.train import refuse_too_little, sound_clips, usable_clips
from engine.units import FRAME_RATE
from engine.voices.card import WEIGHTS_FILE, load_card, new_identifier
from engine.voices.card_rules import UNTRAINED
from engine.voices.profile import VoiceProfile
from engine.voices.voice import Voice, save_voice

_MADE_OF = "made_of"  # key on its card: the state of the dataset it was made from


def untrained_voice(clips: Sequence[Clip], profile: VoiceProfile | None = None, device: str = AUTO) -> Voice:
    """Make a voice from recordings without training.

    Parameters
    ----------
    clips : sequence of Clip
        As `analysed_clips` returns them.
    profile : VoiceProfile, optional
        Who the voice is.
    device : str
        auto, cpu, or a GPU such as cuda or mps.

    Returns
    -------
    Voice
        Which converts at once; its card's `is_untrained` is True.

    Raises
    ------
    TrainingError
        If there is too little voice.

    Examples
    --------
    >>> from engine import analysed_clips
    >>> clips = analysed_clips(["recordings/one.flac", "recordings/two.flac"])
    >>> voice = untrained_voice(clips, VoiceProfile(name="Mia"))
    >>> voice.card.name, voice.card.is_untrained, voice.card.training["steps"]
    ('Mia', True, 0)
    """
    refuse_too_little(clips)
    clips, profile = sound_clips(clips), profile or VoiceProfile(name=tr("Voice"))
    card = portray(profile, clips, new_identifier(profile.name, ()))
    tuning = FineTuning(load_base(device=working_device(device).torch_device), clips, TrainingPlan())
    minutes = round(sum(len(clip.pitch) for clip in clips) / FRAME_RATE / 60, 1)
    return snapshot(tuning, card, {UNTRAINED: True, "minutes": minutes, "epochs": 0, "steps": 0})


def untrained_of(dataset: Dataset, report: Report = no_report, device: str = AUTO) -> Path:
    """Return the folder of a dataset's untrained voice; make it if `finished_untrained` finds none.

    Not for several processes at once. `report` may raise Cancelled; finished analysis stays in the dataset. Raises
    DatasetError or TrainingError if there is too little voice.

    >>> from engine import create_dataset, load_voice
    >>> mia = create_dataset(Path("recordings"), Path("mia"), {"name": "Mia"})
    >>> load_voice(untrained_of(mia)).card.is_untrained
    True
    """
    if kept := finished_untrained(dataset):
        return kept
    made_of = _state(dataset)  # before reading, so that changes in the meantime are found the next time
    clips = usable_clips(dataset, report)
    report(1.0, tr("rendering a preview"))
    voice = untrained_voice(clips, dataset.profile, device)
    voice.card.training[_MADE_OF] = made_of
    home = dataset.folder / UNTRAINED_FOLDER
    save_voice(voice, home)
    return home


def finished_untrained(dataset: Dataset) -> Path | None:
    """Return the folder of a dataset's untrained voice; None if missing or made from other data or another base."""
    home = dataset.folder / UNTRAINED_FOLDER
    try:
        card = load_card(home)
    except VoiceError:
        return None
    is_whole = not card.is_earlier and (home / WEIGHTS_FILE).is_file()
    return home if is_whole and card.training.get(_MADE_OF) == _state(dataset) else None


def _state(dataset: Dataset) -> str:
    """Return a digest of recordings and profile. Raises DatasetError if they are gone."""
    digest = hashlib.sha256()
    try:
        for path in (dataset.folder / MODEL_FILE, *dataset.recordings):
            stat = path.stat()
            digest.update(os.fsencode(path.relative_to(dataset.folder)) + b"\0")
            digest.update(f"{stat.st_size} {stat.st_mtime_ns}\n".encode())
    except OSError as cause:
        reason = cause.strerror or cause
        raise DatasetError(
            tr('The recordings of "{name}" cannot be read: {reason}.', name=dataset.profile.name, reason=reason)
        ) from cause
    return digest.hexdigest()
