"""Keys and certificates that sign content credentials (X.509, RFC 5280, in the profile of C2PA 2.2, chapter 14).

C2PA accepts no certificate that is its own authority, so each installation makes a certificate authority, signs one
certificate with it, and forgets the authority's key: it is never needed again, as a rotation makes both anew.
"""

import datetime
import secrets
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from engine.errors import ProvenanceError
from engine.provenance.statement import PROGRAM
from engine.texts import tr

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
_RSA_PADDING = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
_LONGEST_NAME = 100  # characters shown of a certificate's name
_VALID_DAYS = 20 * 365  # a file is checked years after it was made, and nothing here tells when that was
_CLOCKS_APART = datetime.timedelta(days=1)  # clocks of two machines
# of a key: neither agreement on keys nor encryption
_ENCRYPTION = ("key_encipherment", "data_encipherment", "encipher_only", "decipher_only")
_UNUSED = ("content_commitment", "key_agreement", *_ENCRYPTION)
_CURVES = {"secp256r1": "es256", "secp384r1": "es384", "secp521r1": "es512"}


@dataclass(frozen=True)
class Identity:
    """A private key, and the certificates that vouch for it.

    - key: of the package cryptography
    - chain: its certificate, followed by those of the authorities
    """

    key: PrivateKey
    chain: tuple[x509.Certificate, ...]

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate of the key."""
        return self.chain[0]

    @property
    def algorithm(self) -> str:
        """The name of the signature algorithm in C2PA. Raises ProvenanceError for a key that C2PA does not allow."""
        if isinstance(self.key, ec.EllipticCurvePrivateKey) and self.key.curve.name in _CURVES:
            return _CURVES[self.key.curve.name]
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            return "ed25519"
        if isinstance(self.key, rsa.RSAPrivateKey):
            return "ps256"
        raise ProvenanceError(tr("Content credentials cannot be signed with this kind of key: use a P-256 key."))

    def certificates_pem(self) -> bytes:
        """Return the certificates as PEM, the key's own first."""
        return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in self.chain)

    def key_pem(self) -> bytes:
        """Return the private key as PEM, not encrypted."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def sign(self, content: bytes) -> bytes:
        """Return the signature of the content; the same each time, if the kind of key allows."""
        if isinstance(self.key, ec.EllipticCurvePrivateKey):
            return self.key.sign(content, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            return self.key.sign(content)
        return self.key.sign(content, _RSA_PADDING, hashes.SHA256())

    def refuse_outside_validity(self) -> None:
        """Raise ProvenanceError for a certificate that has expired, or is not valid yet by this machine's clock."""
        now = datetime.datetime.now(datetime.UTC)
        begin, end = self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc
        if now > end:
            raise ProvenanceError(
                tr(
                    "The certificate for content credentials expired on {end}: replace it, or run `timbre-studio "
                    "credentials rotate`.",
                    end=f"{end:%Y-%m-%d}",
                )
            )
        if now < begin:
            raise ProvenanceError(
                tr(
                    "The certificate for content credentials is valid from {begin}, but this machine's clock shows "
                    "{now}: set the clock.",
                    begin=f"{begin:%Y-%m-%d}",
                    now=f"{now:%Y-%m-%d}",
                )
            )


def new_identity() -> Identity:
    """Make a key, an authority, and the authority's certificate for the key."""
    number = secrets.token_hex(4)
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = _name(tr("{program} authority {number}", program=PROGRAM, number=number))
    authority = _certificate(authority_name, authority_key, authority_name, authority_key, is_authority=True)
    own = _certificate(_name(f"{PROGRAM} {number}"), key, authority_name, authority_key, is_authority=False)
    return Identity(key, (own, authority))


def read_identity(key_pem: bytes, certificates_pem: bytes) -> Identity:
    """Parse a private key and its chain of certificates. Raises ValueError if they do not belong together."""
    key = serialization.load_pem_private_key(key_pem, password=None)
    chain = tuple(x509.load_pem_x509_certificates(certificates_pem))
    if not isinstance(key, PrivateKey) or chain[0].public_key() != key.public_key():
        raise ValueError("the certificate is not that of the key")
    return Identity(key, chain)


def verify_signature(certificates_pem: bytes, signature: bytes, content: bytes) -> str:
    """Return the name on the first certificate, whose key made the signature. Raises ValueError if it did not."""
    certificate = x509.load_pem_x509_certificates(certificates_pem)[0]
    key = certificate.public_key()
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, content, ec.ECDSA(hashes.SHA256()))
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, content)
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, content, _RSA_PADDING, hashes.SHA256())
        else:
            raise ValueError("an unknown kind of key")
    except InvalidSignature as cause:
        raise ValueError("the signature does not match") from cause
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    name = str(names[0].value) if names else certificate.subject.rfc4514_string()
    return "".join(letter if letter.isprintable() else " " for letter in name)[:_LONGEST_NAME]


def serial_of(certificates_pem: bytes) -> str:
    """Return the serial number, in decimal, of the first certificate. Raises ValueError."""
    return str(x509.load_pem_x509_certificates(certificates_pem)[0].serial_number)


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, PROGRAM), x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    )


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    is_authority: bool,
) -> x509.Certificate:
    begin = datetime.datetime.now(datetime.UTC) - _CLOCKS_APART
    usage = dict.fromkeys(_UNUSED, False)
    builder = (
        x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=_VALID_DAYS))
        .add_extension(x509.BasicConstraints(is_authority, 0 if is_authority else None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=not is_authority, key_cert_sign=is_authority, crl_sign=is_authority, **usage
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if not is_authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())
