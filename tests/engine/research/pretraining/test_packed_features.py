import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS, LOW_BANDS, SILENT, measure_envelope
from engine.analysis.pitch import detect_pitch
from engine.audio.files import read_audio
from engine.errors import TrainingError
from engine.networks.content_encoder import CONTENT
from engine.research.pretraining.corpus import ClipEntry
from engine.research.pretraining.packed_features import (
    ENVELOPE_STEP,
    CropDraws,
    PackedFeatures,
    envelope_steps,
    in_turns,
    pack,
)
from engine.units import HOP, SAMPLE_RATE

CPU = torch.device("cpu")


def test_in_turns_takes_one_recording_of_each_speaker_before_a_second():
    rows = [{"path": f"{speaker}{n}", "set": "set", "speaker": speaker} for speaker in "ab" for n in range(3)]
    rows.append({"path": "c0", "set": "set", "speaker": "c"})
    paths = [row["path"] for row in in_turns(rows, {"a1"})]
    assert paths == ["a0", "b0", "c0", "a2", "b1", "b2"]
    assert in_turns([], set()) == []


def test_envelope_steps_are_within_half_a_step_of_what_they_stand_for():
    envelope = np.linspace(SILENT, 4.0, 500)
    assert np.abs(envelope_steps(envelope) * ENVELOPE_STEP + SILENT - envelope).max() <= ENVELOPE_STEP / 2 + 1e-9
    assert envelope_steps(np.array([-20.0, 9.0])).tolist() == [0, 255]


def test_packed_recordings_hold_what_was_analysed(recordings, packed):
    features = PackedFeatures(packed, CPU)
    assert len({clip.speaker for clip in features.clips}) == 4
    crops = CropDraws(features, features.clips[:1], 1, 100, 0).draw()
    assert crops.content.shape == (1, 100, CONTENT)
    assert crops.envelope.shape == (1, 100, BANDS)
    assert crops.reference.shape == (1, 100, LOW_BANDS)
    assert crops.samples.shape == (1, 99 * HOP)
    recording = read_audio(recordings / features.clips[0].path).samples[0]
    cropped, starts = crops.samples[0].numpy(), range(features.clips[0].frames - 99)
    first = int(np.argmin([np.abs(recording[n * HOP : n * HOP + 99 * HOP] - cropped).max() for n in starts]))
    stretch = slice(first, first + 100)
    np.testing.assert_allclose(crops.samples[0], recording[first * HOP :][: 99 * HOP], atol=2e-4)
    pitch = detect_pitch(recording, SAMPLE_RATE)
    np.testing.assert_allclose(crops.hertz[0], pitch.hertz[stretch], rtol=1e-3)
    envelope = measure_envelope(recording, pitch)[stretch] - features.clips[0].nepers
    assert np.abs(crops.envelope[0].numpy() - envelope.clip(SILENT)).mean() < ENVELOPE_STEP


def test_reference_is_of_the_same_speaker(packed):
    features = PackedFeatures(packed, CPU)
    draws = CropDraws(features, features.clips, 64, 60, 3)
    draws._arrays["envelope"] = draws._arrays["envelope"].clone()
    for number, clip in enumerate(sorted(features.clips, key=lambda clip: clip.speaker)):
        rows = slice(clip.first_frame, clip.first_frame + clip.frames)
        draws._arrays["envelope"][rows] = 100 + 10 * int(clip.speaker[-1]) + number % 2
    crops = draws.draw()
    own, other = crops.envelope[:, 0, 0], crops.reference[:, 0, 0]
    speakers = [((values - SILENT) / ENVELOPE_STEP).round().long() // 10 for values in (own, other)]
    assert torch.equal(*speakers)
    assert len(set(speakers[0].tolist())) == 4
    assert not torch.equal(own, other)  # but not always of the same recording


def test_the_same_seed_draws_the_same_crops(packed):
    features = PackedFeatures(packed, CPU)
    one, same, other = (CropDraws(features, features.clips, 4, 60, seed).draw() for seed in (1, 1, 2))
    assert torch.equal(one.samples, same.samples)
    assert not torch.equal(one.samples, other.samples)


def test_pack_stops_before_the_file_is_too_large(recordings, tmp_path, threads_for_processes):
    path = tmp_path / "packed.safetensors"
    assert len(pack(recordings, path, 420_000, lambda fraction, message: None)) < 8
    assert path.stat().st_size <= 420_000
    with pytest.raises(TrainingError, match="No recording"):
        pack(recordings, tmp_path / "none.safetensors", 1000, lambda fraction, message: None)
    assert not (tmp_path / "none.safetensors").exists()


def test_what_cannot_be_drawn_is_refused(packed, tmp_path):
    with pytest.raises(TrainingError, match="pack them first"):
        PackedFeatures(tmp_path / "missing.safetensors", CPU)
    short = [ClipEntry("a", "set", "set/a", "speech", 0, 50, BANDS, 0.0)]
    with pytest.raises(TrainingError, match="60 frames"):
        CropDraws(PackedFeatures(packed, CPU), short, 2, 60, 0)
