"""A singer's recordings in two parts: what a voice is made from, and what conversions are compared with.

One rule: of all the sound, in the order of the files' names, the last fifth is held out, at most three minutes. A
recording that lies across the border is cut there. What is held out is kept in pieces of at most 12 s.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.audio.files import Audio, open_audio, read_audio, write_audio
from engine.errors import AudioError

HELD_OUT_SHARE, MOST_HELD_OUT_S = 0.2, 180.0
LEAST_S = 30.0  # of all the sound
_PIECE_S, _SHORTEST_S = 12.0, 2.0
_QUIET_DB = -30.0  # pieces so far below the loudest are pauses


@dataclass(frozen=True)
class SingersRecordings:
    """Files of one singer that share no sound."""

    learned: tuple[Path, ...]
    held_out: tuple[Path, ...]


def part_recordings(recordings: Sequence[Path], folder: Path) -> SingersRecordings:
    """Part recordings by the rule above; what is cut is written to `folder`. Raises AudioError for too little sound."""
    durations_s = [_duration_s(path) for path in recordings]
    total_s = sum(durations_s)
    if total_s < LEAST_S:
        raise AudioError(
            f"There are only {total_s:.0f} s of sound in {recordings[0].parent}; at least {LEAST_S:.0f} s of the "
            "singer are needed, five to twenty minutes are good."
        )
    left_s = total_s - min(HELD_OUT_SHARE * total_s, MOST_HELD_OUT_S)  # of what is learned
    learned: list[Path] = []
    held_out: list[Audio] = []
    for path, duration_s in zip(recordings, durations_s, strict=True):
        if left_s > duration_s - _SHORTEST_S:
            learned.append(path)
        else:
            sound = read_audio(path)
            before = round(left_s * sound.rate) if left_s >= _SHORTEST_S else 0
            if before:
                learned.append(folder / f"{path.stem}-learned.wav")
                folder.mkdir(parents=True, exist_ok=True)
                write_audio(learned[-1], Audio(sound.samples[:, :before], sound.rate))
            held_out += _pieces(Audio(sound.samples[:, before:], sound.rate))
        left_s -= duration_s
    return SingersRecordings(tuple(learned), _written(held_out, folder / "held-out"))


def _duration_s(path: Path) -> float:
    with open_audio(path) as recording:
        stated_s = recording.duration_s
    return read_audio(path).duration_s if stated_s is None else stated_s


def _pieces(sound: Audio) -> Iterator[Audio]:
    """Cut a sound into equal pieces of at most 12 s; what is shorter than 2 s is left out."""
    count = int(np.ceil(sound.duration_s / _PIECE_S))
    for samples in np.array_split(sound.samples, count, axis=1):
        if samples.shape[1] >= _SHORTEST_S * sound.rate:
            yield Audio(samples, sound.rate)


def _written(pieces: Sequence[Audio], folder: Path) -> tuple[Path, ...]:
    levels = [float(np.square(piece.samples).mean()) for piece in pieces]
    least = max(levels, default=0.0) * 10 ** (_QUIET_DB / 10)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (piece, level) in enumerate(zip(pieces, levels, strict=True), 1):
        if level >= least > 0.0:
            paths.append(folder / f"{number:03d}.wav")
            write_audio(paths[-1], piece)
    if not paths:
        raise AudioError("The last fifth of the recordings is silent or in clips below 2 s: give longer recordings.")
    return tuple(paths)
