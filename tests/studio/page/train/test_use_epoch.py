"""The offer to make a checkpoint the voice."""

import pytest

from studio.errors import Invalid
from studio.page.train.use_epoch import offered, use_epoch

LINES = [
    {"epoch": 0, "complete": False, "kept": False, "sounds": {}},
    {"epoch": 2, "complete": True, "kept": False, "sounds": {}},
    {"epoch": 4, "complete": True, "kept": True, "sounds": {}},
]


@pytest.mark.parametrize(
    ("epoch", "is_training", "label", "can_be"),
    [
        (None, False, "Choose a checkpoint to use it", False),
        (3, False, "Choose a checkpoint to use it", False),
        (0, False, "Epoch 0 was kept only as sound", False),
        (2, False, "Use epoch 2", True),
        (2, True, "Stop the training to use epoch 2", False),
        (4, False, "Epoch 4 is in use", False),
        (4, True, "Epoch 4 is in use", False),
    ],
)
def test_offered_can_be_pressed_only_where_the_checkpoint_can_become_the_voice(epoch, is_training, label, can_be):
    button = offered(LINES, epoch, 4, is_training)
    assert (button.value, button.interactive, button.visible) == (label, can_be, True)


@pytest.mark.parametrize(("model", "epoch"), [(None, 2), ("mia", None)])
def test_use_epoch_asks_for_a_checkpoint_first(model, epoch):
    with pytest.raises(Invalid, match="Choose a checkpoint first"):
        use_epoch(None, model, epoch)
