"""Folders of models: each with its index, however RVC, Applio, Replay or people have named them."""

import pytest

from studio.actions.rvc_folders import models_in
from studio.errors import NotFound


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
    assert paired(
        tmp_path, "weights/mia.pth", "weights/leo.pth", index, "logs/mia/trained_IVF256_Flat_nprobe_1_mia_v2.index",
        "logs/mia/G_2333333.pth", "logs/mia/D_2333333.pth", "logs/leo/added_IVF64_Flat_nprobe_1_leo_v1.index",
    ) == {"weights/leo.pth": "logs/leo/added_IVF64_Flat_nprobe_1_leo_v1.index", "weights/mia.pth": index}  # fmt: skip


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
    with pytest.raises(NotFound, match="no model of RVC"):
        models_in(tmp_path / "empty")
