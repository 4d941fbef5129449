"""Where a voice would speak that is known only from singing, and sing that is known only from speech.

Ozaki et al. (Globally, songs and instrumental melodies are slower and higher and use more stable pitches than speech,
Science Advances, 2024) published the mean pitch of 60 people, 35 men and 25 women of as many languages, when they sing,
describe and recite. They speak 6.5 semitones below their song (standard deviation 3.4): men 6.2, women 6.9; 3.0 below
songs under 146 Hz and 8.2 below songs above 294 Hz. Songs differ more than people do: half an octave more in the song
is 1.4 semitones more in speech. So where the sex is known the estimate is a line of its own for each, 1.8 semitones off
on average (each of the 60 left out in turn; the song less 6.5: 2.5, less 8: 2.9). Where it is not known, the song alone
says what it can: 2.3. Singing is estimated from speech likewise, and worse: 2.5.

Of a child nothing was published: it speaks the same distance below its song as the rest.
"""

from dataclasses import dataclass

from engine.analysis.pitch_statistics import PitchStatistics
from engine.voices.card_rules import HIGHEST_NOTE


@dataclass(frozen=True)
class _Line:
    """A median of one kind that goes with a median of the other, and by how much it changes with it."""

    known: float
    estimated: float
    slope: float

    def at(self, median: float) -> float:
        return self.estimated + self.slope * (median - self.known)


# least squares; MIDI note numbers
_SPOKEN = {"male": _Line(52.0, 45.4, 0.225), "female": _Line(62.3, 55.4, 0.225)}
_SUNG = {"male": _Line(45.4, 51.6, 0.476), "female": _Line(55.4, 62.3, 0.476)}
_SPOKEN_OF_ANYBODY, _SUNG_OF_ANYBODY = _Line(56.3, 49.7, 0.738), _Line(49.8, 56.3, 0.966)
_DISTANCE = _Line(56.5, 50.0, 1.0), _Line(50.0, 56.5, 1.0)  # of a child
# percentiles 5 and 95 about the median: of 250 readers of LibriSpeech, and of three singers with all their songs
_SPOKEN_SPREAD, _SUNG_SPREAD = (4.7, 6.3), (7.2, 7.5)


def estimated_speech(sung: PitchStatistics, gender: str | None, age: str | None) -> PitchStatistics:
    """Return where somebody would speak, by where they sing; not above it. MIDI note numbers.

    gender, age: as in a profile.
    """
    line = _DISTANCE[0] if age == "child" else _SPOKEN.get(gender or "", _SPOKEN_OF_ANYBODY)
    return _about(min(line.at(sung.median), sung.median), _SPOKEN_SPREAD)


def estimated_singing(spoken: PitchStatistics, gender: str | None, age: str | None) -> PitchStatistics:
    """Return where somebody would sing, by where they speak; not below it. MIDI note numbers.

    gender, age: as in a profile.
    """
    line = _DISTANCE[1] if age == "child" else _SUNG.get(gender or "", _SUNG_OF_ANYBODY)
    return _about(max(line.at(spoken.median), spoken.median), _SUNG_SPREAD)


def _about(median: float, spread: tuple[float, float]) -> PitchStatistics:
    """Return statistics about a median, within what a card can hold."""
    notes = (median - spread[0], median, median + spread[1])
    return PitchStatistics(*(round(min(max(0.0, note), HIGHEST_NOTE), 2) for note in notes))
