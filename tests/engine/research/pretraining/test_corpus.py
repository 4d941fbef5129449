import multiprocessing.pool
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.analysis.envelope import BANDS, LOW_BANDS
from engine.errors import TrainingError
from engine.features.augmentations import AUGMENTATIONS
from engine.networks.listener import FEATURES, listen
from engine.research.pretraining import corpus as module
from engine.research.pretraining.corpus import (
    ClipEntry,
    Corpus,
    draw_crops,
    feature_frames,
    prepare_corpus,
    read_manifest,
    split_speakers,
)
from engine.units import HOP

COLUMNS = ("path", "set", "speaker", "kind", "seconds", "original_rate")
ROWS = [
    ("a.wav", "kathleen", "kathleen", "speech", "0.5", "44100"),
    ("b.wav", "vocobox_martin", "martin", "singing", "0.3", "16000"),
    ("p.wav", "pjs", "koguchi", "singing", "0.3", "48000"),
]


def entry(number: int, speaker: str, group: str = "librispeech_tc100_1utt", frames: int = 100) -> ClipEntry:
    return ClipEntry(f"clip{number}", group, speaker, "speech", number * 1000, frames, BANDS, 0.0)


@pytest.fixture
def recordings(tmp_path, sing, monkeypatch) -> Path:
    """A folder with a manifest of three recordings; analysed by threads, which start at once."""
    monkeypatch.setattr(module, "working_processes", lambda: multiprocessing.pool.ThreadPool(1))
    folder = tmp_path / "recordings"
    folder.mkdir()
    for path, _, _, _, seconds, rate in ROWS:
        soundfile.write(folder / path, np.stack([sing(float(seconds), rate=int(rate))] * 2, 1), int(rate))
    lines = ["\t".join(row) for row in (COLUMNS, *ROWS)]
    (folder / "manifest.tsv").write_text("\n".join(lines) + "\n")
    return folder


def test_prepare_corpus_turns_permitted_recordings_into_frames(recordings, tmp_path):
    told = []
    corpus = prepare_corpus(recordings, tmp_path / "features", lambda fraction, message: told.append(fraction))
    assert [(clip.path, clip.group, clip.speaker) for clip in corpus.clips] == [
        ("a.wav", "kathleen", "kathleen/kathleen"),
        ("b.wav", "vocobox_martin", "vocobox_martin/martin"),
    ]  # what may not go into the base is left out
    assert [clip.frames for clip in corpus.clips] == [50, 30]
    assert [clip.first_frame for clip in corpus.clips] == [0, 50]
    assert corpus.clips[0].bands > corpus.clips[1].bands
    assert corpus.clips[1].bands <= LOW_BANDS
    assert corpus.audio.shape == (80, HOP)
    assert corpus.envelope.shape == (80, BANDS)
    assert np.isfinite(corpus.envelope.astype(np.float32)).all()
    assert corpus.hertz.shape == corpus.voicing.shape == (80,)
    assert told.count(1.0) == 2  # analysed, and listened to
    source, _ = soundfile.read(recordings / "a.wav", dtype="float32")
    np.testing.assert_allclose(corpus.audio[:50].ravel() / 32767, source[: 50 * HOP, 0], atol=1e-3)


def test_prepare_corpus_extracts_listener_features_for_every_augmentation(recordings, tmp_path, listener, halves):
    corpus = prepare_corpus(recordings, tmp_path / "features", lambda fraction, message: None)
    assert [feature_frames(clip.frames) for clip in corpus.clips] == [26, 16]
    assert corpus.first_feature.tolist() == [0, 26, 42]
    assert corpus.listener_features.shape == (AUGMENTATIONS, 42, FEATURES)
    assert np.isfinite(corpus.listener_features.astype(np.float32)).all()
    for number, clip in enumerate(corpus.clips):
        rows = slice(corpus.first_feature[number], corpus.first_feature[number + 1])
        samples = corpus.audio[clip.first_frame : clip.first_frame + clip.frames].ravel() / np.float32(32767)
        expected = listen(listener, samples.astype(np.float32)).astype(float)
        likeness = [
            np.corrcoef(expected.ravel(), features.astype(float).ravel())[0, 1]
            for features in corpus.listener_features[:, rows]
        ]
        np.testing.assert_allclose(corpus.listener_features[0, rows].astype(float), expected, atol=0.02, rtol=0.01)
        assert max(likeness[1:]) < likeness[0] - 0.001


def test_prepare_corpus_adds_missing_listener_features_to_an_analysis(recordings, tmp_path):
    first = prepare_corpus(recordings, tmp_path / "features", lambda fraction, message: None)
    features = np.array(first.listener_features)
    (tmp_path / "features" / "listener_features.bin").unlink()
    told = []
    again = prepare_corpus(recordings, tmp_path / "features", lambda fraction, message: told.append(message))
    assert told == ["extracted features of a.wav", "extracted features of b.wav"]
    np.testing.assert_array_equal(again.listener_features, features)


@pytest.mark.parametrize("frames", [1, 2, 99, 100])
def test_feature_frames_covers_all_frames(frames):
    assert 2 * feature_frames(frames) - 1 >= frames


def test_prepare_corpus_reuses_an_existing_analysis(recordings, tmp_path, monkeypatch):
    first = prepare_corpus(recordings, tmp_path / "features", lambda fraction, message: None)
    monkeypatch.setattr(module, "working_processes", None)
    assert prepare_corpus(recordings, tmp_path / "features", lambda fraction, message: None).clips == first.clips


def test_read_manifest_refuses_a_folder_without_manifest(tmp_path):
    with pytest.raises(TrainingError, match=r"has no manifest.tsv: give the folder of the training corpus"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", [None, "", "{"])
def test_corpus_refuses_a_folder_without_a_valid_analysis(tmp_path, content):
    if content is not None:
        (tmp_path / "clips.json").write_text(content)
    with pytest.raises(TrainingError, match="holds no analysed corpus"):
        Corpus(tmp_path)


def test_split_speakers_holds_out_whole_speakers_of_large_sets():
    clips = [entry(number, f"s/{number // 2}") for number in range(40)] + [entry(40, "kerstin/kerstin", "kerstin")]
    training, validation = split_speakers(clips, 0.2, seed=7)
    assert sorted(clip.path for clip in training + validation) == sorted(clip.path for clip in clips)
    assert len({clip.speaker for clip in validation}) == 4
    assert not {clip.speaker for clip in training} & {clip.speaker for clip in validation}
    assert "kerstin/kerstin" not in {clip.speaker for clip in validation}
    assert split_speakers(clips, 0.2, seed=7)[1] == validation
    assert split_speakers(clips, 0.2, seed=8)[1] != validation


def test_draw_crops_is_fixed_by_seed_and_step_and_stays_inside_its_clip():
    clips = [entry(0, "a", frames=50), entry(1, "b", frames=500)]
    crops = [list(draw_crops(clips, 60, seed=3, step=step, batch=200)) for step in (0, 0, 1)]
    assert crops[0] == crops[1] != crops[2]
    for clip, first in crops[0]:
        assert clip.first_frame <= first <= clip.first_frame + max(clip.frames - 60, 0)
    assert sum(clip.speaker == "b" for clip, _ in crops[0]) > 140  # the longer is drawn more often


def test_draw_crops_prefers_sets_with_a_higher_weight():
    clips = [entry(0, "a", "speechocean762"), entry(1, "b", "vocobox_martin")]
    drawn = [clip.speaker for clip, _ in draw_crops(clips, 60, seed=3, step=0, batch=500)]
    assert drawn.count("b") > 3 * drawn.count("a")
