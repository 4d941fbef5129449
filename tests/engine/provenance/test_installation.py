"""Keys of an installation, and what happens where they cannot be used: the recording is always written."""

import datetime
import stat

import numpy as np
import pytest

from engine.audio.files import Audio, AudioWriter, write_audio
from engine.errors import ProvenanceError
from engine.provenance import certificates
from engine.provenance.certificates import new_identity
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.provenance.verification import verify

STATEMENT = Statement("mia", "Mia", None, {}, None, "0.9")
TONE = np.full((1, 4410), 0.1, np.float32)


def written(path, installation):
    """The reason for which the file carries no credentials."""
    with AudioWriter(path, 44_100, 1, STATEMENT, installation) as writer:
        writer.write(TONE)
    assert path.exists()
    return writer.unsigned


@pytest.fixture
def here(tmp_path):
    return Installation(tmp_path / "home")


def own_certificate(folder, identity=None):
    identity = identity or new_identity()
    (folder / "certificate.pem").write_bytes(identity.certificates_pem())
    (folder / "key.pem").write_bytes(identity.key_pem())
    return Installation(folder / "home", True, folder / "certificate.pem", folder / "key.pem")


def test_identity_is_created_once_and_readable_only_by_the_owner(here):
    first = here.identity()
    assert here.identity().certificate == first.certificate
    path = here.folder / "identity.pem"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(here.folder.stat().st_mode) == 0o700
    path.chmod(0o644)
    here.identity()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_identity_leaves_the_rights_of_what_links_lead_to(here, tmp_path):
    """Hosts keep keys elsewhere, for a group, with a link in the data folder."""
    here.identity()
    kept = here.folder.rename(tmp_path / "kept") / "identity.pem"
    kept.chmod(0o640)
    here.folder.symlink_to(kept.parent)
    here.identity()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    here.folder.unlink()
    here.folder.mkdir()
    (here.folder / "identity.pem").symlink_to(kept)
    here.identity()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


def test_identity_file_holds_no_authority_key(here):
    here.identity()
    assert (here.folder / "identity.pem").read_bytes().count(b"PRIVATE KEY-----") == 2  # begin and end of one


def test_audio_writer_with_signing_off_writes_no_credentials_or_tags(tmp_path):
    off = Installation(tmp_path / "home", signs=False)
    assert written(tmp_path / "take.wav", off) == "Content credentials are switched off here."
    assert verify(tmp_path / "take.wav", off).tags is None
    assert not off.folder.exists()


def test_installation_round_trips_through_the_environment(tmp_path):
    installation = Installation(tmp_path, False, tmp_path / "a.pem", tmp_path / "b.pem")
    assert Installation.from_environment(installation.as_environment()) == installation
    assert Installation.from_environment({"TIMBRE_STUDIO_HOME": str(tmp_path)}) == Installation(tmp_path)


def test_audio_writer_signs_with_the_hosts_own_certificate(tmp_path):
    installation = own_certificate(tmp_path)
    assert written(tmp_path / "take.wav", installation) is None
    assert verify(tmp_path / "take.wav", installation).state == "made_here"
    assert not (installation.folder / "identity.pem").exists()
    with pytest.raises(ProvenanceError, match="comes from a setting"):
        installation.rotate()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"", "signing key in .* cannot be read: run `timbre-studio credentials rotate`"),
        (b"-----BEGIN PRIVATE KEY-----\ngarbled\n", "cannot be read"),
        (b"x" * 100_000, "cannot be read"),
    ],
)
def test_audio_writer_writes_unsigned_with_a_damaged_key_until_rotation(here, tmp_path, damage, reason):
    here.identity()
    (here.folder / "identity.pem").write_bytes(damage)
    with pytest.raises(ProvenanceError, match=reason):
        here.identity()
    assert "cannot be read" in written(tmp_path / "take.wav", here)
    found = verify(tmp_path / "take.wav", here)
    assert found.state == "no_credentials"
    assert "Synthetic" in found.tags  # the tags say it still
    here.rotate()
    assert written(tmp_path / "take.wav", here) is None


def test_verify_accepts_earlier_files_after_a_missing_key_is_replaced(here, tmp_path):
    written(tmp_path / "before.wav", here)
    (here.folder / "identity.pem").unlink()
    assert written(tmp_path / "after.wav", here) is None
    assert [verify(tmp_path / name, here).state for name in ("before.wav", "after.wav")] == ["made_here"] * 2


def test_audio_writer_writes_unsigned_without_a_writable_key_folder(tmp_path):
    (tmp_path / "home").write_text("a file where the folder should be")  # root may write to read-only folders
    reason = written(tmp_path / "take.wav", Installation(tmp_path / "home"))
    assert reason.startswith("No signing key could be stored in")


@pytest.mark.parametrize(("shift_days", "reason"), [(-10_000, "expired on"), (40, "set the clock")])
def test_audio_writer_writes_unsigned_with_a_certificate_outside_its_validity(
    here, tmp_path, monkeypatch, shift_days, reason
):
    monkeypatch.setattr(certificates, "_CLOCKS_APART", -datetime.timedelta(days=shift_days))
    here.identity()
    assert reason in written(tmp_path / "take.wav", here)


def test_audio_writer_names_the_fault_of_an_unusable_host_certificate(tmp_path):
    installation = own_certificate(tmp_path)
    (tmp_path / "key.pem").write_bytes(new_identity().key_pem())
    assert "do not belong together" in written(tmp_path / "take.wav", installation)
    (tmp_path / "key.pem").unlink()
    assert "No such file" in written(tmp_path / "take.wav", installation)
    lonely = Installation(tmp_path / "home", True, tmp_path / "certificate.pem", None)
    assert "needs both settings" in written(tmp_path / "take.wav", lonely)


def test_write_audio_warns_if_a_synthetic_recording_is_not_signed(tmp_path, monkeypatch):
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "home"))
    with pytest.warns(UserWarning, match="has no content credentials"):
        write_audio(tmp_path / "take.wav", Audio(TONE, 44_100, STATEMENT))


def test_known_certificates_contain_no_private_key(here):
    here.identity()
    assert all(b"PRIVATE" not in pem for pem in here.known())
    assert len(here.known()) == 1
