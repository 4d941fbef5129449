"""Recordings that users provide: checked, named, verified and served, and the consent of the person who is heard."""

import hashlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from engine.audio.containers import CONTAINERS, recognise
from engine.audio.files import open_audio
from engine.errors import AudioError
from engine.files import named
from engine.provenance.consent import consent_recorded_by
from engine.provenance.verdict import Verdict
from engine.spelling import composed
from engine.texts import numeral, tr
from engine.units import in_words
from studio.errors import Invalid, NotFound, NotReadable, WrongState
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account
from studio.store.catalogue import Model
from studio.store.records.analysis import Analysis
from studio.store.records.conversion import Conversion
from studio.store.signed_links import check
from studio.store.storage import StoredFile
from studio.store.studio import Cost, Studio, costs

_PROBED_SAMPLES = 1 << 16
_LONGEST_NAME = 200


def refuse_without_consent(studio: Studio, consent: Mapping[str, str] | None) -> None:
    """Raise WrongState if a voice states no consent and the settings require one."""
    if studio.service.consent == "required" and not (consent or {}).get("statement", "").strip():
        text = tr("This voice states no consent of its owner, which is required here: add it to its profile first.")
        raise WrongState(text, "no_consent")


def consent_origin(studio: Studio, model: Model) -> str:
    """Return in a few words who recorded a voice's consent, and whether it is signed."""
    consent, seal = model.card.consent or {}, model.card.consent_seal or {}
    if consent and not seal and (model.dataset_key is not None or model.is_demo):
        return tr("comes with the program") if model.is_demo else tr("recorded here")
    return consent_recorded_by(consent, seal, studio.installation)


def consent_line(consent: Mapping[str, str], origin: str) -> str:
    """Return who consented, when, and who recorded it; origin: see `consent_origin`."""
    return ", ".join(one for one in (consent.get("by"), consent.get("date"), origin) if one)


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
        with open_audio(named(audio, shown_name(file_name) or tr("The recording"))) as source:
            counted = 0.0
            for block in source.blocks(_PROBED_SAMPLES):
                counted += block.shape[1] / source.rate
                if source.duration_s or counted > most_s:
                    break
            seconds = source.duration_s or counted
            if service and seconds > most_s:
                longest = in_words(most_s)
                text = tr(
                    "The recording is more than {longest} long, which is the limit: use a shorter one.", longest=longest
                )
                if source.duration_s:
                    text = tr(
                        "The recording is {seconds} long; the limit is {longest}: use a shorter one.",
                        seconds=in_words(seconds),
                        longest=longest,
                    )
                raise Invalid([("audio", text + service.raised_by("longest_audio_minutes"))], "audio_too_long")
            return Length(seconds, source.channels)
    except AudioError as cause:
        raise NotReadable(str(cause), "audio_not_readable") from cause


def refuse_too_costly(length: Length, takes: int, service: ServiceSettings) -> None:
    """Raise Invalid if seconds x channels x takes are over the limit of one conversion."""
    minutes, most_minutes = length.channel_seconds / 60, service.largest_conversion_minutes
    if minutes * takes <= most_minutes:
        return
    cost = tr(
        "{seconds} x {channels} (channels) x {takes} (takes)",
        seconds=in_words(length.seconds),
        channels=length.channels,
        takes=takes,
    )
    fit = int(most_minutes / minutes)
    text = tr(
        "{cost} make {minutes} minutes to render; the limit is {most_minutes}: use a shorter recording, or mono.",
        cost=cost,
        minutes=numeral(minutes * takes, ".0f"),
        most_minutes=numeral(most_minutes, "g"),
    )
    if fit:
        text = tr(
            "{cost} make {minutes} minutes to render; the limit is {most_minutes}: ask for at most {fit} takes.",
            cost=cost,
            minutes=numeral(minutes * takes, ".0f"),
            most_minutes=numeral(most_minutes, "g"),
            fit=fit,
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
    plain = str.__str__(file_name)  # paths take no texts for people
    return composed(PurePath(plain).name.replace("%22", '"'))[:_LONGEST_NAME]


@costs(Cost.APART)
def verify_file(studio: Studio, account: Account, audio: Path, file_name: str) -> Verdict:
    """Return what the content credentials of a file prove.

    Errors call the file `file_name`. Raises NotReadable if it is not audio that can be checked.
    """
    from engine.provenance.verification import verify  # loads the library of content credentials

    try:
        return verify(named(audio, shown_name(file_name) or tr("The file")), studio.installation)
    except AudioError as cause:
        raise NotReadable(str(cause), "audio_not_readable") from cause


def open_file(studio: Studio, key: str, expires: str, signature: str) -> StoredFile:
    """Return the file a link leads to. Raises NotFound if the link is not ours or expired, or the file is gone."""
    if check(studio.link_secret, key, expires, signature, time.time()):
        file = studio.storage.head(key)
        if file is not None:
            return file
    raise NotFound(tr("There is no such file, or the link has expired: ask for the task again."), "file_not_found")
