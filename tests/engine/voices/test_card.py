import json
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.pitch_statistics import PitchStatistics, pitch_statistics
from engine.errors import VoiceError
from engine.provenance.installation import data_folder
from engine.voices.card import (
    CARD_FILE,
    DEMO_VOICES,
    PREVIEW_FILE,
    STUDIO_VOICES,
    WEIGHTS_FILE,
    card_text,
    list_voices,
    load_card,
    new_identifier,
    voice_home,
)
from engine.voices.card_rules import LONGEST_IDENTIFIER, is_identifier
from studio.settings.environment import load_settings
from tests.cards import rewrite_card
from tests.engine.voices.test_voice import CARD


@pytest.fixture
def folder(tmp_path):
    """A folder with two voices, Anna (anna) and Berta (berta), as far as cards go."""
    for card in (CARD, replace(CARD, id="berta", name="Berta")):
        home = tmp_path / "voices" / card.id
        home.mkdir(parents=True)
        (home / CARD_FILE).write_text(card_text(card), encoding="utf-8")
        for name in (WEIGHTS_FILE, PREVIEW_FILE):
            (home / name).write_bytes(b"never looked at")
    return tmp_path / "voices"


def test_list_voices_sorts_by_name_and_accepts_a_missing_folder(folder, tmp_path):
    assert [card.id for card in list_voices(folder)] == ["anna", "berta"]
    assert list_voices(tmp_path / "nothing") == []


@pytest.mark.parametrize("field", ["name", "gender", "pitch", "licence", "consent"])
def test_load_card_refuses_a_card_with_a_missing_field(folder, field):
    rewrite_card(folder / "anna", field)
    with pytest.raises(VoiceError, match="damaged"):
        load_card(folder / "anna")


def test_load_card_ignores_unknown_fields(folder):
    rewrite_card(folder / "anna", mood="happy")
    assert load_card(folder / "anna") == CARD


def test_pitch_statistics_of_known_notes():
    assert pitch_statistics(np.linspace(40, 60, 101)) == PitchStatistics(41.0, 50.0, 59.0)
    assert pitch_statistics(np.zeros(0)) == PitchStatistics(50.0, 57.0, 64.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("id", wrong) for wrong in ("../../etc", "Anna", 5, "", "anna\n")),
        *(("name", wrong) for wrong in ("", "  ", "a" * 101, "\x1b[2J", ["Anna"])),
        *(("gender", 1), ("age", {}), ("genre", "pop\nrock"), ("base_language", []), ("description", None)),
        *(("licence", None), ("licence", "\x1b]0;x\x07"), ("source", 3), ("corpus_speaker", None)),
        *(("consent", wrong) for wrong in ({"\x1b": "x"}, {"by": "\x9b"}, {"by": 5}, [])),
        *(("traits", wrong) for wrong in ("clear", [1], None)),
        *(("vocal_range", wrong) for wrong in ({}, {"min": "C5", "max": "A2"}, {"min": "x", "max": "y"})),
        *(("vocal_range", wrong) for wrong in ({"min": 1, "max": 2}, {"min": "A2", "max": "C5", "mid": "C4"})),
        *(("pitch", {"low": low, "median": 57, "high": 64}) for low in ("50", True)),
        *(("pitch", {"low": 50, "median": 57, "high": high}) for high in (float("nan"), 1e300)),
        *(("pitch", wrong) for wrong in ({"low": 1, "median": 2}, {"low": 60, "median": 50, "high": 70}, None)),
        *(("spoken_pitch", {"low": 60, "median": 50, "high": 70}), ("sung_pitch", 57), ("estimated", [])),
        ("estimated", {"pitch": {"low": 50, "median": 57, "high": 64}}),
        *(("estimated", {"sung_pitch": wrong}) for wrong in ({"low": 60, "median": 50, "high": 70}, None)),
        *(("bandwidth_hertz", wrong) for wrong in (0, float("inf"), "wide")),
        *(("training", []), ("other", None)),
        *(("format", wrong) for wrong in ("1", True, 0, 1.0)),
    ],
)
def test_load_card_refuses_an_invalid_value_and_names_the_field(folder, field, value):
    rewrite_card(folder / "anna", **{field: value})
    with pytest.raises(VoiceError, match=rf"damaged \({field} must be .*\); import the voice again"):
        load_card(folder / "anna")


@pytest.mark.parametrize(
    "other",
    ["[" * 100_000 + "]" * 100_000, '{"a":' * 200 + "1" + "}" * 200, '{"a": "\\ud800"}', '"' + "a" * 2**23 + '"'],
)
def test_load_card_refuses_a_malicious_card(folder, other):
    path = folder / "anna" / "card.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"other": {}', f'"other": {other}'), encoding="utf-8")
    with pytest.raises(VoiceError, match="damaged"):
        load_card(folder / "anna")


def test_pitch_where_returns_spoken_and_sung_pitch_as_measured(folder):
    spoken, sung = {"low": 50.0, "median": 52.5, "high": 57.0}, {"low": 56.0, "median": 60.5, "high": 70.0}
    rewrite_card(folder / "anna", spoken_pitch=spoken, sung_pitch=sung)
    card = load_card(folder / "anna")
    assert card.pitch_where(sung=False) == PitchStatistics(**spoken)
    assert card.pitch_where(sung=True) == PitchStatistics(**sung)
    assert card.estimates == {}


MEASURED = {"vocal_range": {"min": "F3", "max": "C5"}, "pitch": asdict(CARD.pitch)}  # as of the recordings


@pytest.mark.parametrize(
    ("known", "name", "sung"), [("sung_pitch", "spoken_pitch", False), ("spoken_pitch", "sung_pitch", True)]
)
def test_a_card_without_one_of_both_pitches_estimates_it_and_says_so(folder, known, name, sung):
    rewrite_card(folder / "anna", **MEASURED, **{known: asdict(CARD.pitch)})
    before = (folder / "anna" / CARD_FILE).read_bytes()
    card = load_card(folder / "anna")
    assert (card.is_estimated(sung), card.is_estimated(not sung)) == (True, False)
    assert card.is_known_to(sung) is False
    assert getattr(card, name) is None  # it stays what was measured
    assert (card.pitch_where(sung).median > CARD.pitch.median) is sung
    assert card.estimates == {name: card.pitch_where(sung)}
    assert (folder / "anna" / CARD_FILE).read_bytes() == before
    written = json.loads(card_text(card))
    assert written["estimated"] == {name: asdict(card.pitch_where(sung))}
    (folder / "anna" / CARD_FILE).write_text(card_text(card), encoding="utf-8")
    assert load_card(folder / "anna") == card  # in whatever words a file states the estimate, it is found anew
    rewrite_card(folder / "anna", estimated={name: {"low": 1, "median": 2, "high": 3}})
    assert load_card(folder / "anna").pitch_where(sung) == card.pitch_where(sung)


def test_an_estimate_of_a_card_follows_gender_and_age(folder):
    rewrite_card(folder / "anna", sung_pitch=asdict(CARD.pitch))
    woman = load_card(folder / "anna")
    spoken = [replace(woman, gender=gender).pitch_where(sung=False).median for gender in ("male", None, "female")]
    assert spoken == sorted(spoken)
    assert len(set(spoken)) == 3


def test_range_where_is_lower_for_estimated_speech_and_reaches_higher_for_estimated_singing(folder):
    rewrite_card(folder / "anna", **MEASURED, sung_pitch=asdict(CARD.pitch))
    card = load_card(folder / "anna")
    assert card.range_where(sung=True) == MEASURED["vocal_range"]
    assert card.range_where(sung=False) == {"min": "C#3", "max": "C#4"}  # median 54.5
    rewrite_card(folder / "anna", sung_pitch=None, spoken_pitch=asdict(CARD.pitch))
    card = load_card(folder / "anna")
    assert card.range_where(sung=False) == MEASURED["vocal_range"]
    assert card.range_where(sung=True) == {"min": "F3", "max": "C5"}  # she speaks as high as others sing


@pytest.mark.parametrize("stated", [{"min": "C3", "max": "C5"}, {"min": "F3", "max": "G5"}, {}])
def test_range_where_leaves_a_stated_range_and_an_unknown_one(stated):
    sings = replace(CARD, vocal_range=stated, sung_pitch=CARD.pitch)
    assert sings.range_where(sung=False) == sings.range_where(sung=True) == stated


def test_load_card_reads_an_old_card_without_spoken_and_sung_pitch(folder):
    rewrite_card(folder / "anna", "spoken_pitch", "sung_pitch")
    card = load_card(folder / "anna")
    assert card.pitch_where(sung=False) == card.pitch_where(sung=True) == CARD.pitch
    assert card.estimates == {}  # of neither is anything known


def test_load_card_turns_nan_in_training_figures_into_null(folder):
    rewrite_card(folder / "anna", training={"loss": float("nan")})
    assert load_card(folder / "anna").training == {"loss": None}


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        *(("Anna", "anna"), ("Gökhan", "gokhan"), ("Mary  Ann O'Neil, 2nd", "mary-ann-oneil-2nd")),
        *(("Große Łucja", "grosse-lucja"), ("I\u0307pek Is\u0131k", "ipek-isik"), ("../../etc/passwd", "etc-passwd")),
        *(("小口", "voice"), ("!!!", "voice"), ("CON", "con-2"), ("a" * 200, "a" * 64), ("A" * 63 + " b", "a" * 63)),
    ],
)
def test_new_identifier_derives_ids_from_names(name, identifier):
    assert new_identifier(name) == identifier


def test_new_identifier_numbers_an_id_that_is_taken():
    taken: list[str] = []
    for _ in range(12):
        taken.append(new_identifier("Anna", taken))
    assert taken == ["anna", *(f"anna-{number}" for number in range(2, 13))]
    assert new_identifier("a" * 200, {"a" * 64}) == "a" * 62 + "-2"


@given(st.text(max_size=200), st.sets(st.text("ab-2", min_size=1, max_size=4)))
def test_new_identifier_is_valid_and_unused_for_any_name(name, taken):
    identifier = new_identifier(name, taken)
    assert is_identifier(identifier)
    assert len(identifier) <= LONGEST_IDENTIFIER
    assert identifier not in taken


@pytest.mark.parametrize(
    ("spoken", "sung", "speaks", "sings"),
    [(True, True, True, True), (True, False, True, False), (False, True, False, True), (False, False, True, True)],
)
def test_is_known_to_follows_measured_pitch_and_defaults_to_both(spoken, sung, speaks, sings):
    there = PitchStatistics(53.0, 58.5, 70.0)
    card = replace(CARD, spoken_pitch=there if spoken else None, sung_pitch=there if sung else None)
    assert (card.is_known_to(sing=False), card.is_known_to(sing=True)) == (speaks, sings)


def test_voices_of_the_studio_are_found_by_id_and_name(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "home"))
    shutil.copytree(folder, tmp_path / "home" / "voices")
    assert {"anna", "berta", "koguchi"} <= {card.id for card in list_voices()}
    assert voice_home("anna") == tmp_path / "home" / "voices" / "anna"
    assert voice_home("koguchi") == DEMO_VOICES / "koguchi"
    assert load_settings().voices == data_folder() / STUDIO_VOICES
    with pytest.raises(VoiceError, match="did you mean anna"):
        voice_home("anaa")
    (load_settings().datasets / "mia").mkdir(parents=True)
    with pytest.raises(VoiceError, match=r"'mia' is not trained yet: train it, or pass untrained_voice\(.*mia"):
        voice_home("mia")
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "another"))
    with pytest.raises(VoiceError, match="There is no voice 'anna'"):
        voice_home("anna")
