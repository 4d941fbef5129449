from datetime import date

import gradio as gr
import pytest

from engine.voices.profile import profile_as_json, read_profile
from studio.page.parts.profile_form import ProfileForm, profile_form

SAID = {
    "name": "Nina", "gender": "female", "age": "adult", "description": "Smoky.", "base_language": "de",
    "traits": ["smoky", "close"], "genre": "jazz", "voice_type": "alto", "vocal_range": {"min": "F3", "max": "D5"},
    "licence": "CC-BY-4.0", "source": "Nina, at home",
    "consent": {"statement": "It is mine.", "by": "Nina", "date": "2026-03-31"},
}  # fmt: skip


@pytest.fixture
def form() -> ProfileForm:
    with gr.Blocks():
        return profile_form(date(2026, 3, 31))


def given(form, updates):
    """What the controls hold after updates."""
    first = {control: control.value for control in form.components}
    return first | {control: update["value"] for control, update in updates.items()}


def test_at_first_nothing_is_said_but_the_day(form):
    assert form.values(given(form, {})) == {"consent": {"date": "2026-03-31"}}


def test_what_is_filled_in_comes_out_again(form):
    values = form.values(given(form, form.filled(SAID)))
    assert values == SAID
    assert profile_as_json(read_profile(values)) == SAID


def test_filling_in_takes_away_what_is_not_said_or_leaves_it(form):
    filled = given(form, form.filled(SAID))
    assert form.values(filled | given(form, form.filled({"name": "Anna"}))) == {"name": "Anna"}
    said = {control: update["value"] for control, update in form.filled({"name": "Anna"}, only_said=True).items()}
    assert form.values(filled | said) == SAID | {"name": "Anna"}


def test_what_is_kept_is_restored_and_unknown_names_are_passed_over(form):
    kept = form.kept(given(form, form.filled(SAID)))
    assert form.values(given(form, form.restored(kept | {"shoe_size": 43}))) == SAID
    assert form.restored({}) == {}


def test_each_control_has_a_label(form):
    labels = [control.label for control in form.components]
    assert all(labels)
    assert len(set(labels)) == len(labels)
