import numpy as np
import pytest

from engine.audio.files import Audio, write_audio
from engine.errors import EngineError
from engine.evaluation.performance import EVALUATION_RATE
from engine.research.benchmark.judges import Embeddings, JudgedRecording
from engine.research.benchmark.opinions import (
    COLUMNS,
    Judged,
    JudgedVoice,
    Opinion,
    Output,
    by_transposition,
    opinions,
    outputs_in,
    row,
)
from engine.research.benchmark.quality import TRANSPOSITIONS
from engine.units import SAMPLE_RATE

ALIKE = Opinion(0.9, 0.3, 0.8, 0.2, -0.1, -0.2, -0.3)
STRANGE = Opinion(0.5, 1.0, 0.2, 1.0, 0.0, 0.0, 0.0)
HALFWAY = Opinion(0.7, 0.65, 0.5, 0.6, -0.1, -0.2, None)
UNIT = np.eye(3, dtype=np.float32)
OWN, OTHER = Embeddings(UNIT[0], UNIT[0]), Embeddings(UNIT[1], UNIT[1])


def judged(opinion, control=ALIKE):
    return Judged(Output(None, "a", "mia", 0.0), opinion, STRANGE, control, OWN)


def shown(cells):
    return dict(zip(("", "n", *COLUMNS), cells, strict=True))


def test_row_shows_means_and_shares():
    found = shown(row("half", [judged(HALFWAY), judged(HALFWAY)]))
    assert (found["n"], found["speaker_similarity"]) == ("2", "0.700")
    assert (found["way"], found["second_way"]) == ("0.500", "0.500")
    assert (found["source"], found["leak"], found["second_leak"]) == ("0.650", "0.500", "0.500")
    assert found["distilled"] == "-"  # DistillMOS was not there


def test_row_of_strangers_and_of_controls_are_the_ends_of_both_shares():
    ends = [judged(HALFWAY)]
    stranger, control = (shown(row("", ends, of)) for of in (lambda one: one.stranger, lambda one: one.control))
    assert (stranger["way"], stranger["leak"]) == ("0.000", "1.000")
    assert (control["way"], control["leak"]) == ("1.000", "0.000")


def test_row_has_shares_of_the_outputs_with_a_control_alone():
    found = shown(row("", [judged(HALFWAY), judged(ALIKE, control=None)]))
    assert (found["n"], found["speaker_similarity"]) == ("2", "0.800")
    assert (found["way"], found["leak"]) == ("0.500", "0.500")
    assert shown(row("", [judged(HALFWAY, control=None)]))["leak"] == "-"


class ListeningFor:
    """Stands for the judges, whose networks are not here: what was sung at 110 Hz is one speaker, all else another."""

    def __init__(self):
        self.heard = []

    def measure(self, recording):
        self.heard.append(recording)
        own = isinstance(recording, Audio)  # a control
        samples = np.zeros(EVALUATION_RATE, np.float32)
        return JudgedRecording(samples, OWN if own else OTHER, 3.0, 2.0 if own else 3.0, None)


def test_opinions_has_one_control_for_each_source_voice_and_transposition(sing, tmp_path):
    write_audio(tmp_path / "own.wav", Audio(sing(1.0)[None], SAMPLE_RATE))
    source = JudgedRecording(0.3 * sing(1.0, rate=EVALUATION_RATE), OTHER, 3.5, 3.0, None)
    mia, apart = JudgedVoice(OWN, [tmp_path / "own.wav"]), JudgedVoice(OTHER, [])
    outputs = [
        Output(tmp_path / "a--mia.wav", "a", "mia", 3.0),
        Output(tmp_path / "a--mia2.wav", "a", "mia2", 3.0),  # the same voice, as RVC and ours are
        Output(tmp_path / "a--mia3.wav", "a", "mia", 5.0),
        Output(tmp_path / "a--tim.wav", "a", "tim", 3.0),
        Output(tmp_path / "a--mia4.wav", "a", "mia", None),
    ]
    judges = ListeningFor()
    found = opinions(judges, {"a": source}, outputs, {"mia": mia, "mia2": mia, "tim": apart})
    assert sum(isinstance(one, Audio) for one in judges.heard) == 2
    assert [one.control is not None for one in found] == [True, True, True, False, False]
    first = found[0]
    assert (first.opinion.speaker_similarity, first.control.speaker_similarity) == (0.0, 1.0)
    assert (first.opinion.p808, first.opinion.ovrl, first.opinion.distilled) == (-0.5, 0.0, None)


def test_by_transposition_groups_conversions_and_keeps_copies_apart(tmp_path):
    said = [(Output(tmp_path, "a", "mia", semitones), ALIKE) for semitones in (0.0, -4.0, 12.0, None)]
    found = by_transposition([*said, (Output(tmp_path, "a", "copy", 0.0), STRANGE)])
    expected = {"all": 4, "0 to 2 semitones": 1, "3 to 5 semitones": 1, "9 to 24 semitones": 1, "copies": 1}
    assert {name: len(group) for name, group in found.items()} == expected


def test_outputs_in_reads_names_and_transpositions(tmp_path):
    with pytest.raises(EngineError, match="no recording"):
        outputs_in(tmp_path)
    for name in ("one--two.flac--mia.wav", "one--two.flac--copy.wav", "one--two.flac--source.wav"):
        (tmp_path / name).touch()
    (tmp_path / TRANSPOSITIONS).write_text("one--two.flac--mia.wav\t-5\n")
    found = {one.voice: one for one in outputs_in(tmp_path)}
    assert set(found) == {"mia", "copy"}
    assert (found["mia"].source, found["mia"].semitones) == ("one--two.flac", -5.0)
