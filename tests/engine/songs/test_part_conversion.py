import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.conversion.convert import convert
from engine.errors import AudioError, SettingsError
from engine.songs.part_conversion import convert_parts, quiet_joins
from engine.songs.parts import Part
from engine.units import SAMPLE_RATE
from engine.voices.voice import load_voice
from tests.engine.songs.conftest import save

ONE, OTHER = "goekhan", "kathleen"


@pytest.fixture(scope="module")
def recording(sing, tmp_path_factory):
    tone = sing(6.0)
    return save(tmp_path_factory.mktemp("parts") / "vocal.wav", tone, 0.5 * tone)


def test_quiet_joins_finds_the_rests_near_the_times(tmp_path):
    noise = np.random.default_rng(0).uniform(-0.3, 0.3, 20 * SAMPLE_RATE).astype(np.float32)
    for rest in (4.0, 9.5, 17.2):
        noise[round((rest - 0.1) * SAMPLE_RATE) : round((rest + 0.1) * SAMPLE_RATE)] *= 0.001
    joins = quiet_joins(save(tmp_path / "x.wav", noise), [4.6, 9.0, 10.4, 17.0])
    np.testing.assert_allclose(np.array(joins)[[0, 1, 3]] / SAMPLE_RATE, [4.0, 9.5, 17.2], atol=0.1)
    assert joins == sorted(joins)


def test_convert_parts_with_one_part_matches_convert(recording, tmp_path):
    convert_parts(recording, tmp_path / "x.wav", [Part(0.0, ONE)], load_voice)
    plain = convert(read_audio(recording), load_voice(ONE)).takes[0].audio.samples
    np.testing.assert_allclose(read_audio(tmp_path / "x.wav").samples, plain, atol=1e-6)


def test_convert_parts_keeps_each_part_in_place_in_its_voice(recording, tmp_path):
    parts = [Part(0.0, ONE), Part(2.0, "keep"), Part(4.0, OTHER)]
    shown = []
    done = convert_parts(recording, tmp_path / "x.wav", parts, load_voice, report=lambda *one: shown.append(one[0]))
    source, made = read_audio(recording).samples, read_audio(tmp_path / "x.wav").samples
    assert made.shape == source.shape
    first, second = (round(join * SAMPLE_RATE) for join in done.joins_s)
    kept = slice(first + 700, second - 700)  # beyond the cross-fades
    np.testing.assert_allclose(made[:, kept], source[:, kept], atol=1e-6)
    for stretch in (slice(0, first - 700), slice(second + 700, None)):
        assert np.abs(made[:, stretch] - source[:, stretch]).max() > 0.01
    for name, stretch in ((ONE, slice(0, first - 30_000)), (OTHER, slice(second + 30_000, None))):
        alone = convert(Audio(source, SAMPLE_RATE), load_voice(name)).takes[0].audio.samples
        ratio = np.sqrt((made[:, stretch] ** 2).mean() / (alone[:, stretch] ** 2).mean())
        assert 0.8 < ratio < 1.25  # as loud as when all of it is converted
    assert done.statement.voice == f"{ONE} {OTHER}"
    assert [part["voice"] for part in done.statement.settings["parts"]] == [ONE, "keep", OTHER]
    assert shown == sorted(shown)


def test_convert_parts_cross_fades_without_a_step(tmp_path):
    tone = 0.3 * np.sin(2 * np.pi * 150 * np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE).astype(np.float32)
    write_audio(tmp_path / "x.wav", Audio(tone[None], SAMPLE_RATE))
    done = convert_parts(tmp_path / "x.wav", tmp_path / "y.wav", [Part(0.0, ONE), Part(1.5, "keep")], load_voice)
    join = round(done.joins_s[0] * SAMPLE_RATE)
    made = read_audio(tmp_path / "y.wav").samples[0]
    steps = np.abs(np.diff(made))
    assert steps[join - 800 : join + 800].max() <= 1.2 * steps[: join - 800].max()


def heard(samples, parts, tmp_path):
    """What is wrong with a recording, as it is told."""
    surveys = []
    source = save(tmp_path / "heard.wav", samples.astype(np.float32))
    convert_parts(source, tmp_path / "x.wav", parts, load_voice, surveyed=surveys.append)
    (survey,) = surveys
    return survey.dryness.presence.warning


TWO = [Part(0.0, ONE), Part(1.5, OTHER)]


@pytest.mark.parametrize("parts", [[Part(0.0, ONE)], TWO], ids=["one voice", "two voices"])
def test_convert_parts_tells_of_noise_and_refuses_silence(parts, tmp_path):
    noise = 0.1 * np.random.default_rng(0).standard_normal(3 * SAMPLE_RATE)
    assert "No voice was found" in heard(noise, parts, tmp_path)
    silent = save(tmp_path / "silent.wav", 0 * noise.astype(np.float32))
    with pytest.raises(AudioError, match="silent"):
        convert_parts(silent, tmp_path / "y.wav", parts, load_voice)
    assert not (tmp_path / "y.wav").exists()


@pytest.mark.parametrize("level", [0.0, 0.01])
def test_convert_parts_does_not_tell_of_a_voice_that_rests_in_one_part(sing, level, tmp_path):
    rest = level * np.random.default_rng(0).standard_normal(round(1.5 * SAMPLE_RATE))
    assert heard(np.concatenate([sing(1.5), rest]), TWO, tmp_path) is None


def test_convert_parts_refuses_a_part_after_the_end_and_writes_nothing(recording, tmp_path):
    with pytest.raises(SettingsError, match="from 1:00 begins after the end, at 0:06"):
        convert_parts(recording, tmp_path / "x.wav", [Part(0.0, ONE), Part(60.0, OTHER)], load_voice)
    assert not list(tmp_path.iterdir())
