from dataclasses import replace

import numpy as np
import pytest
import soundfile
import torch

from engine.audio.files import Audio, read_audio
from engine.errors import AudioError
from engine.features.clips import analyse_clip, analysed_clip
from engine.features.speaker_timbre import speaker_timbre
from engine.networks.base import load_base
from engine.training.checkpoint_audition import FOREIGN, Audition, AuditionScores, audio_of
from engine.units import SAMPLE_RATE
from tests.halves import forced_halves

SCORES = AuditionScores(likeness=0.9, content=0.8, mel_distance=0.4, pitch_error_cents=8.0, voicing_error=0.05)


@pytest.fixture(scope="module")
def held_out(tmp_path_factory, sing):
    """Two seconds from the middle of a recording."""
    path = tmp_path_factory.mktemp("recordings") / "own.wav"
    soundfile.write(path, sing(6.0), SAMPLE_RATE, "FLOAT")
    return analysed_clip(path).piece(100, 300)


def test_foreign_recordings_exist_and_are_short():
    recordings = [read_audio(path) for path in FOREIGN.glob("*.flac")]
    assert len(recordings) >= 3
    assert sum(audio.duration_s for audio in recordings) < 20  # every evaluation renders them all


def test_audio_of_reads_a_held_out_piece_from_its_file(held_out, sing):
    audio = audio_of(held_out, load_base())
    np.testing.assert_allclose(audio.samples[0], sing(6.0)[44_100 : 3 * 44_100], atol=1e-6)


def test_audio_of_synthesizes_a_clip_without_a_file(sing):
    clip = analyse_clip(Audio(sing(3.0)[None], SAMPLE_RATE)).piece(100, 250)
    audio = audio_of(clip, load_base())
    assert audio.duration_s == pytest.approx(1.5, abs=0.02)
    again = analyse_clip(audio)
    both = clip.pitch.voiced[:140] & again.pitch.voiced[:140]
    assert np.median(np.abs(clip.pitch.semitones[:140] - again.pitch.semitones[:140])[both]) < 0.1


def test_audition_names_a_missing_recording(short_auditions, held_out, tmp_path):
    gone = replace(held_out, path=tmp_path / "gone.wav")
    with pytest.raises(AudioError, match=r"gone\.wav"):
        Audition(load_base(), torch.zeros(128), [gone], tmp_path / "originals")


def test_audition_evaluate_renders_saves_and_scores_all_recordings(held_out, voice, tmp_path):
    base = load_base()
    voice = replace(voice, timbre=speaker_timbre(base, held_out))  # it recorded that itself
    audition = Audition(base, voice.timbre, [held_out], tmp_path / "originals")
    (tmp_path / "heard").mkdir()
    scores = audition.evaluate(voice, tmp_path / "heard")
    names = sorted(path.name for path in (tmp_path / "heard").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "originals").iterdir())
    assert "held-out-1.flac" in names
    for name in names:
        before, after = (read_audio(tmp_path / folder / name) for folder in ("originals", "heard"))
        assert after.duration_s == pytest.approx(before.duration_s, abs=0.001)
    assert 0 < scores.likeness <= 1
    assert 0.5 < scores.content <= 1
    assert 0.1 < scores.mel_distance < 3  # of what was decoded, not of what is kept of the recording
    assert 0 <= scores.pitch_error_cents < 30
    assert 0 <= scores.voicing_error < 0.3


def test_audition_likeness_is_higher_for_the_right_voice(short_auditions, voice, held_out, tmp_path):
    base = load_base()
    (tmp_path / "heard").mkdir()
    right, wrong = (
        Audition(base, timbre, [held_out], tmp_path / "originals").evaluate(voice, tmp_path / "heard").likeness
        for timbre in (voice.timbre, speaker_timbre(base, held_out))
    )
    assert right > wrong


def test_audition_scores_and_renderings_are_the_same_on_processors_with_halves(
    short_auditions, voice, held_out, tmp_path
):
    """Conversion and analysis are in single precision everywhere, so checkpoints compete alike."""
    found = []
    for halves in (False, True):
        heard = tmp_path / f"heard-{halves}"
        heard.mkdir()
        with forced_halves(halves):
            scores = Audition(load_base(), voice.timbre, [held_out], tmp_path / "originals").evaluate(voice, heard)
        found.append((scores, [read_audio(path).samples.tolist() for path in sorted(heard.iterdir())]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("name", "worse"),
    [("likeness", 0.8), ("content", 0.7), ("mel_distance", 0.5), ("pitch_error_cents", 30.0), ("voicing_error", 0.2)],
)
def test_audition_scores_score_drops_with_each_worse_figure(name, worse):
    assert replace(SCORES, **{name: worse}).score < SCORES.score


@pytest.mark.system
def test_audition_evaluate_scores_recordings_the_same_beside_each_other(short_auditions, held_out, voice, tmp_path):
    scores = {}
    for at_once in (1, 3):
        folder = tmp_path / str(at_once)
        audition = Audition(load_base(), voice.timbre, [held_out], tmp_path / "originals", at_once=at_once)
        folder.mkdir()
        scores[at_once] = audition.evaluate(voice, folder)
    assert scores[1] == scores[3]
    for path in (tmp_path / "1").iterdir():
        assert np.array_equal(read_audio(path).samples, read_audio(tmp_path / "3" / path.name).samples)
