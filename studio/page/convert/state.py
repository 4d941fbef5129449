"""What the parts of the Convert tab tell each other, and the browser remembers."""

from dataclasses import dataclass
from typing import NotRequired

from typing_extensions import TypedDict

from studio.actions.analysis_views import AnalysedRecording, RollData


class Chosen(TypedDict):
    """The recording that is chosen: an analysis, and the part of it; settled: the settings belong to it already."""

    id: str
    start_s: float | None
    stop_s: float | None
    settled: bool


@dataclass(frozen=True)
class Source:
    """What a conversion was made from: an analysis, and the part of it."""

    id: str | None = None
    start_s: float | None = None
    stop_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Analysed(AnalysedRecording):
    """What other parts of the tab need of the analysis of the recording; settled: as of `Chosen`."""

    file_name: str
    roll: RollData | None
    duration_s: float
    settled: bool

    def __hash__(self) -> int:  # by which Gradio sees that it is another
        return hash(repr(self))


class Now(TypedDict):
    """A conversion, and what it was made from. restored: made before this visit; away: its recording was put away or
    changed."""

    task: str
    recording: str | None
    start_s: float | None
    stop_s: float | None
    label: str
    restored: NotRequired[bool]
    away: NotRequired[bool]
