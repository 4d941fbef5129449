from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.envelope import BANDS, Level
from engine.analysis.pitch import Pitch
from engine.features.clips import Clip
from engine.networks.content_encoder import CONTENT
from engine.training.distributed.clip_parcel import packed, unpacked


def clip(frames: int, seed: int) -> Clip:
    random = np.random.default_rng(seed)
    pitch = Pitch(*(random.uniform(0, 1, (2, frames)).astype(np.float32)))
    level = Level(float(random.normal()))
    envelope = random.normal(size=(frames, BANDS)).astype(np.float16)
    content = random.normal(size=(seed % 4, frames, CONTENT)).astype(np.float16)  # in as many hearings
    loudness_db = random.normal(size=frames).astype(np.float32)
    return Clip(envelope, pitch, loudness_db, level, seed % BANDS + 1, content, f"{seed}.wav")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 40), max_size=12))
def test_clips_come_back_as_they_were_without_their_names(lengths):
    clips = [clip(frames, number) for number, frames in enumerate(lengths)]
    found = unpacked(packed(clips))
    assert len(found) == len(clips)
    for one, other in zip(clips, found, strict=True):
        assert np.array_equal(one.envelope, other.envelope)
        assert one.envelope.dtype == other.envelope.dtype
        assert np.array_equal(one.pitch.hertz, other.pitch.hertz)
        assert np.array_equal(one.pitch.voicing, other.pitch.voicing)
        assert np.array_equal(one.loudness_db, other.loudness_db)
        np.testing.assert_array_equal(one.content, other.content, strict=True)
        assert (one.level.nepers, one.bands) == (other.level.nepers, other.bands)
        assert (other.name, other.path) == ("", None)


def test_a_parcel_is_as_large_as_it_says():
    one = replace(clip(1000, 3), content=np.zeros((3, 1000, CONTENT), np.float16))
    assert len(packed([one])) == pytest.approx(630 * 1000, rel=0.05)


def test_what_is_no_parcel_is_not_opened():
    with pytest.raises(Exception, match=r"(?i)header|invalid"):
        unpacked(b"not a parcel")
