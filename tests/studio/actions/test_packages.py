import zipfile

import pytest

from engine.errors import DatasetError, VoiceError
from studio.actions.creations import create_model
from studio.actions.packages import export_model, import_model
from studio.actions.voices import delete_model, model_view, models_view
from studio.errors import NotFound, NotReadable


def test_refusals_do_not_show_what_a_file_is_called_here(studio, package, tmp_path):
    upload = tmp_path / "0"
    with zipfile.ZipFile(upload, "w") as archive:
        archive.writestr("model.json", '{"name": "Nobody"}')
    with pytest.raises(DatasetError, match=r"^The zip holds no recordings"):
        create_model(studio, studio.local, upload)
    with pytest.raises(VoiceError, match=r"^The file is not a voice"):
        import_model(studio, studio.local, upload)


def test_a_voice_goes_out_and_comes_in_under_an_id_of_its_own(studio, other, tmp_path):
    export_model(studio, studio.local, "koguchi", tmp_path / "out.zip")
    assert import_model(studio, studio.local, tmp_path / "out.zip") == "koguchi-2"
    assert import_model(studio, other, tmp_path / "out.zip") == "koguchi-2"
    assert "koguchi-2" in {one["id"] for one in models_view(studio, other)["models"]}
    export_model(studio, other, "koguchi-2", tmp_path / "again.zip")
    delete_model(studio, other, "koguchi-2")
    with pytest.raises(NotFound):
        export_model(studio, other, "koguchi-2", tmp_path / "gone.zip")
    assert model_view(studio, studio.local, "koguchi-2")["state"] == "completed"


def test_what_is_no_voice_does_not_come_in(studio, package, recording):
    with pytest.raises(VoiceError):
        import_model(studio, studio.local, package())
    with pytest.raises(NotReadable):
        import_model(studio, studio.local, recording())
    assert len(models_view(studio, studio.local)["models"]) == 4
