"""The data report: whether recordings are suitable for a voice, and if not, which of them and why.

Each recording is analysed once (clips, kept in a cache), measured (recording_quality) and rated (findings); then they
are compared with each other (duplicates, other speakers) and with the profile of the voice.
"""

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import JsonValue

from engine.analysis.pitch import Pitch
from engine.analysis.style import Style, measure_style
from engine.analysis.vocal_range import SINGING_RANGES, SPEAKING_NOTES, VocalRange, VoiceType, measure_range, voice_type
from engine.audio.files import open_audio
from engine.audio.own_channels import OneChannel
from engine.datasets.dataset import AUDIO_FOLDER, REPORT_FILE, Dataset
from engine.datasets.duplicates import Words, near_duplicates, words_of
from engine.datasets.findings import (
    SEVERITY,
    Finding,
    Verdict,
    finding,
    findings_beyond,
    findings_in,
    findings_on_channels,
    worst,
)
from engine.datasets.left_out import LeftOut, left_out_from
from engine.datasets.recording_quality import RecordingQuality, audible_frames, measure_quality
from engine.datasets.speaker_findings import speaker_findings
from engine.errors import AudioError, DatasetError
from engine.features.clips import Clip, analysed_clip, file_digest
from engine.features.speaker_directions import SpeakerTrack, speaker_track
from engine.features.speakers import find_speakers
from engine.files import write_atomically
from engine.networks.base import load_base
from engine.progress import Report, no_report
from engine.reprs import Brief
from engine.texts import as_data, from_data, joined, ntr, numeral, tr
from engine.units import FRAME_RATE, note_number
from engine.voices.profile import VoiceProfile

FORMAT = 2  # of the report as JSON; raised whenever the measures or limits change
LEAST_USABLE_S = 10.0  # less does not contain every sound of a language even once
LITTLE_USABLE_S = 120.0  # less makes an unstable voice
MOSTLY = 0.5  # share of the recordings that must fail for the whole to fail
OUTSIDE_SHARE = 0.25  # of the voiced time beyond the stated range: more than slips and ornaments
RANGE_MARGIN = 2.0  # semitones of tolerance beyond a range
SPEAKING_MARGIN = 5.0  # semitones between the speaking pitch and that of the stated voice type
_UNUSED = {"unreadable", "no_voice", "exact_duplicate", "near_duplicate"}
_MOST_NAMED = 3
_DECIMALS = 4
_SUMMARIES = {
    "unreadable": tr("{count} of {recordings} recordings cannot be read: {names}."),
    "no_voice": ntr(
        "{count} of {recordings} recordings holds no voice: {names}.",
        "{count} of {recordings} recordings hold no voice: {names}.",
    ),
    "silence": ntr(
        "{count} of {recordings} recordings is silent or mostly so: {names}.",
        "{count} of {recordings} recordings are silent or mostly so: {names}.",
    ),
    "clipping": ntr(
        "{count} of {recordings} recordings is clipped: {names}.",
        "{count} of {recordings} recordings are clipped: {names}.",
    ),
    "noise": ntr(
        "{count} of {recordings} recordings is noisy: {names}.",
        "{count} of {recordings} recordings are noisy: {names}.",
    ),
    "reverberation": ntr(
        "{count} of {recordings} recordings is reverberant: {names}.",
        "{count} of {recordings} recordings are reverberant: {names}.",
    ),
    "bandwidth": ntr(
        "{count} of {recordings} recordings lacks high frequencies: {names}.",
        "{count} of {recordings} recordings lack high frequencies: {names}.",
    ),
    "level": ntr(
        "{count} of {recordings} recordings is very quiet: {names}.",
        "{count} of {recordings} recordings are very quiet: {names}.",
    ),
    "short": ntr(
        "{count} of {recordings} recordings is very short: {names}.",
        "{count} of {recordings} recordings are very short: {names}.",
    ),
    "accompaniment": ntr(
        "{count} of {recordings} recordings holds more than one dry voice: {names}.",
        "{count} of {recordings} recordings hold more than one dry voice: {names}.",
    ),
    "channels": ntr(
        "{count} of {recordings} recordings has a voice of its own in each channel: {names}.",
        "{count} of {recordings} recordings have a voice of its own in each channel: {names}.",
    ),
    "beyond_range": tr("{count} of {recordings} recordings have notes that are too high or too low: {names}."),
    "exact_duplicate": ntr(
        "{count} of {recordings} recordings is a duplicate: {names}.",
        "{count} of {recordings} recordings are duplicates: {names}.",
    ),
    "near_duplicate": ntr(
        "{count} of {recordings} recordings is a copy of another: {names}.",
        "{count} of {recordings} recordings are copies of others: {names}.",
    ),
}
_SAME_KEY = 1.0  # semitones at most between the notes of a recording and of its copy
_Curves = tuple[Pitch, np.ndarray]  # of the audible frames: pitch, and loudness in dB relative to the recording's voice


@dataclass(frozen=True)
class RecordingReport:
    """One recording with the measures of RecordingQuality, which are zero or None if it cannot be read."""

    name: str  # path below the folder of the recordings, with forward slashes
    fingerprint: str  # of its contents; empty where it cannot be read
    verdict: Verdict
    findings: tuple[Finding, ...]
    duration_s: float = 0.0
    voiced_s: float = 0.0
    usable_s: float = 0.0
    level_db: float | None = None
    peak_db: float | None = None
    clipped_share: float = 0.0
    clipped_runs: int = 0
    snr_db: float | None = None
    reverberation_s: float | None = None
    bandwidth_hertz: float | None = None
    silence_share: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether to train on it: it is readable, holds a voice, and is not a duplicate of an earlier one."""
        return self.usable_s > 0 and not any(found.code in _UNUSED for found in self.findings)


@dataclass(frozen=True, repr=False)
class DataReport(Brief):
    """What is good and bad about the recordings of a voice; measures cover the usable ones.

    - verdict: pass, warn or fail
    - findings: what was found, with reason and remedy, the worst first
    - recordings: the same of each
    - total_s, voiced_s, usable_s: seconds in all, with a voice, and to train on
    - pitch_histogram: seconds by MIDI note number, of voiced frames
    - vocal_range: lowest and highest note; None without a voice, as all below
    - voice_type: such as alto, that fits the recordings
    - style: melodic, rhythmic or spoken
    - level_db, level_spread_db: median of the recordings' levels in dB of full scale, and their standard deviation
    - snr_db: voice over noise in dB, the median
    - reverberation_s: reverberation time in seconds, the median
    - bandwidth_hertz: up to where there is sound, in Hz, the median
    - stated_gender, stated_voice_type, stated_range: what the profile says
    - left_out: what was found besides recordings
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    recordings: tuple[RecordingReport, ...]
    total_s: float
    voiced_s: float
    usable_s: float
    pitch_histogram: dict[int, float]  # MIDI note number -> seconds, voiced frames
    vocal_range: tuple[str, str] | None  # lowest and highest note
    voice_type: VoiceType | None  # that fits the recordings
    style: Style | None
    level_db: float | None  # median, as those below
    level_spread_db: float | None  # standard deviation between recordings
    snr_db: float | None
    reverberation_s: float | None
    bandwidth_hertz: float | None
    stated_gender: str | None  # by the profile, as those below
    stated_voice_type: str | None
    stated_range: tuple[str, str] | None
    left_out: tuple[LeftOut, ...] = ()  # files of the source that are not used

    def as_json(self) -> dict[str, JsonValue]:
        """Return plain values, from which `from_json` makes the report again."""
        values = {"format": FORMAT} | asdict(self)
        values["pitch_histogram"] = {str(note): seconds for note, seconds in self.pitch_histogram.items()}
        return from_data(as_data(values))  # lists, as JSON has them

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> "DataReport":
        """Read what `as_json` returned. Raises DatasetError for values that are damaged or of another version."""
        try:
            if values["format"] != FORMAT:
                raise ValueError("another format")
            known = {name: from_data(value) for name, value in values.items() if name != "format"}
            known["findings"] = _findings_from(known["findings"])
            known["recordings"] = tuple(
                RecordingReport(**one | {"findings": _findings_from(one["findings"])}) for one in known["recordings"]
            )
            known["left_out"] = left_out_from(known.get("left_out", ()))
            known["pitch_histogram"] = {int(note): seconds for note, seconds in known["pitch_histogram"].items()}
            for name in ("vocal_range", "stated_range"):
                known[name] = tuple(known[name]) if known[name] else None
            return DataReport(**known)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise DatasetError(
                tr("The data report is damaged or from another version; examine the data again.")
            ) from cause


def examine_recordings(
    recordings: Sequence[Path | str],
    profile: VoiceProfile | None = None,
    cache: Path | str | None = None,
    report: Report = no_report,
    root: Path | str | None = None,
) -> DataReport:
    """Examine recordings of one voice: whether they are good enough to train on.

    Parameters
    ----------
    recordings : sequence of Path or str
        A file that cannot be read is a finding, not an error.
    profile : VoiceProfile, optional
        With which their pitch is compared.
    cache : Path or str, optional
        A folder that keeps the analysed recordings.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.
    root : Path or str, optional
        To which the names are relative; by default the common folder.

    Returns
    -------
    DataReport
        Of each recording and of all.

    Examples
    --------
    >>> report = examine_recordings(["recordings/one.flac", "recordings/two.flac"])
    >>> report.verdict, [one.name for one in report.recordings], report.usable_s > 10
    ('warn', ['one.flac', 'two.flac'], True)
    """
    paths, kept, home = [Path(one) for one in recordings], Path(cache) if cache else None, Path(root) if root else None
    names = _names(paths, home)
    sizes = [_size(path) for path in paths]
    examined: list[_Examined] = []
    for number, (path, name) in enumerate(zip(paths, names, strict=True)):
        done = tr("checking recording {number} of {count}", number=number + 1, count=len(paths))
        report(sum(sizes[:number]) / max(sum(sizes), 1), done)
        examined.append(_examine(path, name, kept, examined))
    several_speakers = _compare(examined)
    return _sum_up(examined, profile, several_speakers)


def refuse_unusable(data_report: DataReport) -> None:
    """Raise DatasetError if there is less than LEAST_USABLE_S of usable voice."""
    if data_report.usable_s < LEAST_USABLE_S:
        found = _too_little(data_report.usable_s)
        raise DatasetError(joined(" ", (found.reason, found.remedy)))


def usable_recordings(data_report: DataReport, recordings: Sequence[Path]) -> list[Path]:
    """Select the examined recordings to train on: readable, with a voice, and no duplicates of earlier ones.

    Raises ValueError if their number differs from that of the report.
    """
    return [path for path, one in zip(recordings, data_report.recordings, strict=True) if one.usable]


def examined(dataset: Dataset, report: Report = no_report) -> DataReport:
    """Return the report of a dataset: the one stored in its folder if still valid, otherwise a new one, stored there.

    Parameters
    ----------
    dataset : Dataset
        Made by `create_dataset`.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.

    Returns
    -------
    DataReport
        Of each recording and of all.

    Raises
    ------
    DatasetError
        If it cannot be written.

    Examples
    --------
    >>> from engine import create_dataset
    >>> mia = create_dataset("recordings", "mia", {"name": "Mia"})
    >>> report = examined(mia)
    >>> [(one.name, one.verdict) for one in report.recordings]  # the second one is of another singer
    [('one.flac', 'pass'), ('two.flac', 'warn')]
    """
    kept = dataset.folder / REPORT_FILE
    root = dataset.folder / AUDIO_FOLDER
    try:
        found = DataReport.from_json(json.loads(kept.read_text(encoding="utf-8")))
        if _still_holds(found, dataset, root):
            return found
    except (OSError, ValueError, DatasetError):
        pass  # missing or damaged: examine again
    found = examine_recordings(dataset.recordings, dataset.profile, dataset.cache, report, root)
    found = replace(found, left_out=dataset.left_out)
    try:
        write_atomically(kept, json.dumps(as_data(found.as_json()), indent=1, ensure_ascii=False) + "\n")
    except OSError as cause:
        reason = cause.strerror or cause
        raise DatasetError(
            tr('The data report could not be written to "{folder}": {reason}.', folder=dataset.folder, reason=reason)
        ) from cause
    return found


def _still_holds(found: DataReport, dataset: Dataset, root: Path) -> bool:
    stated = (found.stated_gender, found.stated_voice_type, found.stated_range)
    names = [one.name for one in found.recordings]
    if (stated, found.left_out) != (_stated(dataset.profile), dataset.left_out):
        return False
    if names != _names(dataset.recordings, root):
        return False
    pairs = zip(found.recordings, dataset.recordings, strict=True)
    try:
        return all(one.fingerprint == file_digest(path) for one, path in pairs)
    except OSError:
        return False


# ---- one recording ----


@dataclass
class _Examined:
    """A recording while the report is made; results that need its envelope are extracted at once to save memory."""

    report: RecordingReport
    words: Words | None = None
    track: SpeakerTrack | None = None
    curves: _Curves | None = None

    def add(self, found: Finding) -> None:
        findings = (*self.report.findings, found)
        self.report = replace(self.report, findings=findings, verdict=worst(findings))


def _examine(path: Path, name: str, cache: Path | None, before: Sequence[_Examined]) -> _Examined:
    try:
        contents = file_digest(path)
        for earlier in before:
            if earlier.report.fingerprint == contents:
                return _same(earlier, name)
        clip = analysed_clip(path, cache, augmentations=0)
        with open_audio(path) as recording:
            part = recording if clip.channel is None else OneChannel(recording, clip.channel)
            quality = measure_quality(part, clip)
            notes = [finding("reading", "warn", note) for note in recording.notes]
    except (AudioError, OSError) as cause:
        reason = (
            str(cause)
            if isinstance(cause, AudioError)
            else tr('"{name}" cannot be read: {strerror}.', name=path.name, strerror=cause.strerror)
        )
        return _Examined(RecordingReport(name, "", "fail", (finding("unreadable", "fail", reason),)))
    of_sound = (*findings_in(quality, clip.dryness), *findings_beyond(clip.pitch), *findings_on_channels(clip))
    findings = (*notes, *of_sound)
    found = _Examined(RecordingReport(name, contents, worst(findings), findings, **_rounded(quality)))
    if found.report.usable:
        _recognise(found, clip)
    return found


def _same(earlier: _Examined, name: str) -> _Examined:
    found = _Examined(replace(earlier.report, name=name))
    if earlier.report.usable:
        reason = tr("It is the same file as {name}.", name=earlier.report.name)
        found.add(finding("exact_duplicate", "warn", reason))
    return found


def _in_other_keys(one: _Curves | None, other: _Curves | None) -> bool:
    """Return whether two recordings of one length are the same notes, but transposed: both teach something then."""
    if one is None or other is None or len(one[0]) != len(other[0]):
        return False
    both = one[0].voiced & other[0].voiced
    return bool(both.any() and np.median(np.abs(one[0].semitones[both] - other[0].semitones[both])) > _SAME_KEY)


def _recognise(found: _Examined, clip: Clip) -> None:
    """Extract the features used to compare recordings."""
    found.words = words_of(clip)
    audible = audible_frames(clip)
    found.track = speaker_track(load_base(), clip.envelope, clip.pitch.voiced & audible)
    level_db = found.report.level_db or 0.0
    pitch = Pitch(clip.pitch.hertz, np.where(audible, clip.pitch.voicing, np.float32(0.0)))
    found.curves = pitch, clip.loudness_db - np.float32(level_db)


def _rounded(quality: RecordingQuality) -> dict[str, Any]:
    values = asdict(quality)
    return {name: round(value, _DECIMALS) if isinstance(value, float) else value for name, value in values.items()}


# ---- comparison ----


def _compare(examined: Sequence[_Examined]) -> Finding | None:
    """Add the findings from comparing recordings; return that on several speakers, if they hold any."""
    comparable = [(one, one.words) for one in examined if one.words is not None]
    for later, earlier in near_duplicates([words for _, words in comparable]).items():
        if _in_other_keys(comparable[earlier][0].curves, comparable[later][0].curves):
            continue
        name = comparable[earlier][0].report.name
        reason = tr("It is a copy of {name}: encoded again, cut, or at another level.", name=name)
        comparable[later][0].add(finding("near_duplicate", "warn", reason))
    known = [(one, one.track) for one in examined if one.track is not None and one.report.usable]
    turns = find_speakers([track for _, track in known])
    found = speaker_findings([one.report.name for one, _ in known], turns)
    for (one, _), said in zip(known, found.of_each, strict=True):
        if said:
            one.add(said)
    return found.of_all


def _sum_up(
    examined: Sequence[_Examined], profile: VoiceProfile | None, several_speakers: Finding | None
) -> DataReport:
    recordings = tuple(one.report for one in examined)
    used = [one for one in examined if one.report.usable]
    usable_s = round(sum(one.report.usable_s for one in used), _DECIMALS)
    pitch, loudness_db = _joined([one.curves for one in used if one.curves is not None])
    voiced = pitch.semitones[pitch.voiced]
    notes, frames = np.unique(np.floor(voiced + 0.5).astype(int), return_counts=True)
    found_range = measure_range(pitch, loudness_db) if len(voiced) else None
    style = measure_style(pitch, loudness_db) if len(voiced) else None
    gender, stated_type, stated_range = _stated(profile)
    findings = _amount(usable_s) + ([several_speakers] if several_speakers else []) + _summaries(recordings)
    if found_range:
        findings += _off_the_profile(voiced, found_range, style, stated_type, stated_range)
    spoken = style != "melodic"
    levels = [one.report.level_db for one in used if one.report.level_db is not None]
    return DataReport(
        verdict=worst(findings),
        findings=tuple(findings),
        recordings=recordings,
        total_s=round(sum(one.duration_s for one in recordings), _DECIMALS),
        voiced_s=round(sum(one.report.voiced_s for one in used), _DECIMALS),
        usable_s=usable_s,
        pitch_histogram=dict(zip(notes.tolist(), (frames / FRAME_RATE).tolist(), strict=True)),
        vocal_range=(found_range.min, found_range.max) if found_range else None,
        voice_type=voice_type(found_range, gender, spoken) if found_range else None,
        style=style,
        level_db=_median(levels),
        level_spread_db=round(float(np.std(levels)), _DECIMALS) if levels else None,
        snr_db=_median([one.report.snr_db for one in used]),
        reverberation_s=_median([one.report.reverberation_s for one in used]),
        bandwidth_hertz=_median([one.report.bandwidth_hertz for one in used]),
        stated_gender=gender,
        stated_voice_type=stated_type,
        stated_range=stated_range,
    )


def _joined(curves: Sequence[_Curves]) -> _Curves:
    if not curves:
        return Pitch(np.zeros(0, np.float32), np.zeros(0, np.float32)), np.zeros(0, np.float32)
    return Pitch.joined(pitch for pitch, _ in curves), np.concatenate([loudness_db for _, loudness_db in curves])


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.median(known)), _DECIMALS) if known else None


def _amount(usable_s: float) -> list[Finding]:
    if usable_s < LEAST_USABLE_S:
        return [_too_little(usable_s)]
    if usable_s < LITTLE_USABLE_S:
        return [
            finding(
                "little", "warn", tr("There are only {usable_s} s of usable voice.", usable_s=numeral(usable_s, ".0f"))
            )
        ]
    return []


def _too_little(usable_s: float) -> Finding:
    reason = tr(
        "There are only {usable_s} s of usable voice; less than {least_usable_s} s do not contain every sound of "
        "a voice even once.",
        usable_s=numeral(usable_s, ".1f"),
        least_usable_s=numeral(LEAST_USABLE_S, ".0f"),
    )
    return finding("too_little", "fail", reason)


def _summaries(recordings: Sequence[RecordingReport]) -> list[Finding]:
    """Summarise the findings of all recordings by code, the worst and most frequent first."""
    names: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for one in recordings:
        for found in one.findings:
            if found.code in _SUMMARIES:  # other speakers are summed up by name
                names[found.code][one.name] = found.verdict
    summaries = []
    for code, verdicts in names.items():
        failing = sum(verdict == "fail" for verdict in verdicts.values())
        verdict: Verdict = "fail" if failing >= MOSTLY * len(recordings) else "warn"
        listed = sorted(verdicts, key=lambda name: -SEVERITY[verdicts[name]])
        shown, more = joined(", ", listed[:_MOST_NAMED]), len(listed) - _MOST_NAMED
        shown = tr("{shown} and {more} more", shown=shown, more=more) if more > 0 else shown
        reason = _SUMMARIES[code].format(count=len(listed), recordings=len(recordings), names=shown)
        summaries.append((len(listed), finding(code, verdict, reason)))
    summaries.sort(key=lambda one: (-SEVERITY[one[1].verdict], -one[0]))
    return [found for _, found in summaries]


def _off_the_profile(
    voiced: np.ndarray,
    found: VocalRange,
    style: Style | None,
    stated_type: str | None,
    stated_range: tuple[str, str] | None,
) -> list[Finding]:
    """Return findings where the pitch differs from the profile; voiced: note numbers (frames,)."""
    findings = []
    if stated_type in SINGING_RANGES:
        low, high = SINGING_RANGES[stated_type]
        note = SPEAKING_NOTES[stated_type]
        if style == "melodic":
            wrong = _share_outside(voiced, (low, high)) > OUTSIDE_SHARE
            reason = tr(
                "The profile says {stated_type}, which sings {low} to {high}; the voice ranges from {min} to {max}.",
                stated_type=stated_type,
                low=low,
                high=high,
                min=found.min,
                max=found.max,
            )
        else:
            wrong = abs(found.middle - note_number(note)) > SPEAKING_MARGIN
            reason = tr(
                "The profile says {stated_type}, which speaks around {note}; the voice ranges from {min} to {max}.",
                stated_type=stated_type,
                note=note,
                min=found.min,
                max=found.max,
            )
        if wrong:
            findings.append(finding("pitch_range", "warn", reason))
    if stated_range and _share_outside(voiced, stated_range) > OUTSIDE_SHARE:
        low, high = stated_range
        reason = tr(
            "The profile says {low} to {high}; the voice ranges from {min} to {max}.",
            low=low,
            high=high,
            min=found.min,
            max=found.max,
        )
        findings.append(finding("pitch_range", "warn", reason))
    return findings


def _share_outside(voiced: np.ndarray, notes: tuple[str, str]) -> float:
    low, high = map(note_number, notes)
    return float(((voiced < low - RANGE_MARGIN) | (voiced > high + RANGE_MARGIN)).mean())


# ---- details ----


def _stated(profile: VoiceProfile | None) -> tuple[str | None, str | None, tuple[str, str] | None]:
    if profile is None:
        return None, None, None
    given = profile.vocal_range
    return profile.gender, profile.voice_type, (given["min"], given["max"]) if given else None


def _names(recordings: Sequence[Path], root: Path | None) -> list[str]:
    if not recordings:
        return []
    home = root or Path(os.path.commonpath([path.absolute().parent for path in recordings]))
    home = home.absolute()
    absolute = [path.absolute() for path in recordings]
    return [path.relative_to(home).as_posix() if path.is_relative_to(home) else path.name for path in absolute]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _findings_from(values: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(Finding(**one) for one in values)
