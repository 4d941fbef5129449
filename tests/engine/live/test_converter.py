"""Live conversion: the same result in any blocks, a delay that is found where it is stated, never a burst."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import load_voice, read_audio
from engine.analysis.pitch import detect_pitch
from engine.audio.resampling import resample
from engine.errors import SettingsError
from engine.live.converter import LiveConverter, limit
from engine.live.settings import LiveSettings
from engine.live.speaker import SpeakerProfile
from engine.networks.base import load_base
from engine.networks.listener_stream import ListenerStream
from engine.units import SAMPLE_RATE, semitones_to_hertz
from engine.voices.card import DEMO_VOICES
from tests.vowels import vowel

SETTINGS = LiveSettings(block_ms=80, look_ahead_ms=60, content="student")  # which needs the least work
SAMPLE = DEMO_VOICES.parents[1] / "samples" / "singing.flac"


@pytest.fixture(scope="module")
def voice():
    return load_voice("kathleen")


@pytest.fixture(scope="module")
def sung():
    audio = read_audio(SAMPLE)
    return resample(audio.mono(), audio.rate, SAMPLE_RATE)[SAMPLE_RATE : 4 * SAMPLE_RATE].astype(np.float32)


def converted(voice, samples, blocks, rate=SAMPLE_RATE, **more):
    live = LiveConverter(voice, SETTINGS, rate, **more)
    pieces, first = [], 0
    while first < len(samples):
        size = blocks[len(pieces) % len(blocks)]
        pieces.append(live.convert(samples[first : first + size]))
        first += size
    return np.concatenate(pieces), live


@pytest.fixture(scope="module")
def expected(voice, sung):
    return converted(voice, sung[:SAMPLE_RATE], [100_000])[0]


@settings(max_examples=6)
@given(st.lists(st.integers(1, 9000), min_size=1, max_size=5))
def test_convert_gives_identical_samples_for_any_block_size(voice, sung, expected, blocks):
    found, _ = converted(voice, sung[:SAMPLE_RATE], blocks)
    np.testing.assert_array_equal(found, expected)


def test_convert_with_whole_blocks_gives_the_same_samples_one_block_earlier(voice, sung, expected):
    block = SAMPLE_RATE * 80 // 1000
    whole = sung[: SAMPLE_RATE // block * block]
    found, live = converted(voice, whole, [block], whole_blocks=True)
    np.testing.assert_array_equal(found[:-block], expected[block : len(found)])
    assert live.lag_samples == round((live.delay_s - 0.08) * SAMPLE_RATE)


@pytest.mark.parametrize("rate", [SAMPLE_RATE, 48_000])
def test_convert_keeps_melody_and_rhythm_at_the_stated_delay(voice, sung, rate):
    samples = sung if rate == SAMPLE_RATE else resample(sung, SAMPLE_RATE, rate).astype(np.float32)
    found, live = converted(voice, np.pad(samples, (0, rate)), [rate // 10], rate)
    aligned = found[live.lag_samples :][: len(samples)]
    assert live.delay_s == pytest.approx(0.08 + 0.06 + 163 / SAMPLE_RATE, abs=0.003)
    source, result = detect_pitch(samples, rate), detect_pitch(aligned, rate)
    both = source.voiced & result.voiced
    cents = 1200 * np.abs(np.log2(result.hertz / source.hertz))[both]
    assert both.sum() > 0.7 * source.voiced.sum()
    assert (cents < 50).mean() > 0.9
    # the loudness rises and falls with the singing: best aligned where the delay says
    hop = rate // 100
    curves = [np.log(np.sqrt(x[: len(x) // hop * hop].reshape(-1, hop).var(1)) + 1e-3) for x in (samples, aligned)]
    lags = [np.corrcoef(curves[0][5:-5], np.roll(curves[1], lag)[5:-5])[0, 1] for lag in range(-4, 5)]
    assert abs(int(np.argmax(lags)) - 4) <= 1


def test_convert_sings_a_quiet_microphone_as_a_loud_one(voice, sung):
    whole = np.tile(sung, 2)
    voiced = []
    for gain in (1.0, 0.01):
        found, _ = converted(voice, gain * whole, [4410])
        voiced.append(detect_pitch(found, SAMPLE_RATE).voiced[300:].mean())
    assert voiced[1] > 0.9 * voiced[0] > 0.3


def test_convert_folds_notes_above_the_range_by_octaves(voice):
    live = LiveConverter(voice, SETTINGS.changed(transpose=20.0), SAMPLE_RATE)
    found = live.convert(vowel(880.0, 2.0))[SAMPLE_RATE:]
    pitch = detect_pitch(found, SAMPLE_RATE)
    assert abs(1200 * np.log2(np.median(pitch.hertz[pitch.voiced]) / (880.0 * 2 ** (8 / 12)))) < 50


def test_convert_sings_high_notes_at_their_pitch(voice):
    live = LiveConverter(voice, SETTINGS, SAMPLE_RATE)
    pitch = detect_pitch(live.convert(vowel(1568.0, 2.0))[SAMPLE_RATE:], SAMPLE_RATE)
    assert pitch.voiced.mean() > 0.8
    assert abs(1200 * np.log2(np.median(pitch.hertz[pitch.voiced]) / 1568.0)) < 50


def test_change_switches_voice_transposition_and_bypass_without_a_click(voice, sung):
    live = LiveConverter(voice, SETTINGS, SAMPLE_RATE, whole_blocks=True)
    pieces = []
    for number, block in enumerate(np.resize(sung, (30, live.block))):
        if number == 8:
            live.change(load_voice("koguchi"), live.settings.changed(transpose=-5.0))
        if number in (16, 24):
            live.change(bypass=number == 16)
        pieces.append(live.convert(block))
    steps = np.abs(np.diff(np.concatenate(pieces)))
    seams = np.array([number * live.block for number in (8, 16, 24)])
    assert max(steps[seam - 2 : seam + 2].max() for seam in seams) < 0.5 * steps.max()
    dry = np.concatenate(pieces[18:24])
    lag = live.lag_samples
    np.testing.assert_allclose(
        np.corrcoef(dry, np.resize(sung, (30, live.block)).ravel()[18 * live.block - lag :][: len(dry)])[0, 1],
        1,
        atol=0.05,
    )
    with pytest.raises(SettingsError, match="block_ms cannot change"):
        live.change(settings=LiveSettings(block_ms=20, content="student"))


def test_wet_mixes_the_new_voice_with_the_dry_one(voice, sung):
    def mixed(wet):
        live = LiveConverter(voice, replace(SETTINGS, wet=wet), SAMPLE_RATE, whole_blocks=True)
        return np.concatenate([live.convert(0.5 * block) for block in np.resize(sung, (12, live.block))])

    new, dry, both = mixed(1.0), mixed(0.0), mixed(0.5)
    assert np.abs(new - dry).max() > 0.05
    np.testing.assert_allclose(both, (new + dry) / 2, atol=2e-3)


def test_meter_has_the_curve_of_each_frame_and_the_key_that_fits():
    live = LiveConverter("safiye", SETTINGS, SAMPLE_RATE, whole_blocks=True)
    hertz = float(semitones_to_hertz(load_voice("safiye").card.pitch_where(True).median - 12))
    steady = vowel(hertz, 3.0)
    meters = []
    for block in steady[: len(steady) // live.block * live.block].reshape(-1, live.block):
        live.convert(block)
        meters.append(live.meter)
    assert meters[0].fitting_transpose is None
    assert meters[-1].fitting_transpose == 12
    assert len(meters[-1].curve) == SETTINGS.block_frames
    np.testing.assert_allclose(meters[-1].curve, hertz, rtol=0.01)
    assert meters[-1].curve[-1] == (meters[-1].hertz, meters[-1].rendered_hertz)


def test_convert_is_silent_in_silence_and_limited_in_noise(voice):
    live = LiveConverter(voice, SETTINGS, SAMPLE_RATE)
    assert np.abs(live.convert(np.zeros(20_000, np.float32))).max() < 1e-3
    loud = np.random.default_rng(1).standard_normal(30_000).astype(np.float32) * 50
    loud[::100] = np.nan
    found = live.convert(loud)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 0.99
    assert np.isfinite(live.convert(np.full(9_000, np.inf, np.float32))).all()


def test_limit_leaves_quiet_samples_alone():
    quiet = np.linspace(-0.8, 0.8, 50, dtype=np.float32)
    np.testing.assert_array_equal(limit(quiet), quiet)
    assert np.abs(limit(np.array([-1e9, 1e9], np.float32))).max() <= 0.99


def test_speaker_profile_carries_over_to_the_next_session_unless_damaged(voice, sung, tmp_path):
    _, first = converted(voice, sung, [SAMPLE_RATE])
    profile = first.profile
    assert profile is not None
    profile.save(tmp_path / "profile.safetensors")
    loaded = SpeakerProfile.load(tmp_path / "profile.safetensors")
    np.testing.assert_array_equal(loaded.timbre, profile.timbre)
    second = LiveConverter(voice, SETTINGS, profile=loaded)
    assert second.profile is not None
    assert second.profile.level == pytest.approx(profile.level)
    (tmp_path / "profile.safetensors").write_bytes(b"damaged")
    with pytest.raises(SettingsError, match="start without one"):
        SpeakerProfile.load(tmp_path / "profile.safetensors")


def test_convert_works_with_listener_content(voice, sung):
    live = LiveConverter(voice, LiveSettings(block_ms=320, content="listener"), SAMPLE_RATE, whole_blocks=True)
    blocks = sung[: len(sung) // live.block * live.block].reshape(-1, live.block)
    found = np.concatenate([live.convert(block) for block in blocks])
    assert 0.01 < np.abs(found).max() <= 0.99


@pytest.mark.parametrize("rate", [7_999, 44_099, 200_000])
def test_converter_refuses_unsupported_sample_rates(voice, rate):
    with pytest.raises(SettingsError, match="samples a second"):
        LiveConverter(voice, rate=rate)


def test_converter_refuses_stereo(voice):
    with pytest.raises(SettingsError, match="mono"):
        LiveConverter(voice).convert(np.zeros((2, 100), np.float32))


def test_converter_reuses_a_speaker_profile_at_another_rate(voice, sung):
    """A device that changes its rate needs a new converter; nothing of the old one but the profile is used."""
    _, before = converted(voice, sung, [SAMPLE_RATE])
    low = resample(sung, SAMPLE_RATE, 16_000).astype(np.float32)
    found, live = converted(voice, low, [1_600], 16_000, profile=before.profile)
    assert len(found) == len(low)
    assert 0.01 < np.abs(found).max() <= 0.99
    assert live.profile is not None


def content_of(features):
    """Content as a live conversion reads it, of the frames that are settled."""
    base = load_base()
    with torch.inference_mode():
        mean = base.content.likeliest_mean(features[-60:].mean(0), 5.0)
        return base.content(features[None, -60:], mean[None], 120)[0, 40:-6]


def missed(found, expected):
    return float((found - expected).square().mean() / (expected - expected.mean(0)).square().mean())


def test_listener_stream_agrees_with_the_listener_over_a_window(sung):
    samples = torch.from_numpy(resample(sung, SAMPLE_RATE, 16_000).astype(np.float32))[: 16_000 * 28 // 10]
    stream = ListenerStream(load_base().listener, 4)
    for block in samples.reshape(-1, 4 * 320):
        found = stream.push(block)
    with torch.inference_mode():
        window = load_base().listener(samples[None, -32_000:])[0]
    assert missed(content_of(found), content_of(window)) < 0.4


def test_listener_stream_continues_past_its_last_position(sung):
    """Its positions end after 30 seconds: a second encoding has taken over by then."""
    samples = torch.from_numpy(resample(sung, SAMPLE_RATE, 16_000).astype(np.float32))[: 16_000 * 256 // 100]
    blocks = list(samples.reshape(-1, 16 * 320))
    streams = [ListenerStream(load_base().listener, 16) for _ in range(2)]
    positions, found = [], [torch.zeros(0)] * 2
    for number in range(12 * len(blocks)):
        found[0] = streams[0].push(blocks[number % len(blocks)])
        positions.append(streams[0]._encoding.position)
    assert 1200 < max(positions) < 1500
    assert positions[-1] < max(positions)  # it has begun anew
    for block in blocks * 2:
        found[1] = streams[1].push(block)
    assert missed(content_of(found[0]), content_of(found[1])) < 0.4
