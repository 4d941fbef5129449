"""Recordings to work with: the same whatever the storage."""

from dataclasses import replace

import pytest

from engine.datasets.dataset import load_dataset
from studio.errors import NotFound, WrongState
from studio.store.workspaces import dataset_workspace


def test_dataset_workspace_holds_the_recordings_and_saves_the_report(storage, model):
    with dataset_workspace(storage, model) as workspace:
        assert len(load_dataset(workspace.folder).recordings) == 3
        assert workspace.is_copy == (storage.folder("x") is None)
        (workspace.folder / "report.json").write_text("{}")
        workspace.save_report()
    assert b"".join(storage.read(f"{model.dataset_key}/report.json")) == b"{}"
    assert workspace.folder.exists() == (not workspace.is_copy)


def test_dataset_workspace_refuses_a_voice_without_recordings(storage, model):
    with (
        pytest.raises(WrongState, match="cannot be trained"),
        dataset_workspace(storage, replace(model, dataset_key=None)),
    ):
        pass
    storage.delete_below(model.dataset_key)
    with pytest.raises(NotFound), dataset_workspace(storage, model):
        pass
