"""What the Train tab draws and says of a training; no browser."""

import pytest

from engine.texts import Text
from engine.training.history import Estimate
from studio.page.train.course import (
    choice_of,
    curves,
    estimate_text,
    given_settings,
    is_active,
    proposed_epochs,
    score_rows,
    signature,
    sounds,
    start_label,
    state_rows,
)
from tests.records import Known

EVALUATIONS = [
    (
        {"epoch": epoch, "folder": f"{epoch:06d}", "score": score, "likeness": 0.8, "content": 0.7}
        | {"mel_distance": 0.5}
        | {"kept": epoch == 20, "complete": True, "sounds": {"speech-high": f"/files/{epoch}"}}
    )
    for epoch, score in ((0, 0.5), (10, 0.8), (20, 0.9), (30, 0.85), (40, 0.84))
]
HISTORY = {
    "state": "training",
    "ceiling": 100,
    "events": [{"epoch": 3, "text": "A batch is now 8 pieces."}],
    "epochs": [{"epoch": epoch, "envelope": 1 / epoch, "kept": 0.1, "taken": 0.2} for epoch in range(1, 41)],
    "evaluations": EVALUATIONS,
}
BEFORE = Known(
    {
        "id": "mia",
        "name": "Mia",
        "state": "pending",
        "error": None,
        "epoch": 0,
        "epochs": 0,
        "chosen_epoch": None,
        "begun": False,
        "task": None,
        "timed": None,
        "estimating": None,
        "history": None,
        "parts": [],
        "evaluations": [],
    }
)
BEGUN = BEFORE | {
    "begun": True,
    "epoch": 40,
    "history": HISTORY,
    "evaluations": EVALUATIONS,
    "parts": [{"name": "speech-high", "label": "Speech, high voice", "url": "/files/original"}],
    "task": {"id": "t", "state": "cancelled", "epochs": 100, "place": None},
    "timed": Estimate(30.0, 5.0, 0.0, 10),
}
RUNNING = BEGUN | {"state": "training", "task": {**BEGUN["task"], "state": "running"}}


def test_curves_and_sounds_are_empty_before_training():
    assert curves(BEFORE, None) is None
    assert sounds(BEFORE, "speech-high", None) is None
    assert [row.value for row in state_rows(BEFORE)] == ["not trained"]
    assert (start_label(BEFORE), proposed_epochs(BEFORE), is_active(BEFORE)) == ("Start training", 100, False)


def test_curves_show_losses_and_scores_with_units_and_the_best_checkpoint():
    data = curves(BEGUN, 30)
    assert (data.epochs, data.kept, data.chosen, data.choices) == (40, 20, 30, [0, 10, 20, 30, 40])
    assert curves(RUNNING, None).epochs == 100  # where it goes
    assert all(chart.unit for chart in data.charts)
    labels = [[line.label for line in chart.lines] for chart in data.charts]
    assert labels == [
        ["likeness", "intelligibility", "score"],
        ["training recordings", "unheard recordings"],
        ["timbre", "words"],
    ]
    assert all(isinstance(label, Text) for chart in labels for label in chart)  # said in the visitor's language
    assert data.charts[1].lines[0].points[:2] == [(1, 1.0), (2, 0.5)]


def test_curves_limit_the_points_of_a_long_training():
    epochs = [{"epoch": epoch, "envelope": 1.0} for epoch in range(1, 10_001)]
    data = curves(BEGUN | {"history": HISTORY | {"epochs": epochs}}, None)
    points = data.charts[1].lines[0].points
    assert len(points) <= 301
    assert (points[0][0], points[-1][0]) == (1, 10_000)


def test_curves_leave_out_scores_that_were_not_measured():
    lines = [line | {"mel_distance": None, "content": None} for line in EVALUATIONS]
    data = curves(BEGUN | {"evaluations": lines}, None)
    assert [line.label for line in data.charts[0].lines] == ["likeness", "score"]


def test_sounds_list_the_original_and_the_first_best_and_last_checkpoint():
    data = sounds(BEGUN, "speech-high", None)
    assert [track.label for track in data.tracks] == ["Original", "Before training", "Epoch 20 (best)", "Epoch 40"]
    assert data.tracks[data.chosen].url == "/files/20"


def test_sounds_add_the_chosen_checkpoint():
    data = sounds(BEGUN, "speech-high", 10)
    assert data.tracks[data.chosen].label == "Epoch 10"
    assert len(data.tracks) == 5
    assert sounds(BEGUN, "nothing", 10) is None
    assert sounds(BEGUN, "speech-high", 7).chosen == 2  # none such: the best one


def test_score_rows_list_the_scores_of_playable_checkpoints():
    rows = score_rows(BEGUN, "speech-high", None)
    assert [row.label for row in rows] == ["Before training", "Epoch 20 (best)", "Epoch 40"]
    assert rows[0].value == "likeness 0.800, intelligibility 0.700, difference in sound 0.50 (on unheard recordings)"
    assert score_rows(BEFORE, None, None) == []


def test_state_rows_show_the_state_of_a_training():
    rows = {row.label: row.value for row in state_rows(BEGUN)}
    assert rows == {
        "Status": "stopped, can be continued",
        "Epochs": "40 of 100",
        "Best checkpoint": "epoch 20, score 0.900 (higher is better)",
        "Epoch 3": "A batch is now 8 pieces.",
    }
    assert state_rows(RUNNING)[0].value == "in training"
    waits = RUNNING | {"task": BEGUN["task"] | {"state": "queued", "place": 2}}
    assert state_rows(waits)[0].value == "queued, number 2 in line"
    failed = {row.label: row for row in state_rows(BEGUN | {"state": "failed", "error": "Too little voice."})}
    assert failed["Error"].state == "bad"
    chosen = {row.label: row.value for row in state_rows(BEGUN | {"chosen_epoch": 10})}
    assert chosen["In use"] == "epoch 10"


@pytest.mark.parametrize(
    ("changed", "epochs", "said"),
    [
        ({}, 100, "from epoch 40 to 100 on this machine"),
        ({}, 40, "Already trained for 40 epochs. Set a higher number to continue."),
        ({"epoch": 0}, 100, "About 51 min for 100 epochs"),
        ({"timed": None}, 100, "not known yet"),
        ({"timed": None, "estimating": {"state": "failed", "error": "Too little.", "message": ""}}, 100, "Too little."),
        ({"estimating": {"state": "running", "error": None, "message": "a.wav"}}, 100, "Estimating training time"),
    ],
)
def test_estimate_text_gives_the_training_time_or_the_reason_for_none(changed, epochs, said):
    assert said in estimate_text(BEGUN | changed, epochs)


def test_proposed_epochs_returns_the_unreached_goal_or_100_more():
    assert proposed_epochs(BEGUN) == 100  # what was asked for, and not reached
    assert proposed_epochs(BEGUN | {"state": "completed", "epochs": 100}) == 200
    assert proposed_epochs(BEGUN | {"state": "completed", "epochs": 300, "task": None}) == 400
    assert proposed_epochs(BEGUN | {"epochs": 40, "task": None}) == 140  # the command line has trained it
    assert start_label(BEGUN) == "Continue from epoch 40"


def test_given_settings_keep_only_changed_or_still_changeable_settings():
    settings = {"patience": 10, "evaluate_epochs": 5, "batch": 8, "seed": 0}
    assert given_settings(BEFORE, settings) == {"evaluate_epochs": 5, "batch": 8}
    assert given_settings(BEGUN, settings) == {"patience": 10, "evaluate_epochs": 5}


def test_signature_changes_with_the_drawn_data():
    further = {"history": HISTORY | {"epochs": HISTORY["epochs"][:-1]}}
    assert signature(BEGUN) == signature(BEGUN | {})
    assert signature(BEGUN) != signature(BEGUN | further)
    assert signature(BEGUN) != signature(BEGUN | {"state": "completed"})
    assert signature(BEFORE) != signature(BEFORE | {"id": "other"})


def test_choice_of_shows_the_training_state_of_a_voice():
    assert choice_of(BEFORE) == ("Mia (not trained)", "mia")
    assert choice_of(BEGUN)[0] == "Mia (stopped at epoch 40)"
    assert choice_of(BEGUN | {"state": "completed"})[0] == "Mia (trained)"
