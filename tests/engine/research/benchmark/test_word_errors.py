import re

import pytest

from engine.errors import EngineError
from engine.research.benchmark.word_errors import recognised, word_errors

pytest.importorskip("jiwer")
TEXTS = {
    ("one.flac", "source"): "six spoons of snow peas",
    ("one.flac", "copy"): "6 spoons of snow peas",
    ("one.flac", "mia"): "6 spoons of no",
    ("two.flac", "source"): "when is it",
    ("two.flac", "mia"): "",
}


def in_words(text: str) -> str:
    return re.sub(r"\b6\b", "six", text)


def test_word_errors_counts_a_numeral_as_its_word():
    found = word_errors(TEXTS, in_words)
    assert (found["copy"].wrong, found["copy"].words) == (0, 5)
    assert word_errors(TEXTS, str)["copy"].wrong == 1


def test_word_errors_adds_up_the_recordings_of_a_voice():
    found = word_errors(TEXTS, in_words)
    assert (found["mia"].wrong, found["mia"].words) == (2 + 3, 5 + 3)
    assert found["mia"].rate == 5 / 8


def test_word_errors_is_empty_without_texts():
    assert word_errors({}, str) == {}


def test_word_errors_counts_numerals_as_words_with_the_whisper_normaliser():
    normaliser = pytest.importorskip("whisper_normalizer.english").EnglishTextNormalizer()
    assert word_errors(TEXTS, normaliser)["copy"].wrong == 0


def test_recognised_reads_each_source_and_its_conversions_and_no_other_file(tmp_path):
    outputs = tmp_path / "out"
    outputs.mkdir()
    for name in ("one.flac--mia.wav", "one.flac--copy.wav", "two.flac--mia.wav", "one.flac--mia.txt"):
        (outputs / name).touch()
    texts = recognised([tmp_path / "one.flac"], outputs, lambda path: path.name)
    assert texts == {
        ("one.flac", "source"): "one.flac",
        ("one.flac", "copy"): "one.flac--copy.wav",
        ("one.flac", "mia"): "one.flac--mia.wav",
    }


def test_recognised_names_a_source_without_conversions(tmp_path):
    with pytest.raises(EngineError, match=r"no one\.flac--VOICE\.wav"):
        recognised([tmp_path / "one.flac"], tmp_path, str)
