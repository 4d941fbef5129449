from dataclasses import asdict, fields, replace

import pytest

from engine.errors import SettingsError
from engine.training.plan import TrainingPlan


def test_training_plan_describes_every_setting_with_its_default_in_range():
    for one in fields(TrainingPlan):
        assert one.metadata["meaning"].endswith(".")
        assert one.metadata["minimum"] <= one.default <= one.metadata["maximum"]


@pytest.mark.parametrize("epochs", [0, 100_001, 1.5, "many", None, True])
def test_training_plan_refuses_invalid_epochs_and_names_the_range(epochs):
    with pytest.raises(SettingsError, match="epochs must be a whole number from 1 to 100000"):
        TrainingPlan(epochs=epochs)


@pytest.mark.parametrize("epochs", [1, 100_000])
def test_training_plan_accepts_the_limits_of_epochs(epochs):
    assert TrainingPlan(epochs=epochs).epochs == epochs


def test_training_plan_refuses_a_nan_learning_rate():
    with pytest.raises(SettingsError, match="learning_rate"):
        TrainingPlan(learning_rate=float("nan"))


def test_plan_differences_name_only_fixed_settings():
    begun = asdict(TrainingPlan())
    assert TrainingPlan(epochs=7, patience=0, evaluate_epochs=3, save_s=0.0).differences(begun) == []
    assert TrainingPlan(batch=3, seed=1).differences(begun) == ["batch", "seed"]
    assert replace(TrainingPlan(), foreign=2).differences({}) == ["batch", "learning_rate", "foreign", "seed"]


def test_known_plan_leaves_out_what_only_earlier_versions_had():
    assert TrainingPlan.known({"epochs": 7, "warm_up": 3}) == TrainingPlan(epochs=7)


def test_continuing_plan_keeps_fixed_settings_of_the_training_unless_they_are_chosen():
    begun = asdict(TrainingPlan(epochs=5, batch=8, foreign=2))
    del begun["seed"]  # begun before there was one
    plan = TrainingPlan(epochs=9, foreign=3, seed=4)
    assert plan.continuing(begun, ["foreign"]) == replace(plan, batch=8)
    assert plan.continuing({}, []) == plan
