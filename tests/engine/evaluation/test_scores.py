"""Scores of known answers, and agreement with the project's scorer."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from engine.evaluation.scores import (
    Scores,
    compare,
    equal_error_rate,
    known_means,
    mean_scores,
    score_conversion,
    speaker_similarity,
)
from tests.engine.evaluation.conftest import audio, sung

SHARED_EVALUATION = Path(__file__).parents[4] / "shared" / "eval"
needs_networks = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("resemblyzer", "speechmos", "pocketsphinx", "jiwer")),
    reason="needs the evaluation extra",
)


def test_speaker_similarity_is_the_cosine_of_two_embeddings():
    east, north = np.array([2.0, 0.0]), np.array([0.0, 3.0])
    assert speaker_similarity(east, east) == pytest.approx(1.0)
    assert speaker_similarity(east, north) == pytest.approx(0.0)
    assert speaker_similarity(None, north) is None


def made_scores(**known: float | None) -> Scores:
    names = Scores.__dataclass_fields__
    return Scores(**{name: known.get(name, 0.0) for name in names})


def test_mean_scores_leave_out_missing_values():
    rows = [made_scores(leak_db=None, speaker_similarity=0.5), made_scores(leak_db=-60.0, speaker_similarity=0.7)]
    means = mean_scores(rows)
    assert means["leak_db"] == -60.0
    assert means["speaker_similarity"] == pytest.approx(0.6)
    assert mean_scores([made_scores(leak_db=None)])["leak_db"] is None
    assert mean_scores([])["p808"] is None


@pytest.mark.system
@needs_networks
def test_compare_scores_a_quieter_copy_like_its_source(evaluator):
    source = evaluator.measure(audio(sung()), words=False)
    target = evaluator.target_embedding([audio(sung())])
    scores = compare(source, evaluator.measure(audio(sung() * 0.5), words=False), target)
    assert scores.word_error is None
    assert scores.speaker_similarity > 0.95
    assert scores.source_similarity > 0.95
    assert 1.0 < scores.p808 < 5.0
    assert scores.source_p808 == pytest.approx(scores.p808, abs=0.05)


OUR_NAMES = {"likeness": "speaker_similarity", "source_likeness": "source_similarity"}


def project_scorer() -> ModuleType:
    specification = importlib.util.spec_from_file_location("project_scorer", SHARED_EVALUATION / "score.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@needs_networks
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not (SHARED_EVALUATION / "sources").is_dir(), reason="the project's recordings are not here")
@pytest.mark.parametrize(
    ("source", "output", "transpose"),
    [("p226_003", "p225_003", 7), ("speech-male", "speech-male", 0), ("singing-female", "vocadito_1", -2)],
)
def test_score_conversion_matches_the_project_scorer(source, output, transpose):
    recordings = SHARED_EVALUATION / "sources"
    targets = [recordings / "1998-15444-0001.flac", recordings / "367-130732-0001.flac"]
    arguments = recordings / f"{source}.flac", recordings / f"{output}.flac", targets, transpose
    ours = vars(score_conversion(*arguments))
    theirs = project_scorer().score(*arguments)
    assert {OUR_NAMES.get(name, name) for name in theirs} == ours.keys() - {"pitch_seconds"}
    for name, value in theirs.items():
        assert ours[OUR_NAMES.get(name, name)] == (value if value is None else pytest.approx(value, abs=1e-3)), name


@pytest.mark.parametrize(
    ("genuine", "others", "expected"),
    [
        ([0.9, 0.8, 0.85], [0.5, 0.6], 0.0),
        ([0.5, 0.6], [0.9, 0.8], 1.0),
        ([0.2, 0.4, 0.6, 0.8], [0.1, 0.3, 0.5, 0.7], 0.5),
        ([0.9, 0.8, 0.7, 0.3], [0.1, 0.2, 0.75, 0.05], 0.25),
    ],
)
def test_equal_error_rate_of_known_scores(genuine, others, expected):
    assert equal_error_rate(genuine, others) == pytest.approx(expected)


@dataclass(frozen=True)
class Measured:
    high: float | None
    low: float | None


def test_known_means_leave_out_missing_values():
    rows = (row for row in [Measured(1.0, None), Measured(3.0, 5.0)])
    assert known_means(Measured, rows) == {"high": 2.0, "low": 5.0}


def test_known_means_are_none_without_any_value():
    assert known_means(Measured, [Measured(1.0, None)]) == {"high": 1.0, "low": None}
    assert known_means(Measured, []) == {"high": None, "low": None}
