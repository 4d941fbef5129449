"""Findings: problems of a recording as training material, their severity, and what to do about them.

The limits are in one table. They were set on free corpora and degraded copies of them: clean recordings of five singers
and six speakers stay within them, the degraded ones do not.
"""

from dataclasses import dataclass
from typing import Literal

from engine.analysis.dryness import Dryness
from engine.analysis.pitch import HIGHEST_NOTE, LOWEST_NOTE, Pitch
from engine.datasets.recording_quality import RecordingQuality
from engine.features.clips import Clip
from engine.texts import numeral, tr
from engine.units import FRAME_RATE

Verdict = Literal["pass", "warn", "fail"]
SEVERITY: dict[Verdict, int] = {"pass": 0, "warn": 1, "fail": 2}

# Beyond the first limit a recording causes a warning, beyond the second it does more harm than good.
LIMITS: dict[str, tuple[float, float]] = {
    "clipping": (0.002, 0.10),  # share of the audible frames; a tenth is audible all the time
    "noise": (24.0, 15.0),  # dB of voice over noise, or less; a quiet room gives 30 to 70, hiss is learned below 15
    "reverberation": (0.35, 0.60),  # s; dry rooms stay below 0.3, a room is audible from 0.35, a hall from 0.6
    "bandwidth": (17_000.0, 5_000.0),  # Hz, or less; an MP3 at 128 kbit/s ends at 16 kHz, a telephone at 4
    "level": (-38.0, -50.0),  # dB of the voice, or less; the softest carefully recorded singer was at -34
    "silence": (0.60, 1.0),  # share; songs with long rests reach a half
    "short": (0.8, 0.0),  # s of usable voice, or less; a sung note or a word
    "no_voice": (0.0, 0.3),  # s of voiced sound, or less; one syllable is too little to judge a voice
}
REMEDIES = {
    "clipping": tr("Record it again with less gain, or use a version from before it was made louder."),
    "noise": tr("Record closer to the microphone in a quieter room, or use a denoiser."),
    "reverberation": tr("Record closer to the microphone in a room with curtains and carpets, or use the dry track."),
    "bandwidth": tr("Use the original recording at 44.1 kHz or more, not a copy at a lower rate or from an MP3."),
    "level": tr("Record it again with more gain; raising the level afterwards also raises the noise."),
    "silence": tr("Shorten the long pauses to about half a second."),
    "short": tr("Add longer recordings; whole phrases are more useful than single sounds."),
    "no_voice": tr("Remove it, or replace it with a recording of singing or speech."),
    "unreadable": tr("Export it again as WAV or FLAC, or remove it."),
    "reading": tr("Listen to it, and choose another sound track or export it again if it is not the voice."),
    "exact_duplicate": tr("Delete one of them; duplicates are not used for training."),
    "near_duplicate": tr("Keep the better one; the later one is not used for training."),
    "other_speaker": tr("Listen to it, and remove it if it is another person, room or microphone."),
    "accompaniment": tr(
        "Remove the music (with the button in the report, or timbre-studio create --remove-music): anything that "
        "sounds with the voice is learned as part of it. Leave out recordings in which other people sing as well."
    ),
    "channels": tr("Save each channel as a file, and use those of the person whose voice you want."),
    "several_speakers": tr(
        "Make a voice of one person: keep the recordings of one speaker, and cut out the moments of others. If it is "
        "one person after all, in another room or at another microphone, leave it as it is."
    ),
    "beyond_range": tr("Cut these parts out, or they are learned as sounds without a pitch."),
    "pitch_range": tr("Correct the profile of the voice, or remove recordings of other people."),
    "little": tr("Add more: five minutes make a good voice, ten or more a better one."),
    "too_little": tr("Add recordings until there is at least that much; five minutes make a good voice."),
}

_BANDWIDTHS = (
    (4_200.0, tr("a telephone line")),
    (8_100.0, tr("16 kHz source")),
    (12_100.0, tr("half the usual sample rate, or a low-quality MP3")),
    (24_000.0, tr("MP3 or video")),
)


@dataclass(frozen=True)
class Finding:
    """A finding: a code that stays the same in later versions, a reason and a remedy of one sentence each."""

    code: str
    verdict: Verdict
    reason: str
    remedy: str


def finding(code: str, verdict: Verdict, reason: str) -> Finding:
    """Make a finding with the remedy for its code."""
    return Finding(code, verdict, reason, REMEDIES[code])


def worst(findings: tuple[Finding, ...] | list[Finding]) -> Verdict:
    """Return the most severe verdict; pass if there are no findings."""
    return max((found.verdict for found in findings), key=SEVERITY.__getitem__, default="pass")


def findings_in(quality: RecordingQuality, dryness: Dryness | None = None) -> list[Finding]:
    """Return the problems shown by a recording's measures; dryness: as `Clip.dryness`.

    Accompaniment fills the pauses by which noise and rooms are measured, so those are then not said.
    """
    if quality.silence_share >= LIMITS["silence"][1]:
        return [
            finding(
                "silence",
                "fail",
                tr(
                    "It holds nothing but silence (its peak level is {peak_db} dB).",
                    peak_db=numeral(quality.peak_db, ".0f"),
                ),
            )
        ]
    if quality.voiced_s < LIMITS["no_voice"][1]:
        return [
            finding(
                "no_voice",
                "fail",
                tr("It holds only {voiced_s} s of voice.", voiced_s=numeral(quality.voiced_s, ".1f")),
            )
        ]
    found = [
        _above("clipping", quality.clipped_share, tr("{value} of the recording is clipped."), ".1%"),
        _below("noise", quality.snr_db, tr("The voice is only {value} dB above the noise.")),
        _above(
            "reverberation", quality.reverberation_s, tr("It is reverberant: sounds take {value} s to die away."), ".1f"
        ),
        _below("bandwidth", quality.bandwidth_hertz, _bandwidth_sentence(quality.bandwidth_hertz)),
        _below("level", quality.level_db, tr("The voice is very quiet: its level is {value} dB.")),
        _above("silence", quality.silence_share, tr("{value} of it is silence."), ".0%"),
        _below("short", quality.usable_s, tr("It holds only {value} s of usable voice."), ".1f"),
    ]
    if dryness and dryness.is_mix and not dryness.presence.warning:
        reason = tr("There seems to be accompaniment, a second voice or a long reverberation in it.")
        found = [one for one in found if one is None or one.code not in ("noise", "reverberation")]
        found.insert(0, finding("accompaniment", "warn", reason))
    return [one for one in found if one is not None]


def findings_on_channels(clip: Clip) -> list[Finding]:
    """Return a finding where the channels of a recording hold voices of their own."""
    if clip.channel is None:
        return []
    reason = tr(
        "Each of its channels has a voice of its own, as in an interview: only channel {number} is used, which has "
        "the most voice ({voiced_s} s).",
        number=clip.channel + 1,
        voiced_s=numeral(float(clip.pitch.voiced.sum()) / FRAME_RATE, ".0f"),
    )
    return [finding("channels", "warn", reason)]


def findings_beyond(pitch: Pitch) -> list[Finding]:
    """Return findings on tones beyond the range of notes."""
    above_s, below_s = pitch.beyond_s
    found = []
    if above_s:
        reason = tr(
            "{above_s} s of it are above {highest_note}, the highest note.",
            above_s=numeral(above_s, ".1f"),
            highest_note=HIGHEST_NOTE,
        )
        found.append(finding("beyond_range", "warn", reason))
    if below_s:
        reason = tr(
            "{below_s} s of it are below {lowest_note}, the lowest note.",
            below_s=numeral(below_s, ".1f"),
            lowest_note=LOWEST_NOTE,
        )
        found.append(finding("beyond_range", "warn", reason))
    return found


def _above(code: str, value: float | None, reason: str, form: str = ".0f") -> Finding | None:
    warn, fail = LIMITS[code]
    if value is None or value <= warn:
        return None
    return finding(code, "fail" if value > fail else "warn", reason.format(value=numeral(value, form)))


def _below(code: str, value: float | None, reason: str, form: str = ".0f") -> Finding | None:
    warn, fail = LIMITS[code]
    if value is None or value >= warn:
        return None
    return finding(code, "fail" if value < fail else "warn", reason.format(value=numeral(value, form)))


def _bandwidth_sentence(hertz: float) -> str:
    like = next((what for up_to, what in _BANDWIDTHS if hertz <= up_to), _BANDWIDTHS[-1][1])
    return tr("Nothing above {hertz} kHz ({like}).", hertz=numeral(round(hertz / 1000, 1), "g"), like=like)
