import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

from engine.errors import EngineError
from engine.research.benchmark.opinions import Output
from engine.research.benchmark.quality import TRANSPOSITIONS
from engine.research.benchmark.word_errors import WordErrors, rate, recognised, spread, tables, whisper, word_errors

pytest.importorskip("jiwer")
TEXTS = {
    "one.flac": "six spoons of snow peas",
    "one.flac--copy.wav": "six spoons of snow peas",
    "one.flac--mia.wav": "six spoons of no",
    "two.flac": "when is it",
    "two.flac--mia.wav": "",
}


@pytest.fixture
def outputs(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("one.flac--mia.wav", "one.flac--copy.wav", "two.flac--mia.wav", "one.flac--mia.txt"):
        (folder / name).touch()
    (folder / TRANSPOSITIONS).write_text("one.flac--mia.wav\t3\ntwo.flac--mia.wav\t-12\n")
    return folder


@pytest.fixture
def judged(outputs):
    sources = [outputs.parent / name for name in ("one.flac", "two.flac")]
    return recognised(sources, outputs, lambda path: TEXTS[path.name])


@pytest.mark.parametrize(
    ("source", "text", "wrong", "read"),
    [
        ("six spoons of snow peas", "six spoons of no", 2, 4),
        ("six spoons", "six spoons", 0, 2),
        ("when is it", "", 3, 0),
        ("when is it", "when is it is it", 2, 5),
        ("", "thank you", 2, 2),
    ],
)
def test_word_errors_counts_substituted_missing_and_inserted_words(source, text, wrong, read):
    assert word_errors(source, text) == WordErrors(wrong, len(source.split()), read)


@pytest.mark.parametrize(("read", "is_short"), [(0, True), (4, True), (5, False), (10, False)])
def test_is_short_below_half_of_the_words_of_the_source(read, is_short):
    assert WordErrors(0, 10, read).is_short is is_short


def test_is_short_is_false_where_the_source_has_no_words():
    assert not WordErrors(0, 0, 0).is_short


def test_rate_weighs_by_words_and_is_zero_without_any():
    assert rate([WordErrors(2, 5, 5), WordErrors(3, 3, 0)]) == 5 / 8
    assert rate([]) == 0


def test_spread_is_that_of_the_sources_not_of_the_outputs(outputs):
    def of(source, voice, wrong):
        return Output(outputs / f"{source}--{voice}.wav", source, voice, 0.0), WordErrors(wrong, 10, 10)

    alike = [of(source, voice, 2) for source in "abcd" for voice in ("mia", "tim")]
    assert spread(alike) == (0.2, 0.2)
    apart = [of(source, voice, wrong) for source, wrong in zip("abcd", (0, 0, 8, 8), strict=True) for voice in "xy"]
    low, high = spread(apart)
    assert (low, high) == (0, 0.8) == spread(apart)


def test_recognised_reads_each_source_once_and_its_conversions_and_no_other_file(outputs):
    read = []
    recognised([outputs.parent / "one.flac"], outputs, lambda path: read.append(path.name) or "a")
    assert sorted(read) == ["one.flac", "one.flac--copy.wav", "one.flac--mia.wav"]


def test_recognised_names_a_source_without_conversions(outputs):
    with pytest.raises(EngineError, match=r"no six\.flac--VOICE\.wav"):
        recognised([outputs.parent / "six.flac"], outputs, str)


def test_recognised_knows_by_how_far_each_was_transposed(judged):
    assert {output.path.name: (output.semitones, errors.wrong) for output, errors in judged} == {
        "one.flac--copy.wav": (0, 0),
        "one.flac--mia.wav": (3, 2),
        "two.flac--mia.wav": (-12, 3),
    }


def cells(shown):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if "|" in line]
    return {row[0]: row[1:] for row in rows[2:]}


def test_tables_has_voices_copies_and_transpositions(judged):
    found = cells(tables(judged))
    assert list(found) == ["mia", "all", "3 to 5 semitones", "9 to 24 semitones", "copies"]
    assert found["mia"] == found["all"] == ["0.625", "0.400 to 1.000", "8", "2", "1"]
    assert found["copies"][0] == "0.000"
    assert found["9 to 24 semitones"] == ["1.000", "1.000 to 1.000", "3", "1", "1"]


def test_tables_names_short_outputs_and_says_nothing_without_any(judged):
    assert "two.flac--mia.wav: 0 of 3 words" in tables(judged)
    assert "one.flac--mia.wav" not in tables(judged)
    assert "Short" not in tables([one for one in judged if not one[1].is_short])


@pytest.fixture
def recogniser(monkeypatch):
    """Stands for faster-whisper, whose weights are not here: ends at the first pause without time stamps."""
    asked = []

    class WhisperModel:
        def __init__(self, model, **options):
            pass

        def transcribe(self, path, **options):
            asked.append(options)
            parts = [SimpleNamespace(text=" It's 6 spoons."), SimpleNamespace(text=" And peas.")]
            return parts[: 1 if options["without_timestamps"] else None], None

    package = ModuleType("faster_whisper")
    package.WhisperModel = WhisperModel
    monkeypatch.setitem(sys.modules, "faster_whisper", package)
    return asked


def test_whisper_transcribes_with_time_stamps_and_returns_numerals_and_contractions_normalised(recogniser, tmp_path):
    pytest.importorskip("whisper_normalizer.english")
    assert re.fullmatch(r"it is 6 spoons and peas", whisper("base")(tmp_path / "one.wav"))
    assert recogniser[0]["language"] == "en"


def test_whisper_names_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    with pytest.raises(EngineError, match="pip install faster-whisper"):
        whisper("base")


@pytest.mark.parametrize("cause", [OSError("no network\nat all"), ValueError("no such size"), RuntimeError("no file")])
def test_whisper_says_in_a_sentence_what_to_do_without_its_model(recogniser, monkeypatch, cause):
    def fail(*_, **__):
        raise cause

    monkeypatch.setattr(sys.modules["faster_whisper"], "WhisperModel", fail)
    with pytest.raises(EngineError, match=r"^The model base of Whisper cannot be loaded \(no .*\): go online once"):
        whisper("base")
