import json
import zipfile
from dataclasses import replace

import pytest

from engine.errors import VoiceError
from engine.provenance.installation import Installation
from engine.texts import tr
from engine.voices.card import load_card
from engine.voices.package import export_voice, import_voice
from engine.voices.voice import load_voice, save_voice
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.recordings import (
    check_recording,
    consent_line,
    refuse_without_consent,
    shown_name,
    suffix_of,
    verify_file,
)
from studio.actions.voices.datasets import create_model
from studio.actions.voices.packages import import_model
from studio.actions.voices.profiles import edit_profile, profile_values
from studio.actions.voices.voice import model_view
from studio.errors import NotReadable, WrongState

CONSENT = {"statement": "I agree.", "by": "Mia Muster", "date": "2026-11-01"}


@pytest.fixture
def voice(tmp_path):
    """The folder of a voice with a consent, as a training leaves it."""
    loaded = load_voice("koguchi")
    save_voice(replace(loaded, card=replace(loaded.card, id="mia", name="Mia", consent=CONSENT)), tmp_path / "mia")
    return tmp_path / "mia"


@pytest.fixture
def elsewhere(tmp_path):
    return Installation(tmp_path / "elsewhere")


def changed(package, target, **card):
    """The package with other fields on its card, and checksums that fit."""
    import hashlib

    with zipfile.ZipFile(package) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["card.json"] = json.dumps(json.loads(contents["card.json"]) | card).encode()
    contents["consent.json"] = json.dumps(json.loads(contents["card.json"])["consent"]).encode()
    sums = json.loads(contents["checksums.json"])
    sums["sha256"] = {name: hashlib.sha256(contents[name]).hexdigest() for name in sums["sha256"]}
    contents["checksums.json"] = json.dumps(sums).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return target


def test_model_view_shows_the_signer_of_an_imported_consent(studio, voice, elsewhere, tmp_path):
    package = export_voice(voice, tmp_path / "mia.voice.zip", elsewhere)
    view = model_view(studio, studio.local, import_model(studio, studio.local, package))
    assert view.consent == CONSENT
    assert view.consent_origin.startswith("signed by Timbre Studio ")
    line = consent_line(view.consent, view.consent_origin)
    assert line.startswith("Mia Muster, 2026-11-01, signed by Timbre Studio ")


def test_export_voice_keeps_the_first_consent_signature(studio, voice, elsewhere, tmp_path):
    first = export_voice(voice, tmp_path / "first.zip", elsewhere)
    card = import_voice(first, tmp_path / "voices")
    again = export_voice(tmp_path / "voices" / "mia", tmp_path / "again.zip", studio.installation)
    assert again.read_bytes() == first.read_bytes()
    assert card.consent_seal == load_card(tmp_path / "voices" / "mia").consent_seal


def test_model_view_shows_an_unsigned_consent_as_not_signed(studio, voice, tmp_path):
    package = export_voice(voice, tmp_path / "mia.zip")
    view = model_view(studio, studio.local, import_model(studio, studio.local, package))
    assert view.consent_origin == "not signed"


@pytest.mark.parametrize("card", [{"consent": CONSENT | {"by": "Max"}}, {"consent_seal": {"signature": "AAAA"}}])
def test_import_model_refuses_a_consent_changed_after_signing(studio, voice, elsewhere, tmp_path, card):
    package = export_voice(voice, tmp_path / "mia.zip", elsewhere)
    with pytest.raises(VoiceError, match="consent has been changed since it was signed"):
        import_model(studio, studio.local, changed(package, tmp_path / "changed.zip", **card))


def test_edit_profile_removes_the_signature_only_if_the_consent_changes(studio, voice, elsewhere, tmp_path):
    model = import_model(studio, studio.local, export_voice(voice, tmp_path / "mia.zip", elsewhere))
    edit_profile(studio, studio.local, model, profile_values(studio, studio.local, model) | {"name": "Anna"})
    assert "signed by" in model_view(studio, studio.local, model).consent_origin
    edited = profile_values(studio, studio.local, model) | {"consent": CONSENT | {"by": "Max"}}
    edit_profile(studio, studio.local, model, edited)
    assert model_view(studio, studio.local, model).consent_origin == "not signed"


def test_import_create_and_convert_refuse_a_voice_without_required_consent(studio, voice, package, recording, tmp_path):
    strict = replace(studio, service=replace(studio.service, consent="required"))
    loaded = load_voice(voice)
    save_voice(replace(loaded, card=replace(loaded.card, consent={})), tmp_path / "none")
    refused = export_voice(tmp_path / "none", tmp_path / "none.zip")
    with pytest.raises(WrongState, match="states no consent"):
        import_model(strict, strict.local, refused)
    with pytest.raises(WrongState, match="states no consent"):
        create_model(strict, strict.local, package())
    model = import_model(studio, studio.local, refused)  # before the setting
    with pytest.raises(WrongState, match="states no consent"):
        start_conversion(strict, strict.local, recording(), "vocal.wav", ConversionRequest(model, {}))
    assert import_model(strict, strict.local, export_voice(voice, tmp_path / "mia.zip"))
    refuse_without_consent(studio, {})


def test_demo_voices_state_their_consent(studio):
    for name in ("everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"):
        view = model_view(studio, studio.local, name)
        refuse_without_consent(replace(studio, service=replace(studio.service, consent="required")), view.consent)
        assert view.consent_origin == "comes with the program"


@pytest.mark.parametrize(
    ("name", "head", "suffix"),
    [
        ("Vocal.FLAC", b"RIFF", ".flac"),  # the name goes first
        ("vocal", b"RIFF\x00\x00\x00\x00WAVE", ".wav"),
        ("vocal.bin", b"fLaC", ".flac"),
        ("vocal.mp4", b"\x00\x00\x00\x20ftypisom", ".m4a"),
        ("vocal.webm", b"\x1aE\xdf\xa3", ".webm"),
        ("vocal", b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\0", ".mp3"),
        ("vocal", b"\xff\xfb\x90\0", ".mp3"),  # without a tag
        ("vocal", b"\xff\xf1\x50\x80", ".aac"),
        ("vocal.html", b"<html>", ""),
        ("vocal", b"", ""),
    ],
)
def test_suffix_of_uses_a_known_suffix_of_the_name_or_the_file_header(tmp_path, name, head, suffix):
    (tmp_path / "upload").write_bytes(head)
    assert suffix_of(name, tmp_path / "upload") == suffix


def test_recordings_that_cannot_be_read_are_named_as_their_owner_does(studio, tmp_path):
    upload = tmp_path / "0"
    upload.write_bytes(b"RIFF no more")
    with pytest.raises(NotReadable, match=r'"Ave Maria\.wav"') as refused:
        check_recording(upload, "Ave Maria.wav")
    assert refused.value.code == "audio_not_readable"
    upload.write_bytes(b"anything")
    with pytest.raises(NotReadable, match=r'"Ave Maria\.wav"'):
        verify_file(studio, studio.local, upload, "Ave Maria.wav")
    with pytest.raises(NotReadable, match=r'^"The recording"'):
        check_recording(upload, "")


def test_shown_name_restores_quotation_marks():
    assert shown_name("folder/say %22hey%22 100%.wav") == 'say "hey" 100%.wav'


def test_shown_name_of_a_text_for_people_is_its_english():
    assert type(shown_name(tr("Take {number}.wav", number=3))) is str
