"""From checkpoints to the weights that ship: base.safetensors, what only training needs, and the model card."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.base import BaseModel, load_weights, save_weights
from engine.checkpoint import load_checkpoint
from engine.content import content_input
from engine.decoder import prosody_input
from engine.envelope import SILENT, loudness_of
from engine.errors import TrainingError
from engine.frames import hertz_to_semitones
from engine.mean_colour import load_colours, measure_colour
from engine.pretraining.acoustic import BASE_PARTS
from engine.pretraining.colours import measure_colours
from engine.pretraining.corpus import EXCLUDED, Corpus, split_speakers

_FOREIGN = {"librispeech_tc100_1utt", "speechocean762", "turkish_makam_acapella", "ljspeech"}
_LOGS = ("acoustic", "synthesizer", "synthesizer_refined")
_FOREIGN_PIECES, _FOREIGN_FRAMES = 96, 160
_ATTRIBUTION = [
    "LibriSpeech (Panayotov et al., 2015), CC BY 4.0",
    "speechocean762 (Zhang et al., 2021), CC BY 4.0",
    "MTG Turkish makam acapella sections dataset, CC BY 4.0",
    "Berklee sung vowels (Tone.js audio), CC BY 3.0",
    "vocobox human voice dataset, MIT",
    "LJ Speech, public domain",
    "Kathleen and Kerstin (rhasspy), CC0",
]


def publish_base(corpus: Corpus, out: Path, begun_from: Path | None = None) -> None:
    """Write `out`/base.safetensors, what is known of mean colours, and the critic and the foreign content (for training
    voices) with cards beside them.

    begun_from: the base that the acoustic networks began from; its synthesizer is taken where none has been trained.
    Raises TrainingError where a part has not been trained.
    """
    acoustic, synthesizer = load_checkpoint(out / "acoustic.pt"), load_checkpoint(out / "synthesizer_refined.pt")
    if acoustic is None or (synthesizer is None and begun_from is None):
        raise TrainingError(f"{out} holds no checkpoint of both parts: train them first.")
    earlier = _card_of(begun_from) if begun_from else None
    if synthesizer is None:
        assert begun_from is not None
        known = load_weights(begun_from / "base.safetensors")
        weights = {name: value for name, value in known.items() if name.startswith("synthesizer.")}
    else:
        weights = {f"synthesizer.{name}": value for name, value in synthesizer["average"].items()}
    weights |= {n: v for n, v in acoustic["average"].items() if n.partition(".")[0] in BASE_PARTS}
    model = BaseModel()
    model.load_state_dict(weights, strict=True)
    save_weights(out / "base.safetensors", weights, _card(corpus, out, acoustic, synthesizer, earlier))
    publish_colours(corpus, acoustic["plan"], out)
    _publish_foreign(corpus, model, acoustic["plan"], out)
    critic: dict[str, Tensor] = acoustic["discriminator"]
    save_weights(out / "critic.safetensors", critic, {"name": "Timbre Studio critic", "use": "training voices only"})


def publish_hardened(corpus: Corpus, out: Path, base: Path) -> None:
    """Write the base of the folder `base` with the hardened encoder of `out` to `out`, with what goes with it.

    They may be the same folder. Raises TrainingError where nothing has been hardened or there is no whole base.
    """
    far, near = load_checkpoint(out / "hardened_far.pt"), load_checkpoint(out / "hardened.pt")
    if far is None or near is None:
        raise TrainingError(f"{out} holds no hardened encoder: train it first.")
    card, weights = _card_of(base), load_weights(base / "base.safetensors")
    weights |= {f"content.{name}": value for name, value in near["average"].items()}
    card["hardened"] = {"far": _trained(far), "near": _trained(near)}
    card["scores"]["hardened"] = _last_scores(out / "hardened.jsonl")
    model = BaseModel()
    model.load_state_dict(weights, strict=True)
    if base != out:
        for name in ("colour.safetensors", "colour.json", "critic.safetensors", "critic.json"):
            shutil.copyfile(base / name, out / name)
    _publish_foreign(corpus, model, card["acoustic"]["plan"], out)
    save_weights(out / "base.safetensors", weights, card)


def _card_of(base: Path) -> dict[str, Any]:
    try:
        card: dict[str, Any] = json.loads((base / "base.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise TrainingError(f"{base} holds no base.json: give the folder of a whole base.") from cause
    return card


def publish_colours(corpus: Corpus, plan: dict[str, Any], out: Path) -> None:
    """Write `out`/colour.safetensors of the speakers that are trained on, with its card.

    What is measured from then on depends on it: raise the formats of clips, voices, takes and trainings with it.
    """
    clips, _ = split_speakers(corpus.clips, plan["validation_speakers"], plan["seed"])
    known = measure_colours(corpus, clips, plan["seed"])
    colours = {name: torch.from_numpy(value) for name, value in vars(known).items()}
    card = {
        "name": "Timbre Studio mean colours",
        "licence": "CC BY 4.0",
        "attribution": _ATTRIBUTION,
        "speakers": len({clip.speaker for clip in clips}),
    }
    save_weights(out / "colour.safetensors", colours, card)


def _publish_foreign(corpus: Corpus, model: BaseModel, plan: dict[str, Any], out: Path) -> None:
    """Content and prosody of one piece each of many speakers, which a new voice learns to say."""
    clips, _ = split_speakers(corpus.clips, plan["validation_speakers"], plan["seed"])
    random = np.random.default_rng(plan["seed"])
    by_speaker = {clip.speaker: clip for clip in clips if clip.group in _FOREIGN and clip.frames >= _FOREIGN_FRAMES}
    names = sorted(by_speaker)
    chosen = [by_speaker[names[i]] for i in random.permutation(len(names))[:_FOREIGN_PIECES]]
    content, prosody, medians = [], [], []
    colours = load_colours(out / "colour.safetensors")
    for clip in chosen:
        first = clip.first_frame + int(random.integers(0, clip.frames - _FOREIGN_FRAMES + 1))
        rows = slice(first, first + _FOREIGN_FRAMES)
        envelope = torch.from_numpy(corpus.envelope[rows].astype(np.float32) - clip.nepers).clamp_min(SILENT)
        whole = slice(clip.first_frame, clip.first_frame + clip.frames)
        level = measure_colour(corpus.envelope[whole].astype(np.float32), np.array(corpus.voicing[whole]), colours)
        semitones = torch.from_numpy(hertz_to_semitones(corpus.hertz[rows]).astype(np.float32))
        with torch.inference_mode():
            content.append(model.content(content_input(envelope[None], 0.0, torch.from_numpy(level.mean)[None]))[0])
        voicing = torch.from_numpy(np.array(corpus.voicing[rows]))
        prosody.append(prosody_input(semitones, voicing, loudness_of(envelope)))
        medians.append(semitones.median())
    weights = {"content": torch.stack(content), "prosody": torch.stack(prosody), "semitones": torch.stack(medians)}
    card = {
        "name": "Timbre Studio foreign content",
        "use": "training voices only",
        "licence": "CC BY 4.0",
        "attribution": _ATTRIBUTION,
        "clips": [clip.path for clip in chosen],
    }
    save_weights(out / "foreign.safetensors", weights, card)


def _card(
    corpus: Corpus,
    out: Path,
    acoustic: dict[str, Any],
    synthesizer: dict[str, Any] | None,
    earlier: dict[str, Any] | None,
) -> dict[str, Any]:
    trained = {"acoustic": _trained(acoustic)}
    scores = {name: _last_scores(out / f"{name}.jsonl") for name in _LOGS if (out / f"{name}.jsonl").exists()}
    if earlier is not None:
        trained["acoustic"]["begun_from"] = earlier["acoustic"]
    if synthesizer is not None:
        trained["synthesizer"] = _trained(synthesizer)
    elif earlier is not None:
        trained["synthesizer"] = earlier["synthesizer"]
        scores |= {name: value for name, value in earlier["scores"].items() if name.startswith("synthesizer")}
    minutes: dict[str, float] = {}
    for clip in corpus.clips:
        minutes[clip.group] = minutes.get(clip.group, 0.0) + clip.frames / 6000
    return {
        "name": "Timbre Studio base",
        "licence": "CC BY 4.0",
        "attribution": _ATTRIBUTION,
        "data_minutes": {name: round(value, 1) for name, value in sorted(minutes.items())},
        "kept_out": sorted(EXCLUDED),
        "labelled_share": round(float((corpus.phones >= 0).mean()), 3),
        **trained,
        "scores": scores,
        "unseen": "scores that begin with unseen_ are of speakers that were never trained on",
        "made_with": "python -m engine.pretraining --corpus DIR --out DIR" + (" --begin-from DIR" if earlier else ""),
    }


def _trained(checkpoint: dict[str, Any]) -> dict[str, Any]:
    return {"plan": checkpoint["plan"], "steps": checkpoint["step"], "seconds": round(checkpoint["seconds"])}


def _last_scores(log: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return next((line for line in reversed(lines) if any(name.startswith("unseen") for name in line)), {})
