"""Interactive plots of what the demonstrations find."""

import ipywidgets

from engine.research.demonstrations.content_plots import plot_similar_moments
from engine.research.demonstrations.frame_features import Features
from engine.research.demonstrations.source_filter import SourceFilterParts
from engine.research.demonstrations.source_filter_plots import plot_moment, plot_source_filter_parts
from engine.units import FRAME_RATE
from engine.widgets.viewers import moment_slider, redrawn, time_window


def source_filter_viewer(parts: SourceFilterParts, time_s: float = 1.0) -> ipywidgets.Widget:
    """Plot sources, filters and results in a time window, and the spectra at one point in time.

    >>> from engine.research.demonstrations import take_apart
    >>> source_filter_viewer(take_apart("vocal.flac"), 0.5)
    VBox(...)
    """
    window = time_window(parts.whole.duration_s)
    moment = moment_slider(parts.whole.duration_s, time_s)
    return ipywidgets.VBox(
        [
            redrawn(lambda: plot_source_filter_parts(parts, *window.value), [window]),
            redrawn(lambda: plot_moment(parts, moment.value), [moment]),
        ]
    )


def similar_moments(first: Features, second: Features, start_s: float = 0.0, end_s: float = 3.0) -> ipywidgets.Widget:
    """Plot the similarity of every frame of one recording to every frame of another, in a chosen time window.

    >>> from engine.research.demonstrations import measure_features
    >>> features = measure_features("vocal.flac")
    >>> similar_moments(features, features)
    VBox(...)
    """
    window = time_window(min(len(first.active), len(second.active)) / FRAME_RATE)
    window.value = (start_s, min(end_s, window.max))
    return redrawn(lambda: plot_similar_moments(first, second, *window.value), [window])
