import numpy as np
import pytest

from engine.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, frame_loudness
from engine.pretraining.colours import measure_colours


def test_each_speaker_counts_once(corpus):
    means = np.array([clip.mean[:LOW_BANDS] for clip in corpus.clips])
    speakers = means.reshape(-1, 2, LOW_BANDS).mean(1)  # two clips of the same length each
    known = measure_colours(corpus, corpus.clips, 7)
    np.testing.assert_allclose(known.mean, speakers.mean(0), atol=1e-6)
    np.testing.assert_allclose(np.diag(known.between), speakers.var(0, ddof=1), atol=1e-6)
    # a third clip of the first speaker changes that speaker alone
    more = measure_colours(corpus, [*corpus.clips, corpus.clips[0]], 7)
    np.testing.assert_allclose(more.mean - known.mean, (means[0] - means[1]) / 6 / len(speakers), atol=1e-6)


def test_the_spread_is_that_of_the_frames(corpus):
    known = measure_colours(corpus, corpus.clips[:1], 7)
    clip = corpus.clips[0]
    frames = corpus.envelope[clip.first_frame : clip.first_frame + clip.frames, :LOW_BANDS].astype(np.float64)
    relative = np.maximum(frames - clip.nepers, SILENT)
    sounding = frame_loudness(corpus.envelope[clip.first_frame : clip.first_frame + clip.frames].astype(np.float32))
    expected = np.cov(relative[sounding > clip.nepers + ACTIVE_NEPERS].T, bias=True)
    np.testing.assert_allclose(known.within, expected, atol=2e-3)
    assert np.diag(expected).min() > 0.01


@pytest.mark.parametrize("clips", [1, 2])
def test_one_speaker_tells_nothing_of_how_speakers_differ(corpus, clips):
    known = measure_colours(corpus, corpus.clips[:clips], 7)
    assert not known.between.any()
    assert np.isfinite(known.within).all()
