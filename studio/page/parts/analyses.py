"""Analyses of recordings, as the Convert and Explore tabs start, find and cancel them."""

from contextlib import suppress
from pathlib import Path

from engine.texts import joined, tr
from studio.actions.analyses import analyse_track, cancel_analysis, start_analysis
from studio.actions.analysis_views import AnalysisView, analysis_view
from studio.actions.uploads import receive_upload, scratch_folder
from studio.errors import NotFound, WrongState
from studio.page.parts.page import Visit
from studio.page.parts.progress_bar import time_left, time_taken

BUSY = ("queued", "running")  # states
_LEAST_PROGRESS = 0.1  # from which the time that is left is said


def start(visit: Visit, path: str) -> str:
    """Analyse a file that was uploaded to the page; return the analysis's id. Raises EngineError."""
    with scratch_folder(visit.studio) as place:
        copy = receive_upload(visit.studio, Path(path), place / "recording")
        return visit.do(start_analysis, copy, Path(path).name)


def change_track(visit: Visit, analysis: str, track: int) -> str:
    """Analyse another sound track of a recording; return the analysis's id. Raises EngineError."""
    return visit.do(analyse_track, analysis, track)


def view(visit: Visit, analysis: str) -> AnalysisView:
    """Return an analysis as `analysis_view` gives it. Raises NotFound."""
    return visit.do(analysis_view, analysis, visit.base_url, visit.now_s)


def find(visit: Visit, analysis: str | None) -> AnalysisView | None:
    """Return an analysis; None where there is none, or none any more: they are kept for a day."""
    with suppress(NotFound):
        return view(visit, analysis) if analysis is not None else None
    return None


def cancel(visit: Visit, analysis: str | None) -> None:
    """Cancel an analysis that has not ended."""
    if analysis is not None:
        with suppress(NotFound, WrongState):
            visit.do(cancel_analysis, analysis)


def progress_line(view: AnalysisView) -> str:
    """Return how far an analysis is that has not ended, in a line."""
    if view.ahead:
        return tr("Waiting: {ahead} ahead · {file_name}", ahead=view.ahead, file_name=view.file_name)
    share, taken_s = view.progress, view.taken_s
    done = f"{100 * share:.0f} %" if share else None
    is_known = taken_s is not None and share >= _LEAST_PROGRESS
    time = time_left((taken_s or 0.0) * (1 - share) / share) if is_known else time_taken(taken_s)
    return joined(tr(", "), filter(None, [tr("Analysing {file_name}", file_name=view.file_name), done, time]))
