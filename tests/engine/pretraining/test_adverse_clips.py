from pathlib import Path

import numpy as np
import pytest
import torch

from engine.base import WEIGHTS, BaseModel, load_base, save_weights
from engine.content import CONTENT, content_input
from engine.envelope import LOW_BANDS
from engine.errors import TrainingError, VoiceError
from engine.mean_colour import measure_colour
from engine.pretraining import adverse_clips as module
from engine.pretraining.adverse_clips import CLEAN, DISTURBED, SUNG, AdverseCorpus, prepare_adversity

BASE = WEIGHTS / "base.safetensors"


def quiet(fraction: float, message: str) -> None:
    pass


def test_every_clip_is_there_as_it_is_and_disturbed_and_many_sung(adverse, corpus):
    kinds = {kind: [entry.clip for entry in adverse.entries if entry.kind == kind] for kind in (CLEAN, DISTURBED, SUNG)}
    assert sorted(kinds[CLEAN]) == list(range(len(corpus.clips)))
    assert sorted(kinds[DISTURBED]) == sorted(2 * kinds[CLEAN])
    assert len(set(kinds[SUNG])) == len(kinds[SUNG])
    assert 4 < len(kinds[SUNG]) < len(corpus.clips)
    assert [entry.first_frame for entry in adverse.entries] == list(
        np.cumsum([0, *(entry.frames for entry in adverse.entries[:-1])])
    )
    assert np.isfinite(adverse.envelope.astype(np.float32)).all()
    for entry in adverse.entries:
        position = adverse.position[entry.first_frame : entry.first_frame + entry.frames]
        assert (np.diff(position) > 0).all()
        assert position[0] == 0
        assert position[-1] <= corpus.clips[entry.clip].frames - 1


def test_what_is_wanted_of_a_clean_clip_is_what_the_base_hears(adverse, corpus):
    entry = next(entry for entry in adverse.entries if entry.kind == CLEAN)
    clip, rows = corpus.clips[entry.clip], np.arange(entry.frames)
    measured = measure_colour(corpus.envelope[rows].astype(np.float32), np.array(corpus.voicing[rows]))
    np.testing.assert_allclose(entry.mean, measured.mean[:LOW_BANDS], atol=1e-5)
    envelope = torch.from_numpy(corpus.envelope[rows].astype(np.float32) - measured.nepers).clamp_min(-8.0)
    with torch.inference_mode():
        expected = load_base().content(content_input(envelope[None], 0.0, torch.from_numpy(measured.mean)[None]))[0]
    content, loudness = adverse.wanted(entry, rows)
    assert (content - expected).abs().mean() < 5e-3  # the files hold half precision
    assert loudness.shape == (entry.frames,)
    assert clip.frames == entry.frames


def test_between_two_frames_lies_what_is_between_their_contents(adverse, corpus):
    entry = next(entry for entry in adverse.entries if entry.kind == SUNG)
    rows = entry.first_frame + np.arange(entry.frames)
    content, _ = adverse.wanted(entry, rows)
    assert content.shape == (entry.frames, CONTENT)
    torch.testing.assert_close(content.std(1, correction=0), torch.ones(entry.frames), atol=1e-2, rtol=0)
    first = corpus.clips[entry.clip].first_frame
    whole = np.flatnonzero(adverse.position[rows] % 1 == 0)
    kept = adverse.content[first + adverse.position[rows][whole].astype(int)].astype(np.float32)
    np.testing.assert_allclose(content[whole], kept, atol=5e-3)


def test_what_was_prepared_is_only_opened_again(adverse, corpus, monkeypatch, tmp_path):
    with pytest.raises(TrainingError, match="holds no corpus under adversity; prepare it first"):
        AdverseCorpus(tmp_path, corpus)
    monkeypatch.setattr(module, "working_processes", None)
    folder = Path(adverse.envelope.filename).parent
    assert prepare_adversity(corpus, BASE, folder, 11, quiet).entries == adverse.entries


def test_without_a_base_nothing_is_begun(corpus, tmp_path):
    with pytest.raises(VoiceError):
        prepare_adversity(corpus, tmp_path / "base.safetensors", tmp_path / "adversity", 11, quiet)
    assert not (tmp_path / "adversity").exists()


def test_what_was_made_with_another_base_is_not_taken_for_this_ones(adverse, corpus, tmp_path):
    other = BaseModel()
    save_weights(tmp_path / "base.safetensors", other.state_dict(), {})
    folder = Path(adverse.envelope.filename).parent
    with pytest.raises(TrainingError, match="was made with another base, or this one has been hardened already"):
        prepare_adversity(corpus, tmp_path / "base.safetensors", folder, 11, quiet)
