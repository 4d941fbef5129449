from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.phrases import Phrase
from engine.audio.files import Audio, read_audio, write_audio
from engine.conversion.comping import FADE_S, CompPart, comp, comp_files, joins, parts_of, refuse_other_recordings
from engine.errors import EditError, SettingsError

RATE = 44_100


def tone(seconds: float = 2.0, phase: float = 0.0, hertz: float = 220.0, rate: int = RATE) -> Audio:
    time_s = np.arange(round(seconds * rate)) / rate
    return Audio((0.3 * np.sin(2 * np.pi * (hertz * time_s + phase)))[None].astype(np.float32), rate)


def noise(seed: int, seconds: float = 2.0) -> Audio:
    drawn = np.random.default_rng(seed).standard_normal((1, round(seconds * RATE)))
    return Audio((0.1 * drawn).astype(np.float32), RATE)


def level_db(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(np.square(samples, dtype=float)) + 1e-20))


def test_joins_lie_in_the_quiet_between_phrases():
    level = np.full(600, -25.0)
    level[150:190], level[170:175] = -50.0, -70.0  # a breath with a quieter moment
    level[400:420] = -45.0
    found = joins([Phrase(0.1, 1.5), Phrase(1.9, 4.0), Phrase(4.2, 6.0)], level)
    assert found[0] == 0.0
    assert 1.69 <= found[1] <= 1.76
    assert 4.0 <= found[2] <= 4.2
    assert joins([], level) == joins([Phrase(0.1, 5.0)], level) == [0.0]


def test_parts_of_merges_neighbouring_phrases_of_one_take():
    assert parts_of([0.0, 1.0, 2.0, 3.0], [0, 0, 2, 0]) == [CompPart(0.0, 0), CompPart(2.0, 2), CompPart(3.0, 0)]
    with pytest.raises(SettingsError, match="has 2 phrases, not 1"):
        parts_of([0.0, 1.0], [0])


def test_comp_takes_each_part_from_its_take():
    takes = [tone(hertz=hertz) for hertz in (200.0, 300.0, 400.0)]
    samples = comp(takes, [CompPart(0.0, 2), CompPart(0.7, 0), CompPart(1.5, 1)]).samples
    half = round(FADE_S * RATE / 2)
    for take, start_s, stop_s in ((2, 0.0, 0.7), (0, 0.7, 1.5), (1, 1.5, 2.0)):
        first = round(start_s * RATE) + (half if start_s else 0)
        stop = round(stop_s * RATE) - (half if stop_s < 2 else 0)
        np.testing.assert_array_equal(samples[:, first:stop], takes[take].samples[:, first:stop])


def test_comp_of_equal_takes_changes_nothing():
    take = tone()
    np.testing.assert_allclose(
        comp([take, take], [CompPart(0.0, 0), CompPart(1.0, 1)]).samples, take.samples, atol=1e-6
    )


@pytest.mark.parametrize(("takes", "tolerance_db"), [((tone(), tone(phase=0.2)), 0.5), ((noise(1), noise(2)), 0.8)])
def test_comp_keeps_the_level_in_a_cross_fade(takes, tolerance_db):
    """Also of takes that have only some in common: measured within the fade, against the takes there."""
    samples = comp(takes, [CompPart(0.0, 0), CompPart(1.0, 1)]).samples
    fade = slice(round((1 - FADE_S / 2) * RATE), round((1 + FADE_S / 2) * RATE))
    wanted = np.mean([level_db(take.samples[:, fade]) for take in takes])
    assert level_db(samples[:, fade]) == pytest.approx(wanted, abs=tolerance_db)


@pytest.mark.parametrize("phase", [0.0, 0.1, 0.25, 0.5])
def test_comp_makes_no_click(phase):
    """A click is a jump from sample to sample: within the join there is none larger than in the takes."""
    takes = [tone(phase=0.0), tone(phase=phase)]
    samples = comp(takes, [CompPart(0.0, 0), CompPart(1.0, 1)]).samples
    largest = max(np.abs(np.diff(take.samples)).max() for take in takes)
    assert np.abs(np.diff(samples)).max() <= 1.15 * largest
    above = np.abs(np.fft.rfft(samples[0, RATE - 2048 : RATE + 2048] * np.hanning(4096)))
    assert 20 * np.log10(above[400:].max() / above.max()) < -60  # above 4 kHz, where a click would be


@given(
    lengths=st.lists(st.floats(0.06, 0.9), min_size=1, max_size=6),
    chosen=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    rate=st.sampled_from([8000, 44_100, 48_000]),
)
def test_comp_is_as_long_as_its_takes(lengths, chosen, rate):
    starts = [0.0, *np.cumsum(lengths)[:-1].tolist()]
    takes = [Audio(np.full((2, round(sum(lengths) * rate) + 700), 0.1 * n, np.float32), rate) for n in range(3)]
    made = comp(takes, parts_of(starts, chosen[: len(starts)]))
    assert made.samples.shape == takes[0].samples.shape
    assert made.samples.max() <= 0.2 + 1e-6


@pytest.mark.parametrize(
    ("takes", "parts", "error", "sentence"),
    [
        ([], [CompPart(0.0, 0)], EditError, "Give the takes"),
        ([tone(1.0), tone(1.1)], [CompPart(0.0, 0)], EditError, "not equally long"),
        ([tone(1.0), tone(1.0, rate=48_000)], [CompPart(0.0, 0)], EditError, "sample rate"),
        ([tone(1.0)], [CompPart(0.0, 1)], SettingsError, "no take 2"),
        ([tone(1.0)], [CompPart(0.0, -1)], SettingsError, "no take 0"),
        ([tone(1.0)], [], SettingsError, "begin at 0 s"),
        ([tone(1.0)], [CompPart(0.2, 0)], SettingsError, "begin at 0 s"),
        ([tone(1.0)] * 2, [CompPart(0.0, 0), CompPart(0.01, 1)], SettingsError, "in order"),
        ([tone(1.0)] * 2, [CompPart(0.0, 0), CompPart(float("nan"), 1)], SettingsError, "in order"),
        ([tone(1.0)] * 2, [CompPart(0.0, 0), CompPart(3.0, 1)], SettingsError, "after the end"),
    ],
)
def test_comp_refuses_invalid_takes_and_parts(takes, parts, error, sentence):
    with pytest.raises(error, match=sentence):
        comp(takes, parts)


def test_comp_files_writes_all_or_nothing(tmp_path: Path):
    paths = [tmp_path / f"take{number}.wav" for number in (1, 2)]
    for path, hertz in zip(paths, (200.0, 300.0), strict=True):
        write_audio(path, tone(hertz=hertz))
    parts = [CompPart(0.0, 1), CompPart(1.0, 0)]
    comp_files(paths, parts, tmp_path / "comp.flac")
    expected = comp([read_audio(path) for path in paths], parts)
    np.testing.assert_allclose(read_audio(tmp_path / "comp.flac").samples, expected.samples, atol=2e-7)
    write_audio(paths[1], tone(1.9))
    with pytest.raises(EditError, match="not equally long"):
        comp_files(paths, parts, tmp_path / "other.wav")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comp.flac", "take1.wav", "take2.wav"]


def syllables(seed: int, seconds: float = 4.0) -> Audio:
    """Noise and tone whose loudness rises and falls as speech does."""
    drawn = np.random.default_rng(seed)
    steps = np.repeat(drawn.uniform(-45, -10, round(seconds * 7)), RATE // 7)
    return Audio((10 ** (steps / 20) * drawn.standard_normal(len(steps)))[None].astype(np.float32), RATE)


def test_refuse_other_recordings_accepts_takes_of_a_recording(tmp_path):
    recording = syllables(1)
    write_audio(tmp_path / "vocal.wav", recording)
    level = np.abs(recording.samples) + 1e-4  # another sound of the same loudness, softer by 9 dB, with a hum
    take = 0.35 * level * tone(4.0, hertz=300.0).samples / 0.3 + 1e-4 * noise(2, 4.0).samples
    for name in ("take.wav", "take.flac", "take.mp3"):
        write_audio(tmp_path / name, Audio(take, RATE))
    refuse_other_recordings(tmp_path / "vocal.wav", [tmp_path / name for name in ("take.wav", "take.flac", "take.mp3")])


@pytest.mark.parametrize(
    ("seconds", "seed", "said"),
    [(4.0, 2, "is a take of a different recording"), (4.3, 1, "lasts 4.3 seconds"), (3.0, 1, "lasts 3 seconds")],
)
def test_refuse_other_recordings_names_a_take_of_another_one(tmp_path, seconds, seed, said):
    write_audio(tmp_path / "vocal.wav", syllables(1))
    write_audio(tmp_path / "take.wav", syllables(seed, seconds))
    with pytest.raises(EditError, match=rf'"take\.wav" {said}'):
        refuse_other_recordings(tmp_path / "vocal.wav", [tmp_path / "vocal.wav", tmp_path / "take.wav"])


def test_refuse_other_recordings_leaves_steady_sounds_to_their_length(tmp_path):
    write_audio(tmp_path / "vocal.wav", tone(2.0))
    write_audio(tmp_path / "take.wav", tone(2.0, hertz=440.0))
    refuse_other_recordings(tmp_path / "vocal.wav", [tmp_path / "take.wav"])
