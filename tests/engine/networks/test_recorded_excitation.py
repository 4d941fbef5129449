import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS, measure_envelope
from engine.analysis.pitch import Pitch
from engine.networks.band_filters import filter_table
from engine.networks.excitation import pulse_train
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.spectral_frames import BINS, cut_frames, frame_spectra, join_pieces, pieces_of
from engine.networks.synthesizer import Synthesizer, synthesize
from engine.units import HOP, SAMPLE_RATE

FRAMES = 301


def curve(value: float, frames: int = FRAMES) -> np.ndarray:
    return np.full(frames, value, np.float32)


def pulses(hertz: np.ndarray, start: float = 0.0) -> np.ndarray:
    return pulse_train(torch.from_numpy(np.asarray(hertz, np.float32))[None], start)[0][0].numpy()


def below(samples: np.ndarray, hertz: float) -> np.ndarray:
    """The samples without what is above that frequency and without the ends."""
    inner = samples[20 * HOP : -20 * HOP]
    spectrum = np.fft.rfft(inner)
    spectrum[round(hertz * len(inner) / SAMPLE_RATE) :] = 0.0
    return np.fft.irfft(spectrum, len(inner))


def excitation(samples: np.ndarray, hertz: np.ndarray, voiced: np.ndarray | None = None) -> RecordedExcitation:
    """The excitation of a recording that is flat, wanted everywhere or where it is voiced."""
    frames = len(hertz)
    share = torch.ones(frames, BANDS) if voiced is None else torch.from_numpy(voiced)[:, None].expand(-1, BANDS)
    flat = torch.zeros(frames, BANDS)
    return RecordedExcitation(cut_frames(samples, frames), hertz, share, flat + 5.0, flat, filter_table())


def moved(
    samples: np.ndarray, had: np.ndarray, hertz: np.ndarray, voiced: np.ndarray | None = None, start: float = 0.0
) -> np.ndarray:
    found = excitation(samples, had, voiced).at_pitch(hertz, start)
    return found.frames[:-1, HOP:].flatten().numpy()


def recorded_again(synthesizer: Synthesizer, samples: np.ndarray, hertz: float, change: float = 0.0) -> np.ndarray:
    """What a recording of one pitch becomes in its own envelope, or in one that is so many nepers higher."""
    pitch = Pitch(curve(hertz), curve(1.0))
    envelope = measure_envelope(samples, pitch)
    recorded = synthesizer.recorded(
        cut_frames(samples, FRAMES), torch.from_numpy(envelope), pitch, torch.ones(FRAMES, BANDS)
    )
    return synthesize(synthesizer, envelope + np.float32(change), pitch, recorded=recorded)


@pytest.fixture(scope="module")
def synthesizer() -> Synthesizer:
    return Synthesizer().eval()


@pytest.mark.parametrize(("had", "wanted"), [(200.0, 201.0), (200.0, 300.0), (120.0, 190.0), (200.0, 150.0)])
def test_moved_makes_pulses_of_one_pitch_those_of_another(had, wanted):
    result = moved(pulses(curve(had), 0.6), curve(had), curve(wanted), start=0.25)
    expected = pulses(curve(wanted), 0.25)
    top = 0.8 * 22_050 * min(1.0, wanted / had)
    result, expected = below(result, top), below(expected, top)
    error = result - expected * (result @ expected) / (expected @ expected)
    assert 10 * np.log10((result @ result) / (error @ error)) > 20
    assert (result @ result) / (expected @ expected) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(("harmonic", "images_db"), [(25, -75.0), (50, -60.0), (70, -48.0)])
@pytest.mark.parametrize("wanted", [150.0, 190.0, 230.0])
def test_moved_takes_a_harmonic_to_its_place_at_its_level(harmonic, images_db, wanted):
    """One of 200 Hz, beside the first 20, which show where periods begin."""
    numbers = np.array([*range(1, 21), harmonic])
    seconds = np.arange((FRAMES - 1) * HOP) / SAMPLE_RATE
    sound = np.cos(2 * np.pi * 200.0 * numbers[:, None] * seconds).sum(0).astype(np.float32)
    inner = slice(40 * HOP, -40 * HOP)
    result = moved(sound, curve(200.0), curve(wanted))[inner]
    angles = 2 * np.pi * wanted * numbers[:, None] * seconds[inner]
    waves = np.concatenate([np.cos(angles), np.sin(angles)]).T
    parts = np.linalg.lstsq(waves, result, rcond=None)[0]
    levels_db = 20 * np.log10(np.hypot(*np.split(parts, 2)))
    np.testing.assert_allclose(levels_db, 10 * np.log10(wanted / 200.0), atol=0.01)  # the same in a band, of fewer
    rest = result - waves @ parts
    assert 10 * np.log10(np.square(rest).mean() / 0.5) < images_db  # against one harmonic


def test_moved_follows_a_glide():
    glide = np.geomspace(150.0, 260.0, FRAMES).astype(np.float32)
    result = below(moved(pulses(curve(200.0)), curve(200.0), glide), 8000.0)
    expected = below(pulses(glide), 8000.0)
    assert np.corrcoef(result, expected)[0, 1] > 0.95


@pytest.mark.parametrize("wanted", [150.0, 270.0])
def test_moved_keeps_the_pitch_up_to_the_ends_of_a_voice_between_consonants(wanted):
    """Frames of noise, as strong as the pulses are once both are flat, would shift the periods beside them."""
    samples, voiced = pulses(curve(200.0), 0.6), np.zeros(FRAMES, np.float32)
    voiced[100:120] = 1.0
    alone = moved(samples, curve(200.0), curve(wanted))
    is_noise = np.repeat(voiced[:-1] == 0.0, HOP)
    for seed in range(6):
        samples[is_noise] = np.random.default_rng(seed).standard_normal(is_noise.sum())
        result = moved(samples, curve(200.0), curve(wanted), voiced)
        for end in (slice(101 * HOP, 106 * HOP), slice(114 * HOP, 119 * HOP)):
            assert np.corrcoef(result[end], alone[end])[0, 1] > 0.97


def test_moved_keeps_noise_at_its_level():
    noise = np.random.default_rng(0).standard_normal((FRAMES - 1) * HOP).astype(np.float32)
    result = moved(noise, curve(200.0), curve(270.0))
    assert 10 * np.log10(np.square(below(result, 20_000.0)).mean() / np.square(below(noise, 20_000.0)).mean()) > -2.0
    assert 10 * np.log10(np.square(below(result, 20_000.0)).mean() / np.square(below(noise, 20_000.0)).mean()) < 1.0


def test_moved_of_silence_and_of_a_single_click_is_finite():
    click = np.zeros((FRAMES - 1) * HOP, np.float32)
    assert not moved(click, curve(200.0), curve(300.0)).any()
    click[5000] = 1.0
    assert np.isfinite(moved(click, curve(200.0), curve(300.0))).all()


def test_at_pitch_leaves_an_excitation_whose_pitch_stays():
    own = excitation(pulses(curve(200.0)), curve(200.0))
    assert own.at_pitch(curve(200.1)) is own


def test_at_pitch_in_step_changes_a_stretch_without_a_dip_at_its_ends():
    hertz = curve(200.0)
    hertz[100:200] = 230.0  # a second longer by 30 periods: a whole number
    own = excitation(pulses(curve(200.0), 0.4), curve(200.0))
    found = own.at_pitch(hertz, 0.1, in_step=True)
    torch.testing.assert_close(found.frames[:98], own.frames[:98])
    torch.testing.assert_close(found.frames[203:], own.frames[203:])
    joined = join_pieces([pieces_of(frame_spectra(found.frames))[None]], len(found.frames))[0].numpy()
    levels = 10 * np.log10([np.square(joined[at * HOP : (at + 2) * HOP]).mean() for at in range(80, 220)])
    assert levels.min() > np.median(levels) - 1.5


def test_at_pitch_keeps_less_the_farther_it_is_moved_and_nothing_where_no_sound_reaches():
    own = excitation(pulses(curve(200.0)), curve(200.0))
    moves = {semitones: own.at_pitch(curve(200.0 * 2 ** (semitones / 12))) for semitones in (-7, 7, 9, 11)}
    share = {semitones: found.share_of_bins()[50] for semitones, found in moves.items()}
    assert share[7].min() == 1.0
    assert 0.0 < share[9].max() < 1.0
    assert share[11].max() == 0.0
    highest = 2 ** (-7 / 12) * (BINS - 1)
    assert share[-7][: int(highest)].min() == 1.0
    assert share[-7][int(highest) + 2 :].max() == 0.0


def test_recorded_excitation_in_its_own_envelope_is_the_recording(synthesizer, sing):
    samples = sing(3.0, 220.0)
    copy = recorded_again(synthesizer, samples, 220.0)
    inner = slice(5 * HOP, min(len(samples), len(copy)) - 5 * HOP)
    error = copy[inner] - samples[inner]
    assert 10 * np.log10(np.square(error).mean() / np.square(samples[inner]).mean()) < -40


def test_recorded_excitation_takes_the_level_of_the_wanted_envelope_up_to_a_limit(synthesizer, sing):
    samples = sing(3.0, 220.0)
    power = [np.square(recorded_again(synthesizer, samples, 220.0, change)).mean() for change in (0.0, 1.0, 8.0)]
    assert np.log(power[1] / power[0]) / 2 == pytest.approx(1.0, abs=0.02)
    assert np.log(power[2] / power[0]) / 2 == pytest.approx(5.0, abs=0.02)


@pytest.mark.parametrize(("frames", "change"), [(2, 1.19), (31, 1.19), (257, 1.0), (257, 0.84), (801, 1.19)])
def test_synthesize_gives_the_same_bytes_with_any_number_of_threads(synthesizer, sing, by_threads, frames, change):
    samples = sing(8.0, 220.0)[: (frames - 1) * HOP]
    pitch = Pitch(curve(220.0, frames), np.linspace(0.2, 1.0, frames, dtype=np.float32))
    envelope = measure_envelope(samples, pitch)[:frames]
    envelope, share = torch.from_numpy(envelope), torch.ones(frames, BANDS)

    def rendered() -> bytes:
        with torch.inference_mode():
            cut, voicing = cut_frames(samples, frames), torch.from_numpy(pitch.voicing)
            residual = synthesizer.residual(cut, envelope, voicing, share[:, 0], share[0])
            recorded = synthesizer.recorded(cut, envelope, pitch, share).at_pitch(pitch.hertz * np.float32(change), 0.2)
        return synthesize(synthesizer, envelope, pitch, 0, 0.2, 0, residual, recorded).tobytes()

    assert len(by_threads(rendered)) == 1
