import pytest
import torch

from studio.actions.conversions import usable_voice_folder
from studio.actions.packages import export_model, export_networks, import_model, replace_model
from studio.actions.rvc_models import RvcFiles
from studio.actions.voices import model_view, models_view
from studio.commands.cli import main
from studio.errors import NotReadable, WrongState
from tests.engine.rvc.models import checkpoint_of, read_in_this_process
from tests.engine.rvc.test_index_file import INDEX


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model of RVC; it is read in this process, which is faster."""
    read_in_this_process(monkeypatch)
    monkeypatch.setattr("studio.actions.rvc_models.contentvec_path", lambda: tmp_path / "contentvec.safetensors")
    path = tmp_path / "Mia.pth"
    torch.save(checkpoint_of("v1"), path)
    return path


def test_imported_model_is_listed_and_says_what_is_missing(studio, model):
    identifier = import_model(studio, studio.local, model, files=RvcFiles(INDEX, speaker=2))
    assert identifier in [one["id"] for one in models_view(studio, studio.local)["models"]]
    view = model_view(studio, studio.local, identifier)
    assert (view["name"], view["state"]) == ("Mia", "completed")
    assert "python -m studio rvc fetch" in view["error"]
    with pytest.raises(WrongState, match=r"Mia cannot convert yet\. It needs ContentVec") as caught:
        usable_voice_folder(studio, studio.local, identifier, lambda *_: None, "cpu")
    assert caught.value.code == "no_contentvec"
    (model.parent / "contentvec.safetensors").touch()
    assert model_view(studio, studio.local, identifier)["error"] is None
    assert usable_voice_folder(studio, studio.local, identifier, lambda *_: None, "cpu").is_dir()


def test_imported_model_is_neither_exported_nor_put_in_place_of_a_voice(studio, model, tmp_path):
    identifier = import_model(studio, studio.local, model)
    with pytest.raises(WrongState, match="share the file it came from"):
        export_model(studio, studio.local, identifier, tmp_path)
    with pytest.raises(WrongState, match="under a name of its own"):
        replace_model(studio, studio.local, identifier, model)


def test_other_files_are_refused_by_name_and_leave_nothing(studio, model):
    before = models_view(studio, studio.local)
    torch.save({"model": {}, "optimizer": {}}, model)
    with pytest.raises(NotReadable, match=r'"G_1\.pth" is a training file') as caught:
        import_model(studio, studio.local, model, name='"G_1.pth"')
    assert caught.value.code == "training_file"
    with pytest.raises(NotReadable, match="import it together with the model") as caught:
        import_model(studio, studio.local, INDEX, name="the file")
    assert caught.value.code == "index_alone"
    assert models_view(studio, studio.local) == before


def test_status_states_size_licence_and_checksum(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as done:
        main(["rvc", "status"])
    assert not done.value.code
    shown = capsys.readouterr().out
    assert "ContentVec is missing" in shown
    assert "378 MB, MIT" in shown
    assert "d8dd400e054ddf4e6be75dab5a2549db748cc99e756a097c496c099f65a4854e" in shown


def test_networks_of_an_imported_model_are_not_exported(studio, model, tmp_path):
    identifier = import_model(studio, studio.local, model)
    with pytest.raises(WrongState, match="share the file it came from"):
        export_networks(studio, studio.local, identifier, tmp_path / "out")
