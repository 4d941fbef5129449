"""Folders and service settings of this installation, from the environment: its only reader."""

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from pathlib import Path

from engine.errors import SettingsError
from engine.provenance.installation import HOME_VARIABLE, ON, Installation, data_folder
from engine.provenance.installation import VARIABLES as PREFIX
from engine.songs.separator_file import FOLDER
from engine.spelling import nearest, pasted_path
from engine.texts import tr
from studio.languages.known import ENVIRONMENT as LANGUAGE_VARIABLE
from studio.settings.options import read_settings
from studio.settings.service import DEMO, ServiceConstants, ServiceSettings

SPACE_VARIABLE = "SPACE_ID"  # set on hosted Spaces
_OF_NOTEBOOKS = (PREFIX + "ADDRESS", PREFIX + "TOKEN")
_REPLACED = {"ray_conversion_cpus": "threads", "ray_training_cpus": "threads"}  # former settings
# what hosts of Gradio apps, and of containers, set for any app; our own variables win
OF_HOSTS = {"host": ("GRADIO_SERVER_NAME",), "port": ("GRADIO_SERVER_PORT", "PORT"), "root_path": ("GRADIO_ROOT_PATH",)}


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
        """Recordings of voices with their trainings, one folder each."""
        return self.data / "datasets"

    @property
    def separators(self) -> Path:
        """Networks that separate songs, once they are fetched."""
        return self.data / FOLDER

    @property
    def work(self) -> Path:
        """Temporary files of uploads and workers; deleted with their task."""
        return self.data / "work"


READ_ONLY = tr("The data folder cannot be written to. Make it writable for the user who runs the studio.")
VANISHED = tr("The data folder is gone. Put it back where it was, or start the studio again with another one.")


def make_folder(folder: Path) -> None:
    """Make a folder of the studio, which only this user can open. Raises SettingsError if it is of no use."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as cause:
        leads_nowhere = folder.is_symlink() and not folder.exists()
        raise _unusable(folder, tr("it is a link to nothing") if leads_nowhere else tr("it is a file")) from cause
    except OSError as cause:
        raise _unusable(folder, cause.strerror or str(cause)) from cause
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(folder, tr("nothing can be written to it"))


def _unusable(folder: Path, why: str) -> SettingsError:
    return SettingsError(
        tr(
            'The folder "{folder}" cannot be used ({why}): set {home_variable} to another folder.',
            folder=folder,
            why=why,
            home_variable=HOME_VARIABLE,
        )
    )


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the folders from `environment` or the process's own: TIMBRE_STUDIO_HOME, else the system's usual place."""
    return Settings(data_folder(os.environ if environment is None else environment))


def installation_of(settings: Settings, service: ServiceSettings) -> Installation:
    """Return what signs the results of this installation."""
    given = (service.certificate, service.certificate_key)
    certificate, key = (Path(pasted_path(text)) if text else None for text in given)
    return Installation(settings.data, service.credentials == ON, certificate, key)


def trace_exporter(environment: Mapping[str, str] | None = None) -> str | None:
    """Return where OpenTelemetry sends traces, "otlp" or "console"; None for nowhere. Raises SettingsError.
    As OpenTelemetry has it, but off unless OTEL_TRACES_EXPORTER or an OTLP endpoint is set."""
    environment = os.environ if environment is None else environment
    given = {name: text.strip().lower() for name, text in environment.items() if name.startswith("OTEL_")}
    endpoint = given.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or given.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    exporter = given.get("OTEL_TRACES_EXPORTER") or ("otlp" if endpoint else "none")
    if exporter == "none" or given.get("OTEL_SDK_DISABLED") == "true":
        return None
    if exporter not in ("otlp", "console"):
        raise SettingsError(
            tr("OTEL_TRACES_EXPORTER must be otlp, console or none, not {exporter}.", exporter=exporter)
        )
    protocols = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((given[name] for name in protocols if given.get(name)), "http/protobuf")
    if exporter == "otlp" and protocol != "http/protobuf":
        raise SettingsError(
            tr("{protocols} must be http/protobuf, not {protocol}.", protocols=protocols[1], protocol=protocol)
        )
    return exporter


def load_service_settings(
    given: Mapping[str, str | None] | None = None, environment: Mapping[str, str] | None = None
) -> ServiceSettings:
    """Combine the given settings, the environment and the defaults, in this order. Raises SettingsError.
    TIMBRE_STUDIO_... wins over GRADIO_..., and that over PORT. GRADIO_ROOT_PATH is a path or a whole address."""
    environment = os.environ if environment is None else environment
    _refuse_former(environment)
    values: dict[str, str | None] = {}
    for one in _options():
        names = (PREFIX + one.name.upper(), *OF_HOSTS.get(one.name, ()))
        values[one.name] = next((text for name in names if (text := environment.get(name, "").strip())), None)
    if "://" in (values["root_path"] or ""):
        values["base_url"], values["root_path"] = values["base_url"] or values["root_path"], None
    values |= {name: text for name, text in (given or {}).items() if text}
    wish = read_settings(ServiceSettings(), {"demo": values["demo"]}).demo
    if wish == "on" or (wish == "auto" and environment.get(SPACE_VARIABLE, "").strip()):
        return read_settings(DEMO, values | {"demo": "on"})
    return read_settings(ServiceSettings(), values)


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Return a sentence for each variable of ours that nothing reads, with the one that was probably meant."""
    environment = os.environ if environment is None else environment
    known = {HOME_VARIABLE, LANGUAGE_VARIABLE, *_OF_NOTEBOOKS, *(PREFIX + one.name.upper() for one in _options())}
    others = sorted(name for name in environment if name.startswith(PREFIX) and name not in known)
    names = [name.removeprefix(PREFIX) for name in known]
    return [_about_unknown(name, nearest(name.removeprefix(PREFIX), names)) for name in others]


def _about_unknown(variable: str, meant: str | None) -> str:
    if meant is None:
        return tr("{variable} is not a setting, and is ignored: remove it from the environment.", variable=variable)
    return tr(
        "{variable} is not a setting, and is ignored: did you mean {meant}?", variable=variable, meant=PREFIX + meant
    )


def _options() -> list[Field[object]]:
    return [one for one in fields(ServiceSettings) if one.metadata]


def _refuse_former(environment: Mapping[str, str]) -> None:
    """Raise SettingsError for a variable that was a setting of an earlier version: what it asks for is not done."""
    given = {name for name, text in environment.items() if text.strip()}
    for name, now in _REPLACED.items():
        if PREFIX + name.upper() in given:
            raise SettingsError(
                tr(
                    "{variable} is no longer a setting: set {other} instead.",
                    variable=PREFIX + name.upper(),
                    other=PREFIX + now.upper(),
                )
            )
    for one in fields(ServiceConstants):
        if PREFIX + one.name.upper() in given:
            raise SettingsError(
                tr(
                    "{variable} is no longer a setting: remove it from the environment.",
                    variable=PREFIX + one.name.upper(),
                )
            )
