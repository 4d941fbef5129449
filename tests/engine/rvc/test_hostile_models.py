"""Models that do harm once they are imported, each with one sentence in place of the studio's end."""

import platform

import numpy as np
import pytest
import torch

from engine.audio.files import Audio, write_audio
from engine.conversion.convert import convert
from engine.datasets.teaching import TeachingSource, teaching_recordings
from engine.research.onnx_trials import LONGER_THAN_TRIALS, fault, hostile, memory, model_with, work
from engine.rvc import contentvec, sandbox
from engine.rvc.rendering import Moment
from engine.rvc.sandbox import ModelFileError
from engine.voices.imported import import_rvc, load_any_voice
from tests.engine.rvc.models import checkpoint_of, use_small_contentvec, write_small_contentvec

pytestmark = pytest.mark.system
FAULT = pytest.param(
    fault,
    "crashed the process",
    id="fault",
    marks=pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others divide by anything"),
)
HARMS = [FAULT, pytest.param(memory, "needs more memory or time", id="memory")]
WORK = pytest.param(work, "needs more memory or time", id="work")


@pytest.fixture
def voices(tmp_path, monkeypatch):
    """A folder of voices beside a small ContentVec; little work is allowed."""
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))
    for name, work_s in (("_FIRST_WORK_S", 4.0), ("_WORK_S", 1.0), ("_WORK_PER_SECOND", 1.0)):
        monkeypatch.setattr(sandbox, name, work_s)
    write_small_contentvec(tmp_path)
    use_small_contentvec(monkeypatch, apart=True)
    contentvec._loaded.cache_clear()
    (tmp_path / "voices").mkdir()
    yield tmp_path / "voices"
    contentvec._loaded.cache_clear()


def imported(voices, harm, when=LONGER_THAN_TRIALS):
    path = model_with(voices.parent / "Mia.onnx", hostile(harm, when))
    return load_any_voice(voices / import_rvc(path, voices).id)


def rendered(voice, frames, hertz=220.0):
    return voice.networks.render(torch.ones(frames, 256) * 0.1, torch.full((frames,), hertz), Moment(0, 0, 0.0))


@pytest.mark.parametrize(("harm", "said"), [*HARMS, WORK])
def test_rendering_of_another_length_than_those_tried_is_one_error_and_the_next_is_unharmed(voices, harm, said):
    voice = imported(voices, harm)
    before = rendered(voice, 200)
    for _ in range(2):
        with pytest.raises(ModelFileError, match=rf'^"Mia\.onnx" {said}[^\n]*\.$'):
            rendered(voice, LONGER_THAN_TRIALS)
    assert np.array_equal(rendered(voice, 200), before)


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_rendering_of_a_pitch_that_was_not_tried_is_one_error(voices, harm, said):
    voice = imported(voices, harm, "high")
    assert rendered(voice, 50).shape == (16_000,)
    with pytest.raises(ModelFileError, match=said):
        rendered(voice, 50, 1200.0)


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_import_rvc_tries_several_lengths_and_leaves_nothing(voices, harm, said):
    for when in (1, 33, 101):
        path = model_with(voices.parent / "Mia.onnx", hostile(harm, when))
        with pytest.raises(ModelFileError, match=said):
            import_rvc(path, voices)
    assert not list(voices.iterdir())


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_convert_and_teach_refuse_what_a_model_does_later_in_one_sentence(voices, tmp_path, harm, said):
    voice = imported(voices, harm)
    time = np.arange(4 * 44_100) / 44_100
    sung = sum(np.sin(2 * np.pi * 196 * number * time) / number for number in range(1, 9))
    audio = Audio((0.1 * sung[None]).astype(np.float32), 44_100)
    with pytest.raises(ModelFileError, match=rf'^"Mia\.onnx" {said}[^\n]*\.$'):
        convert(audio, voice)
    write_audio(tmp_path / "song.wav", audio)
    with pytest.raises(ModelFileError, match=said):
        teaching_recordings(voice, [TeachingSource(tmp_path / "song.wav")], tmp_path / "sung")
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("sung")]


def test_pth_is_rendered_apart_with_the_same_samples_and_digest_as_here(voices, monkeypatch):
    monkeypatch.setattr(sandbox, "_FIRST_WORK_S", 60.0)
    torch.save(checkpoint_of("v2"), path := voices.parent / "Mia.pth")
    voice = load_any_voice(voices / import_rvc(path, voices).id)
    content, hertz, moment = torch.randn(120, 768), torch.full((120,), 220.0), Moment(3, 8, 0.25)
    apart = voice.networks.render(content, hertz, moment), voice.networks.digest()
    assert np.array_equal(voice.networks.render(content, hertz, moment), apart[0])
    use_small_contentvec(monkeypatch)
    assert np.array_equal(voice.networks.render(content, hertz, moment), apart[0])
    assert voice.networks.digest() == apart[1]
