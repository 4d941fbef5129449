"""Two people who speak or sing in turn in one recording, at pitches so far apart that one transposition fits only one.

A singer of a wide range is one person, so pitch alone does not decide: the speakers are found by their timbre.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.notes import audible
from engine.analysis.pitch import Pitch
from engine.features.speaker_directions import speaker_track
from engine.features.speakers import Turn, find_speakers
from engine.networks.base import BaseModel
from engine.texts import joined, tr
from engine.units import FRAME_RATE, clock, note_name

_APART_SEMITONES = 7.0  # between the medians: as much as a man's and a woman's speech
_LEAST_VOICED_S = 2.0  # of each
_MOST_NAMED = 4


@dataclass(frozen=True)
class Alternation:
    """turns: in order of time. medians: MIDI note numbers of the speakers, by their numbers in the turns."""

    turns: tuple[Turn, ...]
    medians: dict[int, float]

    @property
    def warning(self) -> str:
        """Return a sentence for the user, and what to do."""
        turns = joined(", ", [self._named(turn) for turn in self.turns[:_MOST_NAMED]])
        return tr(
            "Two people seem to take turns in this recording ({turns}), at pitches so far apart that one transposition "
            'fits only one of them. Give each part a voice, as in "1:42 koguchi": Voice changes on the page, '
            "--from on the command line.",
            turns=turns,
        )

    def _named(self, turn: Turn) -> str:
        return tr(
            "{start}-{stop} around {note}",
            start=clock(round(turn.start_s)),
            stop=clock(round(turn.stop_s)),
            note=note_name(round(self.medians[turn.speaker])),
        )


def find_alternation(
    base: BaseModel, envelope: np.ndarray, pitch: Pitch, loudness_db: np.ndarray
) -> Alternation | None:
    """Return the turns of two people whose median pitches are far apart; None for one person, or for similar pitches.

    envelope: (frames, bands), relative to the recording's level; pitch and loudness_db: of the same frames.
    """
    sounding = audible(pitch, loudness_db)
    (turns,) = find_speakers([speaker_track(base, envelope, sounding)])
    medians = {
        speaker: float(np.median(pitch.semitones[own]))
        for speaker in {turn.speaker for turn in turns}
        if (own := sounding & _frames_of(turns, speaker, len(pitch))).sum() >= _LEAST_VOICED_S * FRAME_RATE
    }
    if not medians or max(medians.values()) - min(medians.values()) < _APART_SEMITONES:
        return None
    return Alternation(tuple(turn for turn in turns if turn.speaker in medians), medians)


def _frames_of(turns: Sequence[Turn], speaker: int, frames: int) -> np.ndarray:
    here = np.zeros(frames, bool)
    for turn in turns:
        if turn.speaker == speaker:
            here[round(turn.start_s * FRAME_RATE) : round(turn.stop_s * FRAME_RATE)] = True
    return here
