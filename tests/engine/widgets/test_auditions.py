import shutil

import pytest

from engine.errors import TrainingError
from engine.training.history import EVALUATIONS_FOLDER, ORIGINALS_FOLDER, TrainingHistory, write_history
from engine.widgets.auditions import audition
from engine.widgets.choosers import SAMPLES


@pytest.fixture
def folder(tmp_path):
    """A training of nine evaluations, of which the fourth is the best."""
    lines = [
        {"epoch": 10 * number, "folder": f"{10 * number:06d}", "score": 0.9 - 0.01 * abs(number - 3)}
        for number in range(9)
    ]
    for part in ("held-out-1", "speech-low"):
        for place in [ORIGINALS_FOLDER, *(f"{EVALUATIONS_FOLDER}/{line['folder']}" for line in lines)]:
            (tmp_path / place).mkdir(parents=True, exist_ok=True)
            shutil.copy(SAMPLES / "foreign" / "speech-low.flac", tmp_path / place / f"{part}.flac")
    write_history(TrainingHistory("completed", 80, [], lines), tmp_path)
    return tmp_path


def labels(box) -> list[str]:
    return [one.children[0].value for one in box.children[1].children[0].children]


def test_audition_plays_first_best_and_last_evaluations_beside_the_original(folder):
    box = audition(folder, most=5)
    assert box.children[0].options == ("held-out-1", "speech-low")
    found = labels(box)
    assert "original" in found[0]
    assert [label.removeprefix("<b>").split("(")[0] for label in found[1:]] == [
        "epoch 0 ",
        "epoch 30 ",
        "epoch 60 ",
        "epoch 70 ",
        "epoch 80 ",
    ]
    assert ["kept" in label for label in found].count(True) == 1
    assert "kept" in found[2]


def test_audition_plays_all_of_a_few_evaluations(folder):
    assert len(labels(audition(folder, most=20))) == 10


def test_audition_switches_to_another_recording(folder):
    box = audition(folder, most=3)
    before = box.children[1].children[0]
    box.children[0].value = "speech-low"
    assert box.children[1].children[0] is not before


def test_audition_refuses_a_folder_without_evaluations(tmp_path):
    with pytest.raises(TrainingError, match="Nothing has been evaluated"):
        audition(tmp_path)
