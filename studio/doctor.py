"""Test whether this machine can convert: each part of a conversion runs for real, and failures come with a remedy."""

import importlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError, SettingsError
from engine.files import is_open_to_others
from engine.installed import add_evaluation, add_extra, add_packages, install_again
from engine.provenance.installation import HOME_VARIABLE
from engine.texts import joined, numeral, tr
from studio.languages.stored import Said
from studio.settings.environment import load_settings, make_folder
from studio.settings.proxies import unusable_variables

if TYPE_CHECKING:  # loads the packages to examine
    from engine.audio.files import Audio

NEEDED = ("torch", "numpy", "scipy", "librosa", "matplotlib", "soundfile", "soxr", "av", "swift_f0", "safetensors")
_SERVICE = (
    *("fastapi", "uvicorn", "httptools", "python-multipart", "sqlalchemy", "alembic", "obstore", "httpx", "structlog"),
    *("prometheus-client", "filelock"),
)
_PAGE = tr("the page")
_LOAD_PAGE = "from studio.page.blocks import load_page; load_page()"
_LOADED_WITHIN_S = 300.0
OPTIONAL: dict[str, tuple[tuple[str, ...], Callable[[], str]]] = {
    tr("the HTTP service"): (_SERVICE, partial(add_packages, *_SERVICE)),
    "PostgreSQL": (("psycopg",), partial(add_extra, "postgres")),
    _PAGE: (("gradio",), partial(add_packages, "gradio")),
    "notebooks": (("jupyterlab", "ipywidgets"), partial(add_packages, "jupyterlab", "ipywidgets")),
    tr("tools for assistants"): (("mcp",), partial(add_extra, "mcp")),
    tr("sound devices for live"): (("sounddevice",), partial(add_extra, "live")),
    tr("export as ONNX"): (("onnx",), partial(add_extra, "onnx")),
    tr("speaker and word scores"): (
        ("resemblyzer", "speechmos", "pocketsphinx", "jiwer", "webrtcvad-wheels"),
        add_evaluation,
    ),
}
# packages that need a library of the system: that they are installed does not say that they can be used
_WITH_LIBRARIES = ("sounddevice", "psycopg", "onnx")
_PORTAUDIO = {  # by the system's name (os-release, which freedesktop.org specifies)
    "debian": "sudo apt install libportaudio2",
    "ubuntu": "sudo apt install libportaudio2",
    "fedora": "sudo dnf install portaudio",
    "suse": "sudo zypper install libportaudio2",
    "arch": "sudo pacman -S portaudio",
    "alpine": "sudo apk add portaudio",
}
PYTHON = ((3, 11), (3, 13))  # the oldest and the newest
LITTLE_DISK = 2 * 2**30  # bytes; an hour of stereo at 24 bit and 44.1 kHz is about 1 GB
TEST_HERTZ = 220.0
TEST_S = 1.0
HALF_SEMITONE = 2 ** (0.5 / 12)


@dataclass(frozen=True)
class Finding:
    """The result of one check, as a line for the user. `works` is False only if conversion cannot work."""

    subject: Said
    detail: Said
    remedy: Said = ""
    works: bool = True

    def __str__(self) -> str:
        return self.line(str, str.ljust)

    def line(self, translate: Callable[[str], str], pad: Callable[[str, int], str]) -> str:
        """Return the finding in a language; `pad` translates a text and fills it up to a width."""
        mark = pad("FAULT" if not self.works else "note" if self.remedy else "ok", 6)
        line = f"{mark}{pad(self.subject, 30)}{translate(self.detail)}"
        return f"{line}\n{'':<6}{'':<30}-> {translate(self.remedy)}" if self.remedy else line


def examine() -> Iterator[Finding]:
    """Yield findings as soon as they are known; later ones depend on earlier ones."""
    yield _python()
    packages = [_package(name) for name in NEEDED]
    yield from packages
    if all(package.works for package in packages):
        yield from _devices()
        yield _tried(
            tr("base model and voices"), _voices, tr("the weights come with the project; {install}", install=_install())
        )
        yield _tried(tr("pitch model"), _pitch, add_packages("swift-f0", "onnxruntime", again=True))
        yield _tried(tr("audio files"), _audio_files, add_packages("soundfile", "av", "soxr", again=True))
        yield _tried(tr("conversion"), _conversion, tr("fix the faults above, or report this with the whole output"))
        yield _confinement()
    yield _disk()
    yield _data_folder()
    yield _separation()
    for subject, (names, remedy) in OPTIONAL.items():
        found = _optional(subject, names, remedy())
        yield _loaded(found) if subject == _PAGE and not found.remedy else found
    yield from _proxies()


def _python() -> Finding:
    detail = tr(
        "{version} on {system} {machine}",
        version=platform.python_version(),
        system=platform.system(),
        machine=platform.machine(),
    )
    works = PYTHON[0] <= sys.version_info[:2] <= PYTHON[1]
    return Finding(
        tr("Python"), detail, "" if works else tr("create the environment with Python 3.11, 3.12 or 3.13"), works
    )


def _install() -> Said:
    return tr("install the project again: {install}", install=install_again())


def _package(name: str) -> Finding:
    try:
        importlib.import_module(name)
    except (ImportError, OSError) as cause:  # OSError: a shared library of the package cannot be loaded
        return Finding(name, tr("cannot be loaded: {cause}", cause=cause), _install(), works=False)
    return Finding(name, _installed(name) or tr("unknown version"))


def _devices() -> Iterator[Finding]:
    from engine.devices import choose_device, probe_devices

    for probe in probe_devices():
        if probe.device:
            name, precision = probe.device.name, str(probe.device.precision).removeprefix("torch.")
            yield Finding(
                tr("device {kind}", kind=probe.kind), tr("works: {name}, {precision}", name=name, precision=precision)
            )
        else:
            yield Finding(tr("device {kind}", kind=probe.kind), probe.reason)
    yield _tried(tr("device chosen"), lambda: choose_device().kind, _install())


def _voices() -> str:
    from engine.voices.card import DEMO_VOICES, list_voices
    from engine.voices.voice import load_voice

    names = [load_voice(card.id).card.name for card in list_voices(DEMO_VOICES)]
    if not names:
        raise EngineError(tr("No voices found."))
    return tr("{count} loaded: {names}", count=len(names), names=", ".join(names))


def _pitch() -> str:
    from engine.analysis.pitch import detect_pitch

    pitch = detect_pitch(_tone().mono(), _tone().rate)
    heard = float(pitch.hertz[len(pitch) // 2])
    if not 1 / HALF_SEMITONE < heard / TEST_HERTZ < HALF_SEMITONE:
        raise EngineError(
            tr(
                "It measured {heard} Hz in a tone of {test_hertz} Hz.",
                heard=numeral(heard, ".1f"),
                test_hertz=TEST_HERTZ,
            )
        )
    return tr("measured {heard} Hz in a tone of {test_hertz} Hz", heard=numeral(heard, ".1f"), test_hertz=TEST_HERTZ)


def _audio_files() -> str:
    from engine.audio.files import read_audio, write_audio

    tone = _tone()
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("wav", "flac"):
            path = Path(folder) / f"tone.{suffix}"
            write_audio(path, tone)
            if read_audio(path).sample_count != tone.sample_count:
                raise EngineError(tr("A .{suffix} file changed its length when written and read.", suffix=suffix))
    return tr("written and read")


def _conversion() -> str:
    from time import perf_counter

    import numpy as np

    from engine.conversion.convert import convert
    from engine.conversion.settings import ConversionSettings
    from engine.voices.card import DEMO_VOICES, list_voices
    from engine.voices.voice import load_voice

    tone, voice = _tone(), load_voice(list_voices(DEMO_VOICES)[0].id)
    started = perf_counter()
    result = convert(tone, voice, ConversionSettings(transpose=0)).takes[0].audio
    if result.sample_count != tone.sample_count or not np.isfinite(result.samples).all():
        raise EngineError(tr("The result's length differs from the recording's, or it contains invalid samples."))
    return tr(
        "{duration_s} s of tone to {name} in {perf_counter} s",
        duration_s=numeral(tone.duration_s, ".0f"),
        name=voice.card.name,
        perf_counter=numeral(perf_counter() - started, ".1f"),
    )


def _confinement() -> Finding:
    """Say what a model of a stranger could do on this machine, which is tried."""
    from engine.rvc.sandbox_limits import limits_here

    subject = tr("RVC models")
    try:
        held = limits_here()
    except Exception as cause:  # noqa: BLE001 - whatever fails is the finding
        return Finding(subject, tr("does not work: {cause}", cause=str(cause) or type(cause).__name__), _install())
    signs = (
        *((held.reads, tr("read your files")), (held.starts, tr("start programs"))),
        *((held.calls, tr("use the network")), (held.sees, tr("look into other programs"))),
    )
    can = [text for possible, text in signs if possible]
    if not can:
        return Finding(subject, tr("confined: they read nothing else, start nothing and reach nobody"))
    return Finding(
        subject,
        joined(": ", (tr("a harmful one could"), joined(tr(", "), can))),
        tr("import models of sources that you trust, or use Linux 5.13 or newer with Landlock"),
    )


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    return Finding(
        tr("free disk in this folder"),
        tr("{free} GB", free=numeral(free / 10**9, ".1f")),
        tr("free some space: an hour of stereo takes about 1 GB") if free < LITTLE_DISK else "",
    )


def _data_folder() -> Finding:
    folder = load_settings().data
    subject, shown = tr("data folder"), str(folder)
    if not folder.exists():
        return Finding(subject, tr("{folder}: made when it is needed", folder=shown))
    try:
        make_folder(folder)
    except SettingsError as cause:
        return Finding(subject, str(cause), tr("choose another folder, or make it writable"), works=False)
    if is_open_to_others(folder):
        return Finding(
            subject,
            tr("{folder}: others on this machine can open it", folder=shown),
            tr(
                'if nobody else works in it: chmod 700 "{folder}"; else set {home_variable} to a folder of its own',
                folder=shown,
                home_variable=HOME_VARIABLE,
            ),
        )
    return Finding(subject, shown)


def _loaded(page: Finding) -> Finding:
    """Load the page in a process of its own, as its start does: what stops that is the finding."""
    command = [sys.executable, "-c", _LOAD_PAGE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LOADED_WITHIN_S, check=False)
    except subprocess.TimeoutExpired:
        return replace(page, detail=tr("does not start"), remedy=_install())
    if done.returncode == 0:
        return page
    said = done.stderr.strip().rpartition("\n")[2] or str(done.returncode)
    return replace(page, detail=tr("does not work: {cause}", cause=said), remedy=_install())


def _proxies() -> Iterator[Finding]:
    """Yield what keeps downloads from working; nothing else uses proxies."""
    for variable in unusable_variables():
        yield Finding(
            tr("downloads"),
            tr("{variable} names a proxy that cannot be used", variable=variable),
            tr(
                "only downloads are affected: set it to one that begins with http://, or remove it from the environment"
            ),
        )


def _separation() -> Finding:
    from engine.songs.separator_file import separator_state

    found = separator_state(load_settings().separators)
    return Finding(
        tr("separation of songs"),
        joined(tr(", "), (found.file.name, str(found.path or tr("not fetched")))),
        found.remedy,
    )


def _optional(subject: str, names: tuple[str, ...], remedy: str) -> Finding:
    missing = [name for name in names if _installed(name) is None]
    if missing:
        return Finding(subject, tr("not installed: {missing}", missing=", ".join(missing)), remedy)
    for name in names:
        if name in _WITH_LIBRARIES and (failure := _package(name)).remedy:
            return replace(failure, subject=subject, remedy=_add_portaudio(name) or remedy, works=True)
    return Finding(subject, ", ".join(f"{name} {_installed(name)}" for name in names))


def _add_portaudio(package: str) -> str:
    """Return the command that installs PortAudio on this system; "" where sounddevice brings it, and for others."""
    if package != "sounddevice" or platform.system() != "Linux":
        return ""
    try:
        found = platform.freedesktop_os_release()
    except OSError:
        found = {}
    names = [found.get("ID", ""), *found.get("ID_LIKE", "").split()]
    commands = (command for name in names for known, command in _PORTAUDIO.items() if name.startswith(known))
    return next(commands, " / ".join(dict.fromkeys(_PORTAUDIO.values())))


def _tried(subject: str, attempt: Callable[[], str], remedy: str) -> Finding:
    """Run a real operation and return a finding; any failure is one, so the doctor always finishes."""
    try:
        return Finding(subject, attempt())
    except Exception as cause:  # noqa: BLE001 - whatever fails is the finding
        return Finding(
            subject, tr("does not work: {cause}", cause=str(cause) or type(cause).__name__), remedy, works=False
        )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _tone() -> "Audio":
    import numpy as np

    from engine.audio.files import Audio
    from engine.units import SAMPLE_RATE

    phase = 2 * np.pi * TEST_HERTZ * np.arange(round(TEST_S * SAMPLE_RATE)) / SAMPLE_RATE
    harmonics = np.arange(1, 9)[:, np.newaxis]
    tone = 0.2 * (np.sin(harmonics * phase) / harmonics).sum(axis=0, keepdims=True)
    return Audio(tone.astype(np.float32), SAMPLE_RATE)
