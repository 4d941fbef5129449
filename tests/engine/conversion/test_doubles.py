"""A line sung once more is converted by itself; one voice in several channels is not."""

import numpy as np
import pytest
from scipy import signal

from engine.analysis.pitch import detect_pitch
from engine.analysis.windows import Window
from engine.audio.channels import delayed
from engine.audio.files import Audio
from engine.audio.resampling import resample
from engine.conversion.convert import convert
from engine.conversion.doubles import DetectedDoubles
from engine.conversion.pitch_edits import Shift
from engine.conversion.rerendering import edit_take
from engine.conversion.settings import ConversionSettings
from engine.units import SAMPLE_RATE, frame_count

AS_SUNG = ConversionSettings(transpose=0)


@pytest.fixture(scope="module")
def lead(sing) -> np.ndarray:
    return sing(5.0)


def sung_again(lead: np.ndarray, cents: float = 25.0) -> np.ndarray:
    """The same line, higher, a little faster and 20 ms late."""
    again = resample(lead, round(SAMPLE_RATE * 2 ** (cents / 1200)), SAMPLE_RATE)
    return np.pad(again, (900, SAMPLE_RATE))[: len(lead)].astype(np.float32)


def in_a_room(lead: np.ndarray, seed: int) -> np.ndarray:
    count = round(0.4 * SAMPLE_RATE)
    response = 0.02 * np.random.default_rng(seed).standard_normal(count) * 10 ** (-3 * np.arange(count) / count)
    response[40 * seed] += 1.0
    return signal.fftconvolve(lead, response)[: len(lead)].astype(np.float32)


def doubles(*channels: np.ndarray) -> frozenset[int]:
    samples = np.stack(channels)
    return DetectedDoubles()(Window(samples, 0, 0, frame_count(samples.shape[1]), last=True))()


def cents_off(take: np.ndarray, sung: np.ndarray) -> float:
    one, other = detect_pitch(sung, SAMPLE_RATE), detect_pitch(take, SAMPLE_RATE)
    voiced = one.voiced & other.voiced
    return float(np.median(1200 * np.log2(other.hertz[voiced] / one.hertz[voiced])))


def test_doubles_are_lines_with_an_intonation_of_their_own(lead):
    assert doubles(lead, sung_again(lead)) == {1}
    assert doubles(lead, sung_again(lead, -15.0), sung_again(lead, 15.0)) == {1, 2}


@pytest.mark.parametrize(
    "other",
    [
        *(lambda lead: lead, lambda lead: -lead, lambda lead: delayed(lead, 44), lambda lead: 0.5 * delayed(lead, 529)),
        *(lambda lead: in_a_room(lead, 2), lambda lead: 0 * lead),
        lambda lead: 0.01 * np.random.default_rng(0).standard_normal(len(lead)).astype(np.float32),
    ],
    ids=["mono", "inverted", "1 ms later", "12 ms later", "room", "silence", "noise"],
)
def test_one_voice_in_two_channels_is_no_double(lead, other):
    assert doubles(lead, other(lead)) == frozenset()


def test_a_part_a_third_away_is_no_double(sing, lead):
    assert doubles(lead, sing(5.0, hertz=180.0 * 2 ** (4 / 12))) == frozenset()


def test_doubles_stay_where_a_later_window_cannot_tell(lead):
    found, silent = DetectedDoubles(), np.zeros_like(lead)
    samples = np.stack([lead, sung_again(lead)])
    assert found(Window(samples, 0, 0, 500, last=False))() == {1}
    hardly = np.stack([lead, np.where(np.arange(len(lead)) < 2000, samples[1], silent)])
    assert found(Window(hardly, 500, 500, 1000, last=True))() == {1}


def test_convert_keeps_the_intonation_and_the_level_of_a_double(lead, voice):
    samples = np.stack([lead, 0.5 * sung_again(lead)])
    take = convert(Audio(samples, SAMPLE_RATE), voice, AS_SUNG).takes[0].audio.samples
    for channel in (0, 1):
        alone = convert(Audio(samples[channel][None], SAMPLE_RATE), voice, AS_SUNG).takes[0].audio.samples[0]
        assert abs(cents_off(take[channel], samples[channel])) < 8
        assert 10 * abs(np.log10(np.square(take[channel]).mean() / np.square(alone).mean())) < 1.0


def test_edit_take_moves_a_double_with_its_lead_and_keeps_what_is_between(lead, voice):
    audio = Audio(np.stack([lead, sung_again(lead)]), SAMPLE_RATE)
    conversion = convert(audio, voice, AS_SUNG)
    edited = edit_take(audio, conversion, 0, voice, [Shift(1.0, 4.0, semitones=2.0)]).audio.samples
    there = slice(round(1.5 * SAMPLE_RATE), round(3.5 * SAMPLE_RATE))
    for channel in (0, 1):
        assert cents_off(edited[channel, there], audio.samples[channel, there]) == pytest.approx(200, abs=12)
    assert (edited[:, : SAMPLE_RATE // 2] == conversion.takes[0].audio.samples[:, : SAMPLE_RATE // 2]).all()


def test_convert_is_silent_in_a_channel_while_that_rests(lead, voice):
    other = lead.copy()
    other[2 * SAMPLE_RATE : 3 * SAMPLE_RATE] = 0.0
    for side in (other, 0.4 * delayed(other, 300)):
        take = convert(Audio(np.stack([lead, side]), SAMPLE_RATE), voice, AS_SUNG).takes[0].audio.samples
        silent = np.flatnonzero(side[SAMPLE_RATE : 4 * SAMPLE_RATE] == 0.0) + SAMPLE_RATE
        longest = silent[(silent > 2.01 * SAMPLE_RATE) & (silent < 2.99 * SAMPLE_RATE)]
        assert not take[1, longest].any()
        assert take[1, SAMPLE_RATE : 2 * SAMPLE_RATE].any()
        assert take[0, longest].any()
