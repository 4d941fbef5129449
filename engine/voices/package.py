"""A voice as one file: a zip that another copy of the program can take in, and that holds nothing that could run.

card.json, weights.safetensors and preview.wav are those of the voice's folder. Beside them lie, for people and other
programs, statistics.json (pitch, range, training), LICENCE.txt and consent.json, and checksums.json, which has the
SHA-256 of every other file. The same voice gives the same bytes. What comes in is checked in full before any of it is
put among the voices: the zip, the names, the checksums, the card, every weight, and the preview.
"""

import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from engine.archives import ArchiveLimits, extract_archive
from engine.audio.files import open_audio
from engine.errors import AudioError, ProfileError, ProvenanceError, VoiceError
from engine.files import replacing
from engine.provenance.consent import check_seal, seal_consent
from engine.provenance.installation import Installation
from engine.provenance.statement import file_digest
from engine.voices.card import (
    CARD_FILE,
    DEMO_VOICES,
    PREVIEW_FILE,
    RETRIEVAL_FRAMES,
    WEIGHTS_FILE,
    VoiceCard,
    card_text,
    damaged_weights,
    load_card,
    new_identifier,
    new_voice_folder,
    read_card,
    why_refused,
)
from engine.voices.card_rules import is_whole
from engine.voices.profile import read_profile

PACKAGE_SUFFIX = ".voice.zip"
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
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold
_ORDINARY_FILE = 0o100644 << 16


def export_voice(voice_folder: Path, target: Path, recorded_by: Installation | None = None) -> Path:
    """Write the voice in `voice_folder` as a package, whole or not at all, and give the file's path.

    `target` is the file, replaced if it exists, or a folder, in which the file is named after the voice. recorded_by:
    the installation that recorded its owner's consent, which then signs it; one that is signed stays so. Raises
    VoiceError for a damaged voice, one that is untrained, and where the file cannot be written.

    >>> from engine import load_voice
    >>> export_voice(load_voice("kathleen").folder, Path(".")).name
    'kathleen.voice.zip'
    """
    card = load_card(voice_folder)
    if card.is_untrained:
        raise VoiceError(f"The voice '{card.id}' is untrained: train it first, then export it.")
    _check_stored_weights(card, voice_folder / WEIGHTS_FILE)
    card = _sealed(card, voice_folder, recorded_by)
    target = target / (card.id + PACKAGE_SUFFIX) if target.is_dir() else target
    try:
        contents = _contents(card, voice_folder)
        if PREVIEW_FILE in contents:
            _check_preview(voice_folder / PREVIEW_FILE, f"the folder of '{card.id}'")
        with (
            replacing(target, durable=True) as unfinished,
            zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as package,
        ):
            for name, content in contents.items():
                entry = zipfile.ZipInfo(name, _DATE)
                entry.create_system, entry.external_attr = 3, _ORDINARY_FILE  # the same on every system
                package.writestr(entry, content)
    except OSError as cause:
        raise VoiceError(f'The package "{target.name}" could not be written: {why_refused(cause)}.') from cause
    return target


def packaged_card(package: Path) -> VoiceCard:
    """Return the card of the voice in a package. Raises ArchiveError and VoiceError as `import_voice` does."""
    with tempfile.TemporaryDirectory() as temporary:
        unpacked = Path(temporary) / "package"
        return _checked(package, unpacked, extract_archive(package, unpacked, _LIMITS))


def import_voice(package: Path, voices: Path, taken: Collection[str] = ()) -> VoiceCard:
    """Put the voice of a package into the folder `voices`, and give its card.

    It keeps its id, unless one of `taken` or a voice in `voices` has it. Raises ArchiveError for what is no zip, or not
    safe to open, and VoiceError for what is no whole voice; nothing is left behind then.

    >>> from engine import load_voice
    >>> package = export_voice(load_voice("kathleen").folder, Path("kathleen.voice.zip"))
    >>> import_voice(package, Path("voices")).id, import_voice(package, Path("voices")).id
    ('kathleen', 'kathleen-2')
    """
    with tempfile.TemporaryDirectory() as temporary:
        unpacked = Path(temporary) / "package"
        card = _checked(package, unpacked, extract_archive(package, unpacked, _LIMITS))
        there = {path.name.split(".")[0] for path in voices.iterdir()} if voices.is_dir() else set()
        if card.id in there or card.id in taken:
            card = replace(card, id=new_identifier(card.id, {*there, *taken}))
        with new_voice_folder(voices / card.id) as folder:
            (folder / CARD_FILE).write_text(card_text(card), encoding="utf-8")
            for name in (WEIGHTS_FILE, PREVIEW_FILE):
                if (unpacked / name).exists():
                    shutil.copyfile(unpacked / name, folder / name)
    return card


def _sealed(card: VoiceCard, folder: Path, recorded_by: Installation | None) -> VoiceCard:
    if card.consent_seal or not card.consent or recorded_by is None or not recorded_by.signs:
        return card
    try:
        seal = seal_consent(card.consent, file_digest(folder / WEIGHTS_FILE), recorded_by)
    except ProvenanceError:  # whoever imports it is told that the consent is not signed
        return card
    return replace(card, consent_seal=seal)


# ---- what a package holds ----


def _contents(card: VoiceCard, folder: Path) -> dict[str, bytes]:
    """Return the files of a package, in its order. Raises OSError."""
    statistics = {
        "pitch": asdict(card.pitch),
        "vocal_range": card.vocal_range,
        "voice_type": card.voice_type,
        "bandwidth_hertz": card.bandwidth_hertz,
        "training": card.training,
    }
    contents = {
        CARD_FILE: card_text(card).encode(),
        WEIGHTS_FILE: (folder / WEIGHTS_FILE).read_bytes(),
        STATISTICS_FILE: _json(statistics),
        LICENCE_FILE: _licence(card).encode(),
        CONSENT_FILE: _json(card.consent),
    }
    if (folder / PREVIEW_FILE).exists():
        contents[PREVIEW_FILE] = (folder / PREVIEW_FILE).read_bytes()
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return contents | {CHECKSUMS_FILE: _json({"kind": KIND, "format": FORMAT, "sha256": sums})}


def _check_stored_weights(card: VoiceCard, path: Path) -> None:
    """VoiceError unless a stored voice's weights are numbers, and of this engine's networks.

    One of an earlier base can still be taken to a program that knows it.
    """
    try:
        weights = load_file(path)
    except (SafetensorError, OSError, ValueError) as cause:
        raise VoiceError(damaged_weights(card.id)) from cause
    if not all(np.isfinite(values).all() for values in weights.values()):
        raise VoiceError(damaged_weights(card.id))
    if not card.is_earlier and _shapes(weights) != _shapes(load_file(next(DEMO_VOICES.glob(f"*/{WEIGHTS_FILE}")))):
        raise VoiceError(f"The voice '{card.id}' was made by another version of the engine; make it again.")


def _shapes(weights: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a voice's weights; a voice has as many retrieval frames as its recordings gave."""
    return {name: values.shape[name == RETRIEVAL_FRAMES :] for name, values in weights.items()}


def _json(values: Any) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()


def _licence(card: VoiceCard) -> str:
    lines = [
        f"The voice {card.name}",
        "",
        f"Licence: {card.licence or 'not stated; ask whoever gave you this file'}",
        f"Made from: {card.source or 'not stated'}",
    ]
    if card.consent:
        lines += [
            "",
            "Consent, as it was stated:",
            *(f"  {name}: {text}" for name, text in card.consent.items() if text),
        ]
    return "\n".join(lines) + "\n"


# ---- what is asked of one that comes in ----


def _checked(package: Path, folder: Path, paths: Collection[Any]) -> VoiceCard:
    """Check the package unpacked in `folder` and return its card. Raises VoiceError."""
    names = {str(path) for path in paths}
    if CHECKSUMS_FILE not in names:
        raise VoiceError(f'"{package.name}" is not a voice: it has no {CHECKSUMS_FILE}.')
    stated = _read_checksums(package, folder)
    if strange := sorted(names - _ALLOWED):
        raise VoiceError(f'"{package.name}" is not a voice: "{strange[0]}" does not belong in one.')
    if missing := [name for name in _NEEDED if name not in names]:
        raise _damaged(package, f"{missing[0]} is missing")
    found = {}
    for name in sorted(names - {CHECKSUMS_FILE}):
        with (folder / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    if wrong := sorted(name for name in {*found, *stated} if found.get(name) != stated.get(name)):
        raise _damaged(package, f"{wrong[0]} is not the file that {CHECKSUMS_FILE} tells of")
    card = read_card(_text(package, folder / CARD_FILE), f'in "{package.name}"')
    if card.is_untrained:  # without its recordings it could never be trained
        raise VoiceError(
            f'The voice in "{package.name}" is untrained: train it where its recordings are, then export it.'
        )
    _check_said(package, card)
    if _read_json(package, folder / CONSENT_FILE) != card.consent:
        raise _damaged(package, f"{CONSENT_FILE} does not say what {CARD_FILE} says")
    if card.consent_seal:
        try:
            check_seal(card.consent, card.consent_seal, found[WEIGHTS_FILE])
        except ProvenanceError as cause:
            raise _damaged(package, str(cause)[:1].lower() + str(cause)[1:].rstrip(".")) from cause
    _check_weights(package, folder / WEIGHTS_FILE)
    from engine.networks.base import load_weights  # these two load torch, which an export does without
    from engine.voices.voice import voice_from

    voice_from(card, load_weights(folder / WEIGHTS_FILE))
    if PREVIEW_FILE in names:
        _check_preview(folder / PREVIEW_FILE, f'"{package.name}"')
    return card


def _check_said(package: Path, card: VoiceCard) -> None:
    """Refuse a card whose values a profile cannot have: lists of voices show them and filter by them."""
    try:
        read_profile({name: getattr(card, name) for name in _SAID} | {"traits": list(card.traits)})
    except ProfileError as cause:
        raise _damaged(package, f"in {CARD_FILE}, {str(cause).rstrip('.')}") from cause


def _read_checksums(package: Path, folder: Path) -> dict[str, Any]:
    values = _read_json(package, folder / CHECKSUMS_FILE)
    if not isinstance(values, dict) or values.get("kind") != KIND or not is_whole(values.get("format")):
        raise VoiceError(f'"{package.name}" is not a voice: its {CHECKSUMS_FILE} is of another kind.')
    if values["format"] > FORMAT:
        raise VoiceError(f'"{package.name}" was made by a later version of Timbre Studio; update to use it.')
    if values["format"] < 1 or not isinstance(values.get("sha256"), dict):
        raise _damaged(package, f"{CHECKSUMS_FILE} holds no checksums")
    return dict(values["sha256"])


def _check_weights(package: Path, path: Path) -> None:
    """VoiceError unless the file's header, which is all that is read of it, is that of tensors in half precision.

    safetensors holds what a header claims against the size of the file, so what passes here can be loaded.
    """
    try:
        with path.open("rb") as file:
            if int.from_bytes(file.read(8), "little") > _LARGEST_HEADER:
                raise _damaged(package, f"{WEIGHTS_FILE} holds no weights")
        with safe_open(path, "np") as opened:
            halves = all(opened.get_slice(name).get_dtype() == "F16" for name in opened.keys())  # noqa: SIM118 - no dict
    except (SafetensorError, OSError, ValueError) as cause:
        raise _damaged(package, f"{WEIGHTS_FILE} holds no weights") from cause
    if not halves:
        raise VoiceError(f'The voice in "{package.name}" was made for another version of the engine.')


def _check_preview(path: Path, where: str) -> None:
    """VoiceError unless the file is a wave file that can be heard: it will be handed to browsers."""
    try:
        with path.open("rb") as file:
            start = file.read(12)
        if start[:4] != b"RIFF" or start[8:] != b"WAVE":
            raise AudioError("It is no wave file.")
        with open_audio(path) as preview:
            if not 0 < (preview.duration_s or 0.0) <= _LONGEST_PREVIEW_S:
                raise AudioError("It has another length than a preview.")
            for _ in preview.blocks(_PREVIEW_BLOCK):
                pass  # reading it to its end is the only way to know that it can be
    except AudioError as cause:
        raise VoiceError(f"The preview in {where} is not a short wave file, so the voice is not whole.") from cause


def _read_json(package: Path, path: Path) -> Any:
    try:
        return json.loads(_text(package, path).decode("utf-8"))
    except (ValueError, RecursionError) as cause:
        raise _damaged(package, f"{path.name} is no JSON") from cause


def _text(package: Path, path: Path) -> bytes:
    if path.stat().st_size > _LARGEST_TEXT:
        raise _damaged(package, f"{path.name} is too large")
    return path.read_bytes()


def _damaged(package: Path, why: str) -> VoiceError:
    return VoiceError(f'"{package.name}" is damaged ({why}); load it, or have it made, again.')
