"""Sample recordings that come with the program."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import engine
from engine.texts import tr
from studio.actions.analyses import start_analysis
from studio.actions.arrivals import workplace
from studio.errors import NotFound
from studio.store.accounts import Account
from studio.store.studio import Studio

PLACE = Path(engine.__path__[0]) / "samples"
SERVED = "/samples"  # where the page serves them


@dataclass(frozen=True)
class Sample:
    """A sample; `path` is relative to the folder of samples."""

    title: str
    path: str


SAMPLES = (
    Sample(tr("Singing"), "singing.flac"),
    Sample(tr("Speech"), "speech.flac"),
    Sample(tr("High singing"), "foreign/singing-high.flac"),
    Sample(tr("Low speech"), "foreign/speech-low.flac"),
)


def take_sample(studio: Studio, account: Account, title: str) -> str:
    """Analyse a sample like an upload; return the id of its analysis. Raises NotFound, TooMany, DiskFull."""
    for sample in SAMPLES:
        if sample.title == title:
            with workplace(studio) as place:
                copy = Path(shutil.copyfile(PLACE / sample.path, place / "recording"))
                return start_analysis(studio, account, copy, Path(sample.path).name)
    raise NotFound(tr("There is no sample '{title}'.", title=title))
