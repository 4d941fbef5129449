"""Write the weights that ship from the checkpoints: base.safetensors, the weights only training needs, and cards."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import SILENT, loudness_of
from engine.errors import TrainingError
from engine.networks.base import BaseModel, load_base
from engine.networks.envelope_decoder import prosody_input
from engine.research.pretraining.acoustic import BASE_PARTS
from engine.research.pretraining.corpus import EXCLUDED, Corpus, split_speakers
from engine.research.pretraining.feature_means import FeatureMeans
from engine.research.pretraining.training_run import save_weights
from engine.training.checkpoint import load_checkpoint
from engine.units import hertz_to_semitones

_FOREIGN = {"librispeech_tc100_1utt", "speechocean762", "turkish_makam_acapella", "ljspeech"}
_LOGS = ("acoustic", "synthesizer", "synthesizer_refined")
_FOREIGN_PIECES, _FOREIGN_FRAMES = 96, 160
ATTRIBUTION = [
    "LibriSpeech (Panayotov et al., 2015), CC BY 4.0",
    "speechocean762 (Zhang et al., 2021), CC BY 4.0",
    "MTG Turkish makam acapella sections dataset, CC BY 4.0",
    "Berklee sung vowels (Tone.js audio), CC BY 3.0",
    "vocobox human voice dataset, MIT",
    "LJ Speech, public domain",
    "Kathleen and Kerstin (rhasspy), CC0",
]


@dataclass(frozen=True)
class _TrainedPart:
    """What the card says of the training of a part; plan: its settings."""

    plan: dict[str, float]
    steps: int
    seconds: int


def publish_base(corpus: Corpus, means: FeatureMeans, out: Path) -> None:
    """Write the base to `out`, with the discriminator, envelope encoder and foreign content that training needs.

    A card is written beside each file. Raises TrainingError if a part has not been trained.
    """
    acoustic, synthesizer = load_checkpoint(out / "acoustic.pt"), load_checkpoint(out / "synthesizer_refined.pt")
    if acoustic is None or synthesizer is None:
        raise TrainingError(f"{out} does not hold checkpoints of both parts; train them first.")
    weights = {f"synthesizer.{name}": value for name, value in synthesizer["average"].items()}
    weights |= {n: v for n, v in acoustic["average"].items() if n.partition(".")[0] in BASE_PARTS}
    save_weights(out / "base.safetensors", weights, _card(corpus, out, _trained(acoustic), _trained(synthesizer)))
    training_only = {"use": "training voices only", "licence": "CC BY 4.0", "attribution": ATTRIBUTION}
    discriminator: dict[str, Tensor] = acoustic["discriminator"]
    save_weights(
        out / "discriminator.safetensors", discriminator, {"name": "Timbre Studio discriminator"} | training_only
    )
    encoder = {n.partition(".")[2]: v for n, v in acoustic["average"].items() if n.startswith("envelope_content.")}
    save_weights(
        out / "envelope_content.safetensors", encoder, {"name": "Timbre Studio ear for envelopes"} | training_only
    )
    _publish_foreign(corpus, means, load_base(out / "base.safetensors"), acoustic["plan"], out)


def _publish_foreign(corpus: Corpus, means: FeatureMeans, model: BaseModel, plan: dict[str, Any], out: Path) -> None:
    """Write content and prosody of one piece each of many speakers, which a new voice trains on."""
    clips, _ = split_speakers(corpus.clips, plan["validation_speakers"], plan["seed"])
    random = np.random.default_rng(plan["seed"])
    by_speaker = {clip.speaker: clip for clip in clips if clip.group in _FOREIGN and clip.frames >= _FOREIGN_FRAMES}
    names = sorted(by_speaker)
    chosen = [by_speaker[names[i]] for i in random.permutation(len(names))[:_FOREIGN_PIECES]]
    content, prosody, medians = [], [], []
    numbers = {clip.first_frame: number for number, clip in enumerate(corpus.clips)}
    for clip in chosen:
        begin = int(random.integers(0, clip.frames - _FOREIGN_FRAMES + 1)) // 2 * 2
        first, number = clip.first_frame + begin, numbers[clip.first_frame]
        rows = slice(first, first + _FOREIGN_FRAMES)
        envelope = torch.from_numpy(corpus.envelope[rows].astype(np.float32) - clip.nepers).clamp_min(SILENT)
        rows_found = corpus.listener_features[0, corpus.first_feature[number] + begin // 2 :][: _FOREIGN_FRAMES // 2]
        semitones = torch.from_numpy(hertz_to_semitones(corpus.hertz[rows]).astype(np.float32))
        with torch.inference_mode():
            plain = torch.from_numpy(means.mean[number, 0])
            mean = model.content.likeliest_mean(plain, float(means.sounds[number]) + 1.0)
            features = torch.from_numpy(np.array(rows_found))[None]
            content.append(model.content(features, mean[None], _FOREIGN_FRAMES)[0])
        voicing = torch.from_numpy(np.array(corpus.voicing[rows]))
        prosody.append(prosody_input(semitones, voicing, loudness_of(envelope)))
        medians.append(semitones.median())
    weights = {"content": torch.stack(content), "prosody": torch.stack(prosody), "semitones": torch.stack(medians)}
    card = {
        "name": "Timbre Studio foreign content",
        "use": "training voices only",
        "licence": "CC BY 4.0",
        "attribution": ATTRIBUTION,
        "clips": [clip.path for clip in chosen],
    }
    save_weights(out / "foreign.safetensors", weights, card)


def _card(corpus: Corpus, out: Path, acoustic: _TrainedPart, synthesizer: _TrainedPart) -> dict[str, object]:
    minutes: dict[str, float] = {}
    for clip in corpus.clips:
        minutes[clip.group] = minutes.get(clip.group, 0.0) + clip.frames / 6000
    return {
        "name": "Timbre Studio base",
        "licence": "CC BY 4.0",
        "attribution": ATTRIBUTION,
        "listener": "listener.safetensors",
        "data_minutes": {name: round(value, 1) for name, value in sorted(minutes.items())},
        "kept_out": sorted(EXCLUDED),
        "acoustic": asdict(acoustic),
        "synthesizer": asdict(synthesizer),
        "scores": {name: _last_scores(out / f"{name}.jsonl") for name in _LOGS if (out / f"{name}.jsonl").exists()},
        "unseen": "scores that begin with unseen_ are of speakers that were never trained on",
        "made_with": "python -m engine.pretraining --corpus DIR --out DIR",
    }


def _trained(checkpoint: dict[str, Any]) -> _TrainedPart:
    return _TrainedPart(checkpoint["plan"], checkpoint["step"], round(checkpoint["seconds"]))


def _last_scores(log: Path) -> dict[str, float]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return next((line for line in reversed(lines) if any(name.startswith("unseen") for name in line)), {})
