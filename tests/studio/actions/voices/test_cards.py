import colorsys
import re
import shutil
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.voices.card import DEMO_VOICES, TRAIN_AGAIN, load_card
from engine.voices.card_rules import FORMAT
from studio.actions.voices.cards import LEAST_CONTRAST, avatar_of, contrast, uses_of, voice_cards, voice_details
from studio.actions.voices.datasets import create_model
from studio.actions.voices.packages import export_model, import_model
from studio.errors import NotFound
from studio.store.catalogue import report_completed
from studio.store.folder_import import import_folders
from studio.store.records.cards import Voice
from studio.store.records.codec import plain
from tests.cards import rewrite_card

NOW_S = 1_800_000_000.0
TOO_LITTLE = {"findings": [{"code": "too_little", "reason": "There are only 3 s.", "remedy": "Add some."}]}


@given(st.text(max_size=40))
def test_avatar_of_is_legible_and_stable_for_every_name(name):
    avatar = avatar_of(name)
    assert re.fullmatch("#[0-9a-f]{6}", avatar.colour)
    assert contrast(avatar.colour) >= LEAST_CONTRAST
    assert 1 <= len(avatar.initials) <= 2
    assert all(0.25 <= bar <= 1.0 for bar in avatar.bars)
    assert avatar == avatar_of(f" {name}  ")


def test_contrast_matches_the_wcag_values():
    assert contrast("#000000") == pytest.approx(21.0)
    assert contrast("#ffffff") == pytest.approx(1.0)
    assert contrast("#767676") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize(
    ("name", "initials"), [("Mia", "M"), ("Mia and Koguchi", "MK"), ("ä.b", "Ä"), ("  ", "?"), ("💥", "?")]
)
def test_avatar_of_takes_initials_from_the_name(name, initials):
    assert avatar_of(name).initials == initials


def test_avatar_of_gives_the_demo_voices_distinct_colours():
    names = [load_card(path).name for path in DEMO_VOICES.iterdir() if path.is_dir()]
    hues = sorted(colorsys.rgb_to_hls(*bytes.fromhex(avatar_of(name).colour[1:]))[0] for name in names)
    assert len(hues) == 6
    assert min(later - sooner for sooner, later in pairwise(hues)) > 0.1


def test_voice_cards_show_uses_and_avatar(studio):
    cards = {card.id: card for card in voice_cards(studio, studio.local, "", 0.0)}
    learned = ["12 min of training", "likeness 0.93", "clarity 1.00"]
    assert cards["kathleen"].uses == ["speaks", "would sing about C4 (estimated)", *learned]
    assert cards["safiye"].uses[:2] == ["sings", "would speak about G#3 (estimated)"]
    assert voice_details(studio, studio.local, "safiye", "", 0.0).uses == cards["safiye"].uses
    assert cards["koguchi"].uses[0] == "speaks and sings"
    assert not any("estimated" in use for use in cards["koguchi"].uses)
    assert (
        cards["koguchi"].avatar
        == avatar_of("Koguchi")
        == voice_details(studio, studio.local, "koguchi", "", 0.0).avatar
    )


def test_uses_of_leaves_out_unknown_values():
    assert uses_of({"name": "Mia"}) == []
    assert uses_of({"training": {"minutes": 0.5, "scores": {"likeness": None}}}) == ["30 s of training"]


def test_voice_cards_show_profile_state_and_preview(studio):
    cards = voice_cards(studio, studio.local, "", NOW_S)
    assert [card.id for card in cards] == ["everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"]
    for card in cards:
        assert set(plain(card)) == {
            *Voice.__annotations__,
            "state",
            "untrained",
            "demo",
            "avatar",
            "estimated",
            "uses",
            "preview_url",
        }
        assert (card.state, card.untrained, card.demo) == ("completed", False, True)
        assert card.preview_url == f"/demo-voices/{card.id}/preview.wav"
        assert (DEMO_VOICES / card.id / "preview.wav").exists()


def test_voice_cards_link_the_preview_of_an_imported_voice_if_it_exists(studio, tmp_path):
    export_model(studio, studio.local, "koguchi", tmp_path / "out.zip")
    model = import_model(studio, studio.local, tmp_path / "out.zip")
    card = next(one for one in voice_cards(studio, studio.local, "http://here/", NOW_S) if one.id == model)
    assert card.preview_url.startswith(f"http://here/files/voices/{model}/preview.wav?expires=")
    (studio.settings.voices / model / "preview.wav").unlink()
    assert voice_details(studio, studio.local, model, "", NOW_S).preview_url is None


def test_voice_cards_mark_a_voice_of_an_earlier_format_for_training_again(studio):
    shutil.copytree(DEMO_VOICES / "koguchi", studio.settings.voices / "mine")
    rewrite_card(studio.settings.voices / "mine", format=FORMAT - 1)
    import_folders(studio.database, studio.storage, studio.local)
    states = {one.id: one.state for one in voice_cards(studio, studio.local, "", NOW_S, ready_only=False)}
    assert (states["mine"], states["koguchi"]) == (TRAIN_AGAIN, "completed")
    assert voice_details(studio, studio.local, "mine", "", NOW_S).state == TRAIN_AGAIN
    assert "mine" not in {one.id for one in voice_cards(studio, studio.local, "", NOW_S)}


def test_voice_cards_mark_a_pending_voice_as_usable_untrained(studio, package):
    model = create_model(studio, studio.local, package())
    card = next(one for one in voice_cards(studio, studio.local, "", NOW_S) if one.id == model)
    assert (card.state, card.preview_url, card.vocal_range) == ("pending", None, None)
    assert card.untrained
    details = voice_details(studio, studio.local, model, "", NOW_S)
    assert (details.has_recordings, details.learned, details.data_report) == (True, {}, None)
    assert details.untrained


def test_voice_cards_list_a_voice_with_too_little_sound_only_without_ready_only(studio, package):
    model = create_model(studio, studio.local, package())
    with studio.database.write() as connection:
        report_completed(connection, studio.local.id, model, TOO_LITTLE)
    assert model not in {one.id for one in voice_cards(studio, studio.local, "", NOW_S)}
    card = next(one for one in voice_cards(studio, studio.local, "", NOW_S, ready_only=False) if one.id == model)
    assert (card.state, card.untrained) == ("pending", False)


def test_voice_cards_mark_an_earlier_voice_with_recordings_as_usable_untrained(studio, package):
    model = create_model(studio, studio.local, package())
    shutil.copytree(DEMO_VOICES / "koguchi", studio.settings.voices / model)
    rewrite_card(studio.settings.voices / model, format=FORMAT - 1)
    import_folders(studio.database, studio.storage, studio.local)
    card = next(one for one in voice_cards(studio, studio.local, "", NOW_S) if one.id == model)
    assert (card.state, card.untrained) == (TRAIN_AGAIN, True)


def test_voice_details_of_a_demo_voice_show_its_training(studio):
    details = voice_details(studio, studio.local, "kathleen", "", NOW_S)
    assert (details.demo, details.has_recordings) == (True, False)
    assert details.learned == load_card(DEMO_VOICES / "kathleen").training
    assert details.learned["best_epoch"] >= 1


def test_voice_cards_hide_voices_of_other_accounts(studio, other, package):
    model = create_model(studio, studio.local, package())
    assert model not in {one.id for one in voice_cards(studio, other, "", NOW_S, ready_only=False)}
    with pytest.raises(NotFound):
        voice_details(studio, other, model, "", NOW_S)


def test_voice_cards_list_all_voices_despite_a_damaged_one(studio, tmp_path):
    shutil.copytree(DEMO_VOICES / "koguchi", studio.settings.voices / "mine")
    import_folders(studio.database, studio.storage, studio.local)
    (studio.settings.voices / "mine" / "card.json").write_text("{")
    assert len(voice_cards(studio, studio.local, "", NOW_S, ready_only=False)) == 7
    assert voice_details(studio, studio.local, "mine", "", NOW_S).learned == {}
