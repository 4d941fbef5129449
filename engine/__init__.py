"""Timbre Studio's engine: the same performance in another voice.

The names below are loaded when they are first used, so importing the package does no work.
"""

import os
from importlib import import_module
from typing import Any

# Read once, when torch's threads come up: they sleep while they wait for each other. By default they spin, and beside
# another program that keeps a core busy that was seen to take ten times as long. What the user has set is kept.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# the one door for notebooks, examples and users: module -> what it offers
_OFFERS = {
    "errors": "Cancelled EngineError",
    "units": "note_name",
    "audio.files": "Audio read_audio write_audio",
    "analysis.notes": "find_notes",
    "analysis.recording": "analyse analyse_file",
    "features.clips": "analysed_clips",
    "features.retrieval": "nearest_frames",
    "voices.blend": "blend_voices",
    "voices.card": "list_voices",
    "voices.package": "export_voice import_voice",
    "voices.imported": "import_rvc load_any_voice",
    "voices.voice": "load_voice save_voice",
    "provenance.verification": "verify",
    "conversion.comping": "CompPart comp comp_files joins",
    "conversion.convert": "convert convert_file",
    "conversion.pitch_edits": "Draw FixOctave Shift Smooth Snap",
    "conversion.preview": "render_preview",
    "conversion.rerendering": "FileTake edit_file edit_take",
    "conversion.settings": "ConversionSettings by_style",
    "live.converter": "LiveConverter",
    "live.settings": "LiveSettings",
    "effects.chain": "apply_effects",
    "effects.settings": "EffectSettings",
    "songs.alignment": "align",
    "songs.mixing": "Fader Lane mix_files",
    "songs.part_conversion": "convert_parts",
    "songs.parts": "Part read_parts",
    "songs.separation": "OnnxSeparator separate_file",
    "songs.separator_file": "checked_separator separator_state",
    "songs.song": "FolderStages Song SongFiles Stem make_song",
    "songs.two_pitches": "find_two_pitches",
    "datasets.dataset": "create_dataset load_dataset",
    "datasets.report": "examine_recordings examined",
    "datasets.teaching": "TeachingSource bundled_sources teaching_recordings",
    "evaluation.scores": "compare compare_performances Evaluator trace",
    "training.history": "EVALUATIONS_FOLDER read_history",
    "training.plan": "TrainingPlan",
    "training.teaching": "teach",
    "training.train": "estimate_training train train_dataset usable_clips",
    "training.untrained": "untrained_voice",
    "demonstrations.frame_features": "measure_features",
    "demonstrations.perturbation_trial": "try_perturbation warp_voice",
    "demonstrations.source_filter": "take_apart",
    "demonstrations.speaker_probe": "probe_speakers",
    "plots.content": "plot_perturbation_trial plot_speaker_probes",
    "plots.recording": "look_at plot_file plot_recording",
    "plots.report": "plot_data_report",
    "plots.training": "plot_learning_curves",
}
_HOMES = {name: module for module, names in _OFFERS.items() for name in names.split()}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute '{name}'")
    return getattr(import_module(f"engine.{_HOMES[name]}"), name)
