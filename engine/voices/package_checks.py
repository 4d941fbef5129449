"""What is asked of a package that comes in, before anything of it is used: the zip, its names, the checksums, the card,
the kind of its weights, and the preview."""

import hashlib
import json
from pathlib import Path

from safetensors import SafetensorError, safe_open

from engine.archives import ArchiveLimits, extract_archive
from engine.audio.files import open_audio
from engine.errors import AudioError, EngineError, ProfileError, ProvenanceError, VoiceError
from engine.files import shown_name
from engine.provenance.consent import check_seal
from engine.texts import joined, tr
from engine.voices.card import CARD_FILE, PREVIEW_FILE, WEIGHTS_FILE, VoiceCard, read_card
from engine.voices.card_rules import is_whole
from engine.voices.profile import read_profile

STATISTICS_FILE, LICENCE_FILE, CONSENT_FILE = "statistics.json", "LICENCE.txt", "consent.json"
CHECKSUMS_FILE = "checksums.json"
KIND, FORMAT = "timbre-studio-voice", 1  # of packages; the number is raised when an older program could not read them
_NEEDED = (CARD_FILE, WEIGHTS_FILE, STATISTICS_FILE, LICENCE_FILE, CONSENT_FILE)
_ALLOWED = {*_NEEDED, PREVIEW_FILE, CHECKSUMS_FILE}
_SAID = ("name", "gender", "age", "description", "base_language", "genre", "voice_type", "vocal_range")
_LIMITS = ArchiveLimits(most_files=16, most_bytes=64 << 20)  # a voice has 7 MB
_LARGEST_TEXT = 4 << 20  # bytes, of each file that is read as text
_LARGEST_HEADER = 1 << 20  # bytes, of what stands before the weights
_LONGEST_PREVIEW_S = 600.0
_PREVIEW_BLOCK = 1 << 16  # samples


def unpack_voice(package: Path, folder: Path) -> VoiceCard:
    """Unpack a package into `folder`, check all but what only networks can tell, and return its card.

    Raises ArchiveError for what is no zip or not safe to open, VoiceError for what is no whole voice.
    """
    names = {str(path) for path in extract_archive(package, folder, _LIMITS)}
    if CHECKSUMS_FILE not in names:
        raise VoiceError(
            tr(
                '"{name}" is not a voice: it has no {checksums_file}.',
                name=shown_name(package),
                checksums_file=CHECKSUMS_FILE,
            )
        )
    stated = _read_checksums(package, folder)
    if strange := sorted(names - _ALLOWED):
        raise VoiceError(
            tr(
                '"{name}" is not a voice: "{strange}" does not belong in one.',
                name=shown_name(package),
                strange=strange[0],
            )
        )
    if missing := [name for name in _NEEDED if name not in names]:
        raise _damaged(package, tr("{missing} is missing", missing=missing[0]))
    found = {}
    for name in sorted(names - {CHECKSUMS_FILE}):
        with (folder / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    if wrong := sorted(name for name in {*found, *stated} if found.get(name) != stated.get(name)):
        raise _damaged(
            package,
            tr("{wrong} is not the file that {checksums_file} lists", wrong=wrong[0], checksums_file=CHECKSUMS_FILE),
        )
    card = read_card(_text(package, folder / CARD_FILE), f'in "{shown_name(package)}"')
    if card.is_untrained:  # without its recordings it could never be trained
        raise VoiceError(
            tr(
                'The voice in "{name}" is untrained: train it where its recordings are, then export it.',
                name=shown_name(package),
            )
        )
    _check_stated(package, card)
    if _read_json(package, folder / CONSENT_FILE) != card.consent:
        raise _damaged(
            package,
            tr("{consent_file} does not say what {card_file} says", consent_file=CONSENT_FILE, card_file=CARD_FILE),
        )
    if card.consent_seal:
        try:
            check_seal(card.consent, card.consent_seal, found[WEIGHTS_FILE])
        except ProvenanceError as cause:
            raise _damaged_since(package, cause) from cause
    _check_weights(package, folder / WEIGHTS_FILE)
    if PREVIEW_FILE in names:
        check_preview(folder / PREVIEW_FILE, f'"{shown_name(package)}"')
    return card


def _check_stated(package: Path, card: VoiceCard) -> None:
    """Refuse a card whose values a profile cannot have: lists of voices show them and filter by them."""
    try:
        read_profile({name: getattr(card, name) for name in _SAID} | {"traits": list(card.traits)})
    except ProfileError as cause:
        raise _damaged_since(package, cause) from cause


def _read_checksums(package: Path, folder: Path) -> dict[str, str]:
    values = _read_json(package, folder / CHECKSUMS_FILE)
    if not isinstance(values, dict) or values.get("kind") != KIND or not is_whole(values.get("format")):
        raise VoiceError(
            tr(
                '"{name}" is not a voice: its {checksums_file} is of another kind.',
                name=shown_name(package),
                checksums_file=CHECKSUMS_FILE,
            )
        )
    if values["format"] > FORMAT:
        raise VoiceError(
            tr('"{name}" was made by a later version of Timbre Studio; update to use it.', name=shown_name(package))
        )
    if values["format"] < 1 or not isinstance(values.get("sha256"), dict):
        raise _damaged(package, tr("{checksums_file} holds no checksums", checksums_file=CHECKSUMS_FILE))
    return {name: str(digest) for name, digest in values["sha256"].items()}


def _check_weights(package: Path, path: Path) -> None:
    """VoiceError unless the file's header, which is all that is read of it, is that of tensors in half precision.

    safetensors holds what a header claims against the size of the file, so what passes here can be loaded.
    """
    try:
        with path.open("rb") as file:
            if int.from_bytes(file.read(8), "little") > _LARGEST_HEADER:
                raise _damaged(package, tr("{weights_file} holds no weights", weights_file=WEIGHTS_FILE))
        with safe_open(path, "np") as opened:
            halves = all(opened.get_slice(name).get_dtype() == "F16" for name in opened.keys())  # noqa: SIM118 - no dict
    except (SafetensorError, OSError, ValueError) as cause:
        raise _damaged(package, tr("{weights_file} holds no weights", weights_file=WEIGHTS_FILE)) from cause
    if not halves:
        raise VoiceError(
            tr('The voice in "{name}" was made for another version of the engine.', name=shown_name(package))
        )


def check_preview(path: Path, where: str) -> None:
    """VoiceError unless the file is a wave file that can be heard: it will be handed to browsers."""
    try:
        with path.open("rb") as file:
            start = file.read(12)
        if start[:4] != b"RIFF" or start[8:] != b"WAVE":
            raise AudioError(tr("It is not a wave file."))
        with open_audio(path) as preview:
            if not 0 < (preview.duration_s or 0.0) <= _LONGEST_PREVIEW_S:
                raise AudioError(tr("It does not have the length of a preview."))
            for _ in preview.blocks(_PREVIEW_BLOCK):
                pass  # reading it to its end is the only way to know that it can be
    except AudioError as cause:
        raise VoiceError(
            tr("The preview in {where} is not a short wave file, so the voice is not whole.", where=where)
        ) from cause


def _read_json(package: Path, path: Path) -> object:
    try:
        return json.loads(_text(package, path).decode("utf-8"))
    except (ValueError, RecursionError) as cause:
        raise _damaged(package, tr("{name} is not JSON", name=path.name)) from cause


def _text(package: Path, path: Path) -> bytes:
    if path.stat().st_size > _LARGEST_TEXT:
        raise _damaged(package, tr("{name} is too large", name=path.name))
    return path.read_bytes()


def _damaged_since(package: Path, cause: EngineError) -> VoiceError:
    said = tr('"{name}" is damaged: download it again, or have it exported again.', name=shown_name(package))
    return VoiceError(joined(" ", (said, str(cause))))


def _damaged(package: Path, why: str) -> VoiceError:
    return VoiceError(
        tr(
            '"{name}" is damaged ({why}): download it again, or have it exported again.',
            name=shown_name(package),
            why=why,
        )
    )
