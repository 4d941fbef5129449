"""A stretch of a recording as a recording of its own."""

from pathlib import Path

from engine.audio.files import AudioWriter, open_audio
from engine.errors import SettingsError

SHORTEST_S = 0.1
_BLOCK = 1 << 18  # samples


def cut_recording(source: Path, target: Path, start_s: float = 0.0, stop_s: float = float("inf")) -> None:
    """Write what `source` holds from `start_s` to `stop_s` into `target`, at the same rate and with the same channels.

    The suffix of the target chooses its format. Raises SettingsError for a stretch that is too short or lies outside,
    AudioError for a file that cannot be read or written.
    """
    if not 0.0 <= start_s <= stop_s - SHORTEST_S:
        raise SettingsError(f"The part from {start_s:.1f} s to {stop_s:.1f} s is too short: choose a longer one.")
    with open_audio(source) as recording:
        first = round(start_s * recording.rate)
        last = None if stop_s == float("inf") else round(stop_s * recording.rate)
        with AudioWriter(target, recording.rate, recording.channels) as writer:
            passed = written = 0
            for block in recording.blocks(_BLOCK):
                kept = block[:, max(0, first - passed) : None if last is None else max(0, last - passed)]
                passed += block.shape[1]
                if kept.shape[1]:
                    writer.write(kept)
                    written += kept.shape[1]
                if last is not None and passed >= last:
                    break
            if not written:
                raise SettingsError(f"The recording ends before {start_s:.1f} s: choose a part that is in it.")
