from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.pitch import Pitch
from engine.datasets.findings import LIMITS, REMEDIES, Finding, finding, findings_beyond, findings_in, worst
from engine.datasets.recording_quality import RecordingQuality

CLEAN = RecordingQuality(
    duration_s=10.0,
    voiced_s=6.0,
    usable_s=8.5,
    level_db=-22.0,
    peak_db=-4.0,
    clipped_share=0.0,
    clipped_runs=0,
    snr_db=45.0,
    reverberation_s=0.2,
    bandwidth_hertz=22_050.0,
    silence_share=0.1,
)


def test_findings_in_returns_nothing_for_a_clean_recording():
    assert findings_in(CLEAN) == []
    assert findings_in(replace(CLEAN, snr_db=None, reverberation_s=None)) == []


@pytest.mark.parametrize(
    ("changes", "code", "verdict", "words"),
    [
        ({"clipped_share": 0.004}, "clipping", "warn", "0.4%"),
        ({"clipped_share": 0.25}, "clipping", "fail", "25.0%"),
        ({"snr_db": 20.4}, "noise", "warn", "20 dB"),
        ({"snr_db": 9.0}, "noise", "fail", "9 dB"),
        ({"reverberation_s": 0.45}, "reverberation", "warn", "0.5 s"),
        ({"reverberation_s": 1.2}, "reverberation", "fail", "1.2 s"),
        ({"bandwidth_hertz": 16_000.0}, "bandwidth", "warn", "above 16 kHz (MP3"),
        ({"bandwidth_hertz": 11_000.0}, "bandwidth", "warn", "above 11 kHz (half"),
        ({"bandwidth_hertz": 7800.0}, "bandwidth", "warn", "above 7.8 kHz (16 kHz source)"),
        ({"bandwidth_hertz": 3800.0}, "bandwidth", "fail", "above 3.8 kHz (a telephone line)"),
        ({"level_db": -42.0}, "level", "warn", "-42 dB"),
        ({"level_db": -60.0}, "level", "fail", "-60 dB"),
        ({"silence_share": 0.75}, "silence", "warn", "75%"),
        ({"silence_share": 1.0}, "silence", "fail", "nothing but silence"),
        ({"usable_s": 0.5}, "short", "warn", "0.5 s"),
        ({"voiced_s": 0.1}, "no_voice", "fail", "0.1 s of voice"),
    ],
)
def test_findings_in_names_each_defect_with_its_figure(changes, code, verdict, words):
    (found,) = findings_in(replace(CLEAN, **changes))
    assert (found.code, found.verdict, found.remedy) == (code, verdict, REMEDIES[code])
    assert words in found.reason


def test_findings_in_accepts_values_at_the_limits():
    at_limits = replace(
        CLEAN,
        clipped_share=LIMITS["clipping"][0],
        snr_db=LIMITS["noise"][0],
        reverberation_s=LIMITS["reverberation"][0],
        bandwidth_hertz=LIMITS["bandwidth"][0],
        level_db=LIMITS["level"][0],
    )
    assert findings_in(at_limits) == []


def test_findings_in_reports_only_silence_for_a_silent_recording():
    silent = replace(CLEAN, silence_share=1.0, voiced_s=0.0, usable_s=0.0, level_db=-96.0, bandwidth_hertz=4000.0)
    assert [found.code for found in findings_in(silent)] == ["silence"]


def test_worst_returns_the_most_severe_verdict():
    warning, failure = Finding("noise", "warn", "", ""), finding("clipping", "fail", "It is clipped.")
    assert worst([]) == "pass"
    assert worst([warning]) == "warn"
    assert worst((warning, failure, warning)) == "fail"


def test_remedies_are_sentences_and_cover_every_limit():
    assert all(text[0].isupper() and text.endswith(".") for text in REMEDIES.values())
    assert set(LIMITS) <= set(REMEDIES)


def test_findings_beyond_names_how_long_notes_are_too_high_or_too_low():
    beyond = np.repeat(np.array([1, 0, -1, 1], np.int8), [150, 50, 60, 5])
    pitch = Pitch(np.full(len(beyond), 100.0, np.float32), np.zeros(len(beyond), np.float32), beyond)
    high, low = findings_beyond(pitch)
    assert (high.code, high.verdict) == ("beyond_range", "warn")
    assert high.reason == "1.5 s of it are above C7, the highest note."
    assert low.reason == "0.6 s of it are below F#1, the lowest note."
    assert not findings_beyond(Pitch(pitch.hertz, pitch.voicing))
