import json
from pathlib import Path

import librosa
import numpy as np
import pytest
import soundfile
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from engine.errors import VoiceError
from engine.networks import listener as module
from engine.networks.listener import (
    FEATURES,
    LISTENER,
    LISTENER_FORMAT,
    LISTENER_RATE,
    WIDTH,
    listen,
    load_listener,
    on_frames,
)
from engine.units import SAMPLE_RATE
from tests.halves import forced_halves, product_precisions

SPEECH = Path(__file__).parents[3] / "engine" / "samples" / "speech.flac"
STEP = LISTENER_RATE // 50
# What CTranslate2 computes of SECOND_TO_THIRD and a second of silence in single precision with Whisper base as the
# packages hold it: every tenth frame of the encoder's output, of which every eighth number, float16 (11, 64). Written
# by, and compared in whole with what that gives, in `test_shipped_listener_matches_the_whisper_encoder` of
# tests/engine/research/pretraining/test_listener.py at commit acffda8d.
REFERENCE = Path(__file__).parents[1] / "data" / "whisper_base_speech.npy"
SECOND_TO_THIRD = slice(LISTENER_RATE, 3 * LISTENER_RATE)  # of SPEECH


@pytest.fixture(scope="module")
def speech() -> np.ndarray:
    """Four seconds of speech at LISTENER_RATE."""
    samples, rate = soundfile.read(SPEECH, dtype="float32")
    assert rate == LISTENER_RATE
    return samples[: 4 * LISTENER_RATE]


class Moment(torch.nn.Module):
    """Stands in for the listener where only time matters: of each frame it hears the one sample in its middle."""

    spectrum = staticmethod(torch.Tensor.clone)

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.zeros(1))
        self.longest = 0

    def encode(self, samples: torch.Tensor) -> torch.Tensor:
        self.longest = max(self.longest, samples.shape[1])
        return samples[:, : samples.shape[1] // STEP * STEP : STEP, None]


def directions(features: np.ndarray) -> np.ndarray:
    """Features less their mean, each frame of length 1."""
    relative = features.astype(np.float64) - features.mean(0, dtype=np.float64)
    return relative / np.linalg.norm(relative, axis=1, keepdims=True)


# ---- what is heard


@settings(max_examples=12)
@given(count=st.integers(0, 20_000), rate=st.sampled_from([LISTENER_RATE, SAMPLE_RATE, 48_000]))
def test_listen_returns_a_feature_frame_every_20_ms(listener, count, rate):
    samples = 0.1 * np.random.default_rng(count).standard_normal(count).astype(np.float32)
    features = listen(listener, samples, rate)
    assert features.dtype == np.float16
    assert features.shape[1] == FEATURES == 1024
    heard = count * LISTENER_RATE / rate
    assert int((heard - 1) // STEP) + 1 <= len(features) <= int((heard + 1) // STEP) + 1
    assert np.isfinite(features).all()


@pytest.mark.parametrize("frame", [3, 18, 26, 40, 49])
def test_listen_changes_most_in_the_20_ms_frame_of_a_click(listener, frame):
    quiet = 0.1 * np.random.default_rng(0).standard_normal(LISTENER_RATE).astype(np.float32)  # not soft
    clicked = quiet.copy()
    clicked[STEP * frame] += 10.0
    before, after = (listen(listener, samples, LISTENER_RATE).astype(float) for samples in (quiet, clicked))
    moved = np.median(np.abs(after - before), 1)  # a few numbers burst at times, wherever the click is
    assert moved.argmax() == frame
    assert moved.max() > 3 * np.median(moved)


def test_spectrum_matches_librosa(listener):
    time_s = np.arange(LISTENER_RATE) / LISTENER_RATE
    sweep = np.cumsum(np.geomspace(60.0, 7500.0, LISTENER_RATE)) / LISTENER_RATE
    samples = (0.5 * np.sin(2 * np.pi * sweep) * np.exp(-5 * time_s)).astype(np.float32)
    power = librosa.feature.melspectrogram(
        y=samples, sr=LISTENER_RATE, n_fft=400, hop_length=160, n_mels=80, fmax=8000.0, pad_mode="reflect"
    )
    decades = np.log10(np.maximum(power[:, :-1], 1e-10))
    expected = (np.maximum(decades, decades.max() - 8.0) + 4.0) / 4.0
    found = listener.spectrum(torch.from_numpy(samples)[None])[0].numpy()
    assert found.shape == (80, 100)
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("hertz", [300.0, 1000.0, 4000.0])
def test_spectrum_peaks_in_the_band_of_a_tone_and_spans_a_quarter_per_decade(listener, hertz):
    tone = np.sin(2 * np.pi * hertz * np.arange(LISTENER_RATE) / LISTENER_RATE).astype(np.float32)
    loud, quiet = (listener.spectrum(torch.from_numpy(gain * tone)[None])[0, :, 10:90] for gain in (1.0, 0.1))
    centres = librosa.mel_frequencies(82, fmax=8000.0)[1:-1]
    assert abs(int(loud.mean(1).argmax()) - np.abs(centres - hertz).argmin()) <= 1
    torch.testing.assert_close(loud.amax() - quiet.amax(), torch.tensor(0.5), atol=1e-3, rtol=0)  # two decades of power
    torch.testing.assert_close(loud.amin(), loud.amax() - 2.0)  # no more than eight decades are told apart


def test_listener_reads_quiet_speech_as_it_reads_loud_speech(listener, speech):
    """Features of speech 30 dB softer were 3.4 times as far away as those of speech 10 dB softer."""
    loud, usual, quiet = (
        listen(listener, 10 ** (-softer_db / 20) * speech, LISTENER_RATE).astype(float) for softer_db in (0, 10, 30)
    )
    assert np.abs(quiet - loud).mean() < 2.2 * np.abs(usual - loud).mean()


def test_spectrum_of_silence_is_at_the_floor(listener):
    torch.testing.assert_close(listener.spectrum(torch.zeros(1, 1600)), torch.full((1, 80, 10), -1.5))


def test_listener_gives_a_batch_the_same_features_as_each_piece_alone(listener, speech):
    pieces = torch.from_numpy(speech[: 2 * 16_000].reshape(2, -1))
    with torch.inference_mode():
        both, alone = listener(pieces), torch.cat([listener(piece[None]) for piece in pieces])
    torch.testing.assert_close(both, alone, atol=2e-2, rtol=1e-3)


def test_listen_agrees_with_whisper(listener, speech):
    """The last layer, by another program and from weights of half precision."""
    stored = np.load(REFERENCE).astype(float)
    found = listen(listener, speech[SECOND_TO_THIRD], LISTENER_RATE)[::10, WIDTH::8].astype(float)
    assert found.shape == stored.shape == (11, 64)
    assert np.corrcoef(found.ravel(), stored.ravel())[0, 1] > 0.998  # weights of 8 bits
    assert np.abs(found - stored).mean() < 0.05 * stored.std()


def test_listen_roughly_is_nearly_exact_in_halves_and_identical_without(listener, speech, halves):
    own = speech[STEP + 1 : LISTENER_RATE]  # which no other test encodes, so that none has remembered it
    with product_precisions() as precisions:
        rough = listen(listener, own, LISTENER_RATE, roughly=True).astype(float)
    with forced_halves(False):
        exact = listen(listener, own, LISTENER_RATE).astype(float)
    np.testing.assert_array_equal(listen(listener, own, LISTENER_RATE), exact)
    assert (torch.bfloat16 in precisions) == halves
    if halves:
        for layer in (slice(WIDTH), slice(WIDTH, None)):
            likeness = np.corrcoef(exact[:, layer].ravel(), rough[:, layer].ravel())[0, 1]
            assert 0.9998 < likeness < 1
    else:
        np.testing.assert_array_equal(rough, exact)


def test_listen_roughly_keeps_the_spectrum_in_single_precision(speech, halves, monkeypatch):
    seen = []
    moment = Moment()
    monkeypatch.setattr(moment, "spectrum", lambda samples: seen.append(samples[0] @ samples[0]) or samples)
    listen(moment, speech, LISTENER_RATE, roughly=True)
    assert [power.dtype for power in seen] == [torch.float32]


# ---- long recordings


@settings(max_examples=60)
@given(count=st.integers(0, 200 * LISTENER_RATE))
def test_listen_returns_each_frame_once_in_stretches_of_at_most_30_s(count):
    samples = (np.arange(count) % 60_013).astype(np.float32) / 30  # below 2,048 half precision has whole numbers
    moment = Moment()
    heard = listen(moment, samples, LISTENER_RATE)
    middles = np.arange(count // STEP + 1) * STEP
    expected = np.append(samples, 0.0)[np.minimum(middles, count)].astype(np.float16)
    np.testing.assert_array_equal(heard[:, 0], expected)
    assert moment.longest <= 30 * LISTENER_RATE


def test_listen_in_stretches_agrees_with_listen_in_one(listener, speech, monkeypatch):
    whole = directions(listen(listener, speech, LISTENER_RATE))
    monkeypatch.setattr(module, "_LONGEST_S", 2.0)
    monkeypatch.setattr(module, "_AROUND_S", 1.0)
    stretches = directions(listen(listener, speech, LISTENER_RATE))
    likeness = stretches @ whole.T
    assert np.median(np.diag(likeness)) > 0.8
    assert (likeness.argmax(1) == np.arange(len(whole))).mean() > 0.95


# ---- the grid


def test_on_frames_interpolates_between_features_and_holds_the_last():
    features = torch.tensor([[0.0, 10.0], [2.0, 20.0], [4.0, 40.0]], dtype=torch.float16)
    expected = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0])
    for frames in (1, 3, 5, 6, 8):
        found = on_frames(features, frames)
        assert found.dtype == torch.float32
        assert found.shape == (frames, 2)
        torch.testing.assert_close(found[:, 0], expected[:frames])
    torch.testing.assert_close(on_frames(features, 4)[:, 1], torch.tensor([10.0, 15.0, 20.0, 30.0]))


@settings(max_examples=30)
@given(count=st.integers(1, 12), frames=st.integers(1, 30), batch=st.integers(1, 3))
def test_on_frames_keeps_the_features_at_every_second_frame(count, frames, batch):
    features = torch.randn(batch, count, 3, generator=torch.Generator().manual_seed(count))
    found = on_frames(features, frames)
    assert found.shape == (batch, frames, 3)
    kept = min(count, -(-frames // 2))
    torch.testing.assert_close(found[:, : 2 * kept : 2], features[:, :kept])


# ---- the file


def write(path: Path, version: str | None = LISTENER_FORMAT, **tensors: torch.Tensor | None) -> None:
    """The listener's file with other tensors, two underscores for a dot in their names; None takes one out."""
    changed = {name.replace("__", "."): value for name, value in tensors.items()}
    stored = {name: changed.get(name, value) for name, value in load_file(LISTENER).items()} | changed
    kept = {name: value for name, value in stored.items() if value is not None}
    save_file(kept, path, None if version is None else {"format": version})


@pytest.mark.parametrize("kept", [None, 0, 7, 1000, 1_000_000])
def test_load_listener_refuses_a_missing_or_truncated_file(tmp_path, kept):
    path = tmp_path / "listener.safetensors"
    if kept is not None:
        path.write_bytes(LISTENER.read_bytes()[:kept])
    with pytest.raises(VoiceError, match=r"^The weights .*\.safetensors are missing or damaged; install .*\.$"):
        load_listener(path)


@pytest.mark.parametrize(
    "change",
    [
        {"version": None},
        {"version": "0"},
        {"norm__weight": None},
        {"norm__weight": torch.zeros(3)},
        {"blocks__6__norm": torch.zeros(3)},
        {"first__weight__scale": torch.ones(3)},
    ],
)
def test_load_listener_refuses_a_file_of_another_version(tmp_path, change):
    write(tmp_path / "listener.safetensors", **change)
    with pytest.raises(
        VoiceError, match=r"^The weights .*\.safetensors belong to another version of the engine; install it again\.$"
    ):
        load_listener(tmp_path / "listener.safetensors")


def test_shipped_listener_is_small_and_names_its_licence():
    card = json.loads(LISTENER.with_suffix(".json").read_text(encoding="utf-8"))
    assert (card["licence"], card["format"]) == ("MIT", LISTENER_FORMAT)
    assert "OpenAI" in card["copyright"]
    assert LISTENER.stat().st_size < 25e6
