"""The recordings that the figures were measured with: anyone can get them; this says where, and under which licence."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from engine.research.tables import table


@dataclass(frozen=True)
class DataSet:
    """Recordings under a free licence; `files` are their names in a folder of sources, or their folders in a corpus."""

    files: str
    name: str
    address: str
    licence: str


SOURCES = (
    DataSet("1688-142285-0001, 1998-15444-0001, 367-130732-0001", "LibriSpeech test-other",
            "https://www.openslr.org/12", "CC BY 4.0"),
    DataSet("p225_003, p226_003", "VCTK", "https://datashare.ed.ac.uk/handle/10283/3443", "CC BY 4.0"),
    DataSet("vocadito_1", "vocadito", "https://zenodo.org/records/5578807", "CC BY 4.0"),
    DataSet("singing-female, speech-male", "sms-tools, sounds", "https://github.com/MTG/sms-tools", "CC BY 4.0"),
)  # fmt: skip
CORPUS = (
    DataSet("kathleen/kathleen", "kathleen", "https://github.com/rhasspy/dataset-voice-kathleen", "CC0"),
    DataSet("kerstin/kerstin", "kerstin", "https://github.com/rhasspy/dataset-voice-kerstin", "CC0"),
    DataSet("pjs/koguchi", "PJS", "https://sites.google.com/site/shinnosuketakamichi/research-topics/pjs_corpus",
            "CC BY-SA 4.0"),
    DataSet("turkish_makam_acapella/goekhan, /safiye, ...", "MTG Turkish makam acapella sections",
            "https://github.com/MTG/turkish-makam-acapella-sections-dataset", "CC BY 4.0"),
    DataSet("ljspeech/LJ", "LJ Speech", "https://keithito.com/LJ-Speech-Dataset", "public domain"),
    DataSet("librispeech_tc100_1utt (one recording of each of 251 readers), librispeech_tc100_3spk (more of three)",
            "LibriSpeech train-clean-100", "https://www.openslr.org/12", "CC BY 4.0"),
    DataSet("speechocean762", "speechocean762", "https://www.openslr.org/101", "CC BY 4.0"),
    DataSet("berklee_vowels", "Tone.js audio", "https://github.com/Tonejs/audio", "CC BY 3.0"),
    DataSet("vocobox_martin", "vocobox", "https://github.com/vocobox/human-voice-dataset", "MIT"),
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing: all is listed."""


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield the tables of the recordings to convert, and of those of the voices."""
    for heading, sets in (("The folder of --sources, in any format", SOURCES), ("The folder of --targets", CORPUS)):
        rows = [[one.files, one.name, one.licence, one.address] for one in sets]
        yield f"{heading}\n\n{table(['files', 'from', 'licence', 'where'], rows)}\n"
