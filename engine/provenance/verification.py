"""Tell where an audio file comes from, as far as its content credentials prove it.

Credentials can be removed, and tags can be written by anyone: a file without credentials may be real or synthetic.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
from c2pa import C2paError

from engine.errors import AudioError
from engine.files import as_path, shown_name
from engine.framing.atoms import TooManyAtoms, atoms_of
from engine.framing.chunks import ChunkedFile, read_chunks
from engine.provenance.certificates import serial_of
from engine.provenance.credentials import MEDIA_TYPES, STATEMENT_LABEL, read_manifests
from engine.provenance.framing import is_untouched
from engine.provenance.installation import Installation
from engine.provenance.statement import PROGRAM, Statement
from engine.provenance.verdict import Verdict
from engine.texts import tr

_UNKNOWN_SIGNER = {"signingCredential.untrusted"}
_EXPIRED = {"signingCredential.expired", "signingCredential.invalid"}
# how files begin that hold others, among them audio with credentials of its own: what they are, and their first bytes
_AT_THE_START = (b"PK\x03\x04", b"PK\x05\x06", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"SQLite format 3\0")
_ARCHIVES = (*((beginning, 0) for beginning in _AT_THE_START), (b"ustar", 257))
# of a file whose first bytes are lost: the box of a manifest store whole (C2PA 2.1, 11.1.4.2), which no text contains
_STORE = (b"jumdc2pa\x00\x11\x00\x10\x80\x00\x00\xaa\x00\x38\x9b\x71",)
_TRACES = (b"jumdc2pa", b"c2pa.claim", b"c2pa.signature", b"c2pa.assertions")
# formats, as FFmpeg names them, that can hold credentials; and those whose first four bytes tell
_SUFFIXES = {"wav": ".wav", "flac": ".flac", "mp3": ".mp3", "mov": ".m4a"}
_MEDIA_TYPES = {name: MEDIA_TYPES[suffix] for name, suffix in _SUFFIXES.items()}
_STARTS = {b"fLaC": "flac", b"OggS": "ogg", b"FORM": "aiff", b"\x1aE\xdf\xa3": "matroska"}
_BLOCK = 1 << 20  # bytes
_MOST_ATOMS = 10_000  # of an M4A that is checked; ours have about 40
_LONGEST_SHOWN = 200  # characters, of what a file says of itself
_NOT_PROOF = tr("This doesn't prove that the audio is original: credentials can be removed.")
_OUR_TAG = re.compile(rf"Synthetic: converted by {PROGRAM} (?P<engine>\S+) to the voice (?P<voice>[^.]+)\.")


def verify(path: Path | str, installation: Installation | None = None) -> Verdict:
    """Check the content credentials of an audio file.

    Parameters
    ----------
    path : Path or str
        The file.
    installation : Installation, optional
        Whose files count as made here; by default the one of the environment.

    Returns
    -------
    Verdict
        What they prove.

    Raises
    ------
    AudioError
        If the file cannot be read.
    ProvenanceError
        If the certificates of the installation cannot be read.

    Examples
    --------
    >>> verify("vocal.flac").state
    'no_credentials'
    """
    path = as_path(path)
    known = (installation or Installation.from_environment()).known()
    try:
        name = _format(path)
        tags = _tags(path, name) if name else None
        report = _report(path, name, b"".join(known))
        if report is not None:
            return _judged(report, {serial_of(pem) for pem in known}, tags, path)
        return _without_credentials(path, name, tags)
    except OSError as cause:
        raise AudioError(
            tr('"{name}" cannot be read: {strerror}.', name=shown_name(path), strerror=cause.strerror or cause)
        ) from cause


def statement_of(path: Path, installation: Installation | None = None) -> Statement | None:
    """Return what a file of this program states of how it was made, so that what is made of it can state it too.

    By its credentials while they hold, else by its tags, which name the voice alone; None for any other file. Raises as
    `verify` does.

    >>> from engine import load_voice
    >>> statement_of(load_voice("koguchi").preview).voice
    'koguchi'
    """
    verdict = verify(path, installation)
    if verdict.statement and isinstance(verdict.statement.get("voice"), dict):
        said, voice = verdict.statement, verdict.statement["voice"]
        identifier, name, consent = str(voice.get("id")), str(voice.get("name")), voice.get("consent_sha256")
        made_from, settings = said.get("source_sha256"), said.get("settings") or {}
        return Statement(identifier, name, consent, settings, made_from, str(said.get("engine")))
    tag = _OUR_TAG.search(verdict.tags or "")
    return Statement(tag["voice"], tag["voice"], None, {}, None, tag["engine"]) if tag else None


def _report(path: Path, name: str | None, anchors: bytes) -> dict[str, Any] | None:
    if name not in _MEDIA_TYPES or not _may_have_manifest(path, name):
        return None
    try:
        report = read_manifests(path, _MEDIA_TYPES[name], anchors)
    except C2paError:  # of the credentials, or of the file around them
        return None
    return report if report and report.get("active_manifest") in report.get("manifests", {}) else None


def _may_have_manifest(path: Path, name: str) -> bool:
    """Return whether the library of content credentials may look at a file. It needs the square of the number of boxes
    in an M4A, and reads all zeros behind a WAV as chunks."""
    if name == "wav":
        return any(chunk.name == b"C2PA" for chunk in _chunks(path).others)
    return name != "mov" or _has_few_atoms(path)


def _has_few_atoms(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return sum(1 for _ in atoms_of(file, 0, path.stat().st_size, _MOST_ATOMS)) > 0
    except TooManyAtoms:
        return False


def _chunks(path: Path) -> ChunkedFile:
    with path.open("rb") as file:
        return read_chunks(file, 0, path.stat().st_size, "wav")


def _without_credentials(path: Path, name: str | None, tags: str | None) -> Verdict:
    if name is None and _is_archive(path):
        raise AudioError(
            tr(
                '"{name}" is an archive, and only audio files can be checked: unpack it and check the files in it.',
                name=shown_name(path),
            )
        )
    if _has_traces(path, _TRACES if name else _STORE):
        return Verdict("changed", tr("Changed since it was made: its content credentials are damaged."), tags=tags)
    if name is None:
        raise AudioError(tr('"{name}" is not an audio file in a format that can be checked.', name=shown_name(path)))
    if tags:
        text = tr('No content credentials. Its tags, which anyone can write, say: "{tags}"', tags=tags)
        return Verdict("no_credentials", text, tags=tags)
    return Verdict("no_credentials", tr("No content credentials. {not_proof}", not_proof=_NOT_PROOF))


def _judged(report: dict[str, Any], known: set[str], tags: str | None, path: Path) -> Verdict:
    manifest = report["manifests"][report["active_manifest"]]
    results = report.get("validation_results", {}).get("activeManifest", {})
    failures = {one["code"] for one in results.get("failure", [])}
    signature = manifest.get("signature_info") or {}
    signer = _shown(signature.get("common_name") or signature.get("issuer") or tr("an unnamed certificate"))
    synthetic, statement = _statement_in(manifest)
    is_signed = "claimSignature.validated" in {one["code"] for one in results.get("success", [])}
    if failures - _UNKNOWN_SIGNER - _EXPIRED or not is_signed or (statement and not is_untouched(path)):
        text = tr(
            "Changed since it was made: it no longer matches its content credentials, signed by {signer}.",
            signer=signer,
        )
        return Verdict("changed", text, signer, tags=tags)
    kind = " " + tr("Its credentials say that it is synthetic.") if synthetic else ""
    if not failures and str(signature.get("cert_serial_number")) in known:
        voice = (statement or {}).get("voice")
        text = tr("Made here, a synthetic recording, and unchanged since.")
        if isinstance(voice, dict) and voice.get("name"):
            text = tr(
                "Made here, a synthetic recording in the voice {name}, and unchanged since.", name=_shown(voice["name"])
            )
        return Verdict("made_here", text, signer, synthetic, statement, tags)
    text = tr(
        "Made by another: signed by {signer}, which this installation does not know, and unchanged since.",
        signer=signer,
    )
    if failures & _EXPIRED:
        text = tr(
            "Signed by {signer} and unchanged since; the certificate is not valid now, so its maker is uncertain.",
            signer=signer,
        )
    return Verdict("made_elsewhere", text + kind, signer, synthetic, statement, tags)


def _statement_in(manifest: dict[str, Any]) -> tuple[bool | None, dict[str, Any] | None]:
    """Whether the signed assertions call the file synthetic, and the statement of this program, if it has one."""
    synthetic, statement = None, None
    for assertion in manifest.get("assertions", []):
        data = assertion.get("data")
        if not isinstance(data, dict):
            continue
        if assertion["label"].startswith("c2pa.actions"):
            kinds = [one.get("digitalSourceType", "") for one in data.get("actions", []) if isinstance(one, dict)]
            if any(kinds):
                synthetic = any("lgorithmicMedia" in str(kind) for kind in kinds)
        elif assertion["label"] == STATEMENT_LABEL:
            statement = data
    return synthetic, statement


def _is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(512)
    return any(head[place:].startswith(mark) for mark, place in _ARCHIVES)


def _format(path: Path) -> str | None:
    """Return the format that the first bytes show, as FFmpeg names it; a playlist is none and opens no other files."""
    with path.open("rb") as file:
        head = file.read(12)
        if head[:3] == b"ID3":  # a tag before FLAC or MP3, with seven bits of its size in each byte
            size = 0
            for byte in head[6:10]:
                size = size << 7 | byte & 0x7F
            file.seek(10 + size)
            return "flac" if file.read(4) == b"fLaC" else "mp3"
    if head[:4] in (b"RIFF", b"RF64") and head[8:] == b"WAVE":
        return "wav"
    if head[4:8] == b"ftyp":
        return "mov"
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0:
        return "mp3" if head[1] & 0x06 else "aac"
    return _STARTS.get(head[:4])


def _tags(path: Path, name: str) -> str | None:
    """Return what the container's tags say about this program; None if nothing."""
    if name == "wav":
        return next((_shown(text) for text in _wav_texts(path) if PROGRAM in text), None)
    if name == "mov" and not _has_few_atoms(path):
        return None
    try:
        with av.open(str(path), format=name, metadata_errors="replace") as file:
            streams = [one.metadata for one in file.streams.audio]
            tags = [text for tags in (file.metadata, *streams) for text in tags.values()]
    except (av.FFmpegError, ValueError):
        return None
    return next((_shown(text) for text in tags if PROGRAM in text), None)


def _wav_texts(path: Path) -> Iterator[str]:
    """Yield the texts in the lists of a WAV (RIFF INFO)."""
    for chunk in _chunks(path).others:
        if chunk.name == b"LIST" and chunk.size <= _BLOCK:
            with path.open("rb") as file:
                file.seek(chunk.body)
                content = file.read(chunk.size)
            place = 4
            while content[:4] == b"INFO" and place + 8 <= len(content):
                size = int.from_bytes(content[place + 4 : place + 8], "little")
                yield content[place + 8 : place + 8 + size].rstrip(b"\0").decode(errors="replace")
                place += 8 + size + size % 2


def _has_traces(path: Path, traces: tuple[bytes, ...]) -> bool:
    """Whether parts of content credentials lie anywhere in the file, though none can be read."""
    before = b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            if any(trace in before + block for trace in traces):
                return True
            before = block[-max(map(len, traces)) :]
    return False


def _shown(text: object) -> str:
    """Text from an unknown file, safe to print."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))[:_LONGEST_SHOWN]
