"""What a synthetic recording states about how it was made; content credentials sign it, container tags repeat it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.reprs import Brief
from engine.texts import tr

PROGRAM = "Timbre Studio"
# IPTC: "a composite of elements, at least one of which was made by a trained algorithm": here melody and words of a
# person, in a voice that a network renders
DIGITAL_SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia"


@dataclass(frozen=True, repr=False)
class Statement(Brief):
    """How a recording was made.

    - voice, voice_name: the voice's id and name
    - consent_sha256: SHA-256 of the voice's consent record in hexadecimal; None where there is none
    - settings: of the conversion
    - source_sha256: SHA-256 of the recording that was converted
    - engine: version of this program
    """

    voice: str
    voice_name: str
    consent_sha256: str | None
    settings: Mapping[str, Any]
    source_sha256: str | None
    engine: str

    def as_tag(self) -> str:
        """Return the statement for the container's comment tag, without line breaks."""
        # only the id of the voice: MP3 tags of libsndfile hold nothing but Latin letters
        return tr(
            "Synthetic: converted by {program} {engine} to the voice {voice}. DigitalSourceType={digital_source_type}",
            program=PROGRAM,
            engine=self.engine,
            voice=self.voice,
            digital_source_type=DIGITAL_SOURCE_TYPE,
        )


def canonical_json(record: Mapping[str, object]) -> bytes:
    """Return a record as JSON that depends on its values only, for digests and signatures."""
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def record_digest(record: Mapping[str, object]) -> str | None:
    """Return the digest of a record, such as a consent; None if it is empty."""
    return hashlib.sha256(canonical_json(record)).hexdigest() if record else None


def of_several(statements: Sequence[Statement]) -> Statement:
    """Return what a recording states that holds all of these, at least one: their voices, the settings of the first."""
    first, *others = {one.as_tag() + str(one.source_sha256): one for one in statements}.values()
    if not others:
        return first
    named = {one.voice: one for one in (first, *others)}
    consents = {voice: one.consent_sha256 or "" for voice, one in named.items()}
    return replace(
        first,
        voice=" ".join(named),
        voice_name=", ".join(one.voice_name for one in named.values()),
        consent_sha256=first.consent_sha256 if len(named) == 1 else record_digest(consents),
        settings={**first.settings, "stems": [[one.voice, one.source_sha256] for one in (first, *others)]},
    )


def file_digest(path: Path) -> str:
    """Return the digest of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
