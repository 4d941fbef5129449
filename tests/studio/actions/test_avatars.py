"""Each voice has a look of its own, and says what it is good for."""

import colorsys
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.voices.card import DEMO_VOICES, load_card
from studio.actions.avatars import LEAST_CONTRAST, avatar_of, contrast
from studio.actions.voice_cards import voice_cards, voice_details
from studio.actions.voice_uses import uses_of


@given(st.text(max_size=40))
def test_avatar_of_is_legible_and_stable_for_every_name(name):
    avatar = avatar_of(name)
    assert re.fullmatch("#[0-9a-f]{6}", avatar["colour"])
    assert contrast(avatar["colour"]) >= LEAST_CONTRAST
    assert 1 <= len(avatar["initials"]) <= 2
    assert all(0.25 <= bar <= 1.0 for bar in avatar["bars"])
    assert avatar == avatar_of(f" {name}  ")


def test_contrast_matches_the_wcag_values():
    assert contrast("#000000") == pytest.approx(21.0)
    assert contrast("#ffffff") == pytest.approx(1.0)
    assert contrast("#767676") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize(
    ("name", "initials"), [("Mia", "M"), ("Mia and Koguchi", "MK"), ("ä.b", "Ä"), ("  ", "?"), ("💥", "?")]
)
def test_avatar_of_takes_initials_from_the_name(name, initials):
    assert avatar_of(name)["initials"] == initials


def test_avatar_of_gives_the_demo_voices_distinct_colours():
    names = [load_card(path).name for path in DEMO_VOICES.iterdir() if path.is_dir()]
    hues = sorted(colorsys.rgb_to_hls(*bytes.fromhex(avatar_of(name)["colour"][1:]))[0] for name in names)
    assert len(hues) == 5
    assert min(later - sooner for sooner, later in pairwise(hues)) > 0.1


def test_voice_cards_show_uses_and_avatar(studio):
    cards = {card["id"]: card for card in voice_cards(studio, studio.local, "", 0.0)}
    assert cards["kathleen"]["uses"] == ["speaks", "12 min of training", "likeness 0.93", "clarity 1.00"]
    assert cards["koguchi"]["uses"][0] == "speaks and sings"
    assert (
        cards["koguchi"]["avatar"]
        == avatar_of("Koguchi")
        == voice_details(studio, studio.local, "koguchi", "", 0.0)["avatar"]
    )


def test_uses_of_leaves_out_unknown_values():
    assert uses_of({"name": "Mia"}) == []
    assert uses_of({"training": {"minutes": 0.5, "scores": {"likeness": None}}}) == ["30 s of training"]
