"""Means of the listener's features over each clip of the corpus, and their variance between and within recordings."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.analysis.envelope import ACTIVE_NEPERS, frame_loudness
from engine.features.augmentations import AUGMENTATIONS
from engine.features.feature_mean import count_sounds
from engine.files import replacing
from engine.networks.listener import FEATURES
from engine.progress import Report
from engine.research.pretraining.corpus import Corpus, working_processes

_FILE = "means.npz"
# A trace of the speaker costs more than a partly removed vowel, so means count as that much more certain.
_CERTAINTY = 4.0


@dataclass(frozen=True)
class FeatureMeans:
    """Means of the listener's features over each clip, and their distribution over all clips.

    mean: (clips, AUGMENTATIONS, FEATURES); sounds: (clips,), see `count_sounds`; usual, between, within: (FEATURES,),
    see `engine.networks.content_encoder.ContentEncoder`.
    """

    mean: np.ndarray
    sounds: np.ndarray
    usual: np.ndarray
    between: np.ndarray
    within: np.ndarray


def prepare_means(corpus: Corpus, report: Report) -> FeatureMeans:
    """Measure the means once and keep them beside the other files of the corpus."""
    path = corpus.folder / _FILE
    if not path.exists():
        _measure_all(corpus, path, report)
    with np.load(path, allow_pickle=False) as held:
        return FeatureMeans(**{name: held[name] for name in held.files})


def _measure_all(corpus: Corpus, path: Path, report: Report) -> None:
    count = len(corpus.clips)
    means = np.zeros((count, AUGMENTATIONS, FEATURES), np.float32)
    squares, sounds, weights = np.zeros((count, FEATURES)), np.zeros(count), np.zeros(count)
    with working_processes() as pool:
        jobs = [(corpus.folder, number) for number in range(count)]
        for number, (mean, square, found) in enumerate(pool.imap(_measure, jobs, chunksize=16)):
            means[number], squares[number], sounds[number] = mean, square, found
            weights[number] = corpus.clips[number].frames
            report((number + 1) / count, f"measured {corpus.clips[number].path}")
    weights /= weights.sum()
    usual = np.einsum("c,cf->f", weights, means.mean(1))
    within = np.maximum(weights @ squares, 1e-6)
    spread = np.einsum("c,cf->f", weights, (means[:, 0] - usual) ** 2)
    # part of the variance of the means comes from the few sounds in each clip
    between = np.maximum(spread - within * float(weights @ (1 / np.maximum(sounds, 1.0))), 0.1 * spread) * _CERTAINTY
    with replacing(path) as unfinished, unfinished.open("wb") as file:  # given a name, numpy would change the suffix
        of_all = {"usual": usual, "between": between, "within": within}
        np.savez(file, mean=means, sounds=sounds, **{name: one.astype(np.float32) for name, one in of_all.items()})


_opened: dict[Path, Corpus] = {}


def _measure(job: tuple[Path, int]) -> tuple[np.ndarray, np.ndarray, float]:
    folder, number = job
    corpus = _opened.setdefault(folder, Corpus(folder))
    clip = corpus.clips[number]
    rows = slice(clip.first_frame, clip.first_frame + clip.frames)
    envelope = corpus.envelope[rows].astype(np.float32)
    active = (frame_loudness(envelope) > clip.nepers + ACTIVE_NEPERS)[::2]
    features = corpus.listener_features[:, corpus.first_feature[number] : corpus.first_feature[number + 1]].astype(
        np.float32
    )
    features = features[:, : len(active)]
    chosen = features[:, active] if active.any() else features
    mean = chosen.mean(1)
    return mean, chosen[0].var(0), count_sounds(envelope, np.array(corpus.voicing[rows]), clip.nepers)
