import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clip_parcel import packed, unpacked
from engine.clips import Clip
from engine.envelope import BANDS, Level
from engine.pitch import Pitch


def clip(frames: int, seed: int) -> Clip:
    random = np.random.default_rng(seed)
    pitch = Pitch(*(random.uniform(0, 1, (2, frames)).astype(np.float32)))
    level = Level(float(random.normal()), random.normal(size=BANDS).astype(np.float32))
    envelope = random.normal(size=(frames, BANDS)).astype(np.float16)
    return Clip(envelope, pitch, random.normal(size=frames).astype(np.float32), level, seed % BANDS + 1, f"{seed}.wav")


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
        assert np.array_equal(one.level.mean, other.level.mean)
        assert (one.level.nepers, one.bands) == (other.level.nepers, other.bands)
        assert (other.name, other.path) == ("", None)


def test_what_is_no_parcel_is_not_opened():
    with pytest.raises(Exception, match=r"(?i)header|invalid"):
        unpacked(b"not a parcel")
