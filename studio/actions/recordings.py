"""Check and name the recordings that users provide."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path, PurePath

from engine.audio.containers import CONTAINERS, recognise
from engine.audio.files import open_audio
from engine.errors import AudioError
from engine.spelling import composed
from engine.texts import numeral, tr
from engine.units import in_words
from studio.errors import Invalid, NotReadable, naming
from studio.settings.service import ServiceSettings
from studio.store.records.analysis import Analysis
from studio.store.records.conversion import Conversion

_PROBED_SAMPLES = 1 << 16
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Length:
    """The length of a recording, 0 if nothing is known of it, and its channels."""

    seconds: float
    channels: int

    @property
    def channel_seconds(self) -> float:
        """Seconds x channels: what work on the recording costs."""
        return self.seconds * self.channels


@dataclass(frozen=True)
class Origin:
    """Where the recording of a task comes from: what is converted from the same recording is one project.

    recording: the SHA-256 of the whole file; start_s: where in it the task's recording begins.
    """

    recording: str
    start_s: float = 0.0

    def from_second(self, start_s: float) -> "Origin":
        """Return the origin of a part that begins there."""
        return Origin(self.recording, self.start_s + start_s)


def origin_of_file(audio: Path) -> Origin:
    """Return the origin of a file that has not been seen before, or has."""
    with audio.open("rb") as file:
        return Origin(hashlib.file_digest(file, "sha256").hexdigest())


def origin_of(asked: Conversion | Analysis) -> Origin | None:
    """Return the origin of a task's recording; None for a task of an earlier version."""
    return Origin(asked.recording, asked.start_s) if asked.recording else None


def check_recording(audio: Path, file_name: str, service: ServiceSettings | None = None) -> Length:
    """Return the length of a recording by its header or, without one, as decoded.

    Raises NotReadable if the file is not audio, Invalid if it is too long for the service.
    """
    most_s = 60 * service.longest_audio_minutes if service else math.inf
    try:
        with open_audio(audio) as source:
            counted = 0.0
            for block in source.blocks(_PROBED_SAMPLES):
                counted += block.shape[1] / source.rate
                if source.duration_s or counted > most_s:
                    break
            seconds = source.duration_s or counted
            if service and seconds > most_s:
                longest = in_words(most_s)
                text = tr(
                    "The recording is more than {longest} long, which is the limit: use a shorter one.",
                    longest=longest,
                )
                if source.duration_s:
                    text = tr(
                        "The recording is {seconds} long; the limit is {longest}: use a shorter one.",
                        seconds=in_words(seconds), longest=longest,
                    )
                raise Invalid([("audio", text + service.raised_by("longest_audio_minutes"))], "audio_too_long")
            return Length(seconds, source.channels)
    except AudioError as cause:
        shown = f'"{shown_name(file_name) or tr("The recording")}"'
        raise NotReadable(naming(cause, audio, shown), "audio_not_readable") from cause


def refuse_too_costly(length: Length, takes: int, service: ServiceSettings) -> None:
    """Raise Invalid if seconds x channels x takes are over the limit of one conversion."""
    minutes, most_minutes = length.channel_seconds / 60, service.largest_conversion_minutes
    if minutes * takes <= most_minutes:
        return
    cost = tr(
        "{seconds} x {channels} (channels) x {takes} (takes)",
        seconds=in_words(length.seconds), channels=length.channels, takes=takes,
    )
    fit = int(most_minutes / minutes)
    text = (
        tr(
            "{cost} are {minutes} minutes to render; the limit is {most_minutes}: use a shorter recording, or mono.",
            cost=cost, minutes=numeral(minutes * takes, ".0f"), most_minutes=numeral(most_minutes, "g"),
        )
    )
    if fit:
        text = (
            tr(
                "{cost} are {minutes} minutes to render; the limit is {most_minutes}: ask for at most {fit} takes.",
                cost=cost, minutes=numeral(minutes * takes, ".0f"), most_minutes=numeral(most_minutes, "g"), fit=fit,
            )
        )
    field, hint = "generations_count" if fit else "audio", service.raised_by("largest_conversion_minutes")
    raise Invalid([(field, text + hint)], "conversion_too_large")


def suffix_of(file_name: str, audio: Path) -> str:
    """Return the usual suffix of the container that the name's suffix stands for, else of the one that the file has;
    empty if neither is audio."""
    suffix = PurePath(file_name).suffix.lower()
    for container in CONTAINERS:
        if suffix in container.suffixes:
            return container.suffixes[0]
    try:
        return recognise(audio)[0].suffixes[0]
    except AudioError:
        return ""


def shown_name(file_name: str) -> str:
    """Return a recording's name as it is stored and shown.

    Browsers, and many libraries, send a quotation mark in a file name as %22 (WHATWG HTML, multipart/form-data).
    """
    return composed(PurePath(file_name).name.replace("%22", '"'))[:_LONGEST_NAME]
