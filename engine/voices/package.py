"""A voice as one file: a zip that another copy of the program can take in, and that holds nothing that could run.

card.json, weights.safetensors and preview.wav are those of the voice's folder. Beside them lie, for people and other
programs, statistics.json (pitch, range, training), LICENCE.txt and consent.json, and checksums.json, which has the
SHA-256 of every other file. The same voice gives the same bytes. What comes in is checked in full before any of it is
put among the voices.
"""

import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from engine.errors import ProvenanceError, VoiceError
from engine.files import as_path, replacing
from engine.provenance.consent import seal_consent
from engine.provenance.installation import Installation
from engine.provenance.statement import file_digest
from engine.texts import tr
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
    voice_home,
    why_refused,
)
from engine.voices.package_checks import (
    CHECKSUMS_FILE,
    CONSENT_FILE,
    FORMAT,
    KIND,
    LICENCE_FILE,
    STATISTICS_FILE,
    check_preview,
    unpack_voice,
)

PACKAGE_SUFFIX = ".voice.zip"
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold
_ORDINARY_FILE = 0o100644 << 16


def export_voice(voice: Path | str, target: Path | str, recorded_by: Installation | None = None) -> Path:
    """Write a voice as a package, whole or not at all.

    Parameters
    ----------
    voice : Path or str
        The voice's folder, or the id or name of a demo voice.
    target : Path or str
        The file, replaced if it exists, or a folder, in which the file is named after the voice.
    recorded_by : Installation, optional
        Where its owner's consent was recorded: signs the consent, unless it is signed already.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    VoiceError
        For a voice that is unknown, damaged or untrained, and where the file cannot be written.

    Examples
    --------
    >>> export_voice("kathleen", ".").name
    'kathleen.voice.zip'
    """
    voice_folder, target = voice_home(voice), Path(target)
    card = load_card(voice_folder)
    if card.is_untrained:
        raise VoiceError(tr("The voice '{id}' is untrained: train it first, then export it.", id=card.id))
    _check_stored_weights(card, voice_folder / WEIGHTS_FILE)
    card = _sealed(card, voice_folder, recorded_by)
    target = target / (card.id + PACKAGE_SUFFIX) if target.is_dir() else target
    try:
        contents = _contents(card, voice_folder)
        if PREVIEW_FILE in contents:
            check_preview(voice_folder / PREVIEW_FILE, tr("the folder of '{id}'", id=card.id))
        with (
            replacing(target, durable=True) as unfinished,
            zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as package,
        ):
            for name, content in contents.items():
                entry = zipfile.ZipInfo(name, _DATE)
                entry.create_system, entry.external_attr = 3, _ORDINARY_FILE  # the same on every system
                package.writestr(entry, content)
    except OSError as cause:
        raise VoiceError(
            tr('The package "{name}" could not be written: {cause}.', name=target.name, cause=why_refused(cause))
        ) from cause
    return target


def packaged_card(package: Path) -> VoiceCard:
    """Return the card of the voice in a package. Raises ArchiveError and VoiceError as `import_voice` does."""
    with _unpacked(package) as (card, _):
        return card


def import_voice(package: Path | str, voices: Path | str, taken: Collection[str] = ()) -> VoiceCard:
    """Put the voice of a package into a folder of voices.

    It keeps its id, unless one of `taken` or a voice in `voices` has it.

    Parameters
    ----------
    package : Path or str
        The package, such as mia.voice.zip.
    voices : Path or str
        The folder in which the voice gets its own folder.
    taken : collection of str
        Further ids that it may not have.

    Returns
    -------
    VoiceCard
        Its card, with the id that it has now.

    Raises
    ------
    ArchiveError
        If it is not a zip, or is unsafe to open; nothing is left behind then.
    VoiceError
        If the voice is incomplete; nothing is left behind then.

    Examples
    --------
    >>> package = export_voice("kathleen", "kathleen.voice.zip")
    >>> import_voice(package, "voices").id, import_voice(package, "voices").id
    ('kathleen', 'kathleen-2')
    """
    package, voices = as_path(package), Path(voices)
    with _unpacked(package) as (card, unpacked):
        there = {path.name.split(".")[0] for path in voices.iterdir()} if voices.is_dir() else set()
        if card.id in there or card.id in taken:
            card = replace(card, id=new_identifier(card.id, {*there, *taken}))
        with new_voice_folder(voices / card.id) as folder:
            (folder / CARD_FILE).write_text(card_text(card), encoding="utf-8")
            for name in (WEIGHTS_FILE, PREVIEW_FILE):
                if (unpacked / name).exists():
                    shutil.copyfile(unpacked / name, folder / name)
    return card


@contextmanager
def _unpacked(package: Path) -> Iterator[tuple[VoiceCard, Path]]:
    """Give the card of a package, and the folder in which its checked files lie meanwhile."""
    from engine.voices.voice import load_voice  # loads torch, which an export does without

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "package"
        card = unpack_voice(package, folder)
        load_voice(folder)
        yield card, folder


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
        raise VoiceError(tr("The voice '{id}' was made by another version of the engine; make it again.", id=card.id))


def _shapes(weights: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a voice's weights; a voice has as many retrieval frames as its recordings gave."""
    return {name: values.shape[name == RETRIEVAL_FRAMES :] for name, values in weights.items()}


def _json(values: object) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()


def _licence(card: VoiceCard) -> str:
    lines = [
        tr("The voice {name}", name=card.name),
        "",
        tr("Licence: {licence}", licence=card.licence or tr("not stated; ask whoever gave you this file")),
        tr("Made from: {source}", source=card.source or tr("not stated")),
    ]
    if card.consent:
        lines += [
            "",
            tr("Consent, as it was stated:"),
            *(f"  {name}: {text}" for name, text in card.consent.items() if text),
        ]
    return "\n".join(lines) + "\n"
