import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.effects.settings import EffectSettings, effects_of, plain_effects
from engine.errors import SettingsError
from studio.actions import account
from studio.actions.account import (
    Preferences,
    Preset,
    change_preferences,
    delete_preset,
    find_preset,
    make_token,
    named_file,
    named_take,
    preferences_of,
    preset_names,
    save_preset,
    tokens_view,
    voice_name,
    withdraw_token,
)
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.conversions.downloads import take_download
from studio.actions.conversions.takes import result_view
from studio.actions.history import history_view
from studio.actions.voices.datasets import create_model
from studio.actions.voices.packages import export_model, import_model
from studio.actions.voices.profiles import edit_profile
from studio.actions.voices.voice import delete_model
from studio.errors import Invalid, NotFound, TooMany
from studio.store.presets import set_preferences
from studio.store.tasks import claim, find
from studio.store.tokens import account_of_token

DARK = Preset("melodic", {"formant_shift_semitones": -2.0, "takes": 3}, {"reverb": 0.3})


@pytest.fixture
def voice(studio, tmp_path):
    """The id of a voice of one's own, called Mia."""
    export_model(studio, studio.local, "kathleen", tmp_path / "out.zip")
    model = import_model(studio, studio.local, tmp_path / "out.zip")
    edit_profile(studio, studio.local, model, {"name": "Mia"})
    return model


@pytest.fixture
def done(studio, voice, recording, complete_task):
    """The id of a conversion to that voice."""
    task_id = start_conversion(studio, studio.local, recording(), "my vocal.wav", ConversionRequest(voice, {}))
    complete_task(claim(studio.database, "worker", ["conversion"], 60))
    return task_id


def inform(studio, task_id):
    """What it is called wherever it is told: in the result, the history, the file of its take, and beside it."""
    return (
        result_view(studio, studio.local, task_id, "", 0.0).voice,
        history_view(studio, studio.local, "", 0.0).tasks[0].model_name,
        take_download(studio, studio.local, task_id, 1, "wav", "", 0.0)["name"],
        voice_name(studio.database, studio.local, find(studio.database, studio.local.id, task_id)),
    )


def test_result_names_follow_a_renamed_voice_and_stay_after_its_deletion(studio, voice, done):
    assert inform(studio, done) == ("Mia", "Mia", "my vocal - Mia.wav", "Mia")
    edit_profile(studio, studio.local, voice, {"name": "Mia Lou"})
    assert inform(studio, done) == ("Mia Lou", "Mia Lou", "my vocal - Mia Lou.wav", "Mia Lou")
    delete_model(studio, studio.local, voice)
    assert inform(studio, done) == ("Mia Lou", "Mia Lou", "my vocal - Mia Lou.wav", "Mia Lou")


def test_result_keeps_its_voice_name_when_a_later_voice_takes_the_id(studio, package, voice, done):
    model = find(studio.database, studio.local.id, done).model_id
    delete_model(studio, studio.local, voice)
    assert create_model(studio, studio.local, package(name="Kathleen 2")) == model
    assert inform(studio, done)[0] == "Mia"


def test_delete_model_keeps_voice_names_of_other_accounts_unchanged(studio, other, voice, done, recording):
    theirs = start_conversion(studio, other, recording(), "song.wav", ConversionRequest("kathleen", {}))
    delete_model(studio, studio.local, voice)
    assert history_view(studio, other, "", 0.0).tasks[0].model_name == "Kathleen"
    assert find(studio.database, other.id, theirs).model_name is None


def test_named_take_adds_a_number_only_to_several_takes():
    assert named_take("a.b.flac", "Kathleen", 2, 3, "mp3") == "a.b - Kathleen 2.mp3"
    assert named_take("a.b.flac", "Kathleen", 1, 1, "mp3") == "a.b - Kathleen.mp3"


def test_named_file_drops_unsafe_characters_and_limits_the_length():
    assert named_file(' a/b: "c"\n?* ', "voice.zip") == "a b c.voice.zip"
    assert len(named_file("ä" * 500, "wav").encode()) == 204
    assert len(named_file("歌🎤" * 500, "wav").encode()) <= 204


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=200), st.integers(1, 10))
def test_named_take_keeps_the_take_number_however_long_the_names(recording, voice, take):
    several = named_take(f"{recording}.wav", voice, take, 10, "wav")

    assert several.endswith(f" {take}.wav")
    assert len(several.encode()) <= 204
    assert named_file(several.removesuffix(".wav"), "wav") == several


def test_named_take_shortens_the_recording_first_and_then_the_voice():
    assert named_take(f"{'a' * 300}.wav", "Gökhan", 2, 2, "wav") == f"{'a' * 188} - Gökhan 2.wav"
    assert named_take(f"{'a' * 300}.wav", "b" * 200, 2, 2, "wav") == f"{'a' * 60} - {'b' * 135} 2.wav"


def test_presets_are_saved_replaced_and_deleted_per_account(studio, other):
    assert save_preset(studio, studio.local, "  Dark   hall ", DARK) == "Dark hall"
    kept = find_preset(studio, studio.local, "Dark hall")
    expected = ("melodic", DARK.settings, EffectSettings(reverb=0.3))
    assert (kept.style, kept.settings, effects_of(kept.effects)) == expected
    save_preset(studio, studio.local, "Dark hall", Preset("auto", {}, "hall"))
    save_preset(studio, studio.local, "änderung", Preset("auto", {}))
    assert find_preset(studio, studio.local, "Dark hall").effects == "hall"
    assert preset_names(studio, studio.local) == ["änderung", "Dark hall"]
    assert preset_names(studio, other) == []
    with pytest.raises(NotFound):
        delete_preset(studio, other, "Dark hall")
    delete_preset(studio, studio.local, "Dark hall")
    with pytest.raises(NotFound, match="the presets are: auto, melodic, rhythmic, spoken, änderung"):
        find_preset(studio, studio.local, "Dark hall")


def test_presets_treat_composed_and_decomposed_names_alike(studio):
    assert save_preset(studio, studio.local, "Ra\u0308ume", DARK) == "Räume"
    assert find_preset(studio, studio.local, "Ra\u0308ume").style == "melodic"
    delete_preset(studio, studio.local, "Ra\u0308ume")
    assert preset_names(studio, studio.local) == []


@pytest.mark.parametrize(
    ("name", "preset", "error"),
    [
        ("", DARK, Invalid),
        ("x" * 61, DARK, Invalid),
        ("Melodic", DARK, Invalid),
        ("a", Preset("loud", {}), SettingsError),
        ("a", Preset("auto", {"likeness": 2.0}), SettingsError),
        ("a", Preset("auto", {"volume": 2.0}), SettingsError),
        ("a", Preset("auto", {}, "cathedral"), SettingsError),
        ("a", Preset("auto", {}, {"echo": 1.0}), SettingsError),
    ],
)
def test_save_preset_refuses_invalid_names_and_settings(studio, name, preset, error):
    with pytest.raises(error):
        save_preset(studio, studio.local, name, preset)
    assert preset_names(studio, studio.local) == []


def test_save_preset_limits_the_number_of_presets(studio, monkeypatch):
    monkeypatch.setattr(account, "MOST_PRESETS", 1)
    save_preset(studio, studio.local, "one", DARK)
    save_preset(studio, studio.local, "one", DARK)
    with pytest.raises(Invalid, match="delete it first"):
        save_preset(studio, studio.local, "two", DARK)


def test_change_preferences_keeps_valid_values_per_account(studio, other):
    assert preferences_of(studio.database, studio.local) == Preferences()
    change_preferences(studio.database, studio.local, {"format": "mp3", "mp3_kbps": 192})
    change_preferences(studio.database, studio.local, {"naming": "{voice} {take}"})
    assert preferences_of(studio.database, studio.local) == Preferences("mp3", 192, "{voice} {take}")
    assert preferences_of(studio.database, other) == Preferences()
    for wrong in (
        {"format": "tape"},
        {"mp3_kbps": 16},
        {"naming": "{voice"},
        {"naming": "{voice.x}"},
        {"naming": "{take!r}"},
        {"rate": "22050"},
        {"bits": "8"},
    ):
        with pytest.raises(SettingsError):
            change_preferences(studio.database, studio.local, wrong)
    assert preferences_of(studio.database, studio.local).format == "mp3"
    set_preferences(studio.database, studio.local.id, {"format": "tape"})
    assert preferences_of(studio.database, studio.local) == Preferences()


def test_preferences_give_the_form_of_new_results(studio):
    assert preferences_of(studio.database, studio.local).form == PUBLISHED
    changed = change_preferences(studio.database, studio.local, {"rate": "source", "bits": "16"})
    assert changed.form == ResultFormat("source", "16")


@given(st.text(max_size=30))
def test_preferences_accept_only_usable_naming_patterns(pattern):
    try:
        naming = Preferences(naming=pattern).naming
    except SettingsError:
        return
    naming.format(recording="r", voice="v", take="1", date="d", transpose="0")


@pytest.mark.parametrize("name", EffectSettings.presets)
def test_plain_effects_returns_the_name_of_a_preset(name):
    values = {one: value for one, value in vars(EffectSettings.presets[name]).items()}
    assert plain_effects(values) == name


def test_make_token_shows_the_secret_once_and_it_works_until_revoked(studio):
    token, secret = make_token(studio, studio.local, "my program", None)
    assert account_of_token(studio.database, secret) == studio.local
    assert secret not in str(tokens_view(studio, studio.local))
    assert withdraw_token(studio, studio.local, token.id).state == "revoked"
    assert account_of_token(studio.database, secret) is None
    with pytest.raises(NotFound):
        withdraw_token(studio, studio.local, token.id)


def test_tokens_view_lists_newest_first_with_state_and_expiry(studio):
    make_token(studio, studio.local, "first", 1.0)
    make_token(studio, studio.local, "second", None)
    second, first = tokens_view(studio, studio.local)
    assert (second.name, second.state, second.expires_at) == ("second", "valid", None)
    assert first.expires_at - first.created_at == pytest.approx(86400, abs=1)


@pytest.mark.parametrize(("name", "days"), [("", None), ("x" * 201, None), ("a\nb", None), ("x", 0.0), ("x", -1.0)])
def test_make_token_refuses_an_invalid_name_or_lifetime(studio, name, days):
    with pytest.raises(Invalid):
        make_token(studio, studio.local, name, days)
    assert not tokens_view(studio, studio.local)


def test_tokens_view_and_take_back_token_cover_only_the_own_account(studio, other):
    token, secret = make_token(studio, studio.local, "mine", None)
    assert not tokens_view(studio, other)
    for name in (token.id, "mine"):
        with pytest.raises(NotFound):
            withdraw_token(studio, other, name)
    assert account_of_token(studio.database, secret) == studio.local


def test_take_back_token_refuses_a_name_instead_of_an_id(studio):
    make_token(studio, studio.local, "mine", None)
    with pytest.raises(NotFound):
        withdraw_token(studio, studio.local, "mine")


def test_make_token_refuses_tokens_above_the_limit_until_one_is_revoked(studio, monkeypatch):
    monkeypatch.setattr(account, "MOST_TOKENS", 2)
    first, _ = make_token(studio, studio.local, "one", None)
    make_token(studio, studio.local, "two", None)
    with pytest.raises(TooMany):
        make_token(studio, studio.local, "three", None)
    withdraw_token(studio, studio.local, first.id)
    make_token(studio, studio.local, "three", None)
