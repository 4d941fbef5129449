"""Findings: what is wrong with a recording as material for a voice, how bad that is, and what to do about it.

The limits are in one table. They were set on free corpora and the same recordings harmed on purpose: clean ones of five
singers and six speakers stay inside them, the harmed ones do not.
"""

from dataclasses import dataclass
from typing import Literal

from engine.datasets.recording_quality import RecordingQuality

Verdict = Literal["pass", "warn", "fail"]
SEVERITY: dict[Verdict, int] = {"pass": 0, "warn": 1, "fail": 2}

# Beyond the first limit a recording is worth a warning, beyond the second it does more harm than good.
LIMITS: dict[str, tuple[float, float]] = {
    "clipping": (0.002, 0.10),  # share of the audible frames; a tenth is heard all the time
    "noise": (24.0, 15.0),  # dB of voice over noise, less; a quiet room gives 30 to 70, hiss is learned below 15
    "reverberation": (0.35, 0.60),  # s; dry rooms stay below 0.3, a room is heard from 0.35, a hall from 0.6
    "bandwidth": (17_000.0, 5_000.0),  # Hz, less; an MP3 of 128 kbit/s ends at 16 kHz, a telephone at 4
    "level": (-38.0, -50.0),  # dB of the voice, less; the softest singer recorded with care was at -34
    "silence": (0.60, 1.0),  # share; songs with long rests reach a half
    "short": (0.8, 0.0),  # s of usable voice, less; a sung note or a word
    "no_voice": (0.0, 0.3),  # s of voiced sound, less; nothing can be said of a voice from a syllable
}
REMEDIES = {
    "clipping": "Record it again with less gain, or use a copy made before it was made so loud.",
    "noise": "Record closer to the microphone in a quieter room, or clean it with a denoiser.",
    "reverberation": "Record closer to the microphone in a room with curtains and carpets, or use the dry track.",
    "bandwidth": "Use the original recording at 44.1 kHz or more, not a copy that went through a lower rate or an MP3.",
    "level": "Record it again with more gain; making it louder afterwards makes the noise louder too.",
    "silence": "Cut the long pauses down to about half a second.",
    "short": "Add longer recordings; whole phrases teach more than single sounds.",
    "no_voice": "Leave it out, or replace it by a recording in which somebody sings or speaks.",
    "unreadable": "Export it again as WAV or FLAC, or leave it out.",
    "exact_duplicate": "Delete one of them; it is left out of the training.",
    "near_duplicate": "Keep the better one; the later one is left out of the training.",
    "other_speaker": "Listen to it, and take it out if it is somebody else or another room or microphone.",
    "pitch_range": "Correct what the profile says of the voice, or take out recordings of somebody else.",
    "little": "Add more: three minutes make a good voice, ten or more a better one.",
    "too_little": "Add recordings until there is at least that much; three minutes make a good voice.",
}

_BANDWIDTHS = (
    (4_200.0, "over a telephone"),
    (8_100.0, "in recordings at 16 kHz"),
    (12_100.0, "in recordings at half the usual rate or in a poor MP3"),
    (24_000.0, "in an MP3 or a video"),
)


@dataclass(frozen=True)
class Finding:
    """code: a word that stays the same in later versions; reason, remedy: a sentence each."""

    code: str
    verdict: Verdict
    reason: str
    remedy: str


def finding(code: str, verdict: Verdict, reason: str) -> Finding:
    """A finding with the remedy that goes with its code."""
    return Finding(code, verdict, reason, REMEDIES[code])


def worst(findings: tuple[Finding, ...] | list[Finding]) -> Verdict:
    """The most severe verdict; pass where nothing was found."""
    return max((found.verdict for found in findings), key=SEVERITY.__getitem__, default="pass")


def findings_in(quality: RecordingQuality) -> list[Finding]:
    """What a recording's measures say against it."""
    if quality.silence_share >= LIMITS["silence"][1]:
        return [finding("silence", "fail", f"It holds nothing but silence (its peak is at {quality.peak_db:.0f} dB).")]
    if quality.voiced_s < LIMITS["no_voice"][1]:
        return [finding("no_voice", "fail", f"Only {quality.voiced_s:.1f} s of a voice were found in it.")]
    found = [
        _above("clipping", quality.clipped_share, "{:.1%} of the sound is clipped."),
        _below("noise", quality.snr_db, "The voice is only {:.0f} dB above the noise."),
        _above("reverberation", quality.reverberation_s, "The room is heard: sounds take {:.1f} s to die away."),
        _below("bandwidth", quality.bandwidth_hertz, _bandwidth_sentence(quality.bandwidth_hertz)),
        _below("level", quality.level_db, "The voice is very quiet, at {:.0f} dB."),
        _above("silence", quality.silence_share, "{:.0%} of it is silence."),
        _below("short", quality.usable_s, "It holds only {:.1f} s of usable voice."),
    ]
    return [one for one in found if one is not None]


def _above(code: str, value: float | None, reason: str) -> Finding | None:
    warn, fail = LIMITS[code]
    if value is None or value <= warn:
        return None
    return finding(code, "fail" if value > fail else "warn", reason.format(value))


def _below(code: str, value: float | None, reason: str) -> Finding | None:
    warn, fail = LIMITS[code]
    if value is None or value >= warn:
        return None
    return finding(code, "fail" if value < fail else "warn", reason.format(value))


def _bandwidth_sentence(hertz: float) -> str:
    like = next((what for up_to, what in _BANDWIDTHS if hertz <= up_to), _BANDWIDTHS[-1][1])
    return f"The sound ends at {hertz / 1000:.1f} kHz, as {like}."
