import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.analysis.envelope import BANDS
from engine.analysis.pitch_statistics import PitchStatistics
from engine.errors import VoiceError
from engine.features.speaker_timbre import SPREAD
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.timbre_encoder import TIMBRE
from engine.voices.card import VoiceCard, list_voices, load_card
from engine.voices.card_rules import FORMAT
from engine.voices.imported import voice_of
from engine.voices.voice import Voice, load_voice, save_voice
from tests.cards import rewrite_card

CARD = VoiceCard(
    **dict(id="anna", name="Anna", gender="female", age="adult", description="A clear voice.", base_language="de"),
    **dict(traits=["clear", "warm", "natural"], genre="pop", voice_type="alto"),
    **dict(vocal_range={"min": "F3", "max": "D5"}, pitch=PitchStatistics(53.0, 58.5, 70.0), bandwidth_hertz=16_000),
    **dict(licence="CC0-1.0", source="a test", consent={"statement": "yes", "by": "Anna", "date": "2025-01-01"}),
)


def made(card: VoiceCard = CARD) -> Voice:
    torch.manual_seed(0)
    vectors = {"timbre": torch.randn(TIMBRE), "spread": torch.randn(SPREAD, TIMBRE), "centre": torch.randn(BANDS)}
    vectors["retrieval_frames"] = torch.randn(50, CONTENT)
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


def test_load_voice_returns_the_saved_voice(saved):
    original, found = made(), load_voice("anna", saved)
    assert found.card == original.card
    for name in ("timbre", "spread", "centre", "contrast"):
        torch.testing.assert_close(getattr(found, name), getattr(original, name), atol=2e-3, rtol=2e-3)
    assert not found.decoder.training
    assert not any(parameter.requires_grad for parameter in found.decoder.parameters())
    for name, value in original.decoder.state_dict().items():
        torch.testing.assert_close(found.decoder.state_dict()[name], value, atol=2e-3, rtol=2e-3)


def test_load_voice_returns_the_preview_file_or_none(saved):
    assert load_voice("anna", saved).preview.read_bytes() == b"sound"
    assert load_voice("berta", saved).preview is None
    assert made().preview is None


def test_load_voice_accepts_a_folder(saved):
    assert load_voice(saved / "berta").card.id == "berta"


def test_save_voice_replaces_an_existing_voice_and_its_preview(folder):
    save_voice(made(replace(CARD, description="Another.")), folder / "anna")
    assert load_card(folder / "anna").description == "Another."
    assert load_voice("anna", folder).preview is None
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


def test_save_voice_keeps_the_old_voice_if_writing_fails(folder):
    with pytest.raises(VoiceError, match="The voice 'anna' could not be written: No such file"):
        save_voice(made(replace(CARD, description="Another.")), folder / "anna", folder / "no preview.wav")
    assert load_voice("anna", folder).card.description == "A clear voice."
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


@pytest.mark.parametrize("identifier", ["nobody", "", "..", "../anna", "anna/", "Ann", "/etc", "a" * 65])
def test_load_voice_refuses_an_unknown_id_and_lists_the_known_voices(saved, identifier):
    with pytest.raises(VoiceError, match=r"There is no voice .* The voices here are: anna, berta"):
        load_voice(identifier, saved)


@pytest.mark.parametrize("name", ["Anna", "ANNA", "änna"])
def test_load_voice_finds_a_name_without_regard_to_case_and_accents(saved, name):
    assert load_voice(name, str(saved)).card.id == "anna"


def test_load_voice_asks_for_the_id_where_several_have_the_name(folder):
    save_voice(made(replace(CARD, id="anna-2")), folder / "anna-2")
    with pytest.raises(VoiceError, match=r"Several voices have the name 'ANNA': give the id, .*anna, anna-2"):
        load_voice("ANNA", folder)
    assert load_voice("anna", folder).card.id == "anna"


@pytest.mark.parametrize(("typed", "meant"), [("annna", "anna"), ("Bertha", "Berta")])
def test_load_voice_names_the_voice_that_was_probably_meant(saved, typed, meant):
    with pytest.raises(VoiceError, match=f"There is no voice '{typed}': did you mean (?i:{meant})"):
        load_voice(typed, saved)


def test_voice_is_one_line_of_text_and_equal_to_itself_alone():
    voice = made()
    assert repr(voice) == "Voice(Anna)"
    assert voice == voice
    assert voice != made()


def test_voice_of_takes_a_voice_its_id_and_its_place(saved):
    voice = made()
    assert voice_of(voice) is voice
    assert voice_of("kathleen").card.name == "Kathleen"
    assert voice_of(saved / "berta").card.name == "Berta"
    with pytest.raises(VoiceError, match="not int"):
        voice_of(5)


def test_load_voice_refuses_folders_without_a_voice(tmp_path):
    with pytest.raises(VoiceError, match="The voices here are: none"):
        load_voice("anna", tmp_path)
    with pytest.raises(VoiceError, match=r"is not a voice: it has no card.json"):
        load_voice(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "7", "{}", '"anna"', '{"id": "anna"}', '{"pitch": 5}', "\udcff"),
        json.dumps({"name": 3, "pitch": {}}),
    ],
)
def test_load_voice_refuses_a_damaged_card_and_list_voices_skips_it(folder, text):
    (folder / "anna" / "card.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(VoiceError, match=r"The card of the voice 'anna' is damaged"):
        load_voice("anna", folder)
    assert [card.id for card in list_voices(folder)] == ["berta"]


@pytest.mark.parametrize("kept", [None, 0, 100, 100_000])
def test_load_voice_refuses_missing_or_damaged_weights(folder, kept):
    path = folder / "anna" / "weights.safetensors"
    content = path.read_bytes()
    path.unlink()
    if kept is not None:
        path.write_bytes(content[:kept])
    with pytest.raises(VoiceError, match="missing or damaged"):
        load_voice("anna", folder)


OTHER = "'anna' was made by another version of the engine"


def nan_at_the_end(values: torch.Tensor) -> torch.Tensor:
    values.view(-1)[-1] = float("nan")
    return values


OF_OTHER_SHAPES = {"timbre": TIMBRE + 1, "spread": TIMBRE, "contrast": 1, "decoder.leave.1.bias": 3, "more": 1}


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        *((name, lambda _, shape=shape: torch.zeros(shape), OTHER) for name, shape in OF_OTHER_SHAPES.items()),
        *((name, lambda _: None, OTHER) for name in ("timbre", "centre", "decoder.leave.1.bias")),
        *((name, nan_at_the_end, "are missing or damaged") for name in ("timbre", "spread", "decoder.leave.1.bias")),
    ],
)
def test_load_voice_refuses_weights_of_another_shape_or_name_missing_ones_and_nan(folder, name, change, words):
    path = folder / "anna" / "weights.safetensors"
    weights = load_file(path)
    weights[name] = change(weights.get(name))
    save_file({name: values for name, values in weights.items() if values is not None}, path)
    with pytest.raises(VoiceError, match=words):
        load_voice("anna", folder)


@pytest.mark.parametrize("card", list_voices(), ids=lambda card: card.id)
def test_installed_voices_have_complete_cards_previews_and_finite_weights(card):
    voice = load_voice(card.id)
    assert voice.card == card
    assert all([card.name, card.gender, card.age, card.description, card.base_language, card.traits, card.genre])
    assert all([card.voice_type, card.vocal_range])
    assert card.licence
    assert card.source
    assert card.consent["statement"]
    assert card.pitch.low < card.pitch.median < card.pitch.high
    assert voice.preview is not None
    weights = [voice.timbre, voice.spread, voice.centre, voice.contrast, *voice.decoder.state_dict().values()]
    assert all(torch.isfinite(value).all() for value in weights)


# ---- what nobody has stated, and what nobody may state


def test_save_voice_keeps_unknown_fields_of_a_card_empty(folder):
    unsaid = dict.fromkeys(("gender", "age", "base_language", "genre", "voice_type"))
    card = replace(CARD, **unsaid, consent={}, other={"mood": {"happy": [1, None]}})
    save_voice(made(card), folder / "anna")
    assert load_card(folder / "anna") == card


def test_load_voice_refuses_a_card_of_a_later_format(folder):
    rewrite_card(folder / "anna", format=FORMAT + 1)
    with pytest.raises(VoiceError, match="later version of Timbre Studio; update"):
        load_voice("anna", folder)


@pytest.mark.parametrize("format", range(1, FORMAT))
def test_load_voice_refuses_a_voice_of_an_earlier_base_but_list_voices_lists_it(folder, format):
    """It is listed, so that it can be made again or deleted, but cannot convert."""
    rewrite_card(folder / "anna", format=format)
    assert "anna" in [card.id for card in list_voices(folder)]
    assert load_card(folder / "anna").is_earlier
    (folder / "anna" / "weights.safetensors").write_bytes(b"whatever it was")
    with pytest.raises(VoiceError, match=r"The voice 'anna' was made with an earlier version .* Train it again"):
        load_voice("anna", folder)


def test_load_card_reads_a_card_without_a_format_as_format_1(folder):
    rewrite_card(folder / "anna", "format")
    assert load_card(folder / "anna").format == 1


def test_save_voice_refuses_an_invalid_card_and_keeps_the_old_voice(folder):
    for wrong in ({"name": ""}, {"other": {"a": object()}}, {"bandwidth_hertz": 0}):
        with pytest.raises(VoiceError, match="The card of the voice 'anna' cannot be written"):
            save_voice(made(replace(CARD, **wrong)), folder / "anna")
    assert load_card(folder / "anna") == CARD
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


# ---- several folders


def test_list_voices_and_load_voice_prefer_the_earlier_folder_for_the_same_id(saved, tmp_path):
    save_voice(made(replace(CARD, name="Another Anna")), tmp_path / "anna")
    assert [card.name for card in list_voices([tmp_path, saved])] == ["Another Anna", "Berta"]
    assert [card.name for card in list_voices([saved, tmp_path])] == ["Anna", "Berta"]
    assert load_voice("anna", [tmp_path, saved]).card.name == "Another Anna"
    assert load_voice("berta", [tmp_path, saved]).card.name == "Berta"
    with pytest.raises(VoiceError, match="The voices here are: anna, berta"):
        load_voice("nobody", [tmp_path, saved, tmp_path / "nothing"])


def test_load_voice_takes_the_id_from_the_folder_name(folder):
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
def test_save_voice_keeps_the_old_or_new_voice_after_a_crash_at_any_step(folder, number, monkeypatch):
    later = made(replace(CARD, description="Another."))
    dies_before_change(number, lambda: save_voice(later, folder / "anna"), monkeypatch)
    assert load_voice("anna", folder).card.description in ("A clear voice.", "Another.")
    assert [card.id for card in list_voices(folder)] == ["anna", "berta"]
    save_voice(later, folder / "anna")
    assert load_voice("anna", folder).card.description == "Another."
    assert sorted(path.name for path in folder.iterdir()) == ["anna", "berta"]


def test_load_voice_finds_a_voice_in_its_old_folder_after_a_crash(folder):
    (folder / "anna").rename(folder / "anna.old")
    assert load_voice("anna", folder).card == CARD
