import pytest
import torch

from engine.errors import TrainingError
from engine.training.checkpoint import CHECKPOINT_FILE, load_checkpoint, plan_begun_with, previous, save_checkpoint
from engine.training.history import TRAINING_FORMAT


def test_save_checkpoint_round_trips_through_load_checkpoint(tmp_path):
    path = tmp_path / "training.pt"
    save_checkpoint(path, {"weights": {"a": torch.arange(3.0)}, "step": 7, "plan": {"rate": 1e-3, "names": ["x"]}})
    state = load_checkpoint(path)
    torch.testing.assert_close(state.pop("weights"), {"a": torch.arange(3.0)})
    assert state == {"step": 7, "plan": {"rate": 1e-3, "names": ["x"]}}
    assert [file.name for file in tmp_path.iterdir()] == ["training.pt"]


def test_load_checkpoint_is_none_without_a_file(tmp_path):
    assert load_checkpoint(tmp_path / "training.pt") is None


def test_save_checkpoint_keeps_the_previous_checkpoint(tmp_path):
    path = tmp_path / "training.pt"
    for step in (1, 2, 3):
        save_checkpoint(path, {"step": step})
    assert load_checkpoint(path) == {"step": 3}
    assert load_checkpoint(previous(path)) == {"step": 2}
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("kept", [0, 10, 300])
def test_load_checkpoint_replaces_a_truncated_checkpoint_by_the_previous_one(tmp_path, kept):
    path = tmp_path / "training.pt"
    for step in (1, 2):
        save_checkpoint(path, {"step": step, "weights": torch.zeros(1000)})
    path.write_bytes(path.read_bytes()[:kept])
    assert load_checkpoint(path)["step"] == 1


def test_load_checkpoint_reads_the_previous_checkpoint_after_an_interrupted_save(tmp_path):
    path = tmp_path / "training.pt"
    save_checkpoint(path, {"step": 1})
    path.rename(previous(path))
    assert load_checkpoint(path) == {"step": 1}


def test_load_checkpoint_refuses_two_damaged_checkpoints(tmp_path):
    path = tmp_path / "training.pt"
    path.write_bytes(b"no")
    previous(path).write_bytes(b"no")
    with pytest.raises(TrainingError, match=r"training.pt and the checkpoint before it are damaged. Start"):
        load_checkpoint(path)


def test_load_checkpoint_refuses_to_execute_code_in_the_file(tmp_path):
    path = tmp_path / "training.pt"

    class Harmful:
        def __reduce__(self):
            return (path.with_name("harm").touch, ())

    torch.save({"step": Harmful()}, path)
    with pytest.raises(TrainingError):
        load_checkpoint(path)
    assert not path.with_name("harm").exists()


def test_save_checkpoint_keeps_the_last_checkpoint_after_a_failed_save(tmp_path):
    path = tmp_path / "training.pt"
    save_checkpoint(path, {"step": 1})
    with pytest.raises((AttributeError, TypeError, RuntimeError)):
        save_checkpoint(path, {"step": 2, "what cannot be saved": (number for number in range(3))})
    assert load_checkpoint(path) == {"step": 1}


def test_plan_begun_with_is_that_of_a_training_which_this_version_can_continue(tmp_path):
    assert plan_begun_with(tmp_path) is None
    save_checkpoint(tmp_path / CHECKPOINT_FILE, {"format": TRAINING_FORMAT, "plan": {"batch": 8}})
    assert plan_begun_with(tmp_path) == {"batch": 8}
    save_checkpoint(tmp_path / CHECKPOINT_FILE, {"format": TRAINING_FORMAT - 1, "plan": {"batch": 8}})
    assert plan_begun_with(tmp_path) is None
