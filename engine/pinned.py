"""Files that the studio works without and fetches on request: each is known by its SHA-256 alone, wherever it comes
from. Nothing is downloaded here."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from engine.errors import WrongFileError
from engine.progress import Report, no_report
from engine.texts import tr

_BLOCK = 1 << 22


@dataclass(frozen=True)
class PinnedFile:
    """A file that can be fetched: what it is, where it comes from, and its exact contents.

    - name, file_name: for people, and on the disk
    - size: bytes
    - sha256: of its contents, in hexadecimal
    - url, licence, origin: where it comes from
    """

    name: str
    file_name: str
    size: int
    sha256: str
    url: str
    licence: str
    origin: str

    @property
    def megabytes(self) -> int:
        """Size in millions of bytes."""
        return round(self.size / 1e6)

    def refuse_other(self, path: Path | str, report: Report = no_report) -> None:
        """Raise WrongFileError for a file that is not this one to the bit, or cannot be read.

        report receives the progress (0..1, message) and may raise Cancelled.
        """
        path, digest, done = Path(path), hashlib.sha256(), 0
        try:
            if path.stat().st_size == self.size:
                with path.open("rb") as file:
                    while block := file.read(_BLOCK):
                        digest.update(block)
                        done += len(block)
                        report(done / self.size, tr("checking"))
        except OSError as cause:
            raise WrongFileError(
                tr('"{name}" cannot be read: {strerror}.', name=path.name, strerror=cause.strerror or cause)
            ) from cause
        if digest.hexdigest() != self.sha256:
            raise WrongFileError(
                tr(
                    '"{name}" is not {wanted}: its checksum differs. It was not used; fetch it again.',
                    name=path.name,
                    wanted=self.name,
                )
            )
