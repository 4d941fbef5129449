from datetime import date

import gradio as gr
import pytest

from engine.voices.profile import profile_as_json, read_profile
from studio.page.parts.profile_form import ProfileForm, more_form, needed_form, profile_form

SAID = (
    {"name": "Nina", "gender": "female", "age": "adult", "description": "Smoky.", "base_language": "de"}
    | {"traits": ["smoky", "close"], "genre": "jazz", "voice_type": "alto"}
    | {"vocal_range": {"min": "F3", "max": "D5"}, "licence": "CC-BY-4.0", "source": "Nina, at home"}
    | {"consent": {"statement": "It is mine.", "by": "Nina", "date": "2026-03-31"}}
)


@pytest.fixture
def form() -> ProfileForm:
    with gr.Blocks():
        return needed_form(date(2026, 3, 31)) | more_form()


def given(form, updates):
    """What the controls hold after updates."""
    first = {control: control.value for control in form.components}
    return first | {control: update["value"] for control, update in updates.items()}


def test_profile_form_starts_with_only_the_consent_date(form):
    assert form.values(given(form, {})) == {"consent": {"date": "2026-03-31"}}


def test_profile_form_returns_the_values_it_was_filled_with(form):
    values = form.values(given(form, form.filled(SAID)))
    assert values == SAID
    assert profile_as_json(read_profile(values)) == SAID


def test_profile_form_filled_clears_missing_fields_unless_only_said(form):
    filled = given(form, form.filled(SAID))
    assert form.values(filled | given(form, form.filled({"name": "Anna"}))) == {"name": "Anna"}
    said = {control: update["value"] for control, update in form.filled({"name": "Anna"}, only_said=True).items()}
    assert form.values(filled | said) == SAID | {"name": "Anna"}


def test_profile_form_restores_kept_values_and_ignores_unknown_names(form):
    kept = form.kept(given(form, form.filled(SAID)))
    assert form.values(given(form, form.restored(kept | {"shoe_size": 43}))) == SAID
    assert form.restored({}) == {}


def test_profile_form_gives_each_control_its_own_label(form):
    labels = [control.label for control in form.components]
    assert all(labels)
    assert len(set(labels)) == len(labels)


def test_profile_form_names_what_was_found_where_nothing_is_stated(form):
    updates = form.found({"voice_type": "alto", "vocal_range.min": "C3"})
    first = {name: updates[form.controls[name]].choices[0] for name in ("voice_type", "vocal_range.min")}
    assert first == {"voice_type": ("automatic: alto", ""), "vocal_range.min": ("automatic: C3", "")}
    assert len(updates) == 2
    assert form.values(given(form, {})) == {"consent": {"date": "2026-03-31"}}  # it is no statement


def test_profile_form_of_a_voice_that_is_there_has_the_same_fields(form):
    with gr.Blocks():
        assert set(profile_form().controls) == set(form.controls)
