from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import signal

from engine.analysis.envelope import LOW_BANDS, measure_envelope
from engine.analysis.pitch import detect_pitch
from engine.analysis.windows import cut_windows
from engine.audio.resampling import resample
from engine.conversion.articulation import BEYOND
from engine.conversion.renderer import Renderer, ShapedMelody
from engine.conversion.settings import ConversionSettings
from engine.features.survey import Survey, survey_recording
from engine.features.sustained_notes import SustainedNotes
from engine.networks.base import load_base
from engine.units import HOP, SAMPLE_RATE
from engine.voices.voice import Voice


@pytest.fixture(scope="module")
def recording(sing) -> np.ndarray:
    return np.stack([sing(5.0), 0.5 * sing(5.0, seed=1)])


def rendered(recording: np.ndarray, voice, longest_s: float = 2.0, **chosen) -> list[list[np.ndarray]]:
    """For each window the pieces of every take."""
    settings = ConversionSettings(**{"transpose": 0} | chosen)
    survey = survey_recording([recording], load_base())
    renderer = Renderer(load_base(), voice, survey, settings, ShapedMelody(settings, int(settings.transpose)))
    return [renderer.render(window) for window in cut_windows([recording], longest_s, longest_s / 2)]


def test_renderer_returns_the_core_of_each_window_for_every_take(recording, voice):
    windows = list(cut_windows([recording], 2.0, 1.0))
    pieces = rendered(recording, voice, takes=3)
    assert len(pieces) == len(windows) >= 3
    for window, takes in zip(windows, pieces, strict=True):
        stop = recording.shape[1] if window.last else window.core_stop * HOP
        assert [take.shape for take in takes] == [(2, stop - window.core_start * HOP)] * 3
        assert {take.dtype for take in takes} == {np.dtype(np.float32)}


def test_renderer_is_deterministic_with_a_seed(recording, voice):
    once, again = rendered(recording, voice, takes=2, seed=4), rendered(recording, voice, takes=2, seed=4)
    for one, other in zip(once, again, strict=True):
        for take, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(take, same)


def test_renderer_with_more_takes_keeps_the_first_ones(recording, voice):
    for few, many in zip(rendered(recording, voice, takes=2), rendered(recording, voice, takes=4), strict=True):
        for take, same in zip(few, many, strict=False):
            np.testing.assert_array_equal(take, same)


def test_renderer_gives_takes_consecutive_seeds(recording, voice):
    survey = survey_recording([recording], load_base())
    three = ConversionSettings(takes=3, seed=5)
    assert Renderer(load_base(), voice, survey, three, ShapedMelody(three, 0)).seeds == [5, 6, 7]
    highest = ConversionSettings(takes=10, seed=2**31 - 1)
    renderer = Renderer(load_base(), voice, survey, highest, ShapedMelody(highest, 0))
    assert len(renderer.render(next(cut_windows([recording[:, :SAMPLE_RATE]])))) == 10


def test_renderer_takes_vowels_from_sustained_notes_of_the_recording(recording, voice):
    """Had they all said another one, it would be that."""
    found, settings = survey_recording([recording], load_base()), ConversionSettings()
    window = next(cut_windows([recording]))

    def envelope(rows: torch.Tensor) -> np.ndarray:
        survey = replace(found, sustained=SustainedNotes(rows))
        [take] = Renderer(load_base(), voice, survey, settings, ShapedMelody(settings, 0)).render(window)
        return measure_envelope(take[0], detect_pitch(take[0], SAMPLE_RATE))

    assert found.style == "melodic"
    as_heard, alone = envelope(found.sustained.rows), envelope(found.sustained.rows[:0])
    other = found.sustained.rows.clone()
    other[:, LOW_BANDS:-1] = -other[:, LOW_BANDS:-1]
    other[:, -1] *= 100
    assert np.abs(as_heard - alone).mean() < 0.5 * np.abs(envelope(other) - alone).mean()


def test_renderer_formant_shift_moves_the_spectral_centroid(recording, voice):
    centroids = []
    for semitones in (-5.0, 0.0, 5.0):
        samples = np.concatenate(
            [takes[0] for takes in rendered(recording, voice, formant_shift_semitones=semitones)], 1
        )
        power = np.square(np.abs(np.fft.rfft(samples.mean(0))))
        hertz = np.fft.rfftfreq(samples.shape[1], 1 / SAMPLE_RATE)
        audible = hertz < 6000
        centroids.append((power * hertz)[audible].sum() / power[audible].sum())
    assert centroids == sorted(centroids)
    assert centroids[2] > 1.1 * centroids[0]


def test_renderer_renders_hiss_equally_loud_for_a_band_limited_recording(sing, voice):
    samples, hiss = sing(3.0, peak=0.2), np.zeros(3 * SAMPLE_RATE, np.float32)
    bursts = [slice(start, start + SAMPLE_RATE // 5) for start in range(SAMPLE_RATE // 2, 5 * SAMPLE_RATE // 2, 30_000)]
    for burst in bursts:
        hiss[burst] = 0.08 * np.random.default_rng(burst.start).standard_normal(SAMPLE_RATE // 5)
        samples[burst] = 0.0
    above_three = signal.butter(4, 3000, "highpass", fs=SAMPLE_RATE, output="sos")
    whole = (samples + signal.sosfilt(above_three, hiss)).astype(np.float32)
    cut = resample(resample(whole, SAMPLE_RATE, 16_000), 16_000, SAMPLE_RATE)[: len(whole)]
    audible = signal.butter(8, (3500, 7000), "bandpass", fs=SAMPLE_RATE, output="sos")

    def hiss_db(recording: np.ndarray) -> float:
        samples = np.concatenate([takes[0] for takes in rendered(recording[None], voice)], 1)[0]
        inner = [signal.sosfilt(audible, samples)[burst][2000:-2000] for burst in bursts]
        return float(10 * np.log10(np.mean(np.square(inner))))

    assert abs(hiss_db(cut) - hiss_db(whole)) < 1.5


def test_renderer_does_not_amplify_a_quiet_pause_of_a_band_limited_recording(sing, voice):
    pause = slice(SAMPLE_RATE, 2 * SAMPLE_RATE)
    samples = sing(3.0, peak=0.5)
    samples[pause] = 0.001 * np.random.default_rng(0).standard_normal(SAMPLE_RATE)
    below_six = signal.butter(8, 6000, "lowpass", fs=SAMPLE_RATE, output="sos")
    recording = signal.sosfilt(below_six, samples).astype(np.float32)
    converted = np.concatenate([takes[0] for takes in rendered(recording[None], voice)], 1)[0]

    def inner_db(samples: np.ndarray) -> float:
        return float(10 * np.log10(np.mean(np.square(samples[pause][SAMPLE_RATE // 5 : -SAMPLE_RATE // 5]))))

    assert inner_db(recording) - 6 < inner_db(converted) < inner_db(recording) + 1


def test_renderer_moves_the_timbre_past_the_voice_away_from_the_recording(recording, voice):
    windows = list(cut_windows([recording]))
    settings = ConversionSettings(likeness=1.0)
    found, scored = survey_recording([recording], load_base()), replace(voice, is_scored=True)

    def sung(timbre: torch.Tensor, target_timbre: torch.Tensor) -> np.ndarray:
        survey, changed = replace(found, timbre=target_timbre), replace(scored, timbre=timbre)
        return Renderer(load_base(), changed, survey, settings, ShapedMelody(settings, 0)).render(windows[0])[0]

    itself = sung(voice.timbre, voice.timbre)  # a recording of the voice is no way off: nothing to move past
    beyond = voice.timbre + BEYOND * (voice.timbre - found.timbre)
    np.testing.assert_allclose(sung(voice.timbre, found.timbre), sung(beyond, beyond), atol=1e-5)
    assert np.abs(sung(voice.timbre, found.timbre) - itself).max() > 1e-3


def test_renderer_leaves_a_recording_of_the_voice_itself_as_it_is(sing, voice):
    own = sing(3.0)[None]
    found = replace(survey_recording([own], load_base()), timbre=voice.timbre)

    def off_db(voice: Voice, survey: Survey) -> float:
        settings = ConversionSettings(transpose=0)
        renderer = Renderer(load_base(), voice, survey, settings, ShapedMelody(settings, 0))
        [take] = renderer.render(next(cut_windows([own])))
        return float(10 * np.log10(np.square(take - own).mean() / np.square(own).mean()))

    itself, of_a_stranger = off_db(voice, found), off_db(voice, replace(found, timbre=-voice.timbre))
    assert itself < -15.0
    assert of_a_stranger > itself + 6.0
    assert off_db(replace(voice, is_scored=True), found) > itself + 6.0


def test_renderer_moves_the_timbre_less_far_for_speech_with_a_sung_only_voice(recording, voice):
    survey = replace(survey_recording([recording], load_base()), style="spoken")
    both = replace(voice.card, spoken_pitch=voice.card.pitch, sung_pitch=voice.card.pitch)
    sung_only = replace(both, spoken_pitch=None)
    settings = ConversionSettings()
    reach = [
        Renderer(load_base(), replace(voice, card=card), survey, settings, ShapedMelody(settings, 0))._beyond
        for card in (both, sung_only)
    ]
    assert 0.0 < reach[1] < reach[0] < 1.0


def between_harmonics_db(samples: np.ndarray, hertz: float) -> float:
    """Level between the harmonics below 6 kHz, beside that on them."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    frequency = np.fft.rfftfreq(len(samples), 1 / SAMPLE_RATE)
    from_harmonic = np.abs(frequency / hertz - np.round(frequency / hertz))
    heard = (frequency > hertz / 2) & (frequency < 6000.0)
    between, on = spectrum[heard & (from_harmonic > 0.3)].sum(), spectrum[heard & (from_harmonic < 0.2)].sum()
    return float(10 * np.log10(between / on))


@pytest.mark.parametrize("transpose", [0, 5, -4])
def test_renderer_keeps_the_breath_between_harmonics_as_far_as_texture_says(voice, transpose):
    hertz, count = 200.0, 3 * SAMPLE_RATE
    cycles = np.arange(count) * hertz / SAMPLE_RATE
    tone = sum(np.cos(2 * np.pi * number * cycles) / number for number in range(1, 60))
    breath = signal.lfilter([1.0], [1.0, -0.9], np.random.default_rng(0).standard_normal(count))
    breathy = (0.1 * (tone + 0.3 * breath)).astype(np.float32)[None]
    inner = slice(SAMPLE_RATE // 2, -SAMPLE_RATE // 2)
    level_db = []
    for texture in (0.0, 1.0):
        pieces = [takes[0] for takes in rendered(breathy, voice, 6.0, transpose=transpose, texture=texture)]
        sung_hertz = hertz * 2 ** (transpose / 12)
        level_db.append(between_harmonics_db(np.concatenate(pieces, 1)[0, inner], sung_hertz))
    assert level_db[1] > level_db[0] + 6.0
    assert level_db[1] == pytest.approx(between_harmonics_db(breathy[0, inner], hertz), abs=6.0)
