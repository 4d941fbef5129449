"""A speaker probe: how well a small network identifies the speaker of single frames.

It is trained on frames of several people and tested on other frames of the same people. Its accuracy shows how much the
frames reveal of the speaker: the mel spectrum much, content as little as possible. A probe finds what is easy to find;
it does not prove that there is no more (compare Alain and Bengio, 2016).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from engine.audio.files import Audio, Recording, audio_of
from engine.errors import AudioError
from engine.reprs import Brief
from engine.research.demonstrations.frame_features import KINDS, Features, Kind, measure_features

FEWEST_SPEAKERS = 2
_HIDDEN, _STEPS, _BATCH = 128, 120, 256
_RATE, _DECAY, _DROPOUT = 3e-3, 0.05, 0.3


@dataclass(frozen=True, repr=False)
class SpeakerProbe(Brief):
    """Result of a probe.

    - kind: by what it was done: mel or content
    - speakers: their names
    - confusion: float64 (speakers, speakers), share of each speaker's frames (row) assigned to each speaker (column)
    """

    kind: Kind
    speakers: tuple[str, ...]
    confusion: np.ndarray

    @property
    def accuracy(self) -> float:
        """Share of correctly identified frames, with equal weight for each speaker."""
        return float(np.diag(self.confusion).mean())

    @property
    def chance(self) -> float:
        """Accuracy of guessing."""
        return 1.0 / len(self.speakers)


def probe_speakers(recordings: Mapping[str, Sequence[Recording]], seed: int = 0) -> list[SpeakerProbe]:
    """Probe how much single frames reveal of their speaker, once by mel spectrum and once by content.

    Of several recordings of a speaker, the first half is for training and the rest for testing; a single one is cut in
    the middle. Raises AudioError for fewer than two speakers, or a speaker with silent recordings.

    >>> mel, content = probe_speakers({name: [f"recordings/{name}.flac"] for name in ("one", "two")})
    >>> mel.accuracy > content.accuracy
    True
    """
    if len(recordings) < FEWEST_SPEAKERS:
        raise AudioError(f"A speaker probe needs recordings of at least {FEWEST_SPEAKERS} people.")
    halves = [_halves(name, [audio_of(one) for one in given]) for name, given in recordings.items()]
    return [
        SpeakerProbe(kind, tuple(recordings), _confusion(*_split(halves, kind), len(recordings), seed))
        for kind in KINDS
    ]


def _halves(name: str, audios: list[Audio]) -> tuple[list[Features], list[Features]]:
    """Split a speaker's features into training and test; each recording is measured by itself."""
    if len(audios) == 1:
        whole, middle = audios[0], audios[0].sample_count // 2
        audios = [Audio(whole.samples[:, :middle], whole.rate), Audio(whole.samples[:, middle:], whole.rate)]
    found = [measure_features(audio) for audio in audios]
    learned, asked = found[: len(found) // 2], found[len(found) // 2 :]
    for part in (learned, asked):
        if not sum(int(features.active.sum()) for features in part):
            raise AudioError(f"The first or the second half of the recordings of {name} is silent.")
    return learned, asked


def _split(
    halves: Sequence[tuple[list[Features], list[Features]]], kind: Kind
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Gather frames (n, numbers) of unit variance and their speakers (n,), for training and for testing."""

    def gathered(part: int) -> tuple[np.ndarray, np.ndarray]:
        rows = [np.concatenate([one.of(kind)[one.active] for one in half[part]]) for half in halves]
        return np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(row) for row in rows])

    (learned, of_whom), (asked, whose) = gathered(0), gathered(1)
    mean, spread = learned.mean(0), learned.std(0) + 1e-5
    return ((learned - mean) / spread, of_whom), ((asked - mean) / spread, whose)


def _confusion(
    learned: tuple[np.ndarray, np.ndarray], asked: tuple[np.ndarray, np.ndarray], speakers: int, seed: int
) -> np.ndarray:
    frames, of_whom = torch.from_numpy(learned[0]), torch.from_numpy(learned[1])
    weight = 1.0 / torch.bincount(of_whom, minlength=speakers)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(frames.shape[1], _HIDDEN), nn.GELU(), nn.Dropout(_DROPOUT), nn.Linear(_HIDDEN, speakers)
        )
        optimizer = torch.optim.AdamW(network.parameters(), _RATE, weight_decay=_DECAY)
        for _ in range(_STEPS):
            chosen = torch.randint(0, len(frames), (_BATCH,))
            loss = nn.functional.cross_entropy(network(frames[chosen]), of_whom[chosen], weight / weight.mean())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    network.eval()
    with torch.inference_mode():
        answers = network(torch.from_numpy(asked[0])).argmax(1).numpy()
    confusion = np.zeros((speakers, speakers))
    np.add.at(confusion, (asked[1], answers), 1.0)
    return confusion / confusion.sum(1, keepdims=True)
