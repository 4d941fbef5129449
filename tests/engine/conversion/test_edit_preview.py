"""What is heard of a take while it is edited: the touched phrase alone, as the edited take will have it."""

import numpy as np
import pytest

from engine.audio.files import Audio, write_audio
from engine.conversion import edit_preview as module
from engine.conversion.convert import convert
from engine.conversion.edit_preview import EditPreview
from engine.conversion.patches import FADE_FRAMES, MARGIN_FRAMES
from engine.conversion.pitch_edits import ShapeNote, Shift
from engine.conversion.rerendering import edit_take
from engine.conversion.settings import ConversionSettings
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE

NEAR, FAR = Shift(1.0, 1.4, 2.0), Shift(3.4, 3.8, -2.0)
SHAPED = ShapeNote(1.0, 1.4, formant_shift_semitones=3.0, level_db=-6.0)


@pytest.fixture(scope="module")
def take(sing, voice, tmp_path_factory):
    """A recording of five seconds as a file, and its conversion."""
    path = tmp_path_factory.mktemp("preview") / "song.wav"
    write_audio(path, Audio(sing(5.0)[None], SAMPLE_RATE))
    return path, convert(path, voice, ConversionSettings(seed=3))


@pytest.fixture
def preview(take, voice) -> EditPreview:
    path, conversion = take
    return EditPreview(path, conversion.edit_data, 0, voice, "cpu")


@pytest.mark.parametrize("edit", [NEAR, FAR, SHAPED])
def test_preview_renders_the_touched_phrase_alone_as_it_will_be_in_the_take(take, voice, preview, edit):
    path, conversion = take
    edits = [FAR, SHAPED if edit is SHAPED else NEAR]
    heard = preview.render(edits, edit.start_s, edit.end_s)
    first, count = round(heard.start_s * SAMPLE_RATE), heard.audio.samples.shape[1]
    assert edit.start_s - MARGIN_FRAMES / FRAME_RATE - 0.05 < heard.start_s < edit.start_s
    assert count < (edit.end_s - edit.start_s + 2 * MARGIN_FRAMES / FRAME_RATE + 0.1) * SAMPLE_RATE
    whole = edit_take(path, conversion, 0, voice, edits).audio.samples
    seam = FADE_FRAMES * HOP  # where the take fades to what is rendered
    inside = slice(seam, count - seam)
    np.testing.assert_allclose(heard.audio.samples[:, inside], whole[:, first:][:, inside], atol=1e-4)


def test_preview_follows_changing_edits_and_is_silent_where_nothing_is_edited(preview):
    assert preview.render([NEAR], 3.4, 3.8) is None
    assert preview.render([], 1.0, 1.4) is None
    higher, again = (preview.render([Shift(1.0, 1.4, semitones)], 1.0, 1.4) for semitones in (2.0, 3.0))
    assert higher.start_s == again.start_s
    assert np.abs(higher.audio.samples - again.audio.samples).max() > 1e-3


def test_preview_reads_and_listens_once_for_all_edits_of_a_place(preview, monkeypatch):
    opened, listened = [], []
    monkeypatch.setattr(module, "open_audio", lambda path, real=module.open_audio: opened.append(path) or real(path))
    rerendering = "engine.conversion.rerendering.listen"
    real = __import__("engine.conversion.rerendering", fromlist=["listen"]).listen
    monkeypatch.setattr(rerendering, lambda *given: listened.append(given) or real(*given))
    for semitones in (1.0, 2.0, 3.0):
        preview.render([Shift(1.0, 1.4, semitones)], 1.0, 1.4)
    assert (len(opened), len(listened)) == (1, 1)


@pytest.mark.parametrize("whole_frames", [0, 10_000])
def test_prepare_leaves_nothing_to_read_or_analyse_for_the_first_edit_of_a_place(preview, monkeypatch, whole_frames):
    monkeypatch.setattr(module, "_WHOLE_FRAMES", whole_frames)
    preview.prepare([FAR], 1.0, 1.4)
    for name in ("open_audio", "PatchRenderer"):
        monkeypatch.setattr(module, name, None)
    for name in ("listen", "detect_pitch"):
        monkeypatch.setattr(f"engine.features.analysed_windows.{name}", None)
    monkeypatch.setattr("engine.conversion.rerendering.listen", None)
    for edit in (Shift(1.0, 1.4, -1.0), SHAPED):
        assert preview.render([FAR, edit], 1.0, 1.4) is not None


def test_preview_of_a_long_stretch_is_its_beginning(preview, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_S", 1.0)
    heard = preview.render([Shift(0.0, 4.9, 2.0)], 0.0, 4.9)
    assert heard.audio.samples.shape[1] == pytest.approx(SAMPLE_RATE, abs=HOP)
