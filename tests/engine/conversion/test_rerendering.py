"""Edited takes: the pitch is what was asked for, all else is the take as it was, and nobody hears where it was cut."""

import functools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.envelope import measure_envelope
from engine.analysis.pitch import detect_pitch
from engine.analysis.windows import LONGEST_S, cut_windows
from engine.audio.files import Audio, read_audio, write_audio
from engine.conversion import convert as conversion_module
from engine.conversion import rerendering as module
from engine.conversion.convert import convert, convert_file
from engine.conversion.patches import FADE_FRAMES, MARGIN_FRAMES, plan_patches
from engine.conversion.pitch_edits import Draw, FixOctave, ShapeNote, Shift, Smooth
from engine.conversion.renderer import Renderer
from engine.conversion.rerendering import EarlierEdit, FileTake, edit_file, edit_take
from engine.conversion.settings import ConversionSettings
from engine.errors import AudioError, Cancelled, EditError, SettingsError
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE
from engine.workers import Workers

SEAM_DB = -60.0  # what a seam differs from the take as it was, at most (measured on songs and speech: -76)


def vowel(seconds: float, hertz: float = 150.0) -> np.ndarray:
    """A steady vowel, float32 (samples,)."""
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    partials = [number for number in range(1, 40) if number * hertz < 8000]
    gains = [1 / number * (1 + 2 * np.exp(-(((number * hertz - 700) / 300) ** 2))) for number in partials]
    waves = (gain * np.cos(2 * np.pi * number * hertz * time_s) for gain, number in zip(gains, partials, strict=True))
    return (0.05 * sum(waves)).astype(np.float32)


def level_db(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.square(samples, dtype=np.float64).mean() + 1e-30))


def small_windows(monkeypatch) -> None:
    small = functools.partial(cut_windows, longest_s=1.5, shortest_s=1.0)
    monkeypatch.setattr(conversion_module, "cut_windows", small)
    monkeypatch.setattr(module, "cut_windows", small)
    monkeypatch.setattr("engine.features.survey.cut_windows", small)
    shorter = round(2 * (LONGEST_S - 1.5) * FRAME_RATE) * HOP
    monkeypatch.setattr(module, "_BACK_SAMPLES", module._BACK_SAMPLES - shorter)


def changed(old: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """Between which seconds samples (channels, n) differ."""
    there = np.flatnonzero((old != new).any(0)) / SAMPLE_RATE
    return float(there[0]), float(there[-1])


def seams_db(edit_data, number, edits, old: np.ndarray, new: np.ndarray) -> list[float]:
    """At each seam, the difference of old and new against the old, both (channels, n)."""
    found = []
    for patch in plan_patches(edit_data, number, edits).patches:
        seams = [] if patch.first == 0 else [slice(patch.first * HOP, (patch.first + FADE_FRAMES) * HOP)]
        seams += [] if patch.to_the_end else [slice((patch.last - FADE_FRAMES) * HOP, patch.last * HOP)]
        found += [level_db(new[:, seam] - old[:, seam]) - level_db(old[:, seam]) for seam in seams]
    return found


@pytest.fixture(scope="module")
def steady() -> Audio:
    return Audio(vowel(3.0)[None], SAMPLE_RATE)


@pytest.fixture(scope="module")
def steady_takes(steady, voice):
    return convert(steady, voice, ConversionSettings(takes=2, seed=3))


@pytest.fixture(scope="module")
def sung(sing) -> Audio:
    return Audio(sing(3.0)[None], SAMPLE_RATE)


# ---- known answers


@pytest.mark.parametrize("semitones", [2.0, -3.5])
def test_edit_take_shifts_a_stretch_by_the_given_semitones_and_nothing_else(steady, steady_takes, voice, semitones):
    edit = Shift(1.2, 1.9, semitones)
    old = steady_takes.takes[0].audio.samples
    new = edit_take(steady, steady_takes, 0, voice, [edit]).audio.samples
    assert new.shape == old.shape
    begin, end = changed(old, new)
    assert 1.2 - MARGIN_FRAMES / 100 - 0.03 <= begin < 1.2
    assert 1.9 < end <= 1.9 + MARGIN_FRAMES / 100 + 0.03
    was, now = detect_pitch(old[0], SAMPLE_RATE), detect_pitch(new[0], SAMPLE_RATE)
    cents = 1200 * np.log2(now.hertz / was.hertz)
    assert np.median(cents[126:185]) == pytest.approx(100 * semitones, abs=4)
    assert np.abs(cents[126:185] - 100 * semitones).max() < 12
    assert np.abs(cents[[*range(30, 116), *range(195, 270)]]).max() < 10
    assert (now.voicing[120:190] > 0.6).all()
    assert abs(level_db(new[:, 55_000:81_000]) - level_db(old[:, 55_000:81_000])) < 2.0


@pytest.mark.parametrize("number", [0, 1])
def test_edit_take_leaves_no_audible_seams(steady, steady_takes, voice, number):
    edits = [Shift(1.0, 1.4, 4.0)]
    old = steady_takes.takes[number].audio.samples
    new = edit_take(steady, steady_takes, number, voice, edits).audio.samples
    assert max(seams_db(steady_takes.edit_data, number, edits, old, new)) < SEAM_DB
    # no click anywhere: no step between two samples is steeper than those the voice makes itself
    assert np.abs(np.diff(new)).max() < 1.3 * np.abs(np.diff(old)).max()
    levels = [[level_db(part[:, first : first + 882]) for first in range(22_050, 100_000, 441)] for part in (old, new)]
    steps = [np.abs(np.diff(some)).max() for some in levels]
    assert steps[1] < steps[0] + 1.0


def test_edit_take_without_edits_returns_the_take_unchanged(steady, steady_takes, voice):
    same = edit_take(steady, steady_takes, 1, voice, [])
    np.testing.assert_array_equal(same.audio.samples, steady_takes.takes[1].audio.samples)
    assert same.seed == steady_takes.takes[1].seed


def test_edit_take_is_deterministic(steady, steady_takes, voice):
    edits = [Smooth(0.5, 1.0), Draw(2.0, 2.4, ((2.0, 50.0), (2.4, 52.0)))]
    once, again = (edit_take(steady, steady_takes, 0, voice, edits).audio.samples for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_edit_take_shifts_both_ends_of_the_recording(steady, steady_takes, voice):
    edits = [Shift(0.0, 0.3, 2.0), Shift(2.7, 3.0, -2.0)]
    old = steady_takes.takes[0].audio.samples
    new = edit_take(steady, steady_takes, 0, voice, edits).audio.samples
    assert new.shape == old.shape
    np.testing.assert_array_equal(new[:, 35_000:98_000], old[:, 35_000:98_000])
    cents = 1200 * np.log2(detect_pitch(new[0], SAMPLE_RATE).hertz / detect_pitch(old[0], SAMPLE_RATE).hertz)
    # the partials lie within a cent; at the ends of a recording they are read up to 9 cents off
    assert np.median(cents[8:26]) == pytest.approx(200, abs=10)
    assert np.median(cents[274:292]) == pytest.approx(-200, abs=10)


def test_patch_renderer_reproduces_the_take_where_the_pitch_is_unchanged(sung, voice):
    """Where a patch's curve is that of the take, what is sung anew is the take, but for rounding."""
    done = convert(sung, voice, ConversionSettings(transpose=-2))
    edits = [FixOctave(1.0, 1.5, 1), Shift(1.0, 1.5, -12.0)]
    plan = plan_patches(done.edit_data, 0, edits)
    patch = replace(plan.patches[0], octaves=np.zeros_like(plan.patches[0].octaves))
    stream = module.Stream(module.samples_of(sung, done.edit_data))
    renderer = module.PatchRenderer(stream, done.edit_data, 0, voice, "cpu", Workers(1))
    was = done.takes[0].audio.samples[:, patch.first * HOP : patch.last * HOP]
    again = np.concatenate(list(renderer.render(patch)), 1)
    assert level_db(again - was) < level_db(was) - 50


def envelope_of(samples: np.ndarray, place: slice) -> np.ndarray:
    """The mean log envelope of a part, (BANDS,), nepers."""
    envelope = measure_envelope(samples, detect_pitch(samples, SAMPLE_RATE))
    return envelope[place].mean(0)


@pytest.mark.parametrize("semitones", [-4.0, 3.0])
@pytest.mark.parametrize("setting", [0.0, 1.0])
def test_edit_take_moves_the_formants_of_a_note_as_the_setting_moves_those_of_the_whole(
    steady, voice, semitones, setting
):
    settings = ConversionSettings(formant_shift_semitones=setting)
    done = convert(steady, voice, settings)
    wanted = convert(steady, voice, replace(settings, formant_shift_semitones=setting + semitones)).takes[0].audio
    edits = [ShapeNote(1.2, 1.9, formant_shift_semitones=semitones)]
    old = done.takes[0].audio.samples
    new = edit_take(steady, done, 0, voice, edits).audio.samples
    begin, end = changed(old, new)
    assert begin >= 1.2 - MARGIN_FRAMES / 100 - 0.03
    assert end <= 1.9 + MARGIN_FRAMES / 100 + 0.03
    note, before = slice(126, 185), slice(85, 112)  # before: within the patch
    was, now, as_set = (envelope_of(samples[0], note) for samples in (old, new, wanted.samples))
    low = slice(None, 100)
    assert np.abs(now - as_set)[low].mean() < 0.15 * np.abs(was - as_set)[low].mean()
    at_rest = np.abs(envelope_of(new[0], before) - envelope_of(old[0], before))[low].mean()
    assert at_rest < 0.1 * np.abs(was - as_set)[low].mean()
    assert max(seams_db(done.edit_data, 0, edits, old, new)) < SEAM_DB
    pitch_was, pitch_now = (detect_pitch(samples[0], SAMPLE_RATE).semitones[note] for samples in (old, new))
    assert np.median(np.abs(pitch_now - pitch_was)) < 0.03
    assert np.abs(np.diff(new)).max() < 1.3 * max(np.abs(np.diff(some)).max() for some in (old, wanted.samples))


@pytest.mark.parametrize("level_db", [-9.0, 6.0])
def test_edit_take_makes_a_note_louder_and_renders_nothing(steady, steady_takes, voice, monkeypatch, level_db):
    monkeypatch.setattr(module.PatchRenderer, "render", None)
    old = steady_takes.takes[1].audio.samples
    new = edit_take(steady, steady_takes, 1, voice, [ShapeNote(1.2, 1.9, level_db=level_db)]).audio.samples
    begin, end = changed(old, new)
    assert 1.16 < begin < 1.2
    assert 1.9 < end < 1.94
    inside = slice(round(1.23 * SAMPLE_RATE), round(1.87 * SAMPLE_RATE))
    np.testing.assert_allclose(new[:, inside], 10 ** (level_db / 20) * old[:, inside], rtol=1e-5)
    # it fades over 50 ms: no click
    steps = np.abs(np.diff(new)).max() / np.abs(np.diff(old)).max()
    assert steps < 1.05 * max(1.0, 10 ** (level_db / 20))


def test_edit_take_combines_pitch_formants_and_level_of_a_note(steady, steady_takes, voice):
    shift, shape = Shift(1.2, 1.9, 2.0), {"formant_shift_semitones": 2.0}
    plain, louder = (
        edit_take(steady, steady_takes, 0, voice, [shift, ShapeNote(1.2, 1.9, **shape, **more)]).audio.samples
        for more in ({}, {"level_db": -6.0})
    )
    inside = slice(round(1.23 * SAMPLE_RATE), round(1.87 * SAMPLE_RATE))
    np.testing.assert_allclose(louder[:, inside], 10 ** (-6 / 20) * plain[:, inside], rtol=1e-5)
    np.testing.assert_array_equal(louder[:, : round(1.1 * SAMPLE_RATE)], plain[:, : round(1.1 * SAMPLE_RATE)])


# ---- any settings, any recording


@pytest.mark.parametrize(
    "chosen",
    [
        {"transpose": "auto", "pitch_snap": 1.0, "pitch_smoothing_ms": 120.0},
        {"takes": 3, "seed": 9, "likeness": 0.6, "consonant_protection": 0.5},
        {"transpose": -5, "formant_shift_semitones": 2.0, "retrieval": 0.0},
    ],
)
def test_edit_take_shifts_takes_of_various_conversion_settings(sung, voice, chosen):
    done = convert(sung, voice, ConversionSettings(**chosen))
    number, edits = len(done.takes) - 1, [Shift(1.0, 1.6, -3.0)]
    old = done.takes[number].audio.samples
    new = edit_take(sung, done, number, voice, edits).audio.samples
    begin, end = changed(old, new)
    assert begin > 0.5
    assert end < 2.1
    assert max(seams_db(done.edit_data, number, edits, old, new)) < SEAM_DB
    was, now = detect_pitch(old[0], SAMPLE_RATE), detect_pitch(new[0], SAMPLE_RATE)
    both = (was.voicing > 0.8) & (now.voicing > 0.8)
    both[:108] = both[153:] = False
    assert np.median(12 * np.log2(now.hertz / was.hertz)[both]) == pytest.approx(-3.0, abs=0.1)


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 2), (48_000, 3)])
def test_edit_take_shifts_recordings_of_other_rates_and_channel_counts(sing, voice, rate, channels):
    tone = sing(2.5, rate=rate)
    gains = np.linspace(1.0, 0.4, channels)[:, None]
    audio = Audio(
        (gains * tone + 0.002 * np.random.default_rng(0).standard_normal((channels, 1))).astype(np.float32), rate
    )
    done, edits = convert(audio, voice), [Shift(1.0, 1.3, 2.0)]
    edited = edit_take(audio, done, 0, voice, edits)
    assert edited.audio.rate == max(rate, SAMPLE_RATE)
    assert edited.audio.samples.shape == (channels, round(2.5 * edited.audio.rate))
    old, new = done.takes[0].rendered.samples, edited.rendered.samples
    assert new.shape == old.shape == (channels, round(2.5 * SAMPLE_RATE))
    begin, end = changed(old, new)
    assert begin > 0.5
    assert end < 1.8
    assert max(seams_db(done.edit_data, 0, edits, old, new)) < SEAM_DB
    for channel in range(1, channels):  # each still stands where it stood
        ratio = level_db(new[channel, 44_100:55_000]) - level_db(new[0, 44_100:55_000])
        assert ratio == pytest.approx(20 * np.log10(gains[channel, 0]), abs=1.0)


def test_edit_take_edits_several_places_across_windows(voice, sing, monkeypatch):
    small_windows(monkeypatch)
    audio = Audio(sing(5.0)[None], SAMPLE_RATE)
    done = convert(audio, voice, ConversionSettings(takes=2))
    assert len(done.edit_data.core_starts) >= 3
    edits = [Shift(0.5, 0.7, 1.0), Shift(1.8, 3.2, -2.0), Shift(4.3, 4.5, 3.0)]
    old = done.takes[1].audio.samples
    new = edit_take(audio, done, 1, voice, edits).audio.samples
    # two frames of a patch at the edge of a window of two seconds were heard from the other side of it
    assert max(seams_db(done.edit_data, 1, edits, old, new)) < -40.0
    plan = plan_patches(done.edit_data, 1, edits)
    assert len(plan.patches) == 3
    outside = np.ones(old.shape[1], bool)
    for patch in plan.patches:
        outside[patch.first * HOP : patch.last * HOP] = False
    np.testing.assert_array_equal(new[:, outside], old[:, outside])
    assert np.abs(np.diff(new)).max() < 1.3 * np.abs(np.diff(old)).max()


def test_edit_take_analyses_the_recording_again_in_the_corrected_octave(steady, voice, monkeypatch):
    """An octave that is put right counts for what is heard of the recording too, and not only for what is sung."""
    heard = []
    real = Renderer._analyse

    def analysed(self, windows):
        found = real(self, windows)
        heard.extend((window.first_frame, one.pitch) for window, one in zip(windows, found, strict=True))
        return found

    done = convert(steady, voice)
    monkeypatch.setattr(Renderer, "_analyse", analysed)
    edit_take(steady, done, 0, voice, [FixOctave(1.0, 1.5, 1)])
    [(first, pitch)] = heard
    assert np.median(pitch.hertz[105 - first : 145 - first]) == pytest.approx(300, rel=0.01)
    assert np.median(pitch.hertz[20 - first if first < 20 else 0 : 80 - first]) == pytest.approx(150, rel=0.01)


# ---- files


@pytest.fixture(scope="module")
def files(voice, sing, tmp_path_factory):
    """A converted file: its folder and its edit_data."""
    folder = tmp_path_factory.mktemp("takes")
    write_audio(folder / "in.flac", Audio(np.stack([sing(5.0), 0.5 * sing(5.0)]), SAMPLE_RATE))
    targets = [folder / f"take-{number}.wav" for number in (1, 2)]
    return folder, convert_file(folder / "in.flac", targets, voice, ConversionSettings(takes=2)).edit_data


def test_edit_file_matches_edit_take(files, voice, tmp_path):
    folder, edit_data = files
    edits = [Shift(1.0, 1.5, 2.0)]
    told = []
    take = FileTake(folder / "in.flac", folder / "take-2.wav", edit_data, 1)
    done = edit_file(take, tmp_path / "new.wav", voice, edits, report=lambda fraction, message: told.append(fraction))
    assert (done.path, done.rendered) == (tmp_path / "new.wav", 1)
    old, new = read_audio(folder / "take-2.wav").samples, read_audio(done.path).samples
    assert new.shape == old.shape
    assert changed(old, new)[0] > 0.5
    assert changed(old, new)[1] < 2.0
    assert told == sorted(told)
    assert told[0] < 0.1
    assert told[-1] == pytest.approx(1.0)
    audio = read_audio(folder / "in.flac")
    takes = convert(audio, voice, ConversionSettings(takes=2))
    held = edit_take(audio, takes, 1, voice, edits).audio.samples
    assert np.abs(held - new).max() < 1e-3


def test_edit_file_reuses_the_patches_of_an_earlier_edit(files, voice, tmp_path, monkeypatch):
    folder, edit_data = files
    first, second = Shift(1.0, 1.5, 2.0), Shift(3.5, 4.0, -2.0)

    def edited(name, edits, before=None):
        take = FileTake(folder / "in.flac", folder / "take-1.wav", edit_data, 0)
        return edit_file(take, tmp_path / name, voice, edits, before)

    one = edited("one.wav", [first])
    both = edited("both.wav", [first, second], EarlierEdit(one.path, [first]))
    assert both.rendered == 1
    anew = edited("anew.wav", [first, second])
    assert anew.rendered == 2
    take, one_samples, both_samples = (
        read_audio(path).samples for path in (folder / "take-1.wav", one.path, both.path)
    )
    np.testing.assert_array_equal(both_samples[:, : 3 * SAMPLE_RATE], one_samples[:, : 3 * SAMPLE_RATE])
    np.testing.assert_array_equal(both_samples, read_audio(anew.path).samples)
    # an edit that is taken back leaves nothing behind
    back = edited("back.wav", [second], EarlierEdit(both.path, [first, second]))
    assert back.rendered == 0
    samples = read_audio(back.path).samples
    np.testing.assert_array_equal(samples[:, : 3 * SAMPLE_RATE], take[:, : 3 * SAMPLE_RATE])
    np.testing.assert_array_equal(samples[:, 3 * SAMPLE_RATE :], both_samples[:, 3 * SAMPLE_RATE :])


def test_edit_file_changes_levels_beside_what_an_earlier_edit_rendered(files, voice, tmp_path):
    folder, edit_data = files
    take, shift = FileTake(folder / "in.flac", folder / "take-1.wav", edit_data, 0), Shift(1.0, 1.5, 2.0)
    louder = ShapeNote(3.5, 4.0, formant_shift_semitones=0.0, level_db=-6.0)
    one = edit_file(take, tmp_path / "one.wav", voice, [shift])
    both = edit_file(take, tmp_path / "both.wav", voice, [shift, louder], EarlierEdit(one.path, [shift]))
    assert both.rendered == 0
    back = edit_file(take, tmp_path / "back.wav", voice, [louder], EarlierEdit(both.path, [shift, louder]))
    old, before, now, alone = (
        read_audio(path).samples for path in (folder / "take-1.wav", one.path, both.path, back.path)
    )
    middle, note = 3 * SAMPLE_RATE, slice(round(3.54 * SAMPLE_RATE), round(3.96 * SAMPLE_RATE))
    np.testing.assert_array_equal(now[:, :middle], before[:, :middle])
    np.testing.assert_array_equal(alone[:, :middle], old[:, :middle])
    np.testing.assert_array_equal(alone[:, middle:], now[:, middle:])
    assert level_db(now[:, note]) - level_db(old[:, note]) == pytest.approx(-6.0, abs=0.01)


@pytest.mark.slow
def test_edit_file_memory_does_not_grow_with_the_length(sing, voice, tmp_path, monkeypatch):
    small_windows(monkeypatch)
    peaks = []
    for seconds in (40, 80):  # beyond what is held to go back to
        write_audio(tmp_path / "long.wav", Audio(sing(seconds)[None], SAMPLE_RATE))
        edit_data = convert_file(tmp_path / "long.wav", [tmp_path / "out.wav"], voice).edit_data
        edits = [Shift(0.5, seconds - 0.5, 1.0)]
        tracemalloc.start()
        take = FileTake(tmp_path / "long.wav", tmp_path / "out.wav", edit_data, 0)
        edit_file(take, tmp_path / "new.wav", voice, edits)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 2e6  # curves of the whole take, of 100 numbers a second; its samples would be 7e6


def test_edit_file_refuses_a_voice_trained_again_since_the_take(files, voice, tmp_path):
    folder, edit_data = files
    other = replace(voice, centre=voice.centre + 0.01)
    take = FileTake(folder / "in.flac", folder / "take-1.wav", edit_data, 0)
    with pytest.raises(EditError, match="trained again since this take"):
        edit_file(take, tmp_path / "x.wav", other, [Shift(1.0, 2.0, 1.0)])
    assert not list(tmp_path.iterdir())


def test_edit_file_refuses_audio_of_another_length_or_channel_count(files, voice, tmp_path):
    folder, edit_data = files
    write_audio(tmp_path / "short.wav", Audio(read_audio(folder / "take-1.wav").samples[:, :66_150], SAMPLE_RATE))
    write_audio(tmp_path / "mono.wav", Audio(read_audio(folder / "take-1.wav").samples[:1], SAMPLE_RATE))
    edits = [Shift(1.0, 2.0, 1.0)]
    for source, take in (
        (folder / "in.flac", tmp_path / "short.wav"),
        (folder / "in.flac", tmp_path / "mono.wav"),
        (tmp_path / "short.wav", folder / "take-1.wav"),
    ):
        with pytest.raises(EditError, match="no longer fits the recording"):
            edit_file(FileTake(source, take, edit_data, 0), tmp_path / "x.wav", voice, edits)
        assert not (tmp_path / "x.wav").exists()


def test_edit_file_refuses_a_missing_file_a_missing_take_and_an_edit_past_the_end(files, voice, tmp_path):
    folder, edit_data = files
    edits, target = [Shift(1.0, 2.0, 1.0)], tmp_path / "x.wav"
    take = FileTake(folder / "in.flac", folder / "take-1.wav", edit_data, 0)
    with pytest.raises(AudioError, match=r"none\.wav"):
        edit_file(replace(take, path=folder / "none.wav"), target, voice, edits)
    with pytest.raises(EditError, match="no take 3"):
        edit_file(replace(take, number=2), target, voice, edits)
    with pytest.raises(SettingsError, match="not within the take"):
        edit_file(take, target, voice, [Shift(4, 9, 1)])


def test_edit_file_leaves_no_file_when_cancelled(files, voice, tmp_path):
    folder, edit_data = files

    def report(fraction, message):
        if fraction > 0.2:
            raise Cancelled

    take = FileTake(folder / "in.flac", folder / "take-1.wav", edit_data, 0)
    with pytest.raises(Cancelled):
        edit_file(take, tmp_path / "x.wav", voice, [Shift(1.0, 2.0, 1.0)], report=report)
    assert not list(tmp_path.iterdir())
