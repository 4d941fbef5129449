"""Effects keep length and loudness, and change what their names say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.programme_loudness import LoudnessMeter
from engine.audio.files import Audio, read_audio, write_audio
from engine.effects.processing import apply_effects, apply_effects_to_file, measure_levels
from engine.effects.settings import EffectSettings
from engine.errors import Cancelled, SettingsError
from engine.progress import no_report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.provenance.verification import verify

RATE = 44_100


def tone(hertz: float, seconds: float = 2.0, level: float = 0.2) -> np.ndarray:
    return (level * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def lufs(audio: Audio) -> float | None:
    meter = LoudnessMeter(audio.rate, audio.channels)
    meter.push(audio.samples)
    return meter.lufs()


def test_apply_effects_keeps_a_synthetic_recording_marked_in_memory_and_file(tmp_path):
    statement = Statement("mia", "Mia", None, {}, None, "0.9")
    hall = apply_effects(Audio(tone(440.0, 1.0)[None], RATE, statement), EffectSettings.presets["hall"])
    assert hall.statement == statement
    write_audio(tmp_path / "take.wav", Audio(tone(440.0, 1.0)[None], RATE))
    here = Installation(tmp_path / "home")
    apply_effects_to_file(
        tmp_path / "take.wav", tmp_path / "hall.wav", EffectSettings.presets["hall"], no_report, statement, here
    )
    assert verify(tmp_path / "hall.wav", here).state == "made_here"


def power_db(samples: np.ndarray, low_hertz: float, high_hertz: float) -> float:
    spectrum = np.abs(np.fft.rfft(samples)) ** 2
    hertz = np.fft.rfftfreq(len(samples), 1 / RATE)
    return float(10 * np.log10(spectrum[(hertz >= low_hertz) & (hertz < high_hertz)].sum() + 1e-12))


def test_apply_effects_returns_the_same_recording_when_all_are_off() -> None:
    audio = Audio(tone(440.0)[None], RATE)
    assert apply_effects(audio, EffectSettings()) is audio


@pytest.mark.parametrize("preset", [name for name in EffectSettings.presets if name != "off"])
def test_apply_effects_keeps_length_channels_and_loudness_in_every_preset(preset: str) -> None:
    audio = Audio(np.stack([tone(220.0), 0.5 * tone(330.0)]), RATE)
    changed = apply_effects(audio, EffectSettings.presets[preset])
    assert changed.samples.shape == audio.samples.shape
    assert lufs(changed) == pytest.approx(lufs(audio), abs=0.1)
    assert not np.array_equal(changed.samples, audio.samples)


@settings(max_examples=15)
@given(
    samples=st.integers(1, 30_000), rate=st.sampled_from([8_000, 22_050, 44_100, 96_000]), channels=st.integers(1, 3)
)
def test_apply_effects_keeps_any_length_rate_and_channels(samples: int, rate: int, channels: int) -> None:
    random = np.random.default_rng(samples)
    audio = Audio(random.uniform(-0.5, 0.5, (channels, samples)).astype(np.float32), rate)
    changed = apply_effects(audio, EffectSettings.presets["vocal"])
    assert changed.samples.shape == audio.samples.shape
    assert np.isfinite(changed.samples).all()


def test_low_cut_removes_rumble_and_keeps_the_voice() -> None:
    audio = Audio((tone(30.0, level=0.1) + tone(440.0))[None], RATE)
    changed = apply_effects(audio, EffectSettings(low_cut_hertz=120.0))
    assert power_db(changed.samples[0], 20, 40) < power_db(audio.samples[0], 20, 40) - 15
    assert power_db(changed.samples[0], 400, 480) == pytest.approx(power_db(audio.samples[0], 400, 480), abs=1.0)


def test_high_shelf_raises_high_frequencies_by_high_db() -> None:
    audio = Audio((tone(300.0) + tone(14_000.0, level=0.01))[None], RATE)
    changed = apply_effects(audio, EffectSettings(high_db=6.0))
    difference = power_db(changed.samples[0], 13_000, 15_000) - power_db(audio.samples[0], 13_000, 15_000)
    assert difference == pytest.approx(6.0, abs=1.0)


def test_denoise_lowers_steady_noise_and_keeps_the_tone() -> None:
    noise = np.random.default_rng(1).normal(0, 0.005, 3 * RATE).astype(np.float32)
    sung = np.concatenate([np.zeros(RATE, np.float32), tone(440.0)])
    audio = Audio((sung + noise)[None], RATE)
    changed = apply_effects(audio, EffectSettings(denoise=1.0))
    before, after = audio.samples[0, : RATE // 2], changed.samples[0, : RATE // 2]
    assert 20 * np.log10(after.std() / before.std()) < -10
    assert power_db(changed.samples[0], 430, 450) == pytest.approx(power_db(audio.samples[0], 430, 450), abs=0.5)


def test_de_esser_turns_down_sibilants_and_leaves_vowels() -> None:
    hiss = np.random.default_rng(2).normal(0, 0.1, RATE // 4).astype(np.float32)
    hiss -= np.convolve(hiss, np.ones(8) / 8, "same").astype(np.float32)  # mostly above 5 kHz
    vowel = tone(220.0, 1.0)
    audio = Audio(np.concatenate([vowel, hiss, vowel])[None], RATE)
    changed = apply_effects(audio, EffectSettings(de_ess=1.0))
    middle, start = slice(RATE + 2000, RATE + RATE // 4 - 2000), slice(2000, RATE - 2000)
    quieter_db = 20 * np.log10(changed.samples[0, middle].std() / audio.samples[0, middle].std())
    vowel_db = 20 * np.log10(changed.samples[0, start].std() / audio.samples[0, start].std())
    assert quieter_db < vowel_db - 3
    assert vowel_db == pytest.approx(0.0, abs=1.0)


def test_compressor_reduces_the_dynamic_range() -> None:
    audio = Audio(np.concatenate([tone(330.0, level=0.5), tone(330.0, level=0.05)])[None], RATE)
    changed = apply_effects(audio, EffectSettings(compressor_ratio=8.0, compressor_threshold_db=-12.0))
    half = 2 * RATE

    def spread_db(samples: np.ndarray) -> float:
        return float(20 * np.log10(samples[half // 2 : half].std() / samples[-half // 2 :].std()))

    assert spread_db(changed.samples[0]) < spread_db(audio.samples[0]) - 6


def test_reverb_rings_after_the_note_stops() -> None:
    audio = Audio(np.concatenate([tone(440.0, 1.0), np.zeros(RATE, np.float32)])[None], RATE)
    changed = apply_effects(audio, EffectSettings(reverb=0.5))
    tail = slice(RATE + 4000, RATE + 20_000)
    assert audio.samples[0, tail].std() == 0
    assert changed.samples[0, tail].std() > 1e-3


def test_apply_effects_to_silence_gives_silence() -> None:
    audio = Audio(np.zeros((1, RATE), np.float32), RATE)
    assert np.abs(apply_effects(audio, EffectSettings.presets["speech"]).samples).max() < 1e-6


def test_measure_levels_does_not_depend_on_the_block_size() -> None:
    samples = np.random.default_rng(3).normal(0, 0.1, (1, 20 * 2205)).astype(np.float32)
    whole = measure_levels(iter([samples]), RATE, 1)
    pieces = measure_levels(iter(np.split(samples, 4, 1)), RATE, 1)
    assert whole.lufs == pytest.approx(pieces.lufs)
    assert whole.sibilance_db == pytest.approx(pieces.sibilance_db)


@pytest.mark.system
def test_apply_effects_to_file_matches_apply_effects_in_memory(tmp_path) -> None:
    audio = Audio(np.stack([tone(220.0, 25.0), tone(247.0, 25.0)]), RATE)  # several blocks
    write_audio(tmp_path / "in.wav", audio)
    reports = []
    apply_effects_to_file(
        tmp_path / "in.wav", tmp_path / "out.wav", EffectSettings.presets["clean"], lambda *given: reports.append(given)
    )
    found = read_audio(tmp_path / "out.wav")
    expected = apply_effects(read_audio(tmp_path / "in.wav"), EffectSettings.presets["clean"])
    assert np.abs(found.samples - expected.samples).max() < 2e-6
    assert reports[-1][0] == 1.0


def test_apply_effects_to_file_leaves_no_file_when_cancelled(tmp_path) -> None:
    write_audio(tmp_path / "in.wav", Audio(tone(220.0)[None], RATE))

    def cancel(_fraction: float, _message: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        apply_effects_to_file(tmp_path / "in.wav", tmp_path / "out.wav", EffectSettings(high_db=3.0), cancel)
    assert [path.name for path in tmp_path.iterdir()] == ["in.wav"]


def test_effect_settings_refuse_values_outside_their_range() -> None:
    with pytest.raises(SettingsError, match="reverb_size must be a number"):
        EffectSettings(reverb_size=1.5)
