"""What credentials prove: made here, made by another, changed since, or nothing."""

import datetime
import shutil
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from engine.audio.files import Audio, AudioWriter, read_audio, write_audio
from engine.audio.session_metadata import Marker, SessionPlace
from engine.errors import AudioError
from engine.provenance import certificates, verification
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.provenance.verification import statement_of, verify
from engine.voices.card import DEMO_VOICES, PREVIEW_FILE
from tests.waiting import wait_until

SIGNED = (".wav", ".flac", ".mp3", ".m4a")
STATEMENT = Statement("mia", "Mïa", "a" * 64, {"transpose": 0, "likeness": 0.5}, "b" * 64, "0.9")


@pytest.fixture
def here(tmp_path, monkeypatch):
    installation = Installation(tmp_path / "home")
    for name, value in installation.as_environment().items():
        monkeypatch.setenv(name, value)
    return installation


@pytest.fixture
def audio():
    return Audio(np.random.default_rng(0).normal(0, 0.1, (2, 12_345)).astype(np.float32), 44_100)


def synthetic(audio, path):
    write_audio(path, replace(audio, statement=STATEMENT))
    return path


@pytest.mark.parametrize("suffix", [*SIGNED, ".ogg", ".aiff"])
def test_write_audio_with_a_statement_keeps_samples_and_length(here, audio, tmp_path, suffix):
    write_audio(tmp_path / f"plain{suffix}", audio)
    made, plain = read_audio(synthetic(audio, tmp_path / f"made{suffix}")), read_audio(tmp_path / f"plain{suffix}")
    assert np.array_equal(made.samples, plain.samples)
    assert made.sample_count == 12_345


@pytest.mark.parametrize("suffix", SIGNED)
def test_verify_returns_the_whole_statement_of_a_file_made_here(here, audio, tmp_path, suffix):
    found = verify(synthetic(audio, tmp_path / f"made{suffix}"), here)
    assert (found.state, found.synthetic) == ("made_here", True)
    assert found.statement == {
        "voice": {"id": "mia", "name": "Mïa", "consent_sha256": "a" * 64},
        "settings": {"transpose": 0, "likeness": 0.5},
        "source_sha256": "b" * 64,
        "engine": "0.9",
    }


@pytest.mark.parametrize("suffix", [*SIGNED, ".ogg", ".aiff"])
def test_verify_finds_the_synthetic_tag_in_every_format(here, audio, tmp_path, suffix):
    found = verify(synthetic(audio, tmp_path / f"made{suffix}"), here)
    assert "compositeWithTrainedAlgorithmicMedia" in found.tags
    assert found.state == ("made_here" if suffix in SIGNED else "no_credentials")


@pytest.mark.parametrize("suffix", SIGNED)
def test_verify_reports_a_file_of_another_installation_as_made_elsewhere(here, audio, tmp_path, suffix):
    other = verify(synthetic(audio, tmp_path / f"made{suffix}"), Installation(tmp_path / "other"))
    assert (other.state, other.synthetic) == ("made_elsewhere", True)
    assert "does not know" in other.sentence


@pytest.mark.parametrize("suffix", SIGNED)
def test_verify_finds_a_flipped_bit_anywhere_in_a_signed_file(here, audio, tmp_path, suffix):
    content = synthetic(audio, tmp_path / f"made{suffix}").read_bytes()
    changed = tmp_path / f"changed{suffix}"
    for place in np.random.default_rng(1).integers(0, len(content), 60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(place) % 8
        changed.write_bytes(flipped)
        assert verify(changed, here).state == "changed", place


@pytest.mark.system
def test_verify_finds_a_flipped_bit_in_every_seventh_byte_of_a_wav(here, tmp_path):
    content = synthetic(Audio(np.full((1, 100), 0.1, np.float32), 44_100), tmp_path / "made.wav").read_bytes()
    for place in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[place] ^= 1
        (tmp_path / "changed.wav").write_bytes(flipped)
        assert verify(tmp_path / "changed.wav", here).state == "changed", place


def test_verify_finds_a_flipped_bit_in_every_byte_before_the_credentials_of_an_m4a(here, audio, tmp_path):
    content = synthetic(audio, tmp_path / "made.m4a").read_bytes()
    for place in range(80):
        flipped = bytearray(content)
        flipped[place] ^= 1
        (tmp_path / "changed.m4a").write_bytes(flipped)
        try:
            assert verify(tmp_path / "changed.m4a", here).state == "changed", place
        except AudioError:
            continue  # it is no audio file any more


def test_verify_makes_no_claim_about_a_file_without_credentials(here, audio, tmp_path):
    write_audio(tmp_path / "plain.wav", audio)
    found = verify(tmp_path / "plain.wav", here)
    assert (found.state, found.synthetic) == ("no_credentials", None)
    assert "doesn't prove that the audio is original" in found.sentence


def test_verify_refuses_a_text_file_and_a_missing_file(here, tmp_path):
    (tmp_path / "text.wav").write_text("Dear diary")
    with pytest.raises(AudioError, match="not an audio file"):
        verify(tmp_path / "text.wav", here)
    with pytest.raises(AudioError, match="cannot be read"):
        verify(tmp_path / "none.wav", here)


@pytest.mark.parametrize("voice", sorted(folder.name for folder in DEMO_VOICES.iterdir()))
def test_verify_reports_previews_of_demo_voices_as_synthetic(here, voice):
    found = verify(DEMO_VOICES / voice / PREVIEW_FILE, here)
    assert (found.state, found.synthetic) == ("made_elsewhere", True)
    assert found.statement["voice"]["id"] == voice


def test_verify_recognises_files_from_before_a_key_rotation(here, audio, tmp_path):
    before = synthetic(audio, tmp_path / "before.wav")
    here.rotate()
    after = synthetic(audio, tmp_path / "after.wav")
    assert [verify(path, here).state for path in (before, after)] == ["made_here", "made_here"]
    assert len({verify(path, here).signer for path in (before, after)}) == 2


def test_verify_reports_an_expired_certificate_as_made_elsewhere(here, audio, tmp_path, monkeypatch):
    """By the clock of c2pa, which no test can set: a certificate of two seconds, or longer if signing takes longer."""
    made = tmp_path / "made.wav"
    monkeypatch.setattr(certificates, "_VALID_DAYS", 1)
    for valid_s in (2, 10, 60, 300):
        monkeypatch.setattr(certificates, "_CLOCKS_APART", datetime.timedelta(days=1, seconds=-valid_s))
        here.rotate()
        with suppress(UserWarning):  # it has no credentials, as the certificate has expired already
            if verify(synthetic(audio, made), here).state == "made_here":
                break
    end = here.identity().certificate.not_valid_after_utc + datetime.timedelta(seconds=1)
    wait_until(lambda: datetime.datetime.now(datetime.UTC) > end)
    found = verify(made, here)
    assert found.state == "made_elsewhere"
    assert "not valid now" in found.sentence


def test_attach_credentials_signs_an_m4a_and_keeps_its_samples(here, audio, tmp_path):
    import av

    from engine.provenance.credentials import attach_credentials

    with av.open(str(tmp_path / "made.m4a"), "w") as file:
        stream = file.add_stream("aac", rate=44_100, layout="stereo")
        frame = av.AudioFrame.from_ndarray(audio.samples, format="fltp", layout="stereo")
        frame.sample_rate = 44_100
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    shutil.copyfile(tmp_path / "made.m4a", tmp_path / "plain.m4a")
    attach_credentials(tmp_path / "made.m4a", ".m4a", STATEMENT, here.identity())
    assert verify(tmp_path / "made.m4a", here).state == "made_here"
    assert np.array_equal(read_audio(tmp_path / "made.m4a").samples, read_audio(tmp_path / "plain.m4a").samples)


def test_verify_looks_at_padding_and_small_parts_within_a_limit(tmp_path, monkeypatch):
    """The library of content credentials and FFmpeg get nothing whose parts they count for minutes."""
    seen: list[object] = []
    monkeypatch.setattr(verification, "read_manifests", lambda path, *_: seen.append(path))
    monkeypatch.setattr(verification.av, "open", lambda path, **_: seen.append(path))
    with AudioWriter(tmp_path / "a.wav", 8000, 1) as writer:
        writer.write(np.zeros((1, 800), np.float32))
    padded = (tmp_path / "a.wav").read_bytes() + bytes(1 << 20)
    small = b"\0\0\0\x20ftypM4A \0\0\2\0M4A isomiso2mp41" + b"\0\0\0\x08free" * 20_000
    for name, content in (("padded.wav", padded), ("small.m4a", small)):
        (tmp_path / name).write_bytes(content)
        assert verify(tmp_path / name).state == "no_credentials"
    assert not seen


def test_statement_of_reads_the_comment_of_a_wav_that_has_a_place_and_lost_its_credentials(here, audio, tmp_path):
    made = tmp_path / "a.wav"
    place = SessionPlace(audio.rate, 48_000, (Marker(10, b"verse"),))
    with AudioWriter(made, audio.rate, audio.channels, STATEMENT, here, place) as writer:
        writer.write(audio.samples)
    content = made.read_bytes()
    made.write_bytes(content[: content.index(b"C2PA")])
    found = statement_of(made, here)
    assert (found.voice, found.engine) == ("mia", "0.9")
