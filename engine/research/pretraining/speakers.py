"""`python -m engine.pretraining speakers --corpus DIR --out DIR`: fit the directions that tell speakers apart.

A linear discriminant of the shipped base's timbre over windows of recordings, each as it is and in two simulated
conditions: what microphone, room, noise and level change is then seen to vary within speakers. Half of the speakers
take no part, and the equal error rate is theirs. After a stop, recordings that were analysed are not analysed again.
"""

import argparse
import random
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.linalg
import torch

from engine.errors import TrainingError
from engine.evaluation.scores import equal_error_rate
from engine.features.speaker_directions import Discriminant, load_discriminant
from engine.research.command import every_few_seconds
from engine.research.pretraining.acoustic import AcousticPlan
from engine.research.pretraining.corpus import (
    EXCLUDED,
    MANY_SPEAKERS,
    ClipEntry,
    held_back,
    read_manifest,
    split_speakers,
)
from engine.research.pretraining.publish import ATTRIBUTION
from engine.research.pretraining.speaker_windows import Recording, Windows, embed_recordings
from engine.research.pretraining.training_run import save_weights

_DIRECTIONS = 16
_RIDGE = 0.05  # of the mean variance within speakers, added to each: what hardly varies decides nothing
_MOST_CLIPS = {
    "librispeech_tc100_1utt": 1, "speechocean762": 7, "librispeech_tc100_3spk": 40, "kathleen": 60, "kerstin": 60,
    "ljspeech": 32, "pjs": 80, "turkish_makam_acapella": 40, "vocobox_martin": 30, "berklee_vowels": 14,
}  # fmt: skip
_OTHER_CLIPS = 40  # of each speaker of another set, at most
_HELD_OUT = {
    "pjs/koguchi", "kathleen/kathleen", "turkish_makam_acapella/idil", "turkish_makam_acapella/goekhan",
    "librispeech_tc100_3spk/26", "berklee_vowels/femalevoice",
}  # fmt: skip
_SEVERAL_AT_ONCE = "voices"  # how the names of folders end that may hold more than one person
_MOST_COMPARED = 2500  # windows


def draw_recordings(manifest: list[dict[str, str]]) -> list[Recording]:
    """Draw up to so many recordings of each speaker, the same every time; none that may hold several people."""
    rows = defaultdict(list)
    for row in manifest:
        rows[_name(row)].append(row)
    draw = random.Random(1)  # noqa: S311 - draws recordings, keeps no secrets
    drawn = []
    for of_speaker in rows.values():
        most = _MOST_CLIPS.get(of_speaker[0]["set"], _OTHER_CLIPS)
        drawn += draw.sample(sorted(of_speaker, key=lambda row: row["path"]), min(most, len(of_speaker)))
    draw.shuffle(drawn)
    drawn.sort(key=lambda row: {"librispeech_tc100_1utt": 0, "speechocean762": 2}.get(row["set"], 1))
    return [
        Recording(number, row["path"], _name(row), row.get("sex", ""))
        for number, row in enumerate(drawn)
        if not row["speaker"].endswith(_SEVERAL_AT_ONCE)
    ]


def _name(row: dict[str, str]) -> str:
    return f"{row['set']}/{row['speaker']}"


def fitted_speakers(manifest: list[dict[str, str]]) -> set[str]:
    """Choose whom to fit to: half of those of the large sets, none on whom the base was not trained."""
    back = held_back(manifest)
    clips = [
        ClipEntry(row["path"], row["set"], _name(row), row["kind"], 0, 0, 0, 0.0)
        for row in manifest
        if row["set"] not in EXCLUDED and row["path"] not in back
    ]
    trained_on, _ = split_speakers(clips, AcousticPlan.validation_speakers, AcousticPlan.seed)
    return {
        clip.speaker
        for clip in trained_on
        if clip.speaker not in _HELD_OUT
        and (clip.group not in MANY_SPEAKERS or zlib.crc32(clip.speaker.encode()) % 2 == 0)
    }


def fit_discriminant(timbres: np.ndarray, speaker: np.ndarray, directions: int) -> Discriminant:
    """Fit a linear discriminant in which every speaker weighs alike, whatever the number of their windows.

    timbres: (windows, TIMBRE); speaker: (windows,). Raises TrainingError with too few speakers for the directions.
    """
    of_each = [timbres[speaker == name].astype(np.float64) for name in np.unique(speaker)]
    if len(of_each) <= directions:
        raise TrainingError(f"{directions} directions need recordings of more than {directions} speakers.")
    means = np.stack([some.mean(0) for some in of_each])
    within = np.mean([np.cov(some.T, bias=True) for some in of_each], 0)
    within += _RIDGE * np.trace(within) / len(within) * np.eye(len(within))
    _, found = scipy.linalg.eigh(np.cov(means.T), within)
    strongest = np.ascontiguousarray(found[:, ::-1][:, :directions])
    return Discriminant(torch.from_numpy(means.mean(0)).float(), torch.from_numpy(strongest).float())


def window_error_rate(windows: Windows, discriminant: Discriminant) -> float:
    """Return the equal error rate of telling from the cosine of two windows whether one speaker is in both.

    One speaker is compared in different recordings and conditions, two of the same sex and set in the same condition.
    NaN where there are no such pairs.
    """
    some = windows.chosen(np.random.default_rng(0).permutation(len(windows.timbres))[:_MOST_COMPARED])
    found = (some.timbres - discriminant.mean.numpy()) @ discriminant.directions.numpy()
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    first, second = np.triu_indices(len(found), 1)
    cosine = (found @ found.T)[first, second]

    def alike(values: np.ndarray) -> np.ndarray:
        same: np.ndarray = values[first] == values[second]
        return same

    group = np.array([name.partition("/")[0] for name in some.speaker])
    one = alike(some.speaker) & ~alike(some.recording) & ~alike(some.condition)
    two = ~alike(some.speaker) & alike(some.sex) & alike(group) & alike(some.condition)
    return equal_error_rate(cosine[one], cosine[two]) if one.any() and two.any() else float("nan")


_CARD = {
    "name": "Timbre Studio speaker directions",
    "use": "telling speakers of a data set apart",
    "licence": "CC BY 4.0",
    "attribution": ATTRIBUTION,
    "fitted": (
        "Linear discriminant of 16 directions (within-speaker covariance with 5 % of its mean variance added to the"
        " diagonal, every speaker weighted alike) of the base's timbre over windows of 3 s, a second apart: each"
        " recording as it is and in two simulated conditions, which are the same for all recordings of a speaker"
        " (equalizer: tilt of 1.5 dB per octave and three bumps of 3 dB, standard deviations, and a low cut; room of"
        " 0.3 to 1 s; noise 25 to 50 dB below; level, 3 dB). Half of the speakers of LibriSpeech and speechocean762,"
        " and those single ones listed; the others confirmed it."
    ),
    "made_with": "python -m engine.pretraining speakers --corpus DIR --out DIR",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add corpus and folder."""
    parser.add_argument("--corpus", required=True, type=Path, help="folder with manifest.tsv and the recordings")
    parser.add_argument("--out", required=True, type=Path, help="folder for analysed recordings and the weights")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Fit, write the weights, and yield where they are and how they compare with the shipped ones."""
    manifest = read_manifest(options.corpus)
    fitted, recordings = fitted_speakers(manifest), draw_recordings(manifest)
    windows = embed_recordings(options.corpus, options.out / "clips", recordings, every_few_seconds())
    inside = np.isin(windows.speaker, sorted(fitted))
    discriminant = fit_discriminant(windows.timbres[inside], windows.speaker[inside], _DIRECTIONS)
    path = options.out / "speakers.safetensors"
    save_weights(path, vars(discriminant), _CARD | {"speakers": sorted(set(windows.speaker[inside].tolist()))})
    yield f"The speaker directions are {path}."
    shipped = load_discriminant()
    angle = scipy.linalg.subspace_angles(discriminant.directions.double().numpy(), shipped.directions.double().numpy())
    yield f"largest principal angle to the shipped ones: {np.degrees(angle.max()):.3f} degrees"
    held = windows.chosen(~inside)
    rates = [f"{window_error_rate(held, some):.4f}" for some in (discriminant, shipped)]
    yield f"equal error rate on {len(set(held.speaker))} other speakers: {rates[0]}; of the shipped ones {rates[1]}"
