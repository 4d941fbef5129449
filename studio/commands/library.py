"""The user's library: voices that can be used, and recordings that voices are made of, under one set of ids.

A voice that was made here has a dataset of the same id, with its recordings and its training; an imported or blended
one has none. A dataset without a voice is one that is still to be trained; until then it can convert as it is.
"""

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.datasets.dataset import (
    MODEL_FILE,
    TRAINING_FOLDER,
    UNTRAINED_FOLDER,
    Dataset,
    create_dataset,
    load_dataset,
)
from engine.errors import DatasetError, EngineError, VoiceError
from engine.progress import Report
from engine.training.history import read_history
from engine.voices.card import (
    DEMO_VOICES,
    UNTRAINED,
    VoiceCard,
    delete_voice,
    find_voice,
    list_voices,
    load_card,
    new_identifier,
)
from engine.voices.card_rules import is_identifier
from engine.voices.voice import Voice, load_voice, save_voice
from studio.settings.environment import Settings

if TYPE_CHECKING:
    from engine.datasets.report import DataReport


@dataclass(frozen=True)
class Pending:
    """A dataset that no voice has been made of yet; state: a few words for the user."""

    id: str
    name: str
    state: str


@dataclass(frozen=True)
class Library:
    """The voices and datasets of an installation."""

    settings: Settings

    @property
    def voice_folders(self) -> list[Path]:
        """Where voices are found: the user's own, then the demo voices."""
        return [self.settings.voices, DEMO_VOICES]

    def voices(self) -> list[VoiceCard]:
        """Cards of all voices, by name; those of an earlier base (`is_earlier`) cannot be used any more."""
        return list_voices(self.voice_folders)

    def voice(self, identifier: str) -> Voice:
        """The voice with this id. Raises VoiceError, also saying so where it is only still to be trained."""
        self.voice_folder(identifier)
        return load_voice(identifier, self.voice_folders)

    def voice_to_convert(self, identifier: str, report: Report, device: str) -> Voice:
        """The same, or where it is still to be trained and its recordings are here, the voice as it is before that,
        which is made of them where it was not yet; its card's `is_untrained` says so.

        Raises VoiceError, and DatasetError and TrainingError where there is too little voice; `report` may raise
        Cancelled.
        """
        if not self._is_untrained(identifier):
            return self.voice(identifier)
        from engine.training.untrained import untrained_of
        from studio.store.workspaces import alone_with_untrained

        dataset = self.dataset(identifier)
        with alone_with_untrained(dataset.folder, report):
            voice = load_voice(untrained_of(dataset, report, device))
        return replace(voice, card=replace(voice.card, id=identifier))

    def voice_folder(self, identifier: str) -> Path:
        """Where the voice with this id lies, also one of an earlier base. Raises VoiceError as `voice` does."""
        try:
            return find_voice(identifier, self.voice_folders)
        except VoiceError as cause:
            if identifier in self._datasets() and not (self.settings.voices / identifier).exists():
                raise VoiceError(
                    f"The voice '{identifier}' is not trained yet: python -m studio train {identifier}."
                ) from cause
            raise

    def taken(self) -> set[str]:
        """Ids that no new voice may have."""
        return {card.id for card in self.voices()} | set(self._datasets()) | _identifiers(self.settings.voices)

    def pending(self) -> list[Pending]:
        """What is still to be trained, by name; damaged datasets too, as what they are."""
        trained = _identifiers(self.settings.voices)
        found = [_pending(self.settings.datasets / identifier) for identifier in self._datasets()]
        return sorted((one for one in found if one.id not in trained), key=lambda one: (one.name.lower(), one.id))

    def create(self, source: Sequence[Path], given: Mapping[str, Any], report: Report) -> "tuple[Dataset, DataReport]":
        """A new dataset, examined, under an id made of its name. Nothing is left of one that no voice can be made of.

        Raises DatasetError, ProfileError or ArchiveError; `report` may raise Cancelled.
        """
        from engine.datasets.report import examined, refuse_unusable  # whoever only converts need not wait for it

        datasets = self.settings.datasets
        unfinished = datasets / f".{secrets.token_hex(4)}.new"  # its name, and so its id, is known once it is read
        try:
            datasets.mkdir(parents=True, exist_ok=True)
            report(0.0, "bringing in the recordings")
            dataset = create_dataset(source[0] if len(source) == 1 else source, unfinished, given)
            data_report = examined(dataset, report)
            refuse_unusable(data_report)
            home = datasets / new_identifier(dataset.profile.name, self.taken())
            os.rename(unfinished, home)
        except OSError as cause:
            raise DatasetError(f"The recordings could not be brought in: {cause.strerror or cause}.") from cause
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return load_dataset(home), data_report

    def dataset(self, identifier: str) -> Dataset:
        """The dataset with this id. Raises DatasetError, naming those there are, where there is none."""
        if identifier not in self._datasets():
            there = ", ".join(self._datasets()) or "none"
            is_demo = identifier in {card.id for card in list_voices(DEMO_VOICES)}
            remedy = "it comes with the program as it is" if is_demo else "create it first"
            raise DatasetError(f"There are no recordings of a voice '{identifier}': {remedy}. Those here are: {there}.")
        return load_dataset(self.settings.datasets / identifier)

    def has_dataset(self, identifier: str) -> bool:
        """Whether there are recordings under this id."""
        return identifier in self._datasets()

    def is_own(self, identifier: str) -> bool:
        """Whether the user has a voice or recordings under this id, whole or damaged."""
        own = {card.id for card in list_voices(self.settings.voices)} | _identifiers(self.settings.voices)
        return identifier in own or self.has_dataset(identifier)

    def keep(self, voice: Voice, identifier: str, preview: Path | None) -> VoiceCard:
        """Put a voice among the user's own, under this id, in place of an untrained one. Raises VoiceError."""
        card = replace(voice.card, id=identifier)
        save_voice(replace(voice, card=card), self.settings.voices / identifier, preview)
        shutil.rmtree(self.settings.datasets / identifier / UNTRAINED_FOLDER, ignore_errors=True)
        return card

    def forget_training(self, identifier: str) -> None:
        """Delete what a training has come to, so that the next begins again; recordings and voice stay.

        Raises DatasetError.
        """
        training = self.dataset(identifier).folder / TRAINING_FOLDER
        leaving = training.with_name(f".{TRAINING_FOLDER}.{secrets.token_hex(4)}.gone")
        try:
            if training.exists():
                os.rename(training, leaving)  # half a training must not be taken for one
        except OSError as cause:
            raise DatasetError(f"The training of '{identifier}' could not be deleted: {cause.strerror}.") from cause
        shutil.rmtree(leaving, ignore_errors=True)

    def delete(self, identifier: str) -> None:
        """Delete a voice of the user with all it was made of, or what is still to be trained. Raises VoiceError."""
        home = self.settings.datasets / identifier
        has_dataset = identifier in self._datasets()
        if not has_dataset or (self.settings.voices / identifier).exists():
            delete_voice(identifier, self.settings.voices)
        if has_dataset:
            leaving = home.with_name(f".{identifier}.{secrets.token_hex(4)}.gone")
            try:
                os.rename(home, leaving)
            except OSError as cause:
                raise VoiceError(f"'{identifier}' could not be deleted: {cause.strerror or cause}.") from cause
            shutil.rmtree(leaving, ignore_errors=True)

    def _is_untrained(self, identifier: str) -> bool:
        """Whether there are recordings under this id, and no voice of this base, whole or damaged."""
        if identifier not in self._datasets():
            return False
        try:
            return load_card(find_voice(identifier, self.settings.voices)).is_earlier
        except VoiceError:
            return not (self.settings.voices / identifier).exists()

    def _datasets(self) -> list[str]:
        there = _identifiers(self.settings.datasets)
        return sorted(one for one in there if (self.settings.datasets / one / MODEL_FILE).is_file())


def _identifiers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if is_identifier(path.name)} if folder.is_dir() else set()


def _pending(folder: Path) -> Pending:
    try:
        name = load_dataset(folder).profile.name
        history = read_history(folder / TRAINING_FOLDER)
    except EngineError:
        return Pending(folder.name, folder.name, "damaged")
    if history is None:
        return Pending(folder.name, name, UNTRAINED)
    return Pending(folder.name, name, f"{UNTRAINED}, in training: {history.epoch} of {history.ceiling} epochs")
