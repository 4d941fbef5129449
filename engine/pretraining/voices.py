"""`python -m engine.pretraining.voices --corpus DIR`: the four demo voices, made from the corpus with the shipped base.

Each is trained as a user's voice is, and written with its card, licence, statement of consent, and preview.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from engine.analysis import analyse
from engine.audio import Audio, read_audio, write_audio
from engine.conversion import convert
from engine.conversion_settings import ConversionSettings
from engine.envelope import band_centres, band_widths
from engine.frames import FRAME_RATE
from engine.loudness import measure_loudness
from engine.pitch import Pitch
from engine.pretraining.corpus import read_manifest
from engine.training import TrainingPlan, analyse_clip, train_voice
from engine.voice import DEMO_VOICES, Voice, VoiceCard, save_voice
from engine.voice_range import measure_range, voice_type

SAMPLES = Path(__file__).parent.parent / "samples"
MOST_MINUTES = 12.0  # of each voice; more teaches little and takes longer to analyse


@dataclass(frozen=True)
class Portrait:
    """What the measurements cannot say of a demo voice."""

    id: str
    corpus_speaker: str
    name: str
    gender: str
    description: str
    base_language: str
    traits: tuple[str, ...]
    genre: str
    licence: str
    source: str
    statement: str
    by: str
    sings: bool
    preview: str  # the sample it is heard with


_PUBLISHED_FREELY = "The speaker recorded this dataset for voice technology and published it under the named licence."
PORTRAITS = (
    Portrait(
        "kathleen", "kathleen/kathleen", "Kathleen", "female", "A clear, friendly American speaking voice.", "en",
        ("clear", "warm", "natural"), "other", "CC-BY-4.0 (recordings CC0-1.0)",
        "Voice dataset Kathleen (rhasspy), CMU Arctic prompts",
        _PUBLISHED_FREELY, "Kathleen", False, "speech.flac",
    ),
    Portrait(
        "kerstin", "kerstin/kerstin", "Kerstin", "female", "A calm, precise German speaking voice.", "de",
        ("calm", "precise", "bright"), "other", "CC-BY-4.0 (recordings CC0-1.0)",
        "Voice dataset Kerstin (rhasspy)",
        _PUBLISHED_FREELY, "Kerstin", False, "speech.flac",
    ),
    Portrait(
        "koguchi", "pjs/koguchi", "Koguchi", "male", "A light, relaxed Japanese voice that sings and speaks.", "ja",
        ("light", "relaxed", "gentle"), "pop", "CC-BY-SA-4.0",
        "PJS: Phoneme-balanced Japanese Singing-voice corpus (Koguchi, Takamichi and Morise, 2020)",
        _PUBLISHED_FREELY, "Junya Koguchi", True, "singing.flac",
    ),
    Portrait(
        "goekhan", "turkish_makam_acapella/goekhan", "Gökhan", "male",
        "A full, ornamented voice of Turkish makam song.",
        "tr", ("full", "ornamented", "resonant"), "world", "CC-BY-4.0", "MTG Turkish makam acapella sections dataset",
        "Recorded for this dataset and published under the named licence.",
        "Gökhan, through the Music Technology Group, Universitat Pompeu Fabra", True, "singing.flac",
    ),
)  # fmt: skip


def choose_recordings(corpus: Path, speaker: str, most_minutes: float = MOST_MINUTES) -> list[Path]:
    """Recordings of a speaker spread evenly over the corpus' list, at most `most_minutes` of them."""
    rows = [row for row in read_manifest(corpus) if f"{row['set']}/{row['speaker']}" == speaker]
    total = sum(float(row["seconds"]) for row in rows) / 60
    count = min(len(rows), max(1, int(len(rows) * most_minutes / total)))
    return [corpus / rows[i]["path"] for i in np.linspace(0, len(rows) - 1, count).round().astype(int)]


def make_demo_voice(portrait: Portrait, corpus: Path, folder: Path, plan: TrainingPlan) -> VoiceCard:
    """Train one demo voice and write it to `folder`/id."""
    recordings = [read_audio(path) for path in choose_recordings(corpus, portrait.corpus_speaker)]
    clips = [analyse_clip(audio) for audio in recordings]
    trained = train_voice(clips, plan, _print_progress)
    pitch = Pitch(np.concatenate([c.pitch.hertz for c in clips]), np.concatenate([c.pitch.voicing for c in clips]))
    pairs = zip(recordings, clips, strict=True)
    loudness = np.concatenate([_loudness(audio, len(clip.pitch)) for audio, clip in pairs])
    found = measure_range(pitch, loudness)
    assert found is not None, "a trained voice has voiced frames"
    card = VoiceCard(
        id=portrait.id, name=portrait.name, gender=portrait.gender, age="adult", description=portrait.description,
        base_language=portrait.base_language, traits=list(portrait.traits), genre=portrait.genre,
        voice_type=voice_type(found, portrait.gender, spoken=not portrait.sings),
        vocal_range={"min": found.min, "max": found.max}, pitch=trained.pitch,
        bandwidth_hertz=round(float((band_centres() + band_widths() / 2)[trained.bands - 1])),
        licence=portrait.licence, source=portrait.source,
        consent={"statement": portrait.statement, "by": portrait.by, "date": ""},
        corpus_speaker=portrait.corpus_speaker,
        training={"minutes": round(len(pitch) / FRAME_RATE / 60, 1), "steps": plan.steps, "last": trained.history[-1]},
    )  # fmt: skip
    voice = Voice(card, trained.timbre, trained.spread, trained.centre, trained.contrast, trained.decoder)
    sample = read_audio(SAMPLES / portrait.preview)
    preview = convert(sample, voice, ConversionSettings(transpose="auto")).takes[0].audio
    with tempfile.TemporaryDirectory() as temporary:
        write_audio(Path(temporary) / "preview.wav", preview)
        save_voice(voice, folder / portrait.id, Path(temporary) / "preview.wav")
    return card


def _loudness(audio: Audio, frames: int) -> np.ndarray:
    loudness = analyse(audio).loudness_db if audio.rate != 44_100 else measure_loudness(audio.mono())
    return np.pad(loudness, (0, max(0, frames - len(loudness))), "edge")[:frames]


def _print_progress(fraction: float, message: str) -> None:
    print(f"{fraction:6.1%}  {message}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.pretraining.voices", description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="folder with manifest.tsv and the recordings")
    parser.add_argument("--out", type=Path, default=DEMO_VOICES, help="folder for the voices (the engine's own)")
    parser.add_argument("--voices", nargs="+", choices=[p.id for p in PORTRAITS], default=[p.id for p in PORTRAITS])
    parser.add_argument("--steps", type=int, default=TrainingPlan.steps)
    parser.add_argument("--threads", type=int, help="processor threads (all)")
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    for portrait in PORTRAITS:
        if portrait.id in options.voices:
            card = make_demo_voice(portrait, options.corpus, options.out, TrainingPlan(steps=options.steps))
            print(f"{card.id}: {card.vocal_range['min']} to {card.vocal_range['max']}, {card.voice_type}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
