"""What the content credentials of a file prove, apart from the library that reads them."""

from dataclasses import dataclass
from typing import Any, Literal

from engine.reprs import Brief

State = Literal["made_here", "made_elsewhere", "changed", "no_credentials"]


@dataclass(frozen=True, repr=False)
class Verdict(Brief):
    """What the content credentials of a file prove.

    - state: made_here, made_elsewhere, changed or no_credentials
    - sentence: the same for people
    - signer: who signed it, by their certificate
    - synthetic: whether the signed statement says so; None if it says nothing
    - statement: voice, settings and digests, if the file was made with this program
    - tags: what the container's tags say, which anyone can write
    """

    state: State
    sentence: str
    signer: str | None = None
    synthetic: bool | None = None
    statement: dict[str, Any] | None = None
    tags: str | None = None
