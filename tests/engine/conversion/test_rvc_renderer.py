"""Imported voices behind the same `convert`, with small random networks."""

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.conversion.pitch_edits import ShapeNote, Shift
from engine.conversion.rerendering import edit_take
from engine.conversion.settings import ConversionSettings
from engine.errors import VoiceError
from engine.research.onnx_trials import small_model
from engine.rvc import contentvec
from engine.rvc.rendering import TorchRendering
from engine.rvc.sandbox import ModelFileError
from engine.voices.imported import import_rvc, load_any_voice
from engine.voices.voice import load_voice
from tests.engine.rvc.models import checkpoint_of, import_small, use_small_contentvec, write_small_contentvec

REFERENCE = Path(__file__).parents[1] / "rvc" / "reference"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with a small ContentVec."""
    home = tmp_path_factory.mktemp("home")
    write_small_contentvec(home)
    return home


@pytest.fixture
def voices(home, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(home))
    use_small_contentvec(monkeypatch)
    contentvec._loaded.cache_clear()
    yield tmp_path / "voices"
    contentvec._loaded.cache_clear()


def imported(voices, case, index=None, **options):
    return load_any_voice(voices / import_small(voices, case, index, **options).id)


def vocal(seconds=1.3, rate=44_100, channels=1):
    time = np.arange(round(seconds * rate)) / rate
    sung = sum(np.sin(2 * np.pi * 196 * number * time) / number for number in range(1, 9))
    return Audio((0.1 * np.tile(sung, (channels, 1))).astype(np.float32), rate)


@pytest.mark.parametrize("case", ["v1", "v2", "v2-32k", "v1-no-pitch"])
def test_convert_keeps_length_and_is_deterministic_with_a_seed(voices, case):
    voice, audio = imported(voices, case, speaker=1), vocal(channels=2)
    settings = ConversionSettings(takes=2, seed=3)
    first, again = (convert(audio, voice, settings).takes for _ in range(2))
    assert [take.audio.samples.shape for take in first] == [audio.samples.shape] * 2
    assert all(np.array_equal(one.audio.samples, two.audio.samples) for one, two in zip(first, again, strict=True))
    assert np.abs(first[0].audio.samples - first[1].audio.samples).max() > 1e-3
    other = convert(audio, voice, ConversionSettings(seed=4)).takes[0].audio.samples
    assert np.abs(first[0].audio.samples - other).max() > 1e-3


def test_convert_keeps_loudness_and_states_the_voice(voices):
    voice, audio = imported(voices, "v2"), vocal()
    take = convert(audio, voice).takes[0].audio
    assert abs(20 * np.log10(take.samples.std() / audio.samples.std())) < 6
    assert take.statement.voice_name == "Mia"


def test_retrieval_with_an_index_changes_the_take(voices):
    voice, audio = imported(voices, "v1", REFERENCE / "ivf.index"), vocal()
    plain, drawn = (convert(audio, voice, ConversionSettings(retrieval=share)).takes[0] for share in (0.0, 1.0))
    assert np.abs(plain.audio.samples - drawn.audio.samples).max() > 1e-3


def test_consonant_protection_keeps_the_content_of_unvoiced_frames(voices, monkeypatch):
    voice, sung = imported(voices, "v1", REFERENCE / "ivf.index"), vocal().samples
    hiss = 0.1 * np.random.default_rng(0).standard_normal(sung.shape).astype(np.float32)
    audio, render, given = Audio(np.concatenate([sung, hiss], 1), 44_100), TorchRendering.render, []

    def recorded(self, content, hertz, moment):
        given.append((content.clone(), hertz > 0))
        return render(self, content, hertz, moment)

    def content_of(**settings):
        given.clear()
        convert(audio, voice, ConversionSettings(**settings))
        return torch.cat([content for content, _ in given]), torch.cat([voiced for _, voiced in given])

    monkeypatch.setattr(TorchRendering, "render", recorded)
    plain, voiced = content_of(retrieval=0.0)
    spared, _ = content_of(retrieval=1.0, consonant_protection=1.0)
    drawn, _ = content_of(retrieval=1.0, consonant_protection=0.0)
    assert voiced.sum() > 80
    assert (~voiced).sum() > 80
    assert torch.equal(spared[~voiced], plain[~voiced])
    assert torch.equal(spared[voiced], drawn[voiced])
    assert ((drawn - plain).abs().amax(1) > 1e-3).all()


@pytest.mark.parametrize(("dialect", "width", "rate"), [(0, 256, 40_000), (1, 768, 48_000)])
def test_import_rvc_and_convert_work_with_both_onnx_dialects(voices, tmp_path, dialect, width, rate):
    voices.mkdir()
    path = small_model(tmp_path / "Mia.onnx", dialect, width, rate=rate, speakers=2)
    card = import_rvc(path, voices, speaker=1)
    assert sorted(one.name for one in (voices / card.id).iterdir()) == [
        "card.json",
        "model.onnx",
        "weights.safetensors",
    ]
    voice, audio = load_any_voice(voices / card.id), vocal()
    first, again, other = (convert(audio, voice, ConversionSettings(seed=seed)).takes[0].audio for seed in (3, 3, 4))
    assert first.samples.shape == audio.samples.shape
    assert np.array_equal(first.samples, again.samples)
    assert not np.array_equal(first.samples, other.samples)
    with pytest.raises(ModelFileError, match="has no speaker 2"):
        import_rvc(path, voices, speaker=2)
    assert [one.name for one in voices.iterdir()] == [card.id]


@pytest.mark.parametrize("value", [np.nan, np.inf, 2.0])
def test_convert_refuses_a_voice_that_renders_no_sound(voices, monkeypatch, value):
    voice = imported(voices, "v1")
    monkeypatch.setattr(TorchRendering, "render", lambda *_: np.full(40_000, value, np.float32))
    with pytest.raises(VoiceError, match="Mia rendered invalid samples"):
        convert(vocal(), voice)


def test_import_rvc_cleans_control_characters_from_the_voice_name(voices):
    voices.mkdir()
    torch.save(checkpoint_of("v1"), path := voices.parent / "Mi\na\x1b[31m.pth")
    card = import_rvc(path, voices)
    assert load_any_voice(voices / card.id).card.name == "Mi a [31m"


def test_formant_shift_keeps_length(voices):
    audio = vocal()
    take = convert(audio, imported(voices, "v2"), ConversionSettings(formant_shift_semitones=3.0)).takes[0]
    assert take.audio.samples.shape == audio.samples.shape


@pytest.mark.parametrize("semitones", [-3.0, 3.0])
def test_edit_take_moves_the_formants_of_a_note_in_its_time_and_pitch(voices, monkeypatch, semitones):
    voice, audio, render, given = imported(voices, "v2"), vocal(4.0), TorchRendering.render, []

    def recorded(self, content, hertz, moment):
        given.append(hertz.clone())
        return render(self, content, hertz, moment)

    done = convert(audio, voice, ConversionSettings(transpose=0))
    monkeypatch.setattr(TorchRendering, "render", recorded)
    old = done.takes[0].audio.samples
    new = edit_take(audio, done, 0, voice, [ShapeNote(1.5, 2.5, formant_shift_semitones=semitones)]).audio.samples
    assert new.shape == old.shape
    there = np.flatnonzero((old != new).any(0)) / 44_100
    assert 1.0 < there[0] < 1.5
    assert 2.5 < there[-1] < 3.0
    [hertz] = given  # the networks render the note at another pitch, and more or fewer frames of it
    voiced = hertz[hertz > 0].numpy()
    sung = np.median(voiced[:40])
    moved = voiced / sung < 0.95 if semitones > 0 else voiced / sung > 1.05
    assert moved.sum() == pytest.approx(100 * 2 ** (semitones / 12), abs=6)
    assert np.median(voiced[moved]) == pytest.approx(sung / 2 ** (semitones / 12), rel=0.01)


def test_edit_take_renders_only_its_stretch(voices):
    voice, audio = imported(voices, "v2"), vocal(4.0)
    conversion = convert(audio, voice)
    edited = edit_take(audio, conversion, 0, voice, [Shift(1.5, 2.0, semitones=3.0)]).audio.samples
    original = conversion.takes[0].audio.samples
    assert np.array_equal(edited[:, :40_000], original[:, :40_000])
    assert np.array_equal(edited[:, -40_000:], original[:, -40_000:])
    assert np.abs(edited - original).max() > 1e-3


def test_load_voice_refuses_imported_models_and_convert_a_missing_contentvec(voices, tmp_path, monkeypatch):
    voice = imported(voices, "v2")
    with pytest.raises(VoiceError, match="imported RVC model"):
        load_voice(voice.folder)
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "empty"))
    with pytest.raises(VoiceError, match="needs ContentVec"):
        convert(vocal(), voice)


def test_import_rvc_keeps_no_pickle_and_leaves_no_files_after_a_refusal(voices):
    voice = imported(voices, "v2", name="Mia Muster")
    assert sorted(path.name for path in voice.folder.iterdir()) == ["card.json", "weights.safetensors"]
    assert (voice.card.id, voice.card.name, voice.card.kind) == ("mia-muster", "Mia Muster", "rvc")
    path = voices.parent / "Mia.pth"
    for options, code in (({"speaker": 3}, "no_such_speaker"), ({"index": REFERENCE / "ivf.index"}, "wrong_index")):
        with pytest.raises(ModelFileError) as caught:
            import_rvc(path, voices, name="other", **options)
        assert caught.value.code == code
    changed = checkpoint_of("v2")
    changed["weight"]["dec.cond.bias"] = torch.zeros(3)
    torch.save(changed, path)
    with pytest.raises(ModelFileError, match=r"dec\.cond\.bias is \(3,\) instead of \(32,\)"):
        import_rvc(path, voices)
    assert [one.name for one in voices.iterdir()] == ["mia-muster"]
