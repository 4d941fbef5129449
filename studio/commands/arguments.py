"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

RESULTS = "Where the results go"  # a panel of the help
DEFAULT_VOICE = "kathleen"

Recording = Annotated[Path, typer.Argument(metavar="IN", help="A recording: wav, flac, mp3, ogg, opus, aiff, m4a.")]
VoiceId = Annotated[str, typer.Option("--voice", metavar="ID", help="The voice to convert with; `voices` lists them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that exist; else a result gets a number.")
]
