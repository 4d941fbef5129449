import re

import pytest

from engine.research.benchmark.word_errors import word_errors

pytest.importorskip("jiwer")
LINES = """0.000 one.flac source: six spoons of snow peas
0.200 one.flac copy: 6 spoons of snow peas
0.400 one.flac mia: 6 spoons of no
0.000 two.flac source: when is it
1.000 two.flac mia:
mia: 0.500 of 8 words
"""


def in_words(text: str) -> str:
    return re.sub(r"\b6\b", "six", text)


def test_word_errors_counts_a_numeral_as_its_word():
    found = word_errors(LINES.splitlines(), in_words)
    assert (found["copy"].wrong, found["copy"].words) == (0, 5)
    assert word_errors(LINES.splitlines(), str)["copy"].wrong == 1


def test_word_errors_adds_up_the_recordings_of_a_voice():
    found = word_errors(LINES.splitlines(), in_words)
    assert (found["mia"].wrong, found["mia"].words) == (2 + 3, 5 + 3)
    assert found["mia"].rate == 5 / 8


def test_word_errors_names_the_missing_source():
    with pytest.raises(ValueError, match=r"two\.flac--source\.wav"):
        word_errors(["0.0 two.flac mia: when is it"], str)


def test_word_errors_is_empty_without_lines():
    assert word_errors([], str) == {}


def test_word_errors_counts_numerals_as_words_with_the_whisper_normaliser():
    normaliser = pytest.importorskip("whisper_normalizer.english").EnglishTextNormalizer()
    assert word_errors(LINES.splitlines(), normaliser)["copy"].wrong == 0
