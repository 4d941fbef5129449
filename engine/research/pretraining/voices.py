"""`python -m engine.pretraining voices --corpus DIR --work DIR`: train the six demo voices from the shipped base.

Each is trained like a user's voice, and written with its card, licence, statement of consent, and preview.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.audio.files import read_audio, write_audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.features.clips import analysed_clips
from engine.research.command import show_progress
from engine.research.pretraining.corpus import read_manifest
from engine.training.plan import TrainingPlan
from engine.training.train import train
from engine.voices.card import DEMO_VOICES, VoiceCard
from engine.voices.profile import VoiceProfile
from engine.voices.voice import save_voice

SAMPLES = Path(__file__).parents[2] / "samples"
MOST_MINUTES = 12.0  # of each voice; more adds little and takes longer to analyse


@dataclass(frozen=True)
class DemoVoice:
    """A demo voice: its recordings, its profile, and the sample of its preview."""

    id: str
    corpus_speaker: str
    preview: str
    profile: VoiceProfile
    epochs: int = 10  # about 350 steps on twelve minutes


_PUBLISHED_FREELY = "The speaker recorded this dataset for voice technology and published it under the named licence."
DEMO_PROFILES = (
    DemoVoice(
        "kathleen", "kathleen/kathleen", "speech.flac",
        VoiceProfile(
            "Kathleen", "female", "adult", "A clear, friendly American speaking voice.", "en",
            ("clear", "warm", "natural"), "other", licence="CC-BY-4.0 (recordings CC0-1.0)",
            source="Voice dataset Kathleen (rhasspy), CMU Arctic prompts",
            consent={"statement": _PUBLISHED_FREELY, "by": "Kathleen"},
        ),
    ),
    DemoVoice(
        "everett", "librispeech_tc100_3spk/27", "speech.flac",
        VoiceProfile(
            "Everett", "male", "adult", "An easy, even American voice that reads aloud.", "en",
            ("even", "warm", "natural"), "other", licence="CC-BY-4.0",
            source="LibriSpeech (Panayotov et al., 2015), reader 27; the name is ours",
            consent={
                "statement": "Read for LibriVox, which gives its recordings to the public domain;"
                " published in LibriSpeech under the named licence.",
                "by": "Reader 27, through LibriVox and LibriSpeech",
            },
        ),
        epochs=16,
    ),
    DemoVoice(
        "kerstin", "kerstin/kerstin", "speech.flac",
        VoiceProfile(
            "Kerstin", "female", "adult", "A calm, precise German speaking voice.", "de",
            ("calm", "precise", "bright"), "other", licence="CC-BY-4.0 (recordings CC0-1.0)",
            source="Voice dataset Kerstin (rhasspy)",
            consent={"statement": _PUBLISHED_FREELY, "by": "Kerstin"},
        ),
    ),
    DemoVoice(
        "koguchi", "pjs/koguchi", "singing.flac",
        VoiceProfile(
            "Koguchi", "male", "adult", "A light, relaxed Japanese voice that sings and speaks.", "ja",
            ("light", "relaxed", "gentle"), "pop", licence="CC-BY-SA-4.0",
            source="PJS: Phoneme-balanced Japanese Singing-voice corpus (Koguchi, Takamichi and Morise, 2020)",
            consent={"statement": _PUBLISHED_FREELY, "by": "Junya Koguchi"},
        ),
    ),
    DemoVoice(
        "goekhan", "turkish_makam_acapella/goekhan", "singing.flac",
        VoiceProfile(
            "Gökhan", "male", "adult", "A full, ornamented voice of Turkish makam song.", "tr",
            ("full", "ornamented", "resonant"), "world", licence="CC-BY-4.0",
            source="MTG Turkish makam acapella sections dataset",
            consent={
                "statement": "Recorded for this dataset and published under the named licence.",
                "by": "Gökhan, through the Music Technology Group, Universitat Pompeu Fabra",
            },
        ),
        epochs=50,
    ),
    DemoVoice(
        "safiye", "turkish_makam_acapella/safiye", "singing.flac",
        VoiceProfile(
            "Safiye", "female", "adult", "A warm, ornamented woman's voice of Turkish makam song.", "tr",
            ("warm", "ornamented", "bright"), "world", licence="CC-BY-4.0",
            source="MTG Turkish makam acapella sections dataset",
            consent={
                "statement": "Recorded for this dataset and published under the named licence.",
                "by": "Safiye, through the Music Technology Group, Universitat Pompeu Fabra",
            },
        ),
        epochs=16,
    ),
)  # fmt: skip


def choose_recordings(corpus: Path, speaker: str, most_minutes: float = MOST_MINUTES) -> list[Path]:
    """Choose recordings of a speaker spread evenly over the manifest, about `most_minutes` of them."""
    rows = [row for row in read_manifest(corpus) if f"{row['set']}/{row['speaker']}" == speaker]
    total = sum(float(row["seconds"]) for row in rows) / 60
    count = min(len(rows), max(1, int(len(rows) * most_minutes / total)))
    return [corpus / rows[i]["path"] for i in np.linspace(0, len(rows) - 1, count).round().astype(int)]


def make_demo_voice(demo: DemoVoice, corpus: Path, folder: Path, plan: TrainingPlan, work: Path) -> VoiceCard:
    """Train one demo voice in `work`/id, resuming if it was stopped, and write it to `folder`/id."""
    home = work / demo.id
    clips = analysed_clips(choose_recordings(corpus, demo.corpus_speaker), work / "clips")
    trained = train(clips, plan, home, show_progress, demo.profile)
    voice = replace(trained, card=replace(trained.card, id=demo.id, corpus_speaker=demo.corpus_speaker))
    sample = read_audio(SAMPLES / demo.preview)
    preview = convert(sample, voice, ConversionSettings(transpose="auto")).takes[0].audio
    write_audio(home / "preview.wav", preview)
    save_voice(voice, folder / demo.id, home / "preview.wav")
    return voice.card


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add corpus and voices."""
    parser.add_argument("--corpus", type=Path, required=True, help="folder with manifest.tsv and the recordings")
    parser.add_argument("--out", type=Path, default=DEMO_VOICES, help="folder for the voices (default: the engine's)")
    parser.add_argument("--work", type=Path, required=True, help="folder for the trainings")
    parser.add_argument("--voices", nargs="+", choices=[d.id for d in DEMO_PROFILES], help="only these (default: all)")
    parser.add_argument("--epochs", type=int, help="of each voice (default: for about 350 steps)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Train the voices one after the other, and yield what became of each."""
    for demo in DEMO_PROFILES:
        if options.voices is None or demo.id in options.voices:
            plan = TrainingPlan(epochs=options.epochs or demo.epochs)
            card = make_demo_voice(demo, options.corpus, options.out, plan, options.work)
            yield f"{card.id}: {card.vocal_range['min']} to {card.vocal_range['max']}, {card.voice_type}"
