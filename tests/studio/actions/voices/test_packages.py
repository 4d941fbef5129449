import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import DatasetError, EngineError, VoiceError
from engine.files import named
from engine.voices.package import export_voice
from engine.voices.voice import load_voice, save_voice
from studio.actions.recordings import open_file
from studio.actions.rvc_models import RvcFiles
from studio.actions.voices.datasets import create_model
from studio.actions.voices.packages import (
    Namesake,
    export_model,
    free_name,
    import_model,
    import_upload,
    namesakes,
    package_card,
    package_link,
    replace_model,
)
from studio.actions.voices.voice import delete_model, model_view, models_view
from studio.errors import DiskFull, NotFound, NotReadable, WrongState
from studio.settings.service import ServiceSettings
from studio.store.catalogue import find_model

NOW_S = 1_800_000_000.0
ROOT = Path(__file__).parents[4]


def test_create_model_and_import_upload_name_a_file_as_its_owner_does(studio, tmp_path):
    upload = tmp_path / "0"
    with zipfile.ZipFile(upload, "w") as archive:
        archive.writestr("model.json", '{"name": "Nobody"}')
    with pytest.raises(DatasetError, match=r'^"Mia\.zip" holds no recordings'):
        create_model(studio, studio.local, named(upload, "Mia.zip"))
    with pytest.raises(VoiceError, match=r'^"Mia\.zip" is not a voice'):
        import_upload(studio, studio.local, upload, "Mia.zip", None, RvcFiles())


@pytest.mark.parametrize("name", ["Mia.zip", "Mia.pth", "Mia.onnx"])
@pytest.mark.parametrize("content", [b"PK\x03\x04" + bytes(100), b"<!doctype html>", b"", b"anything"])
def test_import_upload_names_what_is_no_voice_as_its_owner_does(studio, tmp_path, name, content):
    upload = tmp_path / "0"
    upload.write_bytes(content)
    with pytest.raises(EngineError) as refused:
        import_upload(studio, studio.local, upload, name, None, RvcFiles())
    assert f'"{name}"' in str(refused.value)


def test_import_model_gives_an_exported_voice_a_free_id_in_each_account(studio, other, tmp_path):
    export_model(studio, studio.local, "koguchi", tmp_path / "out.zip")
    assert import_model(studio, studio.local, tmp_path / "out.zip") == "koguchi-2"
    assert import_model(studio, other, tmp_path / "out.zip") == "koguchi-2"
    assert "koguchi-2" in {one.id for one in models_view(studio, other).models}
    export_model(studio, other, "koguchi-2", tmp_path / "again.zip")
    delete_model(studio, other, "koguchi-2")
    with pytest.raises(NotFound):
        export_model(studio, other, "koguchi-2", tmp_path / "gone.zip")
    assert model_view(studio, studio.local, "koguchi-2").state == "completed"


def test_import_model_renames_and_replace_model_replaces_an_existing_voice(studio, package, tmp_path):
    export_model(studio, studio.local, "koguchi", tmp_path / "koguchi.zip")
    assert package_card(tmp_path / "koguchi.zip").name == "Koguchi"
    there = [Namesake(id="koguchi", demo=True)]
    assert namesakes(studio, studio.local, tmp_path / "koguchi.zip") == ("Koguchi", there)
    name = free_name(studio, studio.local, "Koguchi")
    model = import_model(studio, studio.local, tmp_path / "koguchi.zip", voice_name=name)
    assert (name, model) == ("Koguchi 2", "koguchi-2")
    assert model_view(studio, studio.local, model).name == "Koguchi 2"
    shouted = import_model(studio, studio.local, tmp_path / "koguchi.zip", voice_name="KOGUCHI")
    there.append(Namesake(id=shouted, demo=False))
    assert namesakes(studio, studio.local, tmp_path / "koguchi.zip") == ("Koguchi", there)

    own = create_model(studio, studio.local, package())  # which has recordings
    before = find_model(studio.database, studio.local, own)
    replace_model(studio, studio.local, own, tmp_path / "koguchi.zip")
    after = find_model(studio.database, studio.local, own)
    assert (after.id, after.name, after.state) == (own, "Koguchi", "completed")
    assert after.dataset_key == before.dataset_key is not None
    export_model(studio, studio.local, own, tmp_path / "again.zip")
    assert package_card(tmp_path / "again.zip").id == own
    with pytest.raises(WrongState, match="demo voice"):
        replace_model(studio, studio.local, "koguchi", tmp_path / "koguchi.zip")


@pytest.mark.parametrize("name", ["mia.pt", "G_1000.CKPT", "mia.safetensors"])
def test_import_model_refuses_a_model_of_another_program_with_advice(studio, tmp_path, name):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:  # which those of PyTorch are
        archive.writestr("archive/data.pkl", b"")
    with pytest.raises(NotReadable, match=r"is a model of another program.*create a new voice"):
        import_model(studio, studio.local, tmp_path / name)


def test_import_model_refuses_an_index_or_a_speaker_with_a_voice_package(studio, tmp_path):
    """They were left out without a word."""
    voice = tmp_path / "koguchi.zip"
    export_model(studio, studio.local, "koguchi", voice)
    for files in (RvcFiles(tmp_path / "a.index"), RvcFiles(speaker=3)):
        with pytest.raises(NotReadable, match="leave them out when you import a voice package") as refused:
            import_model(studio, studio.local, voice, files=files)
        assert refused.value.code == "wrong_index"
    assert import_model(studio, studio.local, voice, files=RvcFiles())


def test_import_model_refuses_a_dataset_and_a_recording(studio, package, recording):
    with pytest.raises(VoiceError):
        import_model(studio, studio.local, package())
    with pytest.raises(NotReadable):
        import_model(studio, studio.local, recording())
    assert len(models_view(studio, studio.local).models) == 6


def test_package_link_opens_the_package_until_the_voice_is_deleted(studio, tmp_path):
    export_model(studio, studio.local, "koguchi", tmp_path / "out.zip")
    model = import_model(studio, studio.local, tmp_path / "out.zip")
    link = package_link(studio, studio.local, model, "", NOW_S)
    assert link["name"] == "Koguchi.voice.zip"
    assert link["url"].startswith("/files/packages/koguchi-2/koguchi-2.voice.zip?expires=")
    key, query = link["url"].removeprefix("/files/").split("?")
    asked = dict(one.split("=", 1) for one in query.split("&"))
    stored = open_file(studio, key, asked["expires"], asked["signature"])
    fetched = tmp_path / "fetched.zip"
    fetched.write_bytes(b"".join(studio.storage.read(stored.key)))
    assert import_model(studio, studio.local, fetched) == "koguchi-3"
    delete_model(studio, studio.local, model)
    assert studio.storage.head(key) is None
    assert package_link(studio, studio.local, "kathleen", "", NOW_S)["name"] == "Kathleen.voice.zip"


def test_package_link_refuses_untrained_voices_voices_of_others_and_a_full_disk(studio, other, package):
    model = create_model(studio, studio.local, package())
    with pytest.raises(WrongState, match="train it first"):
        package_link(studio, studio.local, model, "", NOW_S)
    with pytest.raises(NotFound):
        package_link(studio, other, model, "", NOW_S)
    full = replace(studio, service=ServiceSettings(free_disk_mb=10_000_000))
    with pytest.raises(DiskFull):
        package_link(full, studio.local, "kathleen", "", NOW_S)
    assert not (studio.settings.data / "packages").exists()


@pytest.mark.parametrize("value", [0.0, 6e4])
def test_import_model_refuses_weights_that_render_no_voice(studio, tmp_path, value):
    """They are numbers, so it came in; and then its conversions held NaN, or nothing."""
    voice = load_voice("koguchi")
    weights = {"centre": voice.centre * 0 + 6e4} if value == 0.0 else {"contrast": voice.contrast * 0 + value}
    save_voice(replace(voice, **weights), tmp_path / "koguchi")
    export_voice(tmp_path / "koguchi", tmp_path / "out.zip")
    with pytest.raises(VoiceError, match="produce no usable sound"):
        import_model(studio, studio.local, tmp_path / "out.zip")
    assert len(models_view(studio, studio.local).models) == 6


def test_export_voice_does_not_load_torch(tmp_path):
    """It took a server 240 MB for good."""
    program = f"""
import sys
from engine.voices.card import DEMO_VOICES
from studio.actions.voices.packages import export_voice
export_voice(DEMO_VOICES / "koguchi", __import__("pathlib").Path({str(tmp_path / "out.zip")!r}))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
    assert (tmp_path / "out.zip").stat().st_size > 1_000_000


@pytest.mark.parametrize("start", [b"some words\n", b"#!/bin/sh\n"])
def test_create_model_and_import_model_refuse_a_zip_with_leading_bytes(studio, package, tmp_path, start):
    """It was refused as a data set, in the words "The zip is not a ZIP file"."""
    odd = tmp_path / "0"
    odd.write_bytes(start + package().read_bytes())
    with pytest.raises(NotReadable, match="not a zip"):
        create_model(studio, studio.local, odd)
    with pytest.raises(NotReadable, match="not a voice package"):
        import_model(studio, studio.local, odd)
