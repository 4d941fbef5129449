"""Where this installation keeps what is the user's: the only place that reads the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

HOME_VARIABLE = "TIMBRE_STUDIO_HOME"


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


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of `environment`, or of the process's own: TIMBRE_STUDIO_HOME, else the system's usual place."""
    home = (os.environ if environment is None else environment).get(HOME_VARIABLE, "").strip()
    return Settings(Path(home).expanduser().absolute() if home else user_data_path("timbre-studio", appauthor=False))
