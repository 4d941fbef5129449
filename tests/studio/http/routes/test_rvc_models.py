"""Models of RVC by the service: read in a process of their own, as in earnest."""

import io

import pytest
import torch

from tests.engine.rvc.models import checkpoint_of
from tests.engine.rvc.test_index_file import INDEX


def saved(content):
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


@pytest.mark.system
def test_models_import_makes_a_voice_from_a_model_with_its_index(http):
    client = http.client()
    files = {"package": ("Mia.pth", saved(checkpoint_of("v1"))), "index": ("Mia.index", INDEX.read_bytes())}
    answer = client.post("/models/import", files=files, data={"speaker": "2"})
    assert answer.status_code == 200, answer.text
    view = client.get(f"/models/{answer.json()['model_id']}").json()
    assert (view["name"], view["state"]) == ("Mia", "completed")


@pytest.mark.system
def test_models_import_refuses_a_training_file_with_a_stable_code(http):
    training = saved({"model": {}, "optimizer": {}})
    answer = http.client().post("/models/import", files={"package": ("G_9.pth", training)})
    assert (answer.status_code, answer.json()["code"]) == (415, "training_file")
    assert '"G_9.pth" is a training file' in answer.json()["detail"]


@pytest.mark.system
def test_teach_refuses_other_voices_missing_contentvec_and_invalid_epochs(http):
    client = http.client()
    answer = client.post("/models/kathleen/teach", files={"recordings": ("one.wav", b"no sound")})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_imported")
    files = {"package": ("Mia.pth", saved(checkpoint_of("v1")))}
    model_id = client.post("/models/import", files=files).json()["model_id"]
    answer = client.post(f"/models/{model_id}/teach", data={"epochs": "10"})
    assert (answer.status_code, answer.json()["code"]) == (409, "no_contentvec")
    assert "rvc fetch" in answer.json()["detail"]
    answer = client.post(f"/models/{model_id}/teach", data={"epochs": "-1"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "epochs")
    assert client.post("/models/nobody/teach").status_code == 404
