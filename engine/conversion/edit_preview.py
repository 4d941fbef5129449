"""How a stretch of a take sounds with edits, while they are being made: it alone is rendered."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.analysis.windows import CONTEXT_FRAMES, GRID_FRAMES, begin_of
from engine.audio.files import Audio, open_audio
from engine.audio.streams import stretch_of
from engine.conversion.convert import base_on
from engine.conversion.edit_data import EditData
from engine.conversion.patches import Patch, plan_patches
from engine.conversion.pitch_edits import PitchEdit, ShapeNote
from engine.conversion.rerendering import PatchRenderer, Stream, samples_of
from engine.devices import AUTO
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE
from engine.voices.imported import AnyVoice
from engine.workers import Workers

LONGEST_S = 6.0  # of what is rendered
_WHOLE_FRAMES = 120 * FRAME_RATE  # of a recording that is kept as a whole: 21 MB a channel


@dataclass(frozen=True, eq=False)
class PreviewedStretch:
    """A stretch of an edited take, and where it begins, in seconds."""

    start_s: float
    audio: Audio


class EditPreview:
    """A take that is being edited. What was read and analysed for a place is kept for the next edit of it.

    Raises EditError if the take cannot be edited, as where the voice was trained again since.

    Parameters
    ----------
    source : Path
        The recording that was converted.
    edit_data : EditData
        Of the conversion.
    number : int
        Of the take; the first is 0.
    voice : Voice or ImportedVoice
        With which it was converted.
    device, threads
        As for the conversion.
    """

    def __init__(
        self, source: Path, edit_data: EditData, number: int, voice: AnyVoice, device: str = AUTO, threads: int = 1
    ) -> None:
        self._source, self._edit_data, self._number = source, edit_data, number
        self._voice, self._device, self._workers = voice, device, Workers(threads)
        base_on(device)  # loaded now, and not with the first edit
        self._region = range(0)  # of the recording, which the renderer has, in frames
        self._renderer: PatchRenderer | None = None

    def render(self, edits: Sequence[PitchEdit], start_s: float, end_s: float) -> PreviewedStretch | None:
        """Return the first patch that touches a stretch, no more of it than LONGEST_S from there on; None where the
        take is as it was converted. Raises SettingsError for edits that cannot be."""
        for patch in plan_patches(self._edit_data, self._number, edits).patches:
            if patch.first < end_s * FRAME_RATE and patch.last > start_s * FRAME_RATE:
                heard = patch.shortened(round(LONGEST_S * FRAME_RATE))
                samples = np.concatenate(list(self._renderer_at(heard).render(heard)), 1)
                return PreviewedStretch(heard.first / FRAME_RATE, Audio(samples, SAMPLE_RATE))
        return None

    def prepare(self, edits: Sequence[PitchEdit], start_s: float, end_s: float) -> None:
        """Read and analyse what an edit of a stretch will need, beside those that there are. Raises SettingsError."""
        end_s = min(end_s, start_s + LONGEST_S)  # no more of it will be rendered
        self.render([*edits, ShapeNote(start_s, end_s, level_db=1.0)], start_s, end_s)

    def _renderer_at(self, patch: Patch) -> PatchRenderer:
        """Return a renderer that has all windows of the conversion which a patch needs."""
        region = self._region_of(patch)
        if self._renderer is None or region.start < self._region.start or region.stop > self._region.stop:
            with open_audio(self._source) as recording:
                blocks = samples_of(recording, self._edit_data)
                held = np.concatenate(list(stretch_of(blocks, region.start * HOP, region.stop * HOP)), 1)
            self._region = region
            of_take = (self._edit_data, self._number, self._voice, self._device, self._workers)
            self._renderer = PatchRenderer(Stream([held], region.start * HOP), *of_take, region.stop)
        return self._renderer

    def _region_of(self, patch: Patch) -> range:
        cores, frames = self._edit_data.core_starts, self._edit_data.hertz.shape[1]
        if frames <= _WHOLE_FRAMES:
            return range(frames + CONTEXT_FRAMES)
        first, last = max(0, patch.first - CONTEXT_FRAMES) // GRID_FRAMES * GRID_FRAMES, patch.last + CONTEXT_FRAMES
        from_window, to_window = (int(np.searchsorted(cores, frame, "right")) - 1 for frame in (first, last))
        is_last = to_window + 1 == len(cores)
        end = frames + CONTEXT_FRAMES if is_last else int(cores[to_window + 1]) + CONTEXT_FRAMES
        return range(min(first, begin_of(int(cores[from_window]))), max(end, last))
