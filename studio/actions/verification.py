"""Verify where an audio file comes from."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.errors import AudioError
from engine.texts import tr
from studio.actions.recordings import shown_name
from studio.errors import NotReadable, naming
from studio.store.studio import Studio


def verify_file(studio: Studio, audio: Path, file_name: str) -> dict[str, Any]:
    """Return what the content credentials of a file prove: the fields of `engine.provenance.verification.Verdict`.

    Errors call the file `file_name`. Raises NotReadable if it is not audio that can be checked.
    """
    from engine.provenance.verification import verify  # loads the library of content credentials

    try:
        return asdict(verify(audio, studio.installation))
    except AudioError as cause:
        shown = f'"{shown_name(file_name) or tr("The file")}"'
        raise NotReadable(naming(cause, audio, shown), "audio_not_readable") from cause
