from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.audio.files import read_audio
from engine.research.pretraining.voices import DEMO_PROFILES, choose_recordings, make_demo_voice
from engine.training.plan import TrainingPlan
from engine.units import note_number
from engine.voices.profile import profile_as_json, read_profile
from engine.voices.voice import load_voice


def write_manifest(folder: Path, seconds: list[float], group: str = "kathleen", speaker: str = "kathleen") -> None:
    rows = [f"{number:03}.wav\t{group}\t{speaker}\tspeech\t{length}\t44100" for number, length in enumerate(seconds)]
    rows = ["path\tset\tspeaker\tkind\tseconds\toriginal_rate", *rows, "x.wav\tother\tother\tspeech\t9\t44100"]
    (folder / "manifest.tsv").write_text("\n".join(rows) + "\n")


def test_demo_profiles_are_six_and_complete():
    profiles = [demo.profile for demo in DEMO_PROFILES]
    assert len({demo.id for demo in DEMO_PROFILES}) == 6
    assert sorted(profile.gender for profile in profiles) == ["female", "female", "female", "male", "male", "male"]
    for profile in profiles:
        assert read_profile(profile_as_json(profile)) == profile
        assert len(profile.traits) == 3
        assert profile.licence
        assert profile.source
        assert profile.consent["statement"]
        assert profile.consent["by"]


def test_choose_recordings_spreads_over_the_list_up_to_the_given_minutes(tmp_path):
    write_manifest(tmp_path, [60.0] * 30)
    chosen = [path.name for path in choose_recordings(tmp_path, "kathleen/kathleen", most_minutes=5)]
    assert len(chosen) == 5
    assert (chosen[0], chosen[-1]) == ("000.wav", "029.wav")
    assert chosen == sorted(set(chosen))
    assert len(choose_recordings(tmp_path, "kathleen/kathleen", most_minutes=100)) == 30


@pytest.mark.slow
def test_make_demo_voice_writes_card_and_preview(tmp_path, sing):
    for number in range(2):
        samples = sing(8.0, hertz=200.0 + number, seed=number)
        soundfile.write(tmp_path / f"{number:03}.wav", samples, 44_100)
    write_manifest(tmp_path, [8.0, 8.0])
    (tmp_path / "voices").mkdir()
    demo = next(demo for demo in DEMO_PROFILES if demo.id == "kathleen")
    plan = TrainingPlan(epochs=1, batch=8, foreign=1)
    card = make_demo_voice(demo, tmp_path, tmp_path / "voices", plan, tmp_path / "work")
    voice = load_voice("kathleen", tmp_path / "voices")
    assert voice.card == card
    assert all([card.gender, card.age, card.description, card.traits, card.voice_type])
    # notes from 200 to 283 Hz with a little vibrato
    assert note_number("F#3") <= note_number(card.vocal_range["min"]) <= note_number("A3")
    assert note_number("C4") <= note_number(card.vocal_range["max"]) <= note_number("D#4")
    assert 4_000 < card.bandwidth_hertz < 22_050
    assert card.training["minutes"] == pytest.approx(13 / 60, abs=0.06)
    preview = read_audio(voice.preview)
    assert preview.rate == 44_100
    assert np.abs(preview.samples).max() > 0.01
    assert [path.name for path in (tmp_path / "voices").iterdir()] == ["kathleen"]
