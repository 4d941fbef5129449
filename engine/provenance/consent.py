"""Signed consent: the installation that recorded a consent signs it together with the voice that it is for.

The seal is kept on the voice's card: `certificate` (PEM, with its authorities), `voice` (SHA-256 of the weights) and
`signature` (base64) over the canonical JSON of consent and `voice`.
"""

import base64
import binascii
from collections.abc import Mapping

from engine.errors import ProvenanceError
from engine.provenance.installation import Installation
from engine.provenance.statement import canonical_json
from engine.texts import tr

Seal = Mapping[str, str]


def seal_consent(consent: Mapping[str, str], voice_sha256: str, installation: Installation) -> dict[str, str]:
    """Sign a consent for the voice whose weights have this digest. Raises ProvenanceError if there is no key."""
    identity = installation.identity()
    signature = identity.sign(_signed(consent, voice_sha256))
    return {
        "certificate": identity.certificates_pem().decode(),
        "voice": voice_sha256,
        "signature": base64.b64encode(signature).decode(),
    }


def check_seal(consent: Mapping[str, str], seal: Seal, voice_sha256: str | None = None) -> str:
    """Return the signer's name, as their certificate gives it; it is proven only where the installation is known.

    voice_sha256: digest of the weights, where they are at hand. Raises ProvenanceError if consent, voice or seal have
    been changed since.
    """
    from engine.provenance.certificates import verify_signature

    try:
        signature = base64.b64decode(seal["signature"], validate=True)
        signer = verify_signature(seal["certificate"].encode(), signature, _signed(consent, seal["voice"]))
    except (KeyError, ValueError, binascii.Error) as cause:
        raise ProvenanceError(tr("The consent has been changed since it was signed.")) from cause
    if voice_sha256 not in (None, seal["voice"]):
        raise ProvenanceError(tr("The signed consent belongs to another voice."))
    return signer


def consent_recorded_by(consent: Mapping[str, str], seal: Seal, installation: Installation) -> str:
    """Return in a few words who recorded a voice's consent, for its card."""
    if not consent:
        return tr("no consent stated")
    if not seal:
        return tr("not signed")
    try:
        signer = check_seal(consent, seal)
        is_own = seal["certificate"].encode() in installation.known()
    except ProvenanceError as cause:
        return str(cause)
    return tr("recorded and signed here") if is_own else tr("signed by {signer}, another installation", signer=signer)


def _signed(consent: Mapping[str, str], voice_sha256: str) -> bytes:
    return canonical_json({"consent": dict(consent), "voice": voice_sha256})
