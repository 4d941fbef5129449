import csv
import json
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soxr
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from engine.audio.files import Audio, read_audio, write_audio
from engine.conversion.convert import convert_file
from engine.conversion.settings import ConversionSettings
from engine.datasets.dataset import AUDIO_FOLDER, REPORT_FILE, Dataset, create_dataset
from engine.datasets.report import (
    LEAST_USABLE_S,
    DataReport,
    examine_recordings,
    examined,
    refuse_unusable,
    usable_recordings,
)
from engine.errors import Cancelled, DatasetError
from engine.voices.profile import VoiceProfile
from engine.voices.voice import load_voice

RATE = 44_100
SAMPLES = Path(__file__).parents[3] / "engine" / "samples"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
CASES = Path(__file__).parents[4] / "shared" / "cases"
VOWELS = ((800, 1200, 2600), (300, 2300, 3000), (500, 900, 2500), (450, 1800, 2600), (320, 800, 2300))


def voice(seed: int, seconds: float = 5.0, tract: float = 1.0) -> np.ndarray:
    """Sung vowels around 150 Hz and hisses between them, float32 (samples,); each seed has another tune."""
    random = np.random.default_rng(seed)
    pieces: list[np.ndarray] = []
    while sum(map(len, pieces)) < seconds * RATE:
        count = round(random.uniform(0.25, 0.6) * RATE)
        time_s = np.arange(count) / RATE
        note = 150.0 * 2 ** ((random.integers(-3, 5) + 0.3 * np.sin(2 * np.pi * 5 * time_s)) / 12)
        sound = np.diff(np.floor(np.cumsum(note) / RATE), prepend=0.0) + 0.004 * random.standard_normal(count)
        for centre in VOWELS[random.integers(len(VOWELS))]:
            pole = np.exp((-np.pi * 90 + 2j * np.pi * centre * tract) / RATE)
            resonance = signal.lfilter([1 - abs(pole)], [1, -2 * pole.real, abs(pole) ** 2], sound)
            sound = resonance + 0.02 * sound
        edges = np.minimum(1.0, np.minimum(time_s, time_s[::-1]) / 0.02)
        hiss = random.standard_normal(round(random.uniform(0.05, 0.12) * RATE))
        rest = np.zeros(round(random.choice([0.05, 0.35]) * RATE))
        pieces += [0.4 * sound / np.abs(sound).max() * edges, 0.02 * hiss * np.hanning(len(hiss)), rest]
    samples = np.concatenate(pieces)[: round(seconds * RATE)]
    return (samples + 1e-4 * random.standard_normal(len(samples))).astype(np.float32)


def in_a_hall(samples: np.ndarray) -> np.ndarray:
    time_s = np.arange(round(1.2 * RATE)) / RATE
    echoes = np.random.default_rng(1).standard_normal(len(time_s)) * 10 ** (-3 * time_s)
    echoes /= np.linalg.norm(echoes)
    echoes[0] = 1.0
    return 0.5 * signal.fftconvolve(samples, echoes)


def without_highs(samples: np.ndarray, hertz: float) -> np.ndarray:
    """As an MP3 of a low rate keeps it."""
    spectrum = np.fft.rfft(samples)
    spectrum[np.fft.rfftfreq(len(samples), 1 / RATE) > hertz] = 0.0
    return np.fft.irfft(spectrum, len(samples))


def at_a_lower_rate(samples: np.ndarray, rate: int) -> np.ndarray:
    return soxr.resample(soxr.resample(samples, RATE, rate), rate, RATE)


def write(path: Path, samples: np.ndarray) -> None:
    write_audio(path, Audio(samples[None].astype(np.float32), RATE))


def codes(report: DataReport) -> dict[str, set[str]]:
    return {one.name: {found.code for found in one.findings} for one in report.recordings}


DEFECTS = {
    "clipped.wav": ("clipping", "fail", lambda: np.clip(4 * voice(20), -0.7, 0.7)),
    "noisy.wav": ("noise", "fail", lambda: voice(21) + 0.04 * np.random.default_rng(0).standard_normal(5 * RATE)),
    "hall.wav": ("reverberation", "fail", lambda: in_a_hall(voice(22))),
    "cut at 16 kHz.wav": ("bandwidth", "warn", lambda: without_highs(voice(23), 16_000)),
    "once at 16000 Hz.wav": ("bandwidth", "warn", lambda: at_a_lower_rate(voice(24), 16_000)),
    "telephone.wav": ("bandwidth", "fail", lambda: at_a_lower_rate(voice(25), 8_000)),
    "silent.wav": ("silence", "fail", lambda: np.zeros(2 * RATE)),
    "pauses.wav": ("silence", "warn", lambda: np.concatenate([voice(26, 3.0), np.zeros(6 * RATE)])),
    "quiet.wav": ("level", "fail", lambda: 0.01 * voice(27)),
    "short.wav": ("short", "warn", lambda: voice(28, 0.7)),
    "waterfall.wav": ("no_voice", "fail", lambda: 0.1 * np.random.default_rng(1).standard_normal(3 * RATE)),
    "same again.wav": ("exact_duplicate", "warn", lambda: voice(0)),
    "softer copy.mp3": ("near_duplicate", "warn", lambda: 0.3 * voice(1)),
    "trimmed copy.flac": ("near_duplicate", "warn", lambda: voice(2)[30_000:-20_000]),
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Path:
    """Seven recordings of one voice, with nothing wrong."""
    folder = tmp_path_factory.mktemp("clean")
    for number in range(7):
        write(folder / f"take {number}.wav", voice(number))
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def clean_report(clean, cache) -> DataReport:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.datasets.report.LITTLE_USABLE_S", 20.0)  # two minutes of sound would take long to analyse
        return examine_recordings(sorted(clean.iterdir()), cache=cache)


@pytest.fixture(scope="module")
def spoilt(clean, cache, tmp_path_factory) -> tuple[list[Path], DataReport]:
    """The same with every defect planted, each in a recording of its own."""
    folder = tmp_path_factory.mktemp("spoilt")
    shutil.copytree(clean, folder / "a")
    (folder / "b").mkdir()
    for name, (_, _, make) in DEFECTS.items():
        write(folder / "b" / name, make())
    (folder / "b" / "broken.wav").write_bytes(b"RIFF, but nothing after it")
    paths = sorted(folder.rglob("*.*"))
    return paths, examine_recordings(paths, VoiceProfile("Test", voice_type="soprano"), cache, root=folder)


def test_examine_recordings_passes_a_clean_set(clean_report):
    assert clean_report.verdict == "pass"
    assert clean_report.findings == ()
    assert all(one.verdict == "pass" and one.usable for one in clean_report.recordings)
    assert [one.name for one in clean_report.recordings] == [f"take {number}.wav" for number in range(7)]
    assert clean_report.total_s == pytest.approx(35.0)
    assert 20 < clean_report.usable_s < 32
    assert clean_report.voiced_s < clean_report.usable_s
    assert clean_report.bandwidth_hertz == 22_050
    assert clean_report.level_spread_db < 1.0


def test_examine_recordings_measures_the_sung_notes_and_range(clean_report):
    # 150 Hz is note 50.4; the tunes reach from three below it to four above
    loud = [note for note, seconds in clean_report.pitch_histogram.items() if seconds > 1.0]
    assert min(loud) in (47, 48)
    assert max(loud) in (54, 55)
    assert clean_report.vocal_range == ("B2", "G3")  # with vibrato
    assert sum(clean_report.pitch_histogram.values()) == pytest.approx(clean_report.voiced_s, rel=0.15)
    assert clean_report.voice_type in ("bass", "baritone")


@pytest.mark.parametrize("name", DEFECTS)
def test_examine_recordings_names_each_planted_defect(spoilt, name):
    _, report = spoilt
    (one,) = [one for one in report.recordings if one.name == f"b/{name}"]
    code, verdict, _ = DEFECTS[name]
    assert (code, verdict) in [(found.code, found.verdict) for found in one.findings]
    assert one.verdict in (verdict, "fail")
    assert code in {found.code for found in report.findings}
    for found in one.findings:
        assert found.reason.endswith(".")
        assert found.remedy.endswith(".")


def people(folder: Path) -> dict[str, list[Path]]:
    """Two recordings each of two people, and one in which both speak in turn."""
    found: dict[str, list[Path]] = {}
    for who, name in (("one", "speech.flac"), ("other", "foreign/speech-high.flac")):
        audio = read_audio(SAMPLES / name)
        half = audio.samples.shape[1] // 2
        found[who] = [folder / f"{who} {number}.flac" for number in (1, 2)]
        for path, samples in zip(found[who], (audio.samples[:, :half], audio.samples[:, half:]), strict=True):
            write_audio(path, Audio(samples / np.abs(samples).max() / 2, audio.rate))
    return found


def at_rate(path: Path) -> np.ndarray:
    audio = read_audio(path)
    return soxr.resample(audio.samples.T, audio.rate, RATE).T.astype(np.float32)


def in_turn(folder: Path, paths: list[Path]) -> Path:
    both = [at_rate(path) for path in paths]
    write_audio(folder / "turns.flac", Audio(np.concatenate(both, axis=1), RATE))
    return folder / "turns.flac"


def said(report: DataReport, code: str) -> list[str]:
    return [found.reason for found in report.findings if found.code == code]


def test_examine_recordings_names_whose_each_recording_is(cache, tmp_path):
    found = people(tmp_path)
    (reason,) = said(examine_recordings([*found["one"], *found["other"]], cache=cache), "several_speakers")
    groups = [text.split(": ")[1].rstrip(".") for text in reason.split(": ", 1)[1].removesuffix(".").split("; ")]
    assert reason.startswith("The recordings sound like 2 people: speaker A: ")
    assert sorted(groups) == ["one 1.flac, one 2.flac", "other 1.flac, other 2.flac"]


def test_examine_recordings_marks_the_recordings_of_the_one_heard_less(cache, tmp_path):
    paths = [*people(tmp_path)["one"], tmp_path / "other.flac"]
    shutil.copy(SAMPLES / "foreign" / "speech-high.flac", paths[-1])
    report = examine_recordings(paths, cache=cache)
    marked = [name for name, here in codes(report).items() if "other_speaker" in here]
    assert marked in (["other.flac"], ["one 1.flac", "one 2.flac"])  # who is heard for longer
    assert all(one.usable for one in report.recordings)


def test_examine_recordings_names_the_moments_of_people_in_turn(cache, tmp_path):
    whole = in_turn(tmp_path, [SAMPLES / "speech.flac", SAMPLES / "foreign" / "speech-high.flac"] * 2)
    report = examine_recordings([whole], cache=cache)
    (reason,) = said(report, "several_speakers")
    assert "0:00-" in reason
    assert reason.endswith(" of turns.flac.")
    assert "other_speaker" in codes(report)["turns.flac"]


@pytest.mark.parametrize("name", ["speech.flac", "singing.flac", "foreign/singing-high.flac"])
def test_examine_recordings_finds_one_person_in_the_samples(cache, name):
    assert not said(examine_recordings([SAMPLES / name], cache=cache), "several_speakers")


def test_examine_recordings_finds_one_person_who_speaks_at_two_microphones(cache, tmp_path):
    found = people(tmp_path)["one"]
    audio = read_audio(found[1])
    thin = signal.sosfilt(signal.butter(1, 250, "highpass", fs=audio.rate, output="sos"), audio.samples)
    bright = thin + 0.7 * signal.sosfilt(signal.butter(2, 2500, "highpass", fs=audio.rate, output="sos"), thin)
    write_audio(tmp_path / "bright.flac", Audio((0.5 * bright).astype(np.float32), audio.rate))
    report = examine_recordings([found[0], tmp_path / "bright.flac"], cache=cache)
    assert not said(report, "several_speakers")


def test_examine_recordings_uses_one_channel_of_an_interview(cache, tmp_path):
    one, other = (at_rate(SAMPLES / name)[0] for name in ("speech.flac", "foreign/speech-high.flac"))
    channels = 1e-4 * np.random.default_rng(0).standard_normal((2, len(one) + len(other)))
    channels[0, : len(one)] += one
    channels[1, len(one) :] += other
    write_audio(tmp_path / "interview.flac", Audio(channels.astype(np.float32), RATE))
    report = examine_recordings([tmp_path / "interview.flac"], cache=cache)
    assert "channels" in codes(report)["interview.flac"]
    assert not said(report, "several_speakers")
    assert report.usable_s < 1.2 * max(len(one), len(other)) / RATE


def test_examine_recordings_calls_music_music_and_not_noise(cache, tmp_path):
    sung = at_rate(SAMPLES / "singing.flac")
    time_s = np.arange(sung.shape[1]) / RATE
    chord = sum(np.sin(2 * np.pi * hertz * time_s) for hertz in (130.8, 164.8, 196.0, 261.6, 392.0))
    chord *= 0.4 * np.sqrt(np.mean(sung**2) / np.mean(chord**2))
    write_audio(tmp_path / "song.flac", Audio(0.7 * (sung + chord[None]).astype(np.float32), RATE))
    report = examine_recordings([tmp_path / "song.flac", SAMPLES / "speech.flac"], cache=cache, root=tmp_path)
    found = codes(report)
    assert "accompaniment" in found["song.flac"]
    assert "noise" not in found["song.flac"]
    assert "accompaniment" not in found["speech.flac"]


@pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")
@pytest.mark.parametrize(
    ("case", "folder", "code"),
    [
        ("two-persons-in-a-data-set", "set", "several_speakers"),
        ("two-persons-in-a-data-set", "turns", "several_speakers"),
        ("interview-a-channel-each", "set", "channels"),
        ("music-in-a-data-set", "pad", "accompaniment"),
        ("music-in-a-data-set", "song", "accompaniment"),
    ],
)
def test_examine_recordings_says_what_is_wrong_with_the_cases(cache, tmp_path, case, folder, code):
    subprocess.run([sys.executable, CASES / case / "make.py", tmp_path], check=True)
    report = examine_recordings(sorted((tmp_path / folder).iterdir()), cache=cache)
    found = {one.code: one for one in report.findings}
    assert code in found
    assert "noise" not in found
    if folder == "set" and code == "several_speakers":
        assert "0.wav, 1.wav" in found[code].reason
        assert "2.wav, 3.wav" in found[code].reason


def test_examine_recordings_reports_a_broken_file_as_unreadable(spoilt):
    _, report = spoilt
    (one,) = [one for one in report.recordings if one.name == "b/broken.wav"]
    assert (one.verdict, one.usable, one.duration_s, one.fingerprint) == ("fail", False, 0.0, "")
    assert one.findings[0].code == "unreadable"
    assert "broken.wav" in one.findings[0].reason


def test_examine_recordings_finds_no_defects_in_clean_recordings_among_bad_ones(spoilt):
    _, report = spoilt
    assert {name for name, found in codes(report).items() if found and name.startswith("a/")} == set()


def test_examine_recordings_warns_about_the_set_if_one_recording_is_clipped(spoilt):
    _, report = spoilt
    assert report.verdict == "warn"
    (found,) = [found for found in report.findings if found.code == "clipping"]
    assert found.reason == "1 of 22 recordings is clipped: b/clipped.wav."


def test_examine_recordings_does_not_mark_a_transposed_performance_as_a_copy(cache, tmp_path):
    singing, paths = SAMPLES / "singing.flac", [tmp_path / "low.flac", tmp_path / "high.flac", tmp_path / "quiet.flac"]
    for path, transpose in zip(paths, (-5.0, 4.0), strict=False):
        convert_file(singing, [path], load_voice("kathleen"), ConversionSettings(transpose=transpose))
    low = read_audio(paths[0])
    write_audio(paths[2], Audio(0.4 * low.samples, low.rate))
    found = codes(examine_recordings(paths, VoiceProfile("Mia"), cache))
    assert [name for name, said in found.items() if "near_duplicate" in said] == ["quiet.flac"]


def test_report_names_the_original_of_a_copy(spoilt):
    _, report = spoilt
    reasons = {one.name: one.findings[0].reason for one in report.recordings if one.findings}
    assert "a/take 0.wav" in reasons["b/same again.wav"]
    assert "a/take 1.wav" in reasons["b/softer copy.mp3"]
    assert "a/take 2.wav" in reasons["b/trimmed copy.flac"]


def test_usable_recordings_leaves_out_silence_noise_copies_and_broken_files(spoilt):
    paths, report = spoilt
    left_out = {path.name for path in paths} - {path.name for path in usable_recordings(report, paths)}
    assert left_out == {
        "silent.wav",
        "waterfall.wav",
        "same again.wav",
        "softer copy.mp3",
        "trimmed copy.flac",
        "broken.wav",
    }
    assert report.usable_s == pytest.approx(sum(one.usable_s for one in report.recordings if one.usable), abs=0.01)
    with pytest.raises(ValueError, match="longer"):
        usable_recordings(report, paths[1:])


@pytest.mark.parametrize(
    ("stated", "wrong"),
    [
        ({"voice_type": "soprano"}, True),
        ({"voice_type": "baritone"}, False),
        ({"vocal_range": {"min": "C4", "max": "C6"}}, True),
        ({"vocal_range": {"min": "A2", "max": "A3"}}, False),
        ({}, False),
    ],
)
def test_examine_recordings_compares_the_pitch_with_the_profile(clean, cache, stated, wrong):
    report = examine_recordings(sorted(clean.iterdir()), VoiceProfile("Test", **stated), cache)
    assert ("pitch_range" in {found.code for found in report.findings}) == wrong
    assert report.stated_voice_type == stated.get("voice_type")


def test_data_report_round_trips_through_json(spoilt, clean_report):
    for report in (spoilt[1], clean_report):
        assert DataReport.from_json(json.loads(json.dumps(report.as_json(), allow_nan=False))) == report


@pytest.mark.parametrize(
    "harm",
    [
        lambda values: values.pop("findings"),
        lambda values: values.update(format=1),
        lambda values: values.update(unknown=1),
        lambda values: values.update(recordings=[{"name": "x"}]),
        lambda values: values.update(pitch_histogram=[1]),
        lambda values: values.update(findings=None),
        lambda values: values.clear(),
    ],
)
def test_data_report_from_json_refuses_a_damaged_report(clean_report, harm):
    values = clean_report.as_json()
    harm(values)
    with pytest.raises(DatasetError, match="examine the data again"):
        DataReport.from_json(values)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)))
def test_data_report_from_json_refuses_json_that_is_not_a_report(values):
    with pytest.raises(DatasetError):
        DataReport.from_json(values)


@pytest.mark.parametrize("value", [[], "x", 3, {"a": 1}])
@pytest.mark.parametrize("name", list(DataReport.__dataclass_fields__))
def test_data_report_from_json_accepts_or_refuses_fields_of_any_type(clean_report, name, value):
    with suppress(DatasetError):
        DataReport.from_json(clean_report.as_json() | {name: value})


def test_refuse_unusable_reports_the_seconds_of_usable_voice(clean, cache):
    report = examine_recordings([clean / "take 0.wav"], cache=cache)
    assert report.verdict == "fail"
    assert "too_little" in {found.code for found in report.findings}
    with pytest.raises(DatasetError, match=rf"only {report.usable_s:.1f} s of usable voice"):
        refuse_unusable(report)


def test_refuse_unusable_accepts_exactly_least_usable_s(clean_report):
    refuse_unusable(replace(clean_report, usable_s=LEAST_USABLE_S))
    with pytest.raises(DatasetError):
        refuse_unusable(replace(clean_report, usable_s=LEAST_USABLE_S - 0.1))


def test_examine_recordings_fails_an_empty_set():
    report = examine_recordings([])
    assert (report.verdict, report.usable_s, report.vocal_range, report.style) == ("fail", 0.0, None, None)
    with pytest.raises(DatasetError):
        refuse_unusable(report)


def test_examine_recordings_fails_a_set_of_clipped_recordings(tmp_path):
    for number in range(3):
        write(tmp_path / f"{number}.wav", np.clip(5 * voice(number, 3.0), -0.6, 0.6))
    report = examine_recordings(sorted(tmp_path.iterdir()))
    assert ("clipping", "fail") in [(found.code, found.verdict) for found in report.findings]
    assert report.verdict == "fail"


def test_examine_recordings_reports_missing_files_as_unreadable(clean, cache):
    report = examine_recordings([clean / "take 0.wav", clean / "gone.wav", clean], cache=cache, root=clean)
    assert [bool(one.fingerprint) for one in report.recordings] == [True, False, False]
    assert codes(report)["gone.wav"] == {"unreadable"}


def test_examine_recordings_reports_progress_and_can_be_cancelled(clean, cache):
    heard = []
    examine_recordings(sorted(clean.iterdir()), cache=cache, report=lambda fraction, text: heard.append(fraction))
    assert heard[0] == 0.0
    assert heard == sorted(heard)
    assert heard[-1] < 1.0

    def stop(fraction: float, text: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        examine_recordings(sorted(clean.iterdir()), cache=cache, report=stop)


@pytest.fixture
def dataset(clean, tmp_path) -> Dataset:
    return create_dataset(sorted(clean.iterdir())[:2], tmp_path / "dataset", {"name": "Test"})


def test_examined_reuses_the_stored_report(dataset, monkeypatch):
    first = examined(dataset)
    assert [one.name for one in first.recordings] == [f"take {number}.wav" for number in range(2)]
    assert DataReport.from_json(json.loads((dataset.folder / REPORT_FILE).read_text())) == first
    monkeypatch.setattr("engine.datasets.report.examine_recordings", lambda *_: pytest.fail("examined again"))
    assert examined(dataset) == first


@pytest.mark.parametrize("change", ["recording", "profile", "report", "future"])
def test_examined_renews_the_report_after_a_change(dataset, change):
    first = examined(dataset)
    if change == "recording":
        write(dataset.recordings[1], voice(40))
    elif change == "profile":
        dataset = replace(dataset, profile=replace(dataset.profile, voice_type="soprano"))
    elif change == "report":
        (dataset.folder / REPORT_FILE).write_text('{"format": 2')
    else:
        (dataset.folder / REPORT_FILE).write_text('{"format": 99}')
    again = examined(dataset)
    assert (again == first) == (change in ("report", "future"))
    assert DataReport.from_json(json.loads((dataset.folder / REPORT_FILE).read_text())) == again
    assert {path.name for path in dataset.folder.iterdir()} == {AUDIO_FOLDER, "model.json", REPORT_FILE, "clips"}


def corpus(speaker: str, count: int) -> list[Path]:
    with (CORPUS / "manifest.tsv").open() as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["speaker"] == speaker]
    long = [row for row in rows if 3.0 < float(row["seconds"]) < 10.0]
    return [CORPUS / row["path"] for row in long[:: max(1, len(long) // count)][:count]]


@pytest.mark.skipif(not (CORPUS / "manifest.tsv").exists(), reason="the corpus is not here")
@pytest.mark.parametrize(("speaker", "other"), [("kathleen", "LJ"), ("LJ", "guelcin")])
def test_examine_recordings_finds_one_other_speaker_in_real_recordings(speaker, other, cache):
    report = examine_recordings([*corpus(speaker, 5), *corpus(other, 1)], cache=cache)
    found = ["other_speaker" in {finding.code for finding in one.findings} for one in report.recordings]
    assert found == [False] * (len(found) - 1) + [True]
    assert all(one.verdict != "fail" for one in report.recordings)
