import functools
import itertools
import threading
import tracemalloc
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import librosa
import numpy as np
import pytest
import soundfile as sf
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.loudness import measure_loudness, without_rumble
from engine.analysis.notes import SCALES
from engine.analysis.pitch import HIGHEST_NOTE, LOWEST_NOTE, detect_pitch
from engine.analysis.windows import Window, cut_windows
from engine.audio.files import Audio, read_audio, write_audio
from engine.audio.resampling import resample, resampled_length
from engine.conversion import convert as module
from engine.conversion.convert import convert, convert_file
from engine.conversion.pitch_edits import Shift
from engine.conversion.rerendering import edit_take
from engine.conversion.settings import AUTO, ConversionSettings, by_style
from engine.errors import AudioError, Cancelled, EngineError, SettingsError
from engine.features.analysed_windows import AnalysedWindows
from engine.networks.base import load_base
from engine.networks.listener import listen
from engine.research.benchmark.mixes import in_a_room
from engine.units import HOP, SAMPLE_RATE, hertz_to_semitones, note_number, semitones_to_hertz
from engine.voices.voice import load_voice
from tests.vowels import vowel

SPEECH = Path(module.__file__).parents[1] / "samples" / "speech.flac"
FIELDS = {field.name: field.metadata for field in fields(ConversionSettings)}
RANGES = [(name, one["minimum"], one["maximum"]) for name, one in FIELDS.items() if "minimum" in one]
NUMBERS = [name for name, _, _ in RANGES]
# Cutting a recording into windows changes the result by less than this against the result's level (measured: -68 dB).
WINDOWING_DB = -50.0


def level_db(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.square(samples, dtype=np.float64).mean() + 1e-30))


def only(audio: Audio, voice, **chosen) -> np.ndarray:
    """Samples (channels, n) of a single take."""
    [take] = convert(audio, voice, ConversionSettings(**chosen)).takes
    return take.audio.samples


def small_windows(monkeypatch, longest_s: float = 2.0, shortest_s: float = 1.0) -> None:
    small = functools.partial(cut_windows, longest_s=longest_s, shortest_s=shortest_s)
    monkeypatch.setattr(module, "cut_windows", small)
    monkeypatch.setattr("engine.features.survey.cut_windows", small)


def long_note(seconds: float, hertz: float = 200.0, vibrato: float = 0.3) -> np.ndarray:
    """One note without a rest, its vibrato in semitones, float32 (samples,)."""
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    cycles = np.cumsum(hertz * 2 ** (vibrato / 12 * np.sin(2 * np.pi * 5.5 * time_s))) / SAMPLE_RATE
    return (0.05 * sum(np.cos(2 * np.pi * number * cycles) / number for number in range(1, 30))).astype(np.float32)


@pytest.fixture(scope="module")
def sung(sing) -> Audio:
    return Audio(sing(3.0)[None], SAMPLE_RATE)


@pytest.fixture(scope="module")
def three_takes(sung, voice):
    return convert(sung, voice, ConversionSettings(takes=3, seed=7)).takes


# ---- settings


@pytest.mark.parametrize(("name", "lowest", "highest"), RANGES)
def test_conversion_settings_accept_both_ends_of_each_range(name, lowest, highest):
    for value in (lowest, highest):
        assert getattr(ConversionSettings(**{name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, lowest, highest in RANGES for value in (lowest - 1, highest + 1, -1e9, 10**10)]
    + [(name, value) for name in NUMBERS for value in (float("nan"), float("inf"), "loud", "", None, True, [1])]
    + [(name, 1.5) for name in ("takes", "seed")]
    + [(name, "auto") for name in NUMBERS if name != "transpose"],
)
def test_conversion_settings_refuse_an_invalid_value_and_name_field_and_range(name, value):
    with pytest.raises(SettingsError) as caught:
        ConversionSettings(**{name: value})
    sentence = str(caught.value)
    lowest, highest = FIELDS[name]["minimum"], FIELDS[name]["maximum"]
    assert sentence.startswith(f"{name} must be a")
    assert f"from {lowest} to {highest}" in sentence
    assert sentence.endswith(f"not {value!r}.".replace("'", '"'))


@pytest.mark.parametrize(
    ("name", "word", "unknown", "sentence"),
    [
        ("transpose", "auto", "up", r"a number from -24\.0 to 24\.0, or one of the words auto, best, not \"up\""),
        ("notes_out_of_range", "fold", "clip", "notes_out_of_range must be one of refuse, fold, not clip"),
    ],
)
def test_conversion_settings_accept_known_words_alone(name, word, unknown, sentence):
    assert getattr(ConversionSettings(**{name: word}), name) == word
    with pytest.raises(SettingsError, match=sentence):
        ConversionSettings(**{name: unknown})


def test_conversion_settings_name_the_limits_of_the_range_of_notes():
    meaning = FIELDS["notes_out_of_range"]["meaning"]
    assert f"above {HIGHEST_NOTE} or below {LOWEST_NOTE}" in meaning


def test_conversion_settings_describe_every_field():
    for metadata in FIELDS.values():
        assert len(metadata["meaning"]) > 20
        assert metadata["meaning"].endswith(".")


def test_conversion_settings_are_frozen_and_validate_replaced_values():
    with pytest.raises(FrozenInstanceError):
        ConversionSettings().takes = 2
    with pytest.raises(SettingsError, match="takes"):
        replace(ConversionSettings(), takes=0)


def test_conversion_settings_have_a_preset_for_each_style():
    assert set(ConversionSettings.presets) == {"melodic", "rhythmic", "spoken"}
    assert all(isinstance(preset, ConversionSettings) for preset in ConversionSettings.presets.values())


# ---- length, channels, silence


def test_by_style_returns_the_preset_with_the_given_values_replaced():
    auto = by_style(AUTO, {"seed": 3})
    for style, preset in ConversionSettings.presets.items():
        assert auto(style) == replace(preset, seed=3)
        assert by_style(style, {})("melodic") == preset


@pytest.mark.parametrize(
    ("preset", "given"), [("loud", {}), (AUTO, {"volume": 1}), (AUTO, {"likeness": 2.0}), ("spoken", {"takes": 0})]
)
def test_by_style_refuses_unknown_presets_and_invalid_settings_at_once(preset, given):
    with pytest.raises(SettingsError):
        by_style(preset, given)


def test_convert_and_convert_file_take_settings_chosen_by_style(sing, voice, tmp_path):
    heard = []

    def chosen(style):
        heard.append(style)
        return ConversionSettings(takes=2, transpose=3)

    audio = Audio(sing(1.0)[np.newaxis], SAMPLE_RATE)
    write_audio(tmp_path / "in.wav", audio)
    done = convert_file(tmp_path / "in.wav", [tmp_path / f"{n}.wav" for n in (1, 2)], voice, chosen)
    assert (done.transpose, heard) == (3, [done.style])
    assert done.settings == ConversionSettings(takes=2, transpose=3)
    assert len(convert(audio, voice, chosen).takes) == 2


def test_convert_sounds_alike_by_paths_names_and_a_mapping(sing, tmp_path):
    """As a script writes it, and as everything is loaded and chosen by hand."""
    audio = Audio(sing(1.0), SAMPLE_RATE)
    write_audio(tmp_path / "in.wav", audio)
    audio = read_audio(tmp_path / "in.wav")
    by_hand = convert(audio, load_voice("koguchi"), by_style(AUTO, {"transpose": AUTO, "takes": 2}))
    written = convert(str(tmp_path / "in.wav"), "Koguchi", {"takes": 2})
    for one, other in zip(by_hand.takes, written.takes, strict=True):
        assert (one.audio.samples == other.audio.samples).all()
    files = convert_file(str(tmp_path / "in.wav"), str(tmp_path / "out.wav"), "koguchi")
    assert files.paths == [tmp_path / "out.wav"]
    assert np.abs(read_audio(files.paths[0]).samples - by_hand.takes[0].audio.samples.clip(-1, 1)).max() < 2**-23
    assert repr(written) == f"Conversion(2 takes, {written.style}, transposed by {written.transpose:+g} semitones)"
    assert repr(files).endswith(f"semitones: {tmp_path / 'out.wav'})")
    shown = written._repr_html_()
    assert shown.count("<audio controls") == 2
    assert shown.index("Take 1") < shown.index("Take 2")


@pytest.mark.parametrize("call", [lambda: convert(np.zeros(9), "koguchi"), lambda: convert((np.zeros(9), 44_100), 5)])
def test_convert_refuses_what_is_no_recording_or_no_voice_in_a_sentence(call):
    with pytest.raises(EngineError, match=r"^A (recording|voice) is .*, not \w+\.$"):
        call()


@given(
    st.sampled_from([8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400, 192_000])
    | st.integers(8_000, 192_000),
    st.integers(1, 8),
    st.integers(1, 20) | st.integers(400, 500) | st.integers(1, 20_000),
    st.sampled_from([0.0, 1e-4, 0.3]),
)
@settings(max_examples=25)
def test_convert_keeps_duration_and_channels_at_any_rate_and_level(voice, rate, channels, count, level):
    samples = np.random.default_rng(count).uniform(-level, level, (channels, count)).astype(np.float32)
    if resampled_length(count, rate, SAMPLE_RATE) == 0:  # one sample at a high rate is none at ours
        with pytest.raises(AudioError, match="no sound to convert"):
            convert(Audio(samples, rate), voice)
        return
    [take] = convert(Audio(samples, rate), voice).takes
    assert take.audio.rate == max(rate, SAMPLE_RATE)
    wanted = count if rate >= SAMPLE_RATE else resampled_length(count, rate, SAMPLE_RATE)
    assert take.audio.samples.shape == (channels, wanted)
    assert np.isfinite(take.audio.samples).all()


@pytest.mark.parametrize("count", [1, 2, 440, 441, 442, 882, 5000])
def test_convert_keeps_the_length_of_very_short_recordings(sing, voice, count):
    assert only(Audio(sing(0.2)[None, -count:], SAMPLE_RATE), voice).shape == (1, count)


def test_convert_refuses_a_recording_without_samples(voice):
    with pytest.raises(EngineError, match="no sound"):
        convert(Audio(np.zeros((1, 0), np.float32), SAMPLE_RATE), voice)


@pytest.mark.parametrize("rate", [8_000, 44_100])
@pytest.mark.parametrize("channels", [1, 2])
def test_convert_returns_silence_for_digital_silence(voice, channels, rate):
    silent = Audio(np.zeros((channels, rate), np.float32), rate)
    for take in convert(silent, voice, ConversionSettings(takes=2, transpose="auto")).takes:
        assert level_db(take.audio.samples) < -100


def test_convert_keeps_faint_hiss_faint(voice):
    hiss = (10 ** (-105 / 20) * np.random.default_rng(0).standard_normal((1, SAMPLE_RATE))).astype(np.float32)
    assert level_db(only(Audio(hiss, SAMPLE_RATE), voice)) < -100


@pytest.mark.parametrize("offset", [0.0, 0.01])
def test_convert_keeps_a_rest_silent_also_beside_a_constant_offset(sing, voice, offset):
    rest = np.zeros(SAMPLE_RATE, np.float32)
    recording = np.concatenate([sing(1.0), rest, sing(1.0)]) + np.float32(offset)
    output = only(Audio(recording[None], SAMPLE_RATE), voice)[0]
    rest = output[int(1.15 * SAMPLE_RATE) : int(1.85 * SAMPLE_RATE)]
    assert level_db(rest - rest.mean()) < -80
    assert level_db(output[:SAMPLE_RATE]) > -40


# ---- the performance


@pytest.mark.parametrize("transpose", [-12, 0, 3.5])
def test_convert_transposes_the_melody_by_the_given_semitones(sung, voice, transpose):
    before = detect_pitch(sung.samples[0], SAMPLE_RATE)
    after = detect_pitch(only(sung, voice, transpose=transpose)[0], SAMPLE_RATE)
    both = before.voiced & after.voiced
    assert both.sum() > 0.8 * before.voiced.sum()
    assert np.median(np.abs(after.semitones - before.semitones - transpose)[both]) < 0.25


def test_convert_auto_transpose_moves_the_melody_towards_the_pitch_of_the_voice(sing, voice):
    settings_ = ConversionSettings(transpose="auto")
    for hertz in (100.0, 400.0):
        recording = Audio(sing(2.0, hertz=hertz)[None], SAMPLE_RATE)
        result = convert(recording, voice, settings_)
        middle = hertz_to_semitones(hertz) + 3
        assert -12 <= result.transpose <= 12
        there = voice.card.pitch_where(result.style == "melodic").median
        assert abs(there - middle - result.transpose) <= abs(there - middle)
        if result.style == "melodic":
            assert result.transpose in {-12, 0, 12}
    assert convert(Audio(np.zeros((1, 1000), np.float32), SAMPLE_RATE), voice, settings_).transpose == 0


def test_convert_auto_transpose_leaves_what_the_voice_itself_recorded(sing, voice):
    recording, chosen = Audio(sing(2.0, hertz=400.0)[None], SAMPLE_RATE), ConversionSettings(transpose="auto")
    result = convert(recording, voice, chosen)
    itself = replace(voice, timbre=torch.from_numpy(result.edit_data.timbre))
    assert result.transpose != 0
    assert convert(recording, itself, chosen).transpose == 0


def test_convert_best_transpose_brings_high_notes_down_to_the_vocal_range(sing, voice):
    """Notes 13 and 15 semitones above the range, which no octave of `auto` reaches."""
    highest = note_number(voice.card.vocal_range["max"])
    recording = Audio(sing(1.0, hertz=float(semitones_to_hertz(highest + 13)))[None], SAMPLE_RATE)
    moved = convert(recording, voice, ConversionSettings(transpose="best")).transpose
    assert -17 <= moved <= -13


def sung_hertz(hertz: np.ndarray | float, voice, seconds: float = 1.5, **chosen) -> np.ndarray:
    """Pitch of a converted vowel, hertz by frame, by another detector than the engine's; NaN where unvoiced."""
    recording = Audio(vowel(hertz, seconds)[None], SAMPLE_RATE)
    take = only(recording, voice, **{"transpose": 0} | chosen)[0]
    return librosa.pyin(take, fmin=200.0, fmax=2600.0, sr=SAMPLE_RATE, frame_length=2048, hop_length=HOP)[0]


@pytest.mark.parametrize("hertz", [880.0, 1568.0, 2060.0])
def test_convert_sings_high_notes_at_their_pitch(voice, hertz):
    """G6 became a drone of 150 Hz."""
    found = sung_hertz(hertz, voice)[20:-20]
    assert np.isfinite(found).mean() > 0.9
    assert abs(1200 * np.log2(np.nanmedian(found) / hertz)) < 50


def test_convert_transposes_exactly_within_the_range(voice):
    """A5 an octave up stopped at 1,400 Hz, 392 cents flat."""
    notes = np.repeat([880.0, 659.3], SAMPLE_RATE)
    found = sung_hertz(notes, voice, transpose=12)
    for frames, hertz in ((slice(20, 80), 1760.0), (slice(120, 180), 1318.6)):
        assert abs(1200 * np.log2(np.nanmedian(found[frames]) / hertz)) < 50


def test_convert_refuses_notes_beyond_the_range_before_it_renders_or_folds_them(voice, monkeypatch):
    recording = Audio(vowel(np.repeat([880.0, 659.3], SAMPLE_RATE))[None], SAMPLE_RATE)
    asked = ConversionSettings(transpose=17)
    folded = convert(recording, voice, replace(asked, notes_out_of_range="fold"))
    assert folded.warning is not None
    assert "D7 would be above C7, the highest note: sung as D6 instead." in folded.warning
    pitch = detect_pitch(folded.takes[0].audio.samples[0], SAMPLE_RATE)
    for frames, hertz in ((slice(20, 80), 1174.7), (slice(120, 180), 1760.0)):
        assert abs(1200 * np.log2(np.median(pitch.hertz[frames]) / hertz)) < 50
    monkeypatch.setattr("engine.conversion.renderer.Renderer.render", None)
    with pytest.raises(SettingsError, match=r"A5 would become D7, above C7, the highest note: transpose by \+15"):
        convert(recording, voice, asked)


@pytest.mark.parametrize("transpose", ["auto", "best"])
def test_convert_auto_and_best_transpose_stay_within_the_range(voice, transpose):
    vibrato = 1568.0 * 2 ** (0.3 / 12 * np.sin(2 * np.pi * 5.5 * np.arange(2 * SAMPLE_RATE) / SAMPLE_RATE))
    recording = Audio(vowel(vibrato)[None], SAMPLE_RATE)
    low = replace(voice, card=replace(voice.card, vocal_range={"min": "C7", "max": "C8"}))
    conversion = convert(recording, low, ConversionSettings(transpose=transpose))
    assert conversion.transpose <= 5
    assert conversion.warning is None


def test_convert_says_what_is_beyond_the_range(voice):
    conversion = convert(Audio(vowel(3000.0)[None], SAMPLE_RATE), voice, ConversionSettings())
    assert conversion.warning is not None
    assert "too high to convert (above C7)" in conversion.warning
    assert not detect_pitch(conversion.takes[0].audio.samples[0], SAMPLE_RATE).voiced[20:-20].any()


@pytest.mark.parametrize("softer_db", [30, 42])
def test_convert_of_a_quiet_recording_is_as_voiced_as_of_a_loud_one(sung, voice, softer_db):
    """At -42 dB it was a whisper."""
    recording = sung.samples / np.abs(sung.samples).max()
    takes = [only(Audio(gain * recording, SAMPLE_RATE), voice)[0] for gain in (1.0, 10 ** (-softer_db / 20))]
    loud, quiet = (detect_pitch(take / np.abs(take).max(), SAMPLE_RATE) for take in takes)
    assert abs(loud.voiced.mean() - quiet.voiced.mean()) < 0.05
    both = loud.voiced & quiet.voiced
    assert (np.abs(loud.semitones - quiet.semitones)[both] < 0.5).mean() > 0.97


def test_convert_follows_the_loudness_of_the_recording(sung, voice):
    made = only(sung, voice)
    before, after = measure_loudness(sung.samples[0]), measure_loudness(made[0])
    loud = before > before.max() - 30
    assert np.abs(after - before)[loud].mean() < 1.5
    assert np.corrcoef(before, after)[0, 1] > 0.95
    quiet = only(Audio(sung.samples * 0.1, SAMPLE_RATE), voice)
    assert level_db(made) - level_db(quiet) == pytest.approx(20, abs=0.5)


def test_convert_keeps_a_voice_in_the_channels_that_it_is_in(sung, voice):
    mono, alone = sung.samples[0], only(sung, voice)
    left, right = only(Audio(np.stack([mono, 0 * mono]), SAMPLE_RATE), voice)
    assert level_db(left) == pytest.approx(level_db(mono), abs=2)
    assert level_db(right) < level_db(left) - 60
    both = only(Audio(np.repeat(sung.samples, 2, 0), SAMPLE_RATE), voice)
    np.testing.assert_allclose(both, np.repeat(alone, 2, 0), atol=1e-5)


def test_convert_gives_a_similar_result_for_a_recording_at_96_khz(sung, voice):
    high = Audio(resample(sung.samples, SAMPLE_RATE, 96_000), 96_000)
    # not less: resampling rings where the recording begins in the middle of a sound, and that moves the pulses a little
    # (by how much this is heard depends on the voice); of sounds nearly as similar retrieval may then take another
    made = convert(high, voice, ConversionSettings(), rate=SAMPLE_RATE).takes[0].audio.samples
    assert level_db(made - only(sung, voice)) < level_db(sung.samples) - 9


# ---- what the settings do


@pytest.mark.parametrize(
    "chosen",
    [
        *({"likeness": 0.2}, {"consonant_protection": 0.0}, {"texture": 0.0}, {"formant_shift_semitones": 3.0}),
        *({"pitch_smoothing_ms": 200.0}, {"pitch_snap": 1.0}, {"transpose": 1}, {"accent": 0.0}, {"accent": 1.0}),
    ],
)
def test_convert_output_changes_with_each_setting(sung, voice, chosen):
    usual = only(sung, voice)
    assert level_db(only(sung, voice, **chosen) - usual) > level_db(usual) - 50


def test_consonant_protection_brings_consonants_closer_to_the_recording(voice):
    noise = 0.05 * np.random.default_rng(0).standard_normal((8, SAMPLE_RATE // 8)).astype(np.float32)
    bright, dark = np.diff(noise[::2], prepend=0.0), np.cumsum(noise[1::2], 1) * 0.1  # as an s and an f by turns
    hisses = np.stack([bright, dark - dark.mean(1, keepdims=True)], 1).reshape(8, -1)

    def spectra(samples: np.ndarray) -> np.ndarray:
        """Of each of the eight, less their mean: what sets them apart."""
        magnitudes = np.abs(np.fft.rfft(samples.reshape(8, -1)[:, 600:-600]))[:, 20:2000].reshape(8, 30, -1).mean(2)
        return np.log(magnitudes) - np.log(magnitudes).mean(0)

    distances = []
    for protection in (0.0, 0.5, 1.0):
        output = only(Audio(hisses.reshape(1, -1), SAMPLE_RATE), voice, consonant_protection=protection)
        distances.append(np.abs(spectra(hisses) - spectra(output[0, : hisses.size])).mean())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.7 * distances[0]


def test_consonant_protection_keeps_most_of_the_timbre_of_the_voice(voice):
    hiss = np.diff(0.05 * np.random.default_rng(0).standard_normal((1, SAMPLE_RATE)), prepend=0.0).astype(np.float32)

    def spectrum(samples: np.ndarray) -> np.ndarray:
        return np.log(np.abs(np.fft.rfft(samples[0]))[:22_000].reshape(100, -1).mean(1))[5:90]

    own, kept = (spectrum(only(Audio(hiss, SAMPLE_RATE), voice, consonant_protection=p)) for p in (0.0, 1.0))
    there = np.abs(spectrum(hiss) - own).mean()
    assert 0.15 * there < np.abs(kept - own).mean() < 0.6 * there


def test_pitch_smoothing_removes_vibrato_and_pitch_snap_tunes_notes_with_vibrato(voice):
    recording = Audio(long_note(2.0, hertz=float(semitones_to_hertz(55.35)), vibrato=0.5)[None], SAMPLE_RATE)

    def notes(**chosen) -> np.ndarray:
        return detect_pitch(only(recording, voice, **chosen)[0], SAMPLE_RATE).semitones[30:170]

    usual, smooth, snapped = notes(), notes(pitch_smoothing_ms=300.0), notes(pitch_snap=1.0)
    assert usual.mean() == pytest.approx(55.35, abs=0.1)
    assert smooth.std() < 0.3 * usual.std()
    assert smooth.mean() == pytest.approx(55.35, abs=0.1)
    assert snapped.mean() == pytest.approx(55.0, abs=0.1)
    assert snapped.std() > 0.7 * usual.std()


# ---- takes


def test_convert_takes_use_consecutive_seeds_and_are_the_same_for_the_same_seed(three_takes, sung, voice):
    assert [take.seed for take in three_takes] == [7, 8, 9]
    np.testing.assert_array_equal(three_takes[0].audio.samples, only(sung, voice, seed=7))
    again, other = (convert(sung, voice, ConversionSettings(takes=2, seed=seed)).takes[1] for seed in (7, 100))
    assert again.audio.samples.tobytes() == three_takes[1].audio.samples.tobytes()
    assert level_db(other.audio.samples - three_takes[1].audio.samples) > -60


def test_convert_takes_differ_in_pitch_and_loudness_but_not_in_timing(three_takes):
    pitches = [detect_pitch(take.audio.samples[0], SAMPLE_RATE) for take in three_takes]
    loudness = [measure_loudness(take.audio.samples[0]) for take in three_takes]
    for one, other in itertools.combinations(range(3), 2):
        both = pitches[one].voiced & pitches[other].voiced
        cents = 100 * np.abs(pitches[one].semitones - pitches[other].semitones)[both]
        assert 2 < np.median(cents) < 40
        loud = loudness[one] > loudness[one].max() - 25
        assert 0.1 < np.abs(loudness[one] - loudness[other])[loud].mean() < 3
        curves = [loudness[number] - loudness[number].mean() for number in (one, other)]
        assert np.correlate(*curves, "full").argmax() == len(curves[0]) - 1


# ---- windows


def test_convert_in_small_windows_matches_one_window_with_the_same_features(sing, voice, monkeypatch):
    """All but the listener, which hears a moment a little otherwise in another window."""
    recording = Audio(np.pad(sing(7.0), SAMPLE_RATE // 10)[None], SAMPLE_RATE)
    features = listen(load_base().listener, without_rumble(recording.mono()))

    def of_the_whole(samples: np.ndarray, first_frame: int) -> np.ndarray:
        return features[first_frame // 2 :][: len(samples) // (2 * HOP) + 1]

    monkeypatch.setattr(module, "AnalysedWindows", functools.partial(AnalysedWindows, features_at=of_the_whole))
    monkeypatch.setattr(module, "cut_windows", functools.partial(cut_windows, longest_s=60.0, shortest_s=30.0))
    whole = convert(recording, voice, ConversionSettings(takes=2)).takes
    small_windows(monkeypatch)
    pieces = convert(recording, voice, ConversionSettings(takes=2)).takes
    for one, other in zip(whole, pieces, strict=True):
        difference = one.audio.samples - other.audio.samples
        assert level_db(difference) < level_db(one.audio.samples) + WINDOWING_DB


def sung_twice(sing) -> np.ndarray:
    """Two channels, the second sung once more: a double, which is converted by itself."""
    lead = sing(4.0)
    time = np.arange(len(lead))
    return np.stack([lead, np.interp(1.006 * time, time, lead)]).astype(np.float32)


@pytest.mark.parametrize(
    ("recorded", "chosen", "numbers"),
    [
        (lambda sing: sing(4.0)[None], {"transpose": 0}, (1, 2, 3, 8)),
        (lambda sing: sing(4.0)[None], {"transpose": 3, "takes": 3, "likeness": 0.7}, (1, 3)),
        (lambda sing: np.stack([sing(4.0), 0.5 * sing(4.0)]), {"harmony": "third_above"}, (1, 3)),
        (sung_twice, {"transpose": -3}, (1, 3)),
    ],
    ids=["mono", "takes", "stereo", "double"],
)
def test_convert_gives_the_same_samples_for_any_number_of_threads(recorded, chosen, numbers, sing, voice, monkeypatch):
    small_windows(monkeypatch)
    recording, settings = Audio(recorded(sing), SAMPLE_RATE), ConversionSettings(**chosen)
    one, *others = (convert(recording, voice, settings, threads=threads) for threads in numbers)
    for other in others:
        for take, same in zip(one.takes, other.takes, strict=True):
            np.testing.assert_array_equal(take.audio.samples, same.audio.samples)


def test_edit_take_gives_the_same_samples_for_any_number_of_threads(sung, voice):
    done, edits = convert(sung, voice, ConversionSettings()), [Shift(1.0, 2.0, semitones=1.0)]
    one, *others = (edit_take(sung, done, 0, voice, edits, threads=threads).audio for threads in (1, 2, 8))
    for other in others:
        np.testing.assert_array_equal(one.samples, other.samples)


def test_convert_shares_the_cores_as_it_goes(sung, voice, monkeypatch):
    """A function that says how many threads there are is asked again, and all that it can say gives the same."""
    small_windows(monkeypatch)
    said = iter([1, 3, 2, 1])
    shared = convert(sung, voice, ConversionSettings(), threads=lambda: next(said, 2))
    assert next(said, None) is None
    alone = convert(sung, voice, ConversionSettings(), threads=1)
    np.testing.assert_array_equal(shared.takes[0].audio.samples, alone.takes[0].audio.samples)


@pytest.mark.parametrize("threads", [1, 3])
def test_convert_leaves_torch_its_number_of_threads(sung, voice, threads):
    before = torch.get_num_threads()

    def cancel(fraction: float, message: str) -> None:
        if fraction > 0.6:
            raise Cancelled

    with pytest.raises(Cancelled):
        convert(sung, voice, report=cancel, threads=threads)
    assert torch.get_num_threads() == before
    assert not [one for one in threading.enumerate() if one.name.startswith("window")]


def test_analysed_windows_give_nearly_the_content_of_the_whole_recording():
    speech = read_audio(SPEECH)
    samples = np.tile(resample(speech.mono(), speech.rate, SAMPLE_RATE), 4)[: 30 * SAMPLE_RATE]
    base = load_base()
    windows = list(cut_windows([samples[None]]))
    assert len(windows) >= 2
    analysed = AnalysedWindows(base.listener)
    pieces = np.concatenate([analysed.analyse(window).features[window.core_features] for window in windows])
    whole = listen(base.listener, without_rumble(samples))[: len(pieces)]
    contents = []
    for features in (pieces, whole):
        given = torch.from_numpy(features)[None]
        with torch.inference_mode():
            contents.append(base.content(given, given.float().mean(1), 2 * len(pieces))[0])
    assert torch.cosine_similarity(*contents, dim=1).mean() > 0.95


def test_convert_joins_windows_without_a_seam(voice, monkeypatch):
    recording = long_note(6.0)[None]  # every cut falls into sound
    small_windows(monkeypatch)
    output = only(Audio(recording, SAMPLE_RATE), voice)[0]
    joins = [window.core_stop * HOP for window in cut_windows([recording], 2.0, 1.0)][:-1]
    assert len(joins) >= 3
    jumps = np.abs(np.diff(output, 2))
    near = np.zeros(len(jumps), bool)
    for join in joins:
        near[join - 30 : join + HOP + 30] = True
    away = jumps[~near][SAMPLE_RATE // 4 : -SAMPLE_RATE // 4]
    assert jumps[near].max() <= 1.1 * away.max()
    loudness = measure_loudness(output)
    for join in joins:
        assert np.ptp(loudness[join // HOP - 5 : join // HOP + 6]) < 1.5


# ---- files


@pytest.fixture
def source(tmp_path, sing) -> Path:
    samples = np.stack([sing(2.0, rate=48_000), 0.5 * sing(2.0, rate=48_000, seed=1)])
    write_audio(tmp_path / "vocal.wav", Audio(samples, 48_000))
    return tmp_path / "vocal.wav"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_convert_file_matches_convert_of_the_same_recording(source, voice, tmp_path, monkeypatch):
    small_windows(monkeypatch)
    chosen = ConversionSettings(takes=2, seed=3, transpose="auto")
    targets = [tmp_path / "one.wav", tmp_path / "two.flac"]
    written = convert_file(source, targets, voice, chosen)
    held = convert(read_audio(source), voice, chosen, rate=SAMPLE_RATE)
    assert written.paths == targets
    assert (written.transpose, written.style) == (held.transpose, held.style)
    for path, take in zip(targets, held.takes, strict=True):
        found = read_audio(path)
        assert (found.rate, found.channels) == (SAMPLE_RATE, 2)
        np.testing.assert_allclose(found.samples, take.audio.samples.clip(-1, 1), atol=2.0**-22)
    assert names(tmp_path) == ["one.wav", "two.flac", "vocal.wav"]


def test_convert_file_refuses_fewer_files_than_takes(source, voice, tmp_path):
    with pytest.raises(SettingsError, match="2 takes need 2 files to write to, not 1"):
        convert_file(source, [tmp_path / "one.wav"], voice, ConversionSettings(takes=2))
    assert names(tmp_path) == ["vocal.wav"]


@pytest.mark.parametrize(
    ("name", "targets", "words"),
    [
        ("gone.wav", ["one.wav", "two.wav"], "does not exist"),
        ("vocal.wav", ["one.wav", "no/two.wav"], "does not exist"),
        ("silent.wav", ["one.wav", "two.wav"], "is silent"),
    ],
)
def test_convert_file_leaves_no_take_where_it_fails(source, voice, tmp_path, name, targets, words):
    write_audio(tmp_path / "silent.wav", Audio(np.zeros((2, SAMPLE_RATE), np.float32), SAMPLE_RATE))
    with pytest.raises(AudioError, match=words):
        convert_file(tmp_path / name, [tmp_path / one for one in targets], voice, ConversionSettings(takes=2))
    assert names(tmp_path) == ["silent.wav", "vocal.wav"]


# ---- progress


def test_convert_and_convert_file_report_progress_from_0_to_1(sing, voice, source, tmp_path, monkeypatch):
    small_windows(monkeypatch)
    for work in (
        lambda report: convert(Audio(sing(5.0)[None], SAMPLE_RATE), voice, report=report),
        lambda report: convert_file(source, [tmp_path / "one.wav"], voice, report=report),
    ):
        told = []
        work(lambda fraction, message, told=told: told.append((fraction, message)))
        fractions = [fraction for fraction, _ in told]
        assert fractions[0] == 0.0
        assert fractions[-1] == pytest.approx(1.0)
        assert fractions == sorted(fractions)
        assert [message for message, _ in itertools.groupby(pair[1] for pair in told)] == ["analysing", "converting"]


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_convert_file_leaves_existing_files_and_no_new_ones_when_cancelled(source, voice, tmp_path, monkeypatch, calls):
    small_windows(monkeypatch, 0.6, 0.3)
    (tmp_path / "one.wav").write_bytes(b"there before")
    told = 0

    def stop(fraction: float, message: str) -> None:
        nonlocal told
        told += 1
        if told == calls:
            raise Cancelled

    targets = [tmp_path / "one.wav", tmp_path / "two.wav"]
    with pytest.raises(Cancelled):
        convert_file(source, targets, voice, ConversionSettings(takes=2), stop)
    assert names(tmp_path) == ["one.wav", "vocal.wav"]
    assert (tmp_path / "one.wav").read_bytes() == b"there before"


@pytest.mark.system
def test_convert_file_memory_hardly_grows_with_the_length(sing, voice, tmp_path, monkeypatch):
    small_windows(monkeypatch)
    peaks = []
    for seconds in (6, 14):
        write_audio(tmp_path / "long.wav", Audio(sing(seconds)[None], SAMPLE_RATE))
        tracemalloc.start()
        convert_file(tmp_path / "long.wav", [tmp_path / "out.wav"], voice)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # what is kept of the first minutes is 0.15 MB a second, and twice as much more for what is around small windows
    assert peaks[1] < peaks[0] + 5e6


def test_convert_file_converts_opposite_channels_and_warns_of_noise(tmp_path, voice):
    one = 0.1 * np.random.default_rng(0).standard_normal(SAMPLE_RATE)
    for name, channels in (("opposite", [one, -one]), ("noise", [one])):
        write_audio(tmp_path / f"{name}.wav", Audio(np.stack(channels).astype(np.float32), SAMPLE_RATE))
        done = convert_file(tmp_path / f"{name}.wav", [tmp_path / "out.wav"], voice)
    assert "No voice was found" in done.warning
    assert read_audio(tmp_path / "out.wav").sample_count == SAMPLE_RATE


def test_convert_makes_all_of_the_sound_anew_where_a_room_is_heard(sing, voice):
    dry = sing(6.0)
    room = in_a_room(dry.astype(np.float64), 0.8, np.random.default_rng(0), -6.0)
    wet = (0.5 * room / np.abs(room).max()).astype(np.float32)
    textures = [convert(Audio(one[None], SAMPLE_RATE), voice).edit_data.settings.texture for one in (dry, wet)]
    assert textures == [1.0, 0.0]


# ---- doubles and harmonies


def heard_semitones(audio) -> np.ndarray:
    pitch = detect_pitch(audio.samples.mean(0), SAMPLE_RATE)
    return pitch.semitones[pitch.voiced]


def test_convert_sings_a_third_of_the_key_in_time(voice_and_note):
    voice, recording = voice_and_note
    lead = convert(recording, voice, ConversionSettings(transpose=0)).takes[0].audio
    chosen = ConversionSettings(transpose=0, harmony="third_above", harmony_key="G major")
    third = convert(recording, voice, chosen)
    assert third.takes[0].audio.samples.shape == lead.samples.shape
    away = np.median(heard_semitones(third.takes[0].audio)) - np.median(heard_semitones(lead))
    assert away == pytest.approx(4.0, abs=0.25)
    assert third.edit_data.settings.harmony_key == "G major"


def test_convert_sings_a_double_that_is_another_performance_of_the_same_notes(voice_and_note):
    voice, recording = voice_and_note
    lead = convert(recording, voice, ConversionSettings(transpose=0)).takes[0].audio
    double = convert(recording, voice, ConversionSettings(transpose=0, harmony="unison", seed=5)).takes[0].audio
    away = np.median(heard_semitones(double)) - np.median(heard_semitones(lead))
    assert 0.02 < abs(away) < 0.2
    assert np.abs(double.samples - lead.samples).max() > 0.01


def test_convert_finds_the_key_of_a_harmony(voice_and_note):
    voice, recording = voice_and_note
    made = convert(recording, voice, ConversionSettings(transpose=0, harmony="octave_below"))
    assert made.edit_data.settings.harmony_key in SCALES
    assert made.edit_data.settings.harmony_key != "auto"


def test_convert_refuses_a_harmony_of_silence():
    silence = Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE)
    with pytest.raises(SettingsError, match="No notes are sung in this recording"):
        convert(silence, load_voice("kathleen"), ConversionSettings(harmony="third_above"))


@pytest.fixture(scope="module")
def voice_and_note():
    """Koguchi, and 2 s of G3 with vibrato."""
    return load_voice("koguchi"), Audio(long_note(2.0, 196.0)[None], SAMPLE_RATE)


@pytest.mark.parametrize("above_db", [6.0, 24.0])
def test_convert_keeps_the_dynamics_of_a_recording_above_full_scale_and_says_its_gain(sing, voice, above_db):
    fair = sing(4.0)
    fair *= np.linspace(0.1, 1.0, len(fair), dtype=np.float32) / np.abs(fair).max()
    hot = np.stack([fair, 0.5 * fair]) * np.float32(10 ** (above_db / 20))
    expected = only(Audio(0.5 * fair[None], SAMPLE_RATE), voice, transpose=0)[0]
    made = convert(Audio(hot, SAMPLE_RATE), voice, ConversionSettings(transpose=0))
    take = made.takes[0].audio.samples
    level, wanted = measure_loudness(take[0]), measure_loudness(expected)
    loud = wanted > wanted.max() - 30
    difference = (level - wanted)[loud]
    assert np.abs(difference - np.median(difference)).max() < 1.0
    assert f"{made.lowered_db:.1f} dB softer" in str(made.warning)
    assert level_db(take[0]) - level_db(take[1]) == pytest.approx(6.02, abs=0.2)  # one gain for both
    assert level_db(take[0]) - level_db(hot[0]) == pytest.approx(-made.lowered_db, abs=1.5)
    assert np.abs(take).max() < 0.99


def test_convert_lowers_nothing_for_a_click_or_for_a_take_that_is_louder_than_its_recording(sing, voice):
    samples = sing(3.0)
    samples *= 0.98 / np.abs(samples).max()
    done = convert(Audio(samples, SAMPLE_RATE), voice, ConversionSettings(transpose=0))
    assert (done.lowered_db, done.warning) == (0.0, None)
    samples[50_000] = 10.0
    done = convert(Audio(samples, SAMPLE_RATE), voice, ConversionSettings(transpose=0))
    assert done.lowered_db == 0.0
    assert "20.0 dB above full scale" in str(done.warning)


def test_convert_file_lowers_as_convert_does_and_edits_match(sing, voice, tmp_path):
    hot = 4.0 * sing(3.0, peak=1.0)
    sf.write(tmp_path / "hot.wav", hot, SAMPLE_RATE, subtype="FLOAT")
    done = convert_file(tmp_path / "hot.wav", tmp_path / "take.wav", voice, ConversionSettings(transpose=0))
    there = convert(Audio(hot[None], SAMPLE_RATE), voice, ConversionSettings(transpose=0))
    assert done.lowered_db == there.lowered_db == done.edit_data.lowered_db > 12.0
    take = there.takes[0].audio.samples
    np.testing.assert_allclose(read_audio(tmp_path / "take.wav").samples, take, atol=1e-6)
    edited = edit_take(tmp_path / "hot.wav", there, 0, voice, [Shift(1.0, 2.0, semitones=1.0)]).audio.samples
    piece = slice(round(1.2 * SAMPLE_RATE), round(1.8 * SAMPLE_RATE))
    assert level_db(edited[:, piece]) == pytest.approx(level_db(take[:, piece]), abs=1.0)


def at_its_edges(samples: np.ndarray) -> np.ndarray:
    """Mean spectrum of the first and the last 0.1 s in dB, at most 30 dB below the loudest band: (2, 20)."""
    edges = [
        librosa.feature.melspectrogram(y=edge, sr=SAMPLE_RATE, n_fft=1024, n_mels=20).mean(1)
        for edge in (samples[:4410], samples[-4410:])
    ]
    level = 10 * np.log10(np.array(edges) + 1e-9)
    return np.maximum(level, level.max(1, keepdims=True) - 30)


def test_convert_of_words_cut_hard_is_nearer_to_that_with_silence_around_them(monkeypatch):
    voice, around = load_voice("koguchi"), round(0.32 * SAMPLE_RATE)
    speech = read_audio(SPEECH).mono()
    words = [speech[round(start_s * SAMPLE_RATE) :][: round(0.4 * SAMPLE_RATE) + 7] for start_s in (0.35, 0.8, 1.3)]
    inside = [only(Audio(np.pad(word, around)[None], SAMPLE_RATE), voice, transpose=0)[0] for word in words]

    def difference() -> float:
        total = 0.0
        for word, other in zip(words, inside, strict=True):
            alone = only(Audio(word[None], SAMPLE_RATE), voice, transpose=0)[0]
            assert len(alone) == len(word)
            total += float(np.abs(at_its_edges(alone) - at_its_edges(other[around:-around])).mean())
        return total

    now = difference()
    monkeypatch.setattr(Window, "in_silence", lambda window: window)
    assert now < 0.6 * difference()
