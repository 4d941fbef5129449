import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from engine.card import (
    DEMO_VOICES,
    PitchStatistics,
    VoiceCard,
    delete_voice,
    list_voices,
    load_card,
    new_identifier,
    pitch_statistics,
    update_card,
)
from engine.card_rules import FORMAT, LONGEST_IDENTIFIER, is_identifier
from engine.content import CONTENT
from engine.decoder import EnvelopeDecoder
from engine.envelope import BANDS
from engine.errors import VoiceError
from engine.timbre import TIMBRE
from engine.voice import SPREAD, Voice, load_voice, save_voice

CARD = VoiceCard(
    id="anna", name="Anna", gender="female", age="adult", description="A clear voice.", base_language="de",
    traits=["clear", "warm", "natural"], genre="pop", voice_type="alto", vocal_range={"min": "F3", "max": "D5"},
    pitch=PitchStatistics(53.0, 58.5, 70.0), bandwidth_hertz=16_000, licence="CC0-1.0", source="a test",
    consent={"statement": "yes", "by": "Anna", "date": "2025-01-01"},
)  # fmt: skip


def made(card: VoiceCard = CARD) -> Voice:
    torch.manual_seed(0)
    vectors = {"timbre": torch.randn(TIMBRE), "spread": torch.randn(SPREAD, TIMBRE), "centre": torch.randn(BANDS)}
    vectors["sounds"] = torch.randn(50, CONTENT)
    return Voice(card, contrast=torch.ones(BANDS), decoder=EnvelopeDecoder().eval(), **vectors)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with two voices, Anna (anna, with a preview) and Berta (berta)."""
    folder = tmp_path_factory.mktemp("voices")
    (folder / "heard.wav").write_bytes(b"sound")
    save_voice(made(), folder / "anna", folder / "heard.wav")
    save_voice(made(replace(CARD, id="berta", name="Berta")), folder / "berta")
    (folder / "heard.wav").unlink()
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    """The same in a folder of its own, to be damaged."""
    shutil.copytree(saved, tmp_path / "voices")
    return tmp_path / "voices"


def test_a_voice_comes_back_as_it_was_saved(saved):
    original, found = made(), load_voice("anna", saved)
    assert found.card == original.card
    for name in ("timbre", "spread", "centre", "contrast"):
        torch.testing.assert_close(getattr(found, name), getattr(original, name), atol=2e-3, rtol=2e-3)
    assert not found.decoder.training
    assert not any(parameter.requires_grad for parameter in found.decoder.parameters())
    for name, value in original.decoder.state_dict().items():
        torch.testing.assert_close(found.decoder.state_dict()[name], value, atol=2e-3, rtol=2e-3)


def test_the_preview_is_a_file_or_nothing(saved):
    assert load_voice("anna", saved).preview.read_bytes() == b"sound"
    assert load_voice("berta", saved).preview is None
    assert made().preview is None


def test_a_voice_is_found_by_its_folder_too(saved):
    assert load_voice(saved / "berta").card.id == "berta"


def test_voices_are_listed_by_name(saved, tmp_path):
    assert [card.id for card in list_voices(saved)] == ["anna", "berta"]
    assert list_voices(tmp_path / "nothing") == []


def test_saving_again_replaces_the_whole_voice(folder):
    save_voice(made(replace(CARD, description="Another.")), folder / "anna")
    assert load_card(folder / "anna").description == "Another."
    assert load_voice("anna", folder).preview is None
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


def test_a_failed_save_leaves_the_voice_as_it_was(folder):
    with pytest.raises(VoiceError, match=r'The voice could not be written to ".*anna": No such file'):
        save_voice(made(replace(CARD, description="Another.")), folder / "anna", folder / "no preview.wav")
    assert load_voice("anna", folder).card.description == "A clear voice."
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


def test_the_published_fields_are_those_of_the_interface():
    assert list(CARD.as_published()) == [
        "id", "name", "gender", "age", "description", "base_language", "traits", "genre", "voice_type", "vocal_range",
    ]  # fmt: skip
    assert CARD.as_published()["vocal_range"] == {"min": "F3", "max": "D5"}


@pytest.mark.parametrize("identifier", ["nobody", "", "..", "../anna", "anna/", "Anna", "/etc", "a" * 65])
def test_an_unknown_voice_is_an_error_that_names_those_there_are(saved, identifier):
    with pytest.raises(VoiceError, match=r"There is no voice .* The voices here are: anna, berta"):
        load_voice(identifier, saved)


def test_where_there_are_no_voices_the_error_says_none(tmp_path):
    with pytest.raises(VoiceError, match="The voices here are: none"):
        load_voice("anna", tmp_path)


def test_a_folder_without_a_card_is_no_voice(tmp_path):
    with pytest.raises(VoiceError, match=r"is not a voice: it has no card.json"):
        load_voice(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "7", "{}", '"anna"', '{"id": "anna"}', '{"pitch": 5}', "\udcff",
        json.dumps({"name": 3, "pitch": {}}),
    ],
)  # fmt: skip
def test_a_damaged_card_is_one_sentence_and_hides_no_other_voice(folder, text):
    (folder / "anna" / "card.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(VoiceError, match=r"The card of the voice in .*anna is damaged"):
        load_voice("anna", folder)
    assert [card.id for card in list_voices(folder)] == ["berta"]


@pytest.mark.parametrize("field", ["name", "gender", "pitch", "licence", "consent"])
def test_a_card_without_a_field_is_damaged(folder, field):
    path = folder / "anna" / "card.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values[field]
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(VoiceError, match="damaged"):
        load_card(folder / "anna")


def test_fields_of_later_versions_are_passed_over(folder):
    path = folder / "anna" / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mood": "happy"}), encoding="utf-8")
    assert load_card(folder / "anna") == CARD


@pytest.mark.parametrize("kept", [None, 0, 100, 100_000])
def test_damaged_weights_are_one_sentence(folder, kept):
    path = folder / "anna" / "weights.safetensors"
    content = path.read_bytes()
    path.unlink()
    if kept is not None:
        path.write_bytes(content[:kept])
    with pytest.raises(VoiceError, match="missing or damaged"):
        load_voice("anna", folder)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("timbre", (TIMBRE + 1,)),
        ("spread", (TIMBRE,)),
        ("contrast", (1,)),
        ("decoder.leave.1.bias", (3,)),
        ("more", (1,)),
    ],
)
def test_weights_of_another_shape_are_one_sentence(folder, name, shape):
    path = folder / "anna" / "weights.safetensors"
    save_file(load_file(path) | {name: torch.zeros(shape)}, path)
    with pytest.raises(VoiceError, match="'anna' was made by another version of the engine"):
        load_voice("anna", folder)


@pytest.mark.parametrize("name", ["timbre", "centre", "decoder.leave.1.bias"])
def test_weights_that_lack_something_are_one_sentence(folder, name):
    path = folder / "anna" / "weights.safetensors"
    weights = load_file(path)
    del weights[name]
    save_file(weights, path)
    with pytest.raises(VoiceError, match="another version of the engine"):
        load_voice("anna", folder)


@pytest.mark.parametrize("card", list_voices(), ids=lambda card: card.id)
def test_the_installed_voices_are_complete(card):
    voice = load_voice(card.id)
    assert voice.card == card
    assert all(card.as_published().values())
    assert card.licence
    assert card.source
    assert card.consent["statement"]
    assert card.pitch.low < card.pitch.median < card.pitch.high
    assert voice.preview is not None
    weights = [voice.timbre, voice.spread, voice.centre, voice.contrast, *voice.decoder.state_dict().values()]
    assert all(torch.isfinite(value).all() for value in weights)


def test_pitch_statistics_of_known_notes():
    assert pitch_statistics(np.linspace(40, 60, 101)) == PitchStatistics(41.0, 50.0, 59.0)
    assert pitch_statistics(np.zeros(0)) == PitchStatistics(50.0, 57.0, 64.0)


# ---- what nobody has stated, and what nobody may state


def rewrite(folder, **changes):
    path = folder / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def test_a_voice_need_not_say_what_nobody_knows(folder):
    unsaid = dict.fromkeys(("gender", "age", "base_language", "genre", "voice_type"))
    card = replace(CARD, **unsaid, consent={}, other={"mood": {"happy": [1, None]}})
    save_voice(made(card), folder / "anna")
    assert load_card(folder / "anna") == card
    assert load_card(folder / "anna").as_published()["gender"] is None
    assert "other" not in card.as_published()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "../../etc"), ("id", "Anna"), ("id", 5), ("id", ""), ("id", "anna\n"),
        ("name", ""), ("name", "  "), ("name", "a" * 101), ("name", "\x1b[2J"), ("name", ["Anna"]),
        ("gender", 1), ("age", {}), ("genre", "pop\nrock"), ("base_language", []),
        ("description", None), ("licence", None), ("licence", "\x1b]0;x\x07"), ("consent", {"\x1b": "x"}),
        ("consent", {"by": "\x9b"}),
        ("source", 3), ("corpus_speaker", None),
        ("traits", "clear"), ("traits", [1]), ("traits", None),
        ("vocal_range", {}), ("vocal_range", {"min": "C5", "max": "A2"}), ("vocal_range", {"min": "x", "max": "y"}),
        ("vocal_range", {"min": 1, "max": 2}), ("vocal_range", {"min": "A2", "max": "C5", "mid": "C4"}),
        ("pitch", {"low": 1, "median": 2}), ("pitch", {"low": 60, "median": 50, "high": 70}),
        ("pitch", {"low": "50", "median": 57, "high": 64}), ("pitch", {"low": True, "median": 57, "high": 64}),
        ("pitch", {"low": 50, "median": 57, "high": float("nan")}), ("pitch", {"low": 50, "median": 57, "high": 1e300}),
        ("bandwidth_hertz", 0), ("bandwidth_hertz", float("inf")), ("bandwidth_hertz", "wide"),
        ("consent", {"by": 5}), ("consent", []), ("training", []), ("other", None),
        ("format", "1"), ("format", True), ("format", 0), ("format", 1.0),
    ],
)  # fmt: skip
def test_a_card_that_lies_about_what_it_holds_is_refused_and_the_field_is_named(folder, field, value):
    rewrite(folder / "anna", **{field: value})
    with pytest.raises(VoiceError, match=rf"damaged \({field} must be .*\); import the voice again"):
        load_card(folder / "anna")


def test_a_card_of_a_later_format_says_so(folder):
    rewrite(folder / "anna", format=FORMAT + 1)
    with pytest.raises(VoiceError, match="later version of Timbre Studio; update"):
        load_voice("anna", folder)


@pytest.mark.parametrize(
    "other",
    ["[" * 100_000 + "]" * 100_000, '{"a":' * 200 + "1" + "}" * 200, '{"a": "\\ud800"}', '"' + "a" * 2**23 + '"'],
)
def test_a_card_made_to_do_harm_is_refused(folder, other):
    path = folder / "anna" / "card.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"other": {}', f'"other": {other}'), encoding="utf-8")
    with pytest.raises(VoiceError, match="damaged"):
        load_card(folder / "anna")


def test_figures_that_are_no_numbers_become_null(folder):
    rewrite(folder / "anna", training={"loss": float("nan")})
    assert load_card(folder / "anna").training == {"loss": None}


def test_a_card_that_could_not_be_read_again_is_not_written(folder):
    for wrong in ({"name": ""}, {"other": {"a": object()}}, {"bandwidth_hertz": 0}):
        with pytest.raises(VoiceError, match="The card of the voice 'anna' cannot be written"):
            save_voice(made(replace(CARD, **wrong)), folder / "anna")
    assert load_card(folder / "anna") == CARD
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


@pytest.mark.parametrize("name", ["timbre", "spread", "decoder.leave.1.bias"])
def test_weights_that_are_no_numbers_are_refused(folder, name):
    path = folder / "anna" / "weights.safetensors"
    weights = load_file(path)
    weights[name].view(-1)[-1] = float("nan")
    save_file(weights, path)
    with pytest.raises(VoiceError, match="weights of the voice 'anna' are missing or damaged"):
        load_voice("anna", folder)


# ---- several folders


def test_of_two_voices_with_one_id_the_one_in_the_earlier_folder_counts(saved, tmp_path):
    save_voice(made(replace(CARD, name="Another Anna")), tmp_path / "anna")
    assert [card.name for card in list_voices([tmp_path, saved])] == ["Another Anna", "Berta"]
    assert [card.name for card in list_voices([saved, tmp_path])] == ["Anna", "Berta"]
    assert load_voice("anna", [tmp_path, saved]).card.name == "Another Anna"
    assert load_voice("berta", [tmp_path, saved]).card.name == "Berta"
    with pytest.raises(VoiceError, match="The voices here are: anna, berta"):
        load_voice("nobody", [tmp_path, saved, tmp_path / "nothing"])


def test_a_voice_is_called_what_its_folder_is_called(folder):
    (folder / "anna").rename(folder / "hanna")
    (folder / "berta").rename(folder / "Berta B")  # no id
    assert [card.id for card in list_voices(folder)] == ["hanna"]
    assert load_voice("hanna", folder).card.id == "hanna"


# ---- replacing, changing and deleting


class Dead(BaseException):
    """The process has ended: nothing that would clean up afterwards can do anything any more."""


def dies_before_change(number, save, monkeypatch):
    """Runs `save` up to its change `number` to the files' places; that one and all after it do not happen."""
    left = [number]

    def counted(change):
        def run(*args, **more):
            left[0] -= 1
            if left[0] <= 0:
                raise Dead
            return change(*args, **more)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", counted(os.replace))
        patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
        with suppress(Dead):
            save()


@pytest.mark.parametrize("number", range(1, 8))
def test_a_crash_while_a_voice_is_replaced_loses_neither_of_them(folder, number, monkeypatch):
    later = made(replace(CARD, description="Another."))
    dies_before_change(number, lambda: save_voice(later, folder / "anna"), monkeypatch)
    assert load_voice("anna", folder).card.description in ("A clear voice.", "Another.")
    assert [card.id for card in list_voices(folder)] == ["anna", "berta"]
    save_voice(later, folder / "anna")
    assert load_voice("anna", folder).card.description == "Another."
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


def test_a_voice_that_a_crash_left_aside_can_be_deleted(folder):
    (folder / "anna").rename(folder / "anna.old")
    assert load_voice("anna", folder).card == CARD
    delete_voice("anna", folder)
    assert sorted(path.name for path in folder.iterdir()) == ["berta"]


def test_deleting_takes_one_voice_and_all_of_it(folder):
    delete_voice("anna", folder)
    assert sorted(path.name for path in folder.iterdir()) == ["berta"]
    with pytest.raises(VoiceError, match="There is no voice 'anna'"):
        delete_voice("anna", folder)


@pytest.mark.parametrize("identifier", ["..", "../voices", "", "berta/../anna"])
def test_deleting_reaches_nothing_but_voices(folder, identifier):
    with pytest.raises(VoiceError, match="There is no voice"):
        delete_voice(identifier, folder)
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


def test_demo_voices_cannot_be_deleted(folder):
    demo = list_voices()[0].id
    for place in (folder, DEMO_VOICES):
        with pytest.raises(VoiceError, match=f"'{demo}' comes with the program"):
            delete_voice(demo, place)
    assert load_card(DEMO_VOICES / demo).id == demo
    save_voice(made(replace(CARD, id=demo)), folder / demo)  # a voice of one's own with that id is one's own
    delete_voice(demo, folder)


def test_a_card_is_changed_and_the_rest_stays(folder):
    before = (folder / "anna" / "weights.safetensors").read_bytes()
    changed = update_card(folder / "anna", name="Änne", voice_type=None, other={"a": 1})
    assert changed == load_card(folder / "anna") == replace(CARD, name="Änne", voice_type=None, other={"a": 1})
    assert (folder / "anna" / "weights.safetensors").read_bytes() == before
    assert sorted(path.name for path in (folder / "anna").iterdir()) == [
        "card.json", "preview.wav", "weights.safetensors",
    ]  # fmt: skip


@pytest.mark.parametrize("changes", [{"name": ""}, {"name": "Änne", "pitch": None}, {"id": "other"}])
def test_a_change_that_cannot_be_leaves_the_card(folder, changes):
    with pytest.raises(VoiceError):
        update_card(folder / "anna", **changes)
    assert load_card(folder / "anna") == CARD
    assert not list((folder / "anna").glob("*.part"))


# ---- ids


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("Anna", "anna"), ("Gökhan", "gokhan"), ("Mary  Ann O'Neil, 2nd", "mary-ann-oneil-2nd"),
        ("Große Łucja", "grosse-lucja"), ("I\u0307pek Is\u0131k", "ipek-isik"), ("../../etc/passwd", "etc-passwd"),
        ("小口", "voice"), ("!!!", "voice"), ("CON", "con-2"), ("a" * 200, "a" * 64), ("A" * 63 + " b", "a" * 63),
    ],
)  # fmt: skip
def test_ids_are_made_of_names(name, identifier):
    assert new_identifier(name) == identifier


def test_an_id_is_never_given_twice():
    taken: list[str] = []
    for _ in range(12):
        taken.append(new_identifier("Anna", taken))
    assert taken == ["anna", *(f"anna-{number}" for number in range(2, 13))]
    assert new_identifier("a" * 200, {"a" * 64}) == "a" * 62 + "-2"


@given(st.text(max_size=200), st.sets(st.text("ab-2", min_size=1, max_size=4)))
def test_whatever_the_name_the_id_can_be_a_folder(name, taken):
    identifier = new_identifier(name, taken)
    assert is_identifier(identifier)
    assert len(identifier) <= LONGEST_IDENTIFIER
    assert identifier not in taken
