import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.decoder import EnvelopeDecoder
from engine.envelope import BANDS
from engine.errors import VoiceError
from engine.timbre import TIMBRE
from engine.voice import (
    SPREAD,
    PitchStatistics,
    Voice,
    VoiceCard,
    list_voices,
    load_card,
    load_voice,
    pitch_statistics,
    save_voice,
)

CARD = VoiceCard(
    id="anna", name="Anna", gender="female", age="adult", description="A clear voice.", base_language="de",
    traits=["clear", "warm", "natural"], genre="pop", voice_type="alto", vocal_range={"min": "F3", "max": "D5"},
    pitch=PitchStatistics(53.0, 58.5, 70.0), bandwidth_hertz=16_000, licence="CC0-1.0", source="a test",
    consent={"statement": "yes", "by": "Anna", "date": "2025-01-01"},
)  # fmt: skip


def made(card: VoiceCard = CARD) -> Voice:
    torch.manual_seed(0)
    vectors = {"timbre": torch.randn(TIMBRE), "spread": torch.randn(SPREAD, TIMBRE), "centre": torch.randn(BANDS)}
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
