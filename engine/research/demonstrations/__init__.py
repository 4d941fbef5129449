"""What the notebook under the hood shows: speaker probes, source and filter, perturbation, and their plots.

Only that notebook imports this package, from the project's folder.
"""

from engine.research.demonstrations.content_plots import plot_perturbation_trial, plot_speaker_probes
from engine.research.demonstrations.frame_features import measure_features
from engine.research.demonstrations.perturbation_trial import try_perturbation, warp_voice
from engine.research.demonstrations.source_filter import take_apart
from engine.research.demonstrations.speaker_probe import probe_speakers
from engine.research.demonstrations.viewers import similar_moments, source_filter_viewer

__all__ = [
    "measure_features",
    "plot_perturbation_trial",
    "plot_speaker_probes",
    "probe_speakers",
    "similar_moments",
    "source_filter_viewer",
    "take_apart",
    "try_perturbation",
    "warp_voice",
]
