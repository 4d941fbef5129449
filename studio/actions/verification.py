"""Verify where an audio file comes from."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from studio.actions.arrivals import called
from studio.store.studio import Studio


def verify_file(studio: Studio, audio: Path, file_name: str) -> dict[str, Any]:
    """Return what the content credentials of a file prove: the fields of `engine.provenance.verification.Verdict`.

    Errors call the file `file_name`. Raises AudioError if it is not audio that can be checked.
    """
    from engine.provenance.verification import verify  # loads the library of content credentials

    with called(audio, file_name):
        return asdict(verify(audio, studio.installation))
