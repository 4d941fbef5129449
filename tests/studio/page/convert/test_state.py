"""What the parts of the Convert tab tell each other, as Gradio compares it; no browser."""

from dataclasses import replace

from gradio.utils import deep_hash

from studio.page.convert.state import Analysed
from studio.page.convert.takes import TrackOf
from studio.store.records.analysis import PitchSeconds


def test_gradio_sees_whether_what_it_keeps_has_changed():
    analysed = Analysed(
        id="a",
        summary=None,
        pitch_histogram=[PitchSeconds(60, 1.5)],
        file_name="a.wav",
        roll=None,
        duration_s=2.0,
        settled=False,
    )
    tracks = [TrackOf(task="t", take=1, song=False)]
    for kept, other in ((analysed, replace(analysed, settled=True)), (tracks, [replace(tracks[0], take=2)])):
        assert deep_hash(kept) == deep_hash(replace(kept) if kept is analysed else list(kept)) != deep_hash(other)
