import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.files import read_audio
from engine.errors import AudioError, SettingsError
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.provenance.verification import verify
from engine.songs.mixing import CEILING_DB, Fader, Lane, TruePeak, mix_files, programme_lufs
from engine.units import SAMPLE_RATE
from tests.engine.songs.conftest import chords, save


def test_mix_files_adds_up_the_lanes_and_writes_the_stems(sing, tmp_path):
    vocal, backing = sing(3.0), chords(3.0)
    lanes = [Lane(save(tmp_path / "v.wav", vocal, 0.5 * vocal)), Lane(save(tmp_path / "b.wav", backing, backing))]
    stems = [tmp_path / "vocal.wav", tmp_path / "backing.wav"]
    mix = mix_files(lanes, tmp_path / "mix.wav", stems)
    mixed = read_audio(tmp_path / "mix.wav").samples
    np.testing.assert_allclose(mixed, np.stack([vocal + backing, 0.5 * vocal + backing]), atol=1e-6)
    np.testing.assert_allclose(sum(read_audio(stem).samples for stem in stems), mixed, atol=1e-6)
    assert (mix.gain_db, mix.sample_count) == (0.0, 3 * SAMPLE_RATE)


def test_mix_files_matches_a_converted_vocal_to_the_loudness_of_its_original(sing, tmp_path):
    original, backing = save(tmp_path / "o.wav", sing(5.0)), save(tmp_path / "b.wav", chords(5.0))
    converted = save(tmp_path / "c.wav", 0.4 * sing(5.0, hertz=240.0))
    lanes = [Lane(converted, original=original), Lane(backing)]
    mix_files(lanes, tmp_path / "mix.wav", [tmp_path / "vocal.wav", tmp_path / "backing.wav"])
    before = programme_lufs(original) - programme_lufs(backing)
    after = programme_lufs(tmp_path / "vocal.wav") - programme_lufs(tmp_path / "backing.wav")
    assert after == pytest.approx(before, abs=0.1)


@settings(max_examples=25)
@given(
    offset=st.integers(-3000, 3000),
    counts=st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
    channels=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)
def test_mix_files_places_lanes_at_their_offset_to_the_sample(tmp_path_factory, offset, counts, channels):
    folder = tmp_path_factory.mktemp("mix")
    paths = []
    for number, (count, how_many) in enumerate(zip(counts, channels, strict=True)):
        clicks = np.zeros(count, np.float32)
        clicks[0] = clicks[-1] = 0.25
        paths.append(save(folder / f"{number}.wav", *[clicks] * how_many))
    mix = mix_files([Lane(paths[0], offset=offset), Lane(paths[1])], folder / "mix.wav")
    first = min(0, offset)
    begins = (offset - first, -first)
    wanted = np.zeros(max(start + count for start, count in zip(begins, counts, strict=True)))
    for start, count in zip(begins, counts, strict=True):
        for place in {start, start + count - 1}:
            wanted[place] += 0.25
    mixed = read_audio(folder / "mix.wav").samples
    assert mixed.shape == (max(channels), mix.sample_count)
    gain = 10 ** (mix.gain_db / 20)
    np.testing.assert_allclose(mixed, np.broadcast_to(gain * wanted, mixed.shape), atol=1e-6)


def test_mix_files_lowers_a_loud_mix_to_the_true_peak_ceiling(sing, tmp_path):
    vocal, backing = 2.5 * sing(2.0), 3 * chords(2.0)
    lanes = [Lane(save(tmp_path / "v.wav", vocal)), Lane(save(tmp_path / "b.wav", backing))]
    mix = mix_files(lanes, tmp_path / "mix.wav")
    peak = TruePeak(1)
    peak.push(read_audio(tmp_path / "mix.wav").samples)
    assert mix.gain_db < 0
    assert peak.db() == pytest.approx(CEILING_DB, abs=0.05)
    held = read_audio(tmp_path / "mix.wav").samples[0]
    clipped = np.clip(vocal, -1, 1) + np.clip(backing, -1, 1)  # as the stems' files hold them
    np.testing.assert_allclose(held, 10 ** (mix.gain_db / 20) * clipped, atol=1e-5)


@pytest.mark.parametrize("blocks", [1, 7, 100])
def test_true_peak_finds_peaks_between_samples(blocks):
    tone = np.sin(2 * np.pi * SAMPLE_RATE / 4 * np.arange(4000) / SAMPLE_RATE + np.pi / 4)[None].astype(np.float32)
    peak = TruePeak(1)
    for block in np.array_split(0.5 * tone * np.hanning(4000).astype(np.float32), blocks, axis=1):
        peak.push(block)
    assert np.abs(0.5 * tone).max() == pytest.approx(0.5 * math.sqrt(0.5), abs=1e-3)  # of the samples
    assert peak.db() == pytest.approx(20 * math.log10(0.5), abs=0.1)


def test_mix_files_silences_muted_unsoloed_and_closed_lanes(sing, tmp_path):
    vocal, backing = save(tmp_path / "v.wav", sing(1.0)), save(tmp_path / "b.wav", chords(1.0))
    for one, other in ((Fader(mute=True), Fader()), (Fader(), Fader(solo=True)), (Fader(-60), Fader())):
        mix_files([Lane(vocal, one), Lane(backing, other)], tmp_path / "mix.wav")
        np.testing.assert_allclose(read_audio(tmp_path / "mix.wav").samples, read_audio(backing).samples, atol=1e-6)


@pytest.mark.parametrize(("pan", "left", "right"), [(0.0, 1, 1), (-1.0, math.sqrt(2), 0), (1.0, 0, math.sqrt(2))])
def test_mix_files_places_a_lane_in_the_stereo_field_with_the_same_power(sing, tmp_path, pan, left, right):
    tone = 0.3 * sing(1.0)
    other = Lane(save(tmp_path / "b.wav", chords(1.0)), Fader(mute=True))
    mix_files([Lane(save(tmp_path / "v.wav", tone), Fader(pan=pan)), other], tmp_path / "mix.wav")
    mixed = read_audio(tmp_path / "mix.wav").samples
    if pan == 0.0:
        assert mixed.shape[0] == 1  # as long as nothing has a place
    np.testing.assert_allclose(mixed[0], left * tone, atol=1e-5)
    np.testing.assert_allclose(mixed[-1], right * tone, atol=1e-5)


def test_fader_keeps_the_power_wherever_a_lane_is():
    for pan in (-1.0, -0.4, 0.0, 0.7):
        assert np.square(Fader(pan=pan).sides(2)).sum() == pytest.approx(2.0)
    with pytest.raises(SettingsError, match="pan must be a number from"):
        Fader(pan=1.5)


def test_mix_files_refuses_a_mix_with_all_lanes_muted(sing, tmp_path):
    vocal = save(tmp_path / "v.wav", sing(1.0))
    with pytest.raises(SettingsError, match="mix is silent"):
        mix_files([Lane(vocal, Fader(mute=True))], tmp_path / "mix.wav")
    with pytest.raises(SettingsError, match="gain_db must be a number from"):
        Fader(40)
    assert not (tmp_path / "mix.wav").exists()


def test_mix_files_refuses_lanes_of_two_and_six_channels(sing, tmp_path):
    tone = sing(0.2)
    lanes = [Lane(save(tmp_path / "two.wav", tone, tone)), Lane(save(tmp_path / "six.wav", *[tone] * 6))]
    with pytest.raises(AudioError, match=r'"two\.wav" has 2 channels and "six\.wav" has 6 channels'):
        mix_files(lanes, tmp_path / "mix.wav")


def test_mix_files_writes_no_credentials_without_an_audible_synthetic_lane(sing, tmp_path):
    statement = Statement("koguchi", "Koguchi", None, {}, None, "1")
    vocal = Lane(save(tmp_path / "v.wav", sing(1.0)), statement=statement)
    backing, installation = save(tmp_path / "b.wav", chords(1.0)), Installation(tmp_path / "home")
    states = []
    for fader in (Fader(), Fader(solo=True)):
        mix_files([vocal, Lane(backing, fader)], tmp_path / "mix.wav", installation=installation)
        states.append(verify(tmp_path / "mix.wav", installation).state)
    assert states == ["made_here", "no_credentials"]
