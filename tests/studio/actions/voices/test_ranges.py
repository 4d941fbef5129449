"""How recordings fit the ranges of voices."""

import shutil
from dataclasses import replace

import pytest

from engine.voices.card import DEMO_VOICES
from studio.actions.voices.datasets import create_model
from studio.actions.voices.ranges import better_suited, fit_view, suited_voice
from studio.errors import NotFound
from studio.store.records.analysis import PitchSeconds
from studio.store.records.codec import plain
from tests.records import Known


def looked_at(median, style="melodic"):
    pitch = None if median is None else {"low": median - 5, "median": median, "high": median + 5}
    return Known({"summary": {"style": style, "pitch": pitch}, "pitch_histogram": [PitchSeconds(60, 1.5)]})


@pytest.mark.parametrize(
    ("median", "style", "shift"),
    [
        (51.8, "melodic", 0),  # Kerstin's own middle
        (51.8 + 11, "melodic", -12),  # singing by whole octaves
        (51.8 + 8, "melodic", 0),  # a little above where she speaks
        (51.8 + 4, "melodic", 0),
        (51.8 + 4, "spoken", -4),
        (51.8 + 30, "spoken", -12),  # and no further
    ],
)
def test_fit_view_returns_the_automatic_transposition(studio, median, style, shift):
    assert fit_view(studio, studio.local, "kerstin", looked_at(median, style)).auto == shift


def test_fit_view_transposes_speech_less_than_singing_for_a_voice_with_both(studio):
    """Koguchi's recordings: songs, and the same texts spoken."""
    spoken, sung = (
        fit_view(studio, studio.local, "koguchi", looked_at(46.5, style)).auto for style in ("spoken", "melodic")
    )
    assert spoken == 7
    assert sung == 12


def test_fit_view_shows_the_range_of_the_voice(studio):
    fit = fit_view(studio, studio.local, "kerstin", looked_at(60.0, "spoken"))
    assert plain(fit.voice) == {"name": "Kerstin", "low": 47, "high": 59, "estimated": None}
    assert plain(fit.histogram) == [{"midi": 60, "seconds": 1.5}]


@pytest.mark.parametrize(
    ("voice", "style", "ends"),
    [
        *(("kerstin", "melodic", (47, 69, "sung")), ("safiye", "spoken", (51, 63, "spoken"))),
        *(("safiye", "melodic", (55, 72, None)), ("koguchi", "spoken", (47, 67, None))),
        ("safiye", None, (55, 72, None)),
    ],
)
def test_fit_view_says_where_the_range_is_estimated(studio, voice, style, ends):
    fit = fit_view(studio, studio.local, voice, looked_at(60.0, style) if style else None)
    assert tuple(getattr(fit.voice, name) for name in ("low", "high", "estimated")) == ends


def test_fit_view_offers_the_best_key_and_its_share_outside_the_range(studio):
    notes = [PitchSeconds(55, 3.0), PitchSeconds(61, 1.0)]
    looked = looked_at(60.0, "spoken") | {"pitch_histogram": notes}
    assert plain(fit_view(studio, studio.local, "kerstin", looked).best) == {"semitones": -2, "outside": 0.0}
    assert fit_view(studio, studio.local, "kerstin", None).best is None


@pytest.mark.parametrize("nothing", [None, Known({"summary": None, "pitch_histogram": []}), looked_at(None)])
def test_fit_view_returns_no_transposition_without_a_pitch(studio, nothing):
    assert fit_view(studio, studio.local, "kerstin", nothing).auto is None


DEMO = ["everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"]


def melody(*notes):
    """An analysis of a melody of these notes, each as long."""
    pitch = {"low": min(notes), "median": sum(notes) / len(notes), "high": max(notes)}
    seconds = [{"midi": note, "seconds": 1.0} for note in sorted(set(notes))]
    return Known({"summary": {"style": "melodic", "pitch": pitch}, "pitch_histogram": seconds})


BARITONE = melody(*range(43, 57))  # G2 to G#3


def test_suited_voice_of_a_baritone_is_near_him_and_no_woman_an_octave_above(studio):
    assert suited_voice(studio, studio.local, DEMO, BARITONE) in ("koguchi", "everett")
    assert better_suited(studio, studio.local, "everett", DEMO, BARITONE) == []


def test_better_suited_names_voices_only_where_no_key_within_an_octave_fits(studio):
    deep, high = melody(*range(33, 44)), melody(*range(64, 80))
    assert plain(better_suited(studio, studio.local, "safiye", DEMO, deep)[0]) == {"id": "everett", "name": "Everett"}
    assert "safiye" in [one.id for one in better_suited(studio, studio.local, "everett", DEMO, high)]
    assert better_suited(studio, studio.local, "safiye", DEMO, high) == []
    assert better_suited(studio, studio.local, "safiye", ["safiye"], deep) == []  # there is no better one


def test_suited_voice_is_the_one_whose_range_holds_the_recording_without_a_shift(studio):
    def suited(median, style):
        notes = [{"midi": round(median) + by, "seconds": 2.0} for by in (-4, 0, 4)]
        looked = looked_at(median, style) | {"pitch_histogram": notes}
        return suited_voice(studio, studio.local, DEMO, looked)

    assert (suited(55.0, "melodic"), suited(64.0, "melodic")) == ("goekhan", "safiye")
    assert suited(52.0, "spoken") == "kerstin"
    assert suited(45.0, "spoken") == "everett"


@pytest.mark.parametrize("nothing", [Known({"summary": None, "pitch_histogram": []}), looked_at(None)])
def test_suited_voice_is_none_without_a_pitch(studio, nothing):
    assert suited_voice(studio, studio.local, ["kerstin", "safiye"], nothing) is None


def test_fit_view_refuses_an_unknown_voice(studio):
    with pytest.raises(NotFound):
        fit_view(studio, studio.local, "nobody", None)


def test_fit_view_takes_the_range_of_an_untrained_voice_from_its_recordings(studio, package):
    model = create_model(studio, studio.local, package())
    before = fit_view(studio, studio.local, model, looked_at(60.0))
    unknown = {"name": "Mia", "low": None, "high": None, "estimated": None}
    assert (plain(before.voice), before.auto) == (unknown, None)
    home = studio.settings.datasets / model / "untrained"
    home.mkdir()
    shutil.copy(DEMO_VOICES / "kerstin" / "card.json", home)
    fit, kerstin = (fit_view(studio, studio.local, one, looked_at(60.0)) for one in (model, "kerstin"))
    assert fit.auto == kerstin.auto
    assert fit.voice == replace(kerstin.voice, name="Mia")
