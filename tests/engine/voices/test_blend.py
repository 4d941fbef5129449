from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity

from engine.analysis.envelope import BANDS
from engine.analysis.pitch_statistics import PitchStatistics
from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.errors import SettingsError, VoiceError
from engine.features.clips import analyse_clip
from engine.features.speaker_timbre import SPREAD
from engine.networks.base import load_base
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_decoder import PROSODY, EnvelopeDecoder
from engine.networks.timbre_encoder import TIMBRE, timbre_input
from engine.units import SAMPLE_RATE, note_number
from engine.voices.blend import blend_voices
from engine.voices.card import VoiceCard
from engine.voices.voice import Voice, load_voice, save_voice

ANNA = VoiceCard(
    **dict(id="anna", name="Anna", gender="female", age="adult", description="A clear voice.", base_language="de"),
    **dict(traits=["clear", "warm"], genre="pop", voice_type="soprano", vocal_range={"min": "C4", "max": "C6"}),
    **dict(pitch=PitchStatistics(62.0, 68.0, 80.0), bandwidth_hertz=16_000, licence="CC-BY-4.0"),
    **dict(source="Anna's recordings", consent={"statement": "Yes.", "by": "Anna", "date": "2025-01-01"}),
    corpus_speaker="set/anna",
)
BERT = replace(
    ANNA,
    **dict(id="bert", name="Bert", gender="male", age=None, traits=["rough", "warm"], genre=None, voice_type="bass"),
    **dict(vocal_range={"min": "C2", "max": "C4"}, pitch=PitchStatistics(40.0, 48.0, 60.0), bandwidth_hertz=8_000),
    **dict(licence="CC-BY-SA-4.0", source="Bert's recordings", consent={"by": "Bert"}, corpus_speaker="", other={}),
)
WEIGHTS = ("timbre", "spread", "centre", "contrast", "retrieval_frames")


def made(card: VoiceCard, seed: int) -> Voice:
    torch.manual_seed(seed)
    vectors = {"timbre": torch.randn(TIMBRE), "spread": torch.randn(SPREAD, TIMBRE), "centre": torch.randn(BANDS)}
    vectors["retrieval_frames"] = torch.randn(50, CONTENT)
    return Voice(card, contrast=1 + torch.rand(BANDS), decoder=EnvelopeDecoder().eval(), **vectors)


@pytest.fixture(scope="module")
def anna():
    return made(ANNA, 1)


@pytest.fixture(scope="module")
def bert():
    return made(BERT, 2)


@pytest.fixture(scope="module")
def demos():
    """Two of the installed voices, the lowest and the highest."""
    return load_voice("kathleen"), load_voice("safiye")


# ---- the sound


@pytest.mark.parametrize("share", [0, 0.0, 1, 1.0])
def test_blend_voices_returns_one_of_the_two_exactly_at_share_0_and_1(anna, bert, share):
    blend, one = blend_voices(anna, bert, share, "Mia", "mia"), (bert if share else anna)
    for name in WEIGHTS:
        assert torch.equal(getattr(blend, name), getattr(one, name))
    states = [voice.decoder.state_dict() for voice in (blend, one)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[1])
    for field in """
        gender age traits genre voice_type vocal_range pitch bandwidth_hertz licence source consent corpus_speaker
    """.split():
        assert getattr(blend.card, field) == getattr(one.card, field)


def test_blend_voices_averages_vectors_and_decoder_weights_by_share(anna, bert):
    blend = blend_voices(anna, bert, 0.25, "Mia", "mia")
    for name in ("timbre", "centre", "contrast"):
        expected = 0.75 * getattr(anna, name) + 0.25 * getattr(bert, name)
        torch.testing.assert_close(getattr(blend, name), expected)
    of_anna, of_bert = anna.decoder.state_dict(), bert.decoder.state_dict()
    for name, value in blend.decoder.state_dict().items():
        torch.testing.assert_close(value, 0.75 * of_anna[name] + 0.25 * of_bert[name])
    assert not blend.decoder.training
    assert not any(parameter.requires_grad for parameter in blend.decoder.parameters())


def test_blend_voices_gives_a_spread_with_the_weighted_mean_covariance(anna, bert):
    narrow = torch.zeros(SPREAD, TIMBRE)
    narrow[:3] = bert.spread[:3]
    first, second = replace(anna, spread=narrow), replace(bert, spread=torch.zeros(SPREAD, TIMBRE))
    second.spread[0] = anna.spread[0]
    spread = blend_voices(first, second, 0.3, "Mia", "mia").spread
    expected = 0.7 * narrow.T @ narrow + 0.3 * second.spread.T @ second.spread
    torch.testing.assert_close(spread.T @ spread, expected, atol=1e-4, rtol=1e-4)
    assert spread.shape == (SPREAD, TIMBRE)


def test_blend_voices_ignores_order_and_signs_of_the_spread(anna, bert):
    turned = replace(bert, spread=-bert.spread.flip(0))
    given_, other = (blend_voices(anna, voice, 0.5, "Mia", "mia").spread for voice in (bert, turned))
    torch.testing.assert_close(given_, other, atol=1e-4, rtol=1e-4)
    kept = blend_voices(anna, replace(anna, spread=-anna.spread), 0.5, "Mia", "mia").spread
    torch.testing.assert_close(kept.T @ kept, anna.spread.T @ anna.spread, atol=1e-3, rtol=1e-3)


@settings(max_examples=15)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=4, unique=True))
def test_blend_voices_moves_the_timbre_steadily_towards_the_second_voice(anna, bert, shares):
    timbres = [blend_voices(anna, bert, share, "Mia", "mia").timbre for share in sorted(shares)]
    to_anna, to_bert = (
        torch.stack([cosine_similarity(timbre, voice.timbre, 0) for timbre in timbres]) for voice in (anna, bert)
    )
    assert (to_anna.diff() <= 1e-5).all()
    assert (to_bert.diff() >= -1e-5).all()


@pytest.mark.system
def test_blend_voices_sounds_between_two_demo_voices(demos, sing):
    """What the base hears of a conversion moves from one voice to the other, and the words stay as clear."""
    first, second = demos
    recording = Audio(sing(2.5)[None], SAMPLE_RATE)
    base = load_base()

    def heard(voice):
        clip = analyse_clip(convert(recording, voice).takes[0].audio)
        with torch.inference_mode():
            return base.timbre(timbre_input(torch.from_numpy(clip.envelope).float()[None], 0.0))[0]

    voices = [first, *(blend_voices(first, second, share, "Mia", "mia") for share in (0.25, 0.5, 0.75)), second]
    timbres = [heard(voice) for voice in voices]
    near_first = [float(cosine_similarity(timbre, timbres[0], 0)) for timbre in timbres]
    near_second = [float(cosine_similarity(timbre, timbres[-1], 0)) for timbre in timbres]
    assert near_first == sorted(near_first, reverse=True)
    assert near_second == sorted(near_second)
    assert near_first[2] < 0.95
    assert near_second[2] < 0.95


def test_blend_voices_gives_a_decoder_near_the_mean_of_both(demos):
    """Else the straight line between their weights would not lead over networks that work."""
    first, second = demos
    blend = blend_voices(first, second, 0.5, "Mia", "mia")
    torch.manual_seed(0)
    content, prosody = torch.randn(1, 200, 64), torch.randn(1, 200, PROSODY)
    with torch.inference_mode():
        said = [voice.decoder(content, prosody, voice.timbre[None]) for voice in (first, second, blend)]
    away = (said[2] - (said[0] + said[1]) / 2).norm() / (said[0] - said[1]).norm()
    assert away < 0.35  # a half would be no blend, but a third voice; measured 0.19 to 0.23


def test_blend_voices_takes_retrieval_frames_in_proportion_to_the_share(anna, bert):
    frames = blend_voices(anna, bert, 0.2, "Mia", "mia").retrieval_frames
    of_anna, of_bert = (
        sum(bool((one == frames).all(1).any()) for one in voice.retrieval_frames) for voice in (anna, bert)
    )
    assert (len(frames), of_anna, of_bert) == (50, 40, 10)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_blend_voices_keeps_all_retrieval_frames_if_the_other_voice_has_none(anna, bert, share):
    """A voice may have been saved without any."""
    mute = replace(bert, retrieval_frames=torch.zeros(0, CONTENT))
    assert torch.equal(blend_voices(anna, mute, share, "Mia", "mia").retrieval_frames, anna.retrieval_frames)
    assert torch.equal(blend_voices(mute, anna, share, "Mia", "mia").retrieval_frames, anna.retrieval_frames)
    assert len(blend_voices(anna, mute, 1.0, "Mia", "mia").retrieval_frames) == 0
    assert blend_voices(mute, mute, share, "Mia", "mia").retrieval_frames.shape == (0, CONTENT)


# ---- the card


def test_blend_voices_result_is_saved_and_loaded_like_any_voice(anna, bert, tmp_path):
    blend = blend_voices(anna, bert, 0.4, "Mia", "mia")
    save_voice(blend, tmp_path / "mia")
    assert load_voice("mia", tmp_path).card == blend.card
    assert load_voice("mia", tmp_path).preview is None


def test_blend_voices_puts_measured_values_between_those_of_both(anna, bert):
    card = blend_voices(anna, bert, 0.25, "Mia", "mia").card
    assert (card.id, card.name) == ("mia", "Mia")
    assert card.pitch == PitchStatistics(56.5, 63.0, 75.0)
    assert card.vocal_range == {"min": "F#3", "max": "F#5"}
    assert card.bandwidth_hertz == 14_000
    assert card.voice_type == "alto"  # F3 to F5, by the voices of a choir
    assert card.description == "A blend of Anna (75 %) and Bert (25 %)."


def test_blend_voices_gives_no_lower_or_higher_voice_type_than_both(anna, bert):
    """Whatever its range: the notes of a recording are only part of a voice's."""
    low = {"min": "E2", "max": "D4"}
    baritone, tenor = (
        replace(bert, card=replace(bert.card, voice_type=kind, vocal_range=low)) for kind in ("baritone", "tenor")
    )
    for share in (0.1, 0.5, 0.9):
        assert blend_voices(baritone, tenor, share, "Mia", "mia").card.voice_type in ("baritone", "tenor")


def test_blend_voices_averages_spoken_and_sung_pitch_where_known(anna, bert):
    speaks = replace(anna, card=replace(ANNA, spoken_pitch=PitchStatistics(56.0, 60.0, 64.0)))
    card = blend_voices(speaks, bert, 0.25, "Mia", "mia").card
    assert card.spoken_pitch == PitchStatistics(52.0, 57.0, 63.0)  # of all of Bert's, where he speaks being unknown
    assert card.sung_pitch is None
    assert list(card.estimates) == ["sung_pitch"]


def test_blend_voices_says_what_of_a_pitch_rests_on_an_estimate(anna, bert, tmp_path):
    """One only speaks and the other only sings: each brings an estimate of what it was not recorded at."""
    speaks = replace(anna, card=replace(ANNA, spoken_pitch=PitchStatistics(51.0, 55.4, 61.0)))
    sings = replace(bert, card=replace(BERT, sung_pitch=PitchStatistics(44.0, 52.0, 64.0)))
    blend = blend_voices(speaks, sings, 0.75, "Mia", "mia")
    assert blend.card.spoken_pitch.median == pytest.approx(0.25 * 55.4 + 0.75 * 45.4)
    assert blend.card.sung_pitch.median == pytest.approx(0.25 * 62.3 + 0.75 * 52.0, abs=0.01)
    assert blend.card.estimates == {"spoken_pitch": blend.card.spoken_pitch, "sung_pitch": blend.card.sung_pitch}
    assert blend.card.is_known_to(sing=True)  # by one of the two
    save_voice(blend, tmp_path / "mia")
    assert load_voice("mia", tmp_path).card == blend.card
    again = blend_voices(blend, blend, 0.5, "Mia", "mia").card
    assert again.estimates == blend.card.estimates


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_blend_voices_of_one_voice_alone_knows_what_that_one_knows(anna, bert, share):
    speaks = replace(anna, card=replace(ANNA, spoken_pitch=PitchStatistics(51.0, 55.4, 61.0)))
    sings = replace(bert, card=replace(BERT, sung_pitch=PitchStatistics(44.0, 52.0, 64.0)))
    card = blend_voices(speaks, sings, share, "Mia", "mia").card
    only = (sings if share else speaks).card
    assert (card.spoken_pitch, card.sung_pitch) == (only.spoken_pitch, only.sung_pitch)
    assert card.estimates == only.estimates


def test_blend_voices_estimates_anew_where_neither_was_recorded(anna, bert):
    sing = [replace(one, card=replace(one.card, sung_pitch=one.card.pitch)) for one in (anna, bert)]
    card = blend_voices(*sing, 0.5, "Mia", "mia").card
    assert (card.spoken_pitch, card.estimated) == (None, {})
    assert card.is_estimated(sung=False)
    assert card.pitch_where(sung=False).median < card.sung_pitch.median


@pytest.mark.parametrize(("share", "nearer"), [(0.2, ANNA), (0.5, ANNA), (0.51, BERT), (0.8, BERT)])
def test_blend_voices_takes_fields_without_a_middle_from_the_nearer_voice(anna, bert, share, nearer):
    card = blend_voices(anna, bert, share, "Mia", "mia").card
    for field in ("gender", "age", "base_language", "genre"):
        assert getattr(card, field) == getattr(nearer, field)
    assert card.traits == (["clear", "rough", "warm"] if nearer is ANNA else ["rough", "clear", "warm"])


def test_blend_voices_alternates_traits_and_keeps_at_most_six(anna, bert):
    first = replace(anna, card=replace(ANNA, traits=[f"a{number}" for number in range(9)]))
    second = replace(bert, card=replace(BERT, traits=["b0"]))
    assert blend_voices(first, second, 0.5, "Mia", "mia").card.traits == ["a0", "b0", "a1", "a2", "a3", "a4"]


def test_blend_voices_credits_both_sources_and_keeps_both_consents(anna, bert):
    card = blend_voices(anna, bert, 0.5, "Mia", "mia").card
    assert card.source == "Anna's recordings; Bert's recordings"
    assert card.consent == {
        "statement": "Anna: Yes.; Bert: not stated",
        "by": "Anna: Anna; Bert: Bert",
        "date": "Anna: 2025-01-01; Bert: not stated",
    }
    made_of = card.training["blend"]
    assert made_of["share"] == 0.5
    assert [origin["consent"] for origin in made_of["voices"]] == [ANNA.consent, BERT.consent]
    assert [origin["licence"] for origin in made_of["voices"]] == ["CC-BY-4.0", "CC-BY-SA-4.0"]
    assert [origin["id"] for origin in made_of["voices"]] == ["anna", "bert"]
    assert card.corpus_speaker == ""


@pytest.mark.parametrize(
    ("first", "second", "blended"),
    [
        ("CC-BY-4.0", "CC-BY-4.0", "CC-BY-4.0"),
        ("", "", ""),
        ("CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-SA-4.0 (partly CC-BY-4.0)"),
        ("CC-BY-SA-4.0", "CC-BY-4.0 (recordings CC0-1.0)", "CC-BY-SA-4.0 (partly CC-BY-4.0 (recordings CC0-1.0))"),
        ("CC0-1.0", "CC-BY-4.0", "CC-BY-4.0 (partly CC0-1.0)"),
        ("CC-BY-NC-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0 and CC-BY-SA-4.0"),
        ("CC-BY-NC-SA-4.0", "CC-BY-SA-4.0", "CC-BY-NC-SA-4.0 (partly CC-BY-SA-4.0)"),
        ("only for Anna", "CC-BY-4.0", "only for Anna and CC-BY-4.0"),
        ("only for Anna", "CC0-1.0", "only for Anna (partly CC0-1.0)"),
        ("CC-BY-4.0", "", "CC-BY-4.0 and not stated"),
        ("CC-BY-SA-4.0 (partly CC-BY-4.0)", "CC-BY-SA-4.0", "CC-BY-SA-4.0 (partly CC-BY-4.0) (partly CC-BY-SA-4.0)"),
        ("only for Anna and CC-BY-4.0", "CC-BY-SA-4.0", "only for Anna and CC-BY-4.0 and CC-BY-SA-4.0"),
        ("only for Anna and CC-BY-4.0", "CC-BY-4.0", "only for Anna and CC-BY-4.0 (partly CC-BY-4.0)"),
    ],
)
def test_blend_voices_combines_both_licences(anna, bert, first, second, blended):
    voices = (replace(voice, card=replace(voice.card, licence=text)) for voice, text in ((anna, first), (bert, second)))
    assert blend_voices(*voices, 0.5, "Mia", "mia").card.licence == blended


def test_blend_voices_of_a_voice_with_itself_keeps_its_card(anna):
    card = blend_voices(anna, anna, 0.5, "Mia", "mia").card
    own = {"id", "name", "description", "training", "corpus_speaker", "other", "consent"}
    for field in fields(VoiceCard):
        if field.name not in own:
            assert getattr(card, field.name) == getattr(ANNA, field.name), field.name
    assert note_number(card.vocal_range["min"]) == note_number("C4")


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), float("inf"), "half", None, True])
def test_blend_voices_refuses_an_invalid_share(anna, bert, share):
    with pytest.raises(SettingsError, match=r"^share must be a number from 0 to 1, not .*\.$"):
        blend_voices(anna, bert, share, "Mia", "mia")


@pytest.mark.parametrize(("name", "identifier"), [("", "mia"), ("Mia", "../mia"), ("Mia\n", "mia")])
def test_blend_voices_refuses_an_invalid_name_or_id(anna, bert, name, identifier):
    with pytest.raises(VoiceError, match="cannot be written"):
        blend_voices(anna, bert, 0.5, name, identifier)
