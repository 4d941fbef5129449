"""Content credentials inside audio files: C2PA manifests, written and read by the library of the C2PA project.

The library copies a file through memory to embed a manifest, three times its size, so for WAV, which can be hours long,
it only makes the manifest, from a digest computed here, and the chunk is appended here (C2PA 2.2, A.3.2: RIFF).
"""

import ctypes
import hashlib
import json
import os
import struct
from contextlib import ExitStack, suppress
from io import BufferedRandom
from pathlib import Path
from typing import Any

import c2pa
from c2pa import c2pa as native

from engine.errors import ProvenanceError
from engine.provenance.certificates import Identity
from engine.provenance.statement import DIGITAL_SOURCE_TYPE, PROGRAM, Statement
from engine.texts import tr

MEDIA_TYPES = {".wav": "audio/wav", ".flac": "audio/flac", ".mp3": "audio/mpeg", ".m4a": "audio/mp4"}
STATEMENT_LABEL = "timbre-studio.conversion"
_LARGEST_COPIED = 512 << 20  # bytes, of files that the library embeds the manifest in
_LARGEST_RIFF = 0xFFFF_FFFF
_CHUNK = b"C2PA"
_MANIFEST_STORE = b"application/c2pa"
# nothing is ever fetched, neither manifests stored elsewhere nor the state of certificates
_SETTINGS: dict[str, Any] = {
    "verify": {"verify_after_sign": False, "remote_manifest_fetch": False, "ocsp_fetch": False},
    "core": {"allowed_network_hosts": []},
    "builder": {"thumbnail": {"enabled": False}},
}
_Bytes = ctypes.POINTER(ctypes.c_ubyte)


def attach_credentials(path: Path, suffix: str, statement: Statement, identity: Identity) -> None:
    """Sign `statement` for the file at `path`, and embed it; `suffix` names the format. Samples are not touched.

    Raises ProvenanceError if that is impossible, with the file as it was; OSError if writing fails.
    """
    signer_info = c2pa.C2paSignerInfo(
        alg=identity.algorithm.encode(),
        sign_cert=identity.certificates_pem(),
        private_key=identity.key_pem(),
        ta_url=None,  # not "", which the library would call
    )
    try:
        with ExitStack() as stack:
            context = stack.enter_context(c2pa.Context.from_dict(_SETTINGS))
            signer = stack.enter_context(c2pa.Signer.from_info(signer_info))
            builder = stack.enter_context(c2pa.Builder(_definition(statement), context=context))
            if suffix == ".wav":
                _append_to_wav(path, builder, signer)
            else:
                _embed(path, suffix, builder, signer)
    except c2pa.C2paError as cause:
        raise ProvenanceError(tr("The content credentials could not be written ({cause}).", cause=cause)) from cause


def read_manifests(path: Path, media_type: str, anchors: bytes) -> dict[str, Any] | None:
    """Return the manifests of a file and how far they hold, as the library reports them; None if it has none.

    anchors: PEM of authorities to trust. Raises C2paError for damaged credentials, and for files that it cannot parse.
    """
    trust = {"verify_trust": True} | _SETTINGS["verify"]
    settings = _SETTINGS | {"verify": trust} | ({"trust": {"user_anchors": anchors.decode()}} if anchors else {})
    try:
        with (
            c2pa.Context.from_dict(settings) as context,
            path.open("rb") as file,
            c2pa.Reader(media_type, file, context=context) as reader,
        ):
            found: dict[str, Any] = json.loads(reader.json())
            return found
    except c2pa.C2paError.ManifestNotFound:
        return None


def _definition(statement: Statement) -> dict[str, object]:
    generator = {"name": PROGRAM, "version": statement.engine}
    action = {"action": "c2pa.created", "digitalSourceType": DIGITAL_SOURCE_TYPE, "softwareAgent": generator}
    made = {
        "voice": {"id": statement.voice, "name": statement.voice_name, "consent_sha256": statement.consent_sha256},
        "settings": dict(statement.settings),
        "source_sha256": statement.source_sha256,
        "engine": statement.engine,
    }
    return {
        "claim_generator_info": [generator],
        "assertions": [
            {"label": "c2pa.actions.v2", "data": {"actions": [action]}},
            {"label": STATEMENT_LABEL, "data": made},
        ],
    }


def _embed(path: Path, suffix: str, builder: c2pa.Builder, signer: c2pa.Signer) -> None:
    if path.stat().st_size > _LARGEST_COPIED:
        raise ProvenanceError(
            tr(
                "The file is too large for content credentials in {suffix} ({largest_copied} MB): use .wav.",
                suffix=suffix,
                largest_copied=_LARGEST_COPIED >> 20,
            )
        )
    signed = path.with_name(path.name + ".signed")
    try:
        with path.open("rb") as source, signed.open("x+b") as target:
            builder.sign(signer, MEDIA_TYPES[suffix], source, target)
        os.replace(signed, path)
    finally:
        with suppress(OSError):
            signed.unlink(missing_ok=True)


def _append_to_wav(path: Path, builder: c2pa.Builder, signer: c2pa.Signer) -> None:
    """Append the manifest as the last chunk; its size is known before its content, so the digest covers the header."""
    place = _native_bytes("c2pa_builder_data_hashed_placeholder", builder, signer.reserve_size(), _MANIFEST_STORE)
    chunk = struct.pack("<4sI", _CHUNK, len(place)) + place
    padding = b"\0" * (len(place) % 2)
    with path.open("r+b") as file:
        header, size = file.read(8), file.seek(0, os.SEEK_END)
        riff_size = size - 8 + len(chunk) + len(padding)
        if header[:4] != b"RIFF" or riff_size > _LARGEST_RIFF:
            raise ProvenanceError(tr("A WAV file beyond 4 GB cannot hold content credentials."))
        try:
            file.seek(4)
            file.write(struct.pack("<I", riff_size))
            digest = _digest_of(file, padding)
            hashed = {
                "exclusions": [{"start": size, "length": len(chunk)}],
                "name": "jumbf manifest",
                "alg": "sha256",
                "hash": list(digest),
                "pad": [],
            }
            manifest = _native_bytes(
                "c2pa_builder_sign_data_hashed_embeddable",
                builder,
                ctypes.cast(signer._handle, ctypes.c_void_p),
                json.dumps(hashed).encode(),
                _MANIFEST_STORE,
                None,  # no file: the digest is known
            )
            if len(manifest) != len(place):
                raise ProvenanceError(tr("The content credentials do not have the size that was reserved."))
            file.seek(size)
            file.write(chunk[:8] + manifest + padding)
        except BaseException:
            file.seek(4)
            file.write(header[4:])
            file.truncate(size)
            raise


def _digest_of(file: BufferedRandom, padding: bytes) -> bytes:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256")
    digest.update(padding)
    return digest.digest()


def _native_bytes(name: str, builder: c2pa.Builder, *arguments: object) -> bytes:
    """Call a function of the library's C interface that the Python one leaves out, and return the bytes it makes."""
    function = getattr(native._lib, name)
    kinds = {int: ctypes.c_size_t, bytes: ctypes.c_char_p}
    function.argtypes = [
        ctypes.c_void_p,
        *(kinds.get(type(one), ctypes.c_void_p) for one in arguments),
        ctypes.POINTER(_Bytes),
    ]
    function.restype = ctypes.c_int64
    made = _Bytes()
    size = function(ctypes.cast(builder._handle, ctypes.c_void_p), *arguments, ctypes.byref(made))
    if size < 0:
        raise c2pa.C2paError(native._read_native_error() or tr("no reason given"))
    try:
        return ctypes.string_at(made, size)
    finally:
        native._lib.c2pa_free(made)
