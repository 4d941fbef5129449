"""Where this installation keeps what is the user's, and how its service runs: the only reader of the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from platformdirs import user_data_path

from engine.errors import SettingsError
from studio.settings.options import read_settings
from studio.settings.service import DEMO, ServiceSettings

PREFIX = "TIMBRE_STUDIO_"
HOME_VARIABLE = PREFIX + "HOME"
SPACE_VARIABLE = "SPACE_ID"  # which hosts of Spaces set


@dataclass(frozen=True)
class Settings:
    """Folders of the installation; none of them need exist."""

    data: Path

    @property
    def voices(self) -> Path:
        """The user's own voices, one folder each."""
        return self.data / "voices"

    @property
    def datasets(self) -> Path:
        """Recordings brought in to make voices of, one folder each, with their trainings."""
        return self.data / "datasets"

    @property
    def work(self) -> Path:
        """What uploads and workers are busy with; nothing in it outlives its task."""
        return self.data / "work"

    def of_account(self, account_id: str, local: bool) -> "Settings":
        """The folders of an account: the local one has those of the command line, others a folder of their own."""
        return self if local else Settings(self.data / "accounts" / account_id)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder of the studio, if it is not there. Raises SettingsError where it cannot be."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as cause:
        why = "it is a file" if isinstance(cause, FileExistsError) else cause.strerror or str(cause)
        text = f'The folder "{folder}" cannot be used ({why}): set {HOME_VARIABLE} to another one.'
        raise SettingsError(text) from cause


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of `environment`, or of the process's own: TIMBRE_STUDIO_HOME, else the system's usual place."""
    home = (os.environ if environment is None else environment).get(HOME_VARIABLE, "").strip()
    return Settings(Path(home).expanduser().absolute() if home else user_data_path("timbre-studio", appauthor=False))


def load_service_settings(
    given: Mapping[str, str | None] | None = None, environment: Mapping[str, str] | None = None
) -> ServiceSettings:
    """How the service runs: what is given, else what the environment says, else the defaults. Raises SettingsError.

    The defaults are those of a demo where one is asked for, and, unless that is refused, on a hosted Space.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, str | None] = {}
    for one in fields(ServiceSettings):
        values[one.name] = environment.get(PREFIX + one.name.upper(), "").strip() or None
    values |= {name: text for name, text in (given or {}).items() if text}
    wish = read_settings(ServiceSettings(), {"demo": values["demo"]}).demo
    if wish == "on" or (wish == "auto" and environment.get(SPACE_VARIABLE, "").strip()):
        return read_settings(DEMO, values | {"demo": "on"})
    return read_settings(ServiceSettings(), values)
