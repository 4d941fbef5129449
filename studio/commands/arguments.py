"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from engine.texts import tr
from studio.commands.known_voices import complete_voice
from studio.settings.options import option

RESULTS = tr("Where the results go")  # a panel of the help
DEFAULT_VOICE = "kathleen"
FORMATS = ("wav", "flac", "mp3", "m4a", "ogg", "aiff")  # as engine.audio.encoders has them, which loads more


Recording = Annotated[
    Path,
    typer.Argument(metavar="IN|-", help=tr("A recording: wav, flac, mp3, ogg, opus, aiff, m4a; - is standard input.")),
]
Form = Annotated[
    str | None,
    option(
        "|".join(FORMATS),
        tr("The format where -o names none, as with -o -. (Default: wav.)"),
        "--format",
        panel=RESULTS,
    ),
]
VoiceId = Annotated[
    str,
    typer.Option(
        "-v",
        "--voice",
        metavar="ID",
        autocompletion=complete_voice,
        help=tr("The voice to convert with; `voices` lists them."),
    ),
]
Track = Annotated[
    int | None,
    typer.Option(
        "--track",
        metavar="N",
        min=1,
        help=tr(
            "Which sound track of a film or a screen recording to read, 1 for the first. Default: the one that "
            "players play."
        ),
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=256,
        help=tr("How many processor cores to use at most. Default: all, or the environment's."),
    ),
]
AsJson = Annotated[bool, option(None, tr("Print JSON."), "--json")]
Overwrite = Annotated[bool, option(None, tr("Replace existing files; otherwise results are numbered."), "--overwrite")]


def compute_on(threads: int | None) -> None:
    """Have torch compute on so many cores in this process, or on all."""
    if threads:
        import torch

        torch.set_num_threads(threads)
