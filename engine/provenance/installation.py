"""This installation: its data folder, the keys it signs with, and the certificates by which it knows its own files.

credentials/identity.pem     private key, certificate, authority; mode 600
credentials/known/*.pem      certificate and authority of every identity this installation has had; public
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_path

from engine.errors import ProvenanceError, SettingsError
from engine.files import TakesPaths, close_to_others, make_private_folder, replacing, write_atomically
from engine.spelling import pasted_path
from engine.texts import tr

if TYPE_CHECKING:  # takes a moment to load
    from engine.provenance.certificates import Identity

VARIABLES = "TIMBRE_STUDIO_"  # the start of the names of all variables
HOME_VARIABLE = VARIABLES + "HOME"
ON, OFF = "on", "off"
SWITCHED_OFF = tr("Content credentials are switched off here.")
_FOLDER, _IDENTITY, _KNOWN = "credentials", "identity.pem", "known"
_LARGEST_PEM = 1 << 16  # bytes
_MOST_KNOWN = 1000


def data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder where this installation keeps its data; the voices, for example, are in `voices`.

    Parameters
    ----------
    environment : mapping, optional
        Where TIMBRE_STUDIO_HOME may name another folder than the system's usual one; by default that of this process.

    Returns
    -------
    Path
        The folder, which may not exist yet.

    Raises
    ------
    SettingsError
        If the path names an unknown user's folder (`~name`), or an address on another machine.

    Examples
    --------
    >>> data_folder({"TIMBRE_STUDIO_HOME": "/studio"}).as_posix()
    '/studio'
    """
    home = pasted_path((os.environ if environment is None else environment).get(HOME_VARIABLE, ""))
    if home.startswith("~"):
        raise SettingsError(
            tr(
                'There is no folder "{home}": set {home_variable} to a whole path.',
                home=home,
                home_variable=HOME_VARIABLE,
            )
        )
    return Path(home).absolute() if home else user_data_path("timbre-studio", appauthor=False)


@dataclass(frozen=True)
class Installation(TakesPaths):
    """Where the keys are, and whether this installation signs results; nothing is read until it is needed.

    - data: the data folder
    - signs: whether results get content credentials
    - certificate, key: PEM files of the host's own certificate, followed by its authorities, and of its private key;
      without them the installation makes its own
    """

    data: Path
    signs: bool = True
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Installation":
        """Return the installation that TIMBRE_STUDIO_HOME, _CREDENTIALS, _CERTIFICATE and _CERTIFICATE_KEY describe.

        Nothing is read yet. The default is the environment of this process.
        """
        environment = os.environ if environment is None else environment
        given = {
            name: environment.get(VARIABLES + name, "").strip()
            for name in ("CREDENTIALS", "CERTIFICATE", "CERTIFICATE_KEY")
        }
        return cls(
            data_folder(environment),
            given["CREDENTIALS"].lower() != OFF,
            Path(given["CERTIFICATE"]) if given["CERTIFICATE"] else None,
            Path(given["CERTIFICATE_KEY"]) if given["CERTIFICATE_KEY"] else None,
        )

    def as_environment(self) -> dict[str, str]:
        """Return the environment variables that describe this installation to another process."""
        return {
            HOME_VARIABLE: str(self.data),
            VARIABLES + "CREDENTIALS": ON if self.signs else OFF,
            VARIABLES + "CERTIFICATE": str(self.certificate or ""),
            VARIABLES + "CERTIFICATE_KEY": str(self.key or ""),
        }

    @property
    def folder(self) -> Path:
        """The folder of the keys."""
        return self.data / _FOLDER

    def identity(self) -> "Identity":
        """Return the key and certificates to sign with, made on the first call.

        Raises ProvenanceError if they cannot be read or made, do not belong together, or are not valid now.
        """
        from engine.provenance.certificates import new_identity

        given = self.certificate or self.key
        if not given and not (self.folder / _IDENTITY).exists():
            return self._keep(new_identity())
        identity = self._read_given() if given else self._read_own()
        identity.refuse_outside_validity()
        if given:
            self._make_known(identity)
        return identity

    def rotate(self) -> "Identity":
        """Replace the key and its certificate with new ones; files signed so far still count as made here.

        Raises ProvenanceError if they cannot be written, or are the host's own.
        """
        from engine.provenance.certificates import new_identity

        if self.certificate or self.key:
            raise ProvenanceError(tr("The certificate comes from a setting: replace the files that it names."))
        return self._keep(new_identity())

    def known(self) -> list[bytes]:
        """Return the certificates (PEM) of every identity this installation has had, with their authorities.

        Raises ProvenanceError if they cannot be read.
        """
        paths = sorted((self.folder / _KNOWN).glob("*.pem"))[:_MOST_KNOWN]
        try:
            return [_read_pem(path) for path in paths]
        except OSError as cause:
            raise ProvenanceError(
                tr('"{folder}" cannot be read ({strerror}).', folder=self.folder, strerror=cause.strerror or cause)
            ) from cause

    def _read_own(self) -> "Identity":
        from engine.provenance.certificates import read_identity

        path = self.folder / _IDENTITY
        try:
            close_to_others(path, self.data)
            content = _read_pem(path)
            return read_identity(content, content)
        except (OSError, ValueError) as cause:
            raise ProvenanceError(
                tr(
                    'The signing key in "{path}" cannot be read: run `timbre-studio credentials rotate` for a new one.',
                    path=path,
                )
            ) from cause

    def _read_given(self) -> "Identity":
        from engine.provenance.certificates import read_identity

        if not self.certificate or not self.key:
            raise ProvenanceError(tr("A certificate of your own needs both settings: certificate and certificate_key."))
        try:
            identity = read_identity(_read_pem(self.key), _read_pem(self.certificate))
        except (OSError, ValueError) as cause:
            why = cause.strerror if isinstance(cause, OSError) else tr("they are damaged, or do not belong together")
            raise ProvenanceError(
                tr(
                    'The certificate "{certificate}" and the key "{key}" cannot be used: {why}.',
                    certificate=self.certificate,
                    key=self.key,
                    why=why,
                )
            ) from cause
        if len(identity.chain) == 1:
            raise ProvenanceError(
                tr(
                    '"{certificate}" must hold the certificate and those of its authorities after it.',
                    certificate=self.certificate,
                )
            )
        return identity

    def _keep(self, identity: "Identity") -> "Identity":
        path = self.folder / _IDENTITY
        try:
            self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private_folder(self.folder)
            self._make_known(identity)
            with replacing(path, durable=True) as unfinished:
                descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(identity.key_pem() + identity.certificates_pem())
        except OSError as cause:
            raise ProvenanceError(
                tr(
                    'No signing key could be stored in "{folder}" ({strerror}): make the folder writable, or set '
                    "{home_variable} to another one.",
                    folder=self.folder,
                    strerror=cause.strerror or cause,
                    home_variable=HOME_VARIABLE,
                )
            ) from cause
        return identity

    def _make_known(self, identity: "Identity") -> None:
        path = self.folder / _KNOWN / f"{identity.certificate.serial_number:x}.pem"
        if path.exists():
            return
        try:
            make_private_folder(path.parent)
            write_atomically(path, identity.certificates_pem(), durable=True)
        except OSError as cause:
            raise ProvenanceError(
                tr(
                    'The certificate could not be recorded in "{parent}" ({strerror}): make it writable.',
                    parent=path.parent,
                    strerror=cause.strerror or cause,
                )
            ) from cause


def _read_pem(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_LARGEST_PEM + 1)
    if len(content) > _LARGEST_PEM:
        raise ValueError("it is too large")
    return content
