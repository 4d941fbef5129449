import zipfile
from dataclasses import replace
from hashlib import sha256

import pytest
import torch
from safetensors.torch import load_file

from engine.errors import WrongFileError
from engine.files import named
from engine.progress import no_report
from engine.rvc import contentvec as network
from engine.rvc.sandbox import ModelFileError
from engine.rvc.sandbox_limits import SandboxLimits
from engine.rvc.sources import SOURCES
from studio.actions.conversions.conversion import usable_voice_folder
from studio.actions.fetched_models import fetch
from studio.actions.rvc_models import RvcFiles, contentvec, models_in, use_contentvec
from studio.actions.voices.packages import export_model, export_networks, import_model, replace_model
from studio.actions.voices.voice import model_view, models_view
from studio.commands.cli import main
from studio.errors import NotFound, NotReadable, Unavailable, WrongState
from studio.store.accounts import create_account
from tests.command_line import run
from tests.engine.rvc.models import REFERENCE, checkpoint_of, use_small_contentvec, work_in_this_process
from tests.engine.rvc.test_index_file import INDEX
from tests.studio.actions.pinned_files import served


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model of RVC; it is read in this process, which is faster."""
    work_in_this_process(monkeypatch)
    monkeypatch.setattr("studio.actions.rvc_models.contentvec_path", lambda: tmp_path / "contentvec.safetensors")
    path = tmp_path / "Mia.pth"
    torch.save(checkpoint_of("v1"), path)
    return path


def test_imported_model_is_listed_and_names_missing_contentvec(studio, model):
    identifier = import_model(studio, studio.local, model, files=RvcFiles(INDEX, speaker=2))
    assert identifier in [one.id for one in models_view(studio, studio.local).models]
    view = model_view(studio, studio.local, identifier)
    assert (view.name, view.state) == ("Mia", "completed")
    assert "timbre-studio rvc fetch" in view.error
    with pytest.raises(WrongState, match=r"Mia cannot convert yet\. It needs ContentVec") as caught:
        usable_voice_folder(studio, studio.local, identifier, lambda *_: None, "cpu")
    assert caught.value.code == "no_contentvec"
    (model.parent / "contentvec.safetensors").touch()
    assert model_view(studio, studio.local, identifier).error is None
    assert usable_voice_folder(studio, studio.local, identifier, lambda *_: None, "cpu").is_dir()


def test_export_model_and_replace_model_refuse_an_rvc_model(studio, model, tmp_path):
    identifier = import_model(studio, studio.local, model)
    with pytest.raises(WrongState, match="share the file it came from"):
        export_model(studio, studio.local, identifier, tmp_path)
    with pytest.raises(WrongState, match="under a name of its own"):
        replace_model(studio, studio.local, identifier, model)


def test_import_model_refuses_training_packed_foreign_and_index_files(studio, model):
    before = models_view(studio, studio.local)
    torch.save({"model": {}, "optimizer": {}}, model)
    with pytest.raises(NotReadable, match=r'"G_1\.pth" is a training file') as caught:
        import_model(studio, studio.local, named(model, "G_1.pth"))
    assert caught.value.code == "training_file"
    with zipfile.ZipFile(model.with_name("Mia.zip"), "w") as archive:
        archive.write(model, "Mia/Mia.pth")
    torch.save({"weight": {}}, model.with_name("x.zip"))
    for name, code, said in (("Mia.zip", "packed_model", "unpack it"), ("x.zip", "foreign_model", "ends in .pth")):
        with pytest.raises(NotReadable, match=said) as caught:
            import_model(studio, studio.local, model.with_name(name))
        assert caught.value.code == code
    with pytest.raises(NotReadable, match="import it together with the model") as caught:
        import_model(studio, studio.local, INDEX)
    assert caught.value.code == "index_alone"
    assert models_view(studio, studio.local) == before


def test_rvc_status_shows_size_licence_and_checksum_of_contentvec(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as done:
        main(["rvc", "status"])
    assert not done.value.code
    shown = capsys.readouterr().out
    assert "ContentVec is missing" in shown
    assert "378 MB, MIT" in shown
    assert "d8dd400e054ddf4e6be75dab5a2549db748cc99e756a097c496c099f65a4854e" in shown


def test_export_networks_refuses_an_imported_model(studio, model, tmp_path):
    identifier = import_model(studio, studio.local, model)
    with pytest.raises(WrongState, match="share the file it came from"):
        export_networks(studio, studio.local, identifier, tmp_path / "out")


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A small ContentVec as its publisher has it, on a server of its own, pinned; the data folder is empty."""
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "home"))
    use_small_contentvec(monkeypatch)
    monkeypatch.setattr(network, "_WIDTH", 24)
    found = load_file(REFERENCE.with_name("hubert.safetensors"))
    weights = {name.removeprefix("weight."): one for name, one in found.items() if name.startswith("weight.")}
    projection = {"final_proj.weight": torch.ones(256, 24), "final_proj.bias": torch.zeros(256)}
    torch.save(weights | projection, tmp_path / "f")
    content = (tmp_path / "f").read_bytes()

    with served(content) as url:
        yield replace(SOURCES[0], url=url, size=len(content), sha256=sha256(content).hexdigest())


def test_fetch_converts_contentvec_and_keeps_one_file(studio, published):
    path = fetch(studio, contentvec(published), no_report)
    assert path == network.contentvec_path() == contentvec(published).found()
    assert [one.name for one in path.parent.iterdir()] == ["contentvec.safetensors"]
    assert network.load_contentvec(path).final_proj.out_features == 256


def test_fetch_keeps_no_wrong_contentvec_and_names_rvc_use_when_unavailable(studio, published):
    with pytest.raises(WrongFileError, match="is not ContentVec: its checksum differs"):
        fetch(studio, contentvec(replace(published, sha256="0" * 64)), no_report)
    gone, nobody = published.url.replace("there", "gone"), "http://127.0.0.1:9/there"
    for url, said in ((gone, "the server answered 404"), (nobody, "resumes where it stopped")):
        with pytest.raises(Unavailable, match=f"{said}.*rvc use FILE"):
            fetch(studio, contentvec(replace(published, url=url)), no_report)
    assert not list(network.contentvec_path().parent.iterdir())


def test_rvc_fetch_shows_source_and_licence_and_asks_first(published, monkeypatch):
    monkeypatch.setattr("engine.rvc.sources.SOURCES", (published,))
    refused = run("rvc", "fetch", given="n\n")
    assert refused.exit_code == 1
    for said in ("licence MIT", published.url, "Qian et al. (2022)", "Fetch it?"):
        assert said in refused.stderr
    assert not network.contentvec_path().exists()
    fetched = run("rvc", "fetch", given="y\n")
    assert fetched.exit_code == 0, fetched.stderr
    assert network.contentvec_path().exists()


def test_use_contentvec_finds_the_file_in_a_folder(studio, published, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(ModelFileError, match="holds no ContentVec"):
        use_contentvec(studio, folder)
    (tmp_path / "f").rename(folder / "checkpoint_best_legacy_500.pt")
    assert use_contentvec(studio, folder) == network.contentvec_path()


def paired(folder, *files: str) -> dict[str, str | None]:
    """Put these files into a folder; return the models that are found there with their indexes."""
    for number, name in enumerate(files):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (number + 1))
    found = models_in(folder)
    shown = {one.path: one.index for one in found}
    return {
        str(path.relative_to(folder)): None if index is None else str(index.relative_to(folder))
        for path, index in shown.items()
    }


def test_models_in_pairs_the_folders_of_rvc(tmp_path):
    """weights and logs lie apart; of the two indexes only the added one holds vectors."""
    index = "logs/mia/added_IVF256_Flat_nprobe_1_mia_v2.index"
    index_of_leo = "logs/leo/added_IVF64_Flat_nprobe_1_leo_v1.index"
    trained = ["logs/mia/trained_IVF256_Flat_nprobe_1_mia_v2.index", "logs/mia/G_2333333.pth", "logs/mia/D_2333333.pth"]
    found = paired(tmp_path, "weights/mia.pth", "weights/leo.pth", index, *trained, index_of_leo)
    assert found == {"weights/leo.pth": index_of_leo, "weights/mia.pth": index}


def test_models_in_pairs_the_checkpoints_of_applio(tmp_path):
    assert paired(
        tmp_path, "mia/mia_100e_2000s.pth", "mia/mia_200e_4000s_best_epoch.pth", "mia/mia.index", "mia/G_100.pth"
    ) == {"mia/mia_100e_2000s.pth": "mia/mia.index", "mia/mia_200e_4000s_best_epoch.pth": "mia/mia.index"}


def test_models_in_pairs_one_model_with_one_index_beside_it_whatever_they_are_called(tmp_path):
    mia, index = "Replay/Mia (RVC v2)/model.pth", "Replay/Mia (RVC v2)/added_IVF9.index"
    assert paired(tmp_path, mia, index, "Replay/Leo/m.pth") == {"Replay/Leo/m.pth": None, mia: index}


def test_models_in_gives_no_model_the_index_of_another(tmp_path):
    assert paired(tmp_path, "mia.pth", "leo.pth", "mia.index", "zoe.index") == {"leo.pth": None, "mia.pth": "mia.index"}


def test_models_in_prefers_the_index_beside_the_model_and_ignores_case_and_accents(tmp_path):
    assert paired(tmp_path, "a/Zoë.pth", "a/added_IVF1_Flat_nprobe_1_zoe_v2.index", "b/zoe.index") == {
        "a/Zoë.pth": "a/added_IVF1_Flat_nprobe_1_zoe_v2.index"
    }


def test_models_in_takes_onnx_and_refuses_a_folder_without_models(tmp_path):
    assert paired(tmp_path, "mia.onnx", "notes.txt") == {"mia.onnx": None}
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="no RVC model"):
        models_in(tmp_path / "empty")


@pytest.mark.parametrize(
    ("limits", "others", "unconfined_models", "refused"),
    [
        (SandboxLimits(True, False, False, False), True, "refuse", True),
        (SandboxLimits(False, True, False, False), True, "refuse", True),
        (SandboxLimits(False, False, False, False), True, "refuse", False),
        (SandboxLimits(True, True, True, True), True, "run", False),
        (SandboxLimits(True, True, True, True), False, "refuse", False),  # a single user's own machine
    ],
)
def test_models_that_nothing_confines_are_refused_where_others_have_accounts(
    studio, model, monkeypatch, limits, others, unconfined_models, refused
):
    monkeypatch.setattr("engine.rvc.sandbox_limits.limits_here", lambda: limits)
    (model.parent / "contentvec.safetensors").touch()
    early = import_model(studio, studio.local, model)
    if others:
        create_account(studio.database, "anna")
    studio = replace(studio, service=replace(studio.service, unconfined_models=unconfined_models))

    def use():
        return usable_voice_folder(studio, studio.local, early, lambda *_: None, "cpu")

    for act in (use, lambda: import_model(studio, studio.local, model)):
        if refused:
            with pytest.raises(WrongState, match="--unconfined-models run") as caught:
                act()
            assert caught.value.code == "unconfined"
        else:
            assert act()
    assert usable_voice_folder(studio, studio.local, "kathleen", lambda *_: None, "cpu").is_dir()
