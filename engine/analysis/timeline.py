"""Where a recording lies in a song: positions in bars, and files that other programs place by them."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.notes import Note
from engine.analysis.phrases import Phrase
from engine.settings import check_settings, setting
from engine.texts import tr
from engine.units import FRAME_RATE, note_name

_TICKS = 960  # per beat, as most sequencers count
_CUE_SHEET = ("phrase", "position", "start_s", "end_s", "lowest", "highest", "notes")


@dataclass(frozen=True)
class Timeline:
    """The tempo of a song, and where in it a recording begins.

    >>> Timeline(tempo_bpm=120.0).position(9.25)
    'bar 005.3.480'
    >>> Timeline(start_s=60.0).position(4.25)
    '00h01m04.250s'
    """

    tempo_bpm: float = setting(
        0.0, 0.0, 400.0, tr("Beats per minute of the song; 0: not known, files are named by time.")
    )
    beats_per_bar: int = setting(4, 1, 32, tr("Beats in each bar."))
    start_s: float = setting(0.0, 0.0, 86_400.0, tr("Where in the song the recording begins, in seconds."))

    def __post_init__(self) -> None:
        """Raise SettingsError, naming the setting and its range, for any value outside it."""
        check_settings(self)

    def position(self, seconds: float) -> str:
        """Name the position in the song of a time in the recording: bar, beat and tick, or without a tempo the time.

        Names sort in order of time, up to bar 999, and can be parts of file names.
        """
        at_s = self.start_s + seconds
        if self.tempo_bpm:
            beats, tick = divmod(round(at_s * self.tempo_bpm / 60 * _TICKS), _TICKS)
            bar, beat = divmod(beats, self.beats_per_bar)
            return f"bar {bar + 1:03d}.{beat + 1}.{tick:03d}"
        minutes, milliseconds = divmod(round(1000 * at_s), 60_000)
        return f"{minutes // 60:02d}h{minutes % 60:02d}m{milliseconds // 1000:02d}.{milliseconds % 1000:03d}s"


def cue_sheet(phrases: Sequence[Phrase], notes: Sequence[Note], timeline: Timeline) -> str:
    """Write phrases as a table (CSV): position in the song, times in the recording, lowest and highest note."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(_CUE_SHEET)
    for number, phrase in enumerate(phrases, 1):
        sung = [note.midi for note in notes if note.start_s < phrase.end_s and note.end_s > phrase.start_s]
        ends = [note_name(min(sung)), note_name(max(sung))] if sung else ["", ""]
        times = [f"{phrase.start_s:.3f}", f"{phrase.end_s:.3f}"]
        table.writerow([number, timeline.position(phrase.start_s), *times, *ends, len(sung)])
    return written.getvalue()


def marker_labels(phrases: Sequence[Phrase]) -> str:
    """Write phrases as a label track of Audacity, which other editors import too: start, end and name by tabs."""
    return "".join(
        f"{phrase.start_s:.6f}\t{phrase.end_s:.6f}\tphrase {number}\n" for number, phrase in enumerate(phrases, 1)
    )


def pitch_table(
    hertz: np.ndarray,
    confidence: np.ndarray,
    loudness_db: np.ndarray,
    step_s: float = 1 / FRAME_RATE,
    start_s: float = 0.0,
) -> str:
    """Write curves (points,) as a table (CSV): seconds, hertz where it is above 0, confidence 0..1 and loudness.

    start_s: the time of the first point.

    >>> pitch_table(np.array([0.0, 440.0]), np.array([0.1, 0.9]), np.array([-60.0, -20.0])).splitlines()[2]
    '0.01,440.00,0.900,-20.00'
    """
    values = zip(hertz.tolist(), confidence.tolist(), loudness_db.tolist(), strict=True)
    lines = (
        f"{start_s + i * step_s:.2f},{f'{frequency:.2f}' if frequency else ''},{sure:.3f},{level_db:.2f}"
        for i, (frequency, sure, level_db) in enumerate(values)
    )
    return "\n".join(("seconds,hertz,confidence,loudness_db", *lines, ""))
