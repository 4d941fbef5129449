"""Models that the studio works without: fetched on request only, from the page too, or the user's own copy."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from engine.errors import Cancelled, EngineError, WrongFileError, is_full_disk
from engine.pinned import PinnedFile
from engine.progress import Report
from engine.songs import separator_file
from engine.songs.separator_file import FETCH, accept_separator, missing_separator, separator_state, stored_separator
from engine.texts import tr
from studio.errors import DiskFull, Unavailable, WrongState
from studio.settings.environment import READ_ONLY, Settings, make_folder
from studio.settings.proxies import certificates, proxy_for
from studio.settings.service import ServiceSettings, is_for_this_machine
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

_TIMEOUT_S = 30.0
_BLOCK = 1 << 18
_PARTIAL = 206
_RETRY_S = 60.0
_LOOK_S = 0.5  # how often it is looked whether another process has finished
_OURS = tr("Something went wrong in the studio. See its log for details.")


@dataclass(frozen=True)
class Addition:
    """What a file adds to the studio.

    folder: where it is received. found: where it lies once it is installed, else None. verified: the same, of one whose
    contents are known to be right. install: puts a received file, which has been checked, where it belongs, and returns
    where. own: the command that takes the user's own copy.
    """

    file: PinnedFile
    folder: Path
    found: Callable[[], Path | None]
    verified: Callable[[], Path | None]
    install: Callable[[Studio, Path], Path]
    own: str

    @property
    def partial(self) -> Path:
        """Where the file is received; what a cut-off download has left there is used again."""
        return self.folder / f"{self.file.sha256[:12]}-{self.file.file_name}"

    @property
    def received(self) -> float:
        """The share of the file that has been received, 0..1."""
        return min(1.0, self.partial.stat().st_size / self.file.size) if self.partial.exists() else 0.0


def fetch(studio: Studio, addition: Addition, report: Report) -> Path:
    """Download a file, check it against its pinned checksum, install it, and return where it lies.

    `report` shows progress and may raise Cancelled. Raises Unavailable if it cannot be reached or kept, WrongFileError
    if it is another file, DiskFull, and what installing raises.
    """
    before = _version(addition.found())
    with _troubles(addition), _alone(studio, addition, report):
        path = addition.found()
        if path and _version(path) != before:
            return path  # another process has fetched it meanwhile
        return addition.verified() or _fetched(studio, addition, report)


def _fetched(studio: Studio, addition: Addition, report: Report) -> Path:
    refuse_full_disk(studio, 2 * addition.file.size)  # received, and installed beside it
    make_folder(addition.folder)
    _download(addition.file, addition.partial, report)
    try:
        addition.file.refuse_other(addition.partial)
        path = studio.apart(studio.local, addition.install, addition.partial).result()
    except WrongFileError:
        addition.partial.unlink(missing_ok=True)
        raise
    addition.partial.unlink(missing_ok=True)
    return path


@contextmanager
def _alone(studio: Studio, addition: Addition, report: Report) -> Iterator[None]:
    """Wait while another process receives the same file, whose progress is shown: two would write into one file."""
    make_folder(studio.settings.work)
    lock = FileLock(studio.settings.work / f"{addition.partial.name}.lock")
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_LOOK_S)
        except Timeout:
            report(addition.received, tr("fetching {name}", name=addition.file.name))
    try:
        yield
    finally:
        lock.release()


def _version(path: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from one that has replaced it."""
    return None if path is None else (path.stat().st_ino, path.stat().st_mtime_ns)


def _download(pinned: PinnedFile, partial: Path, report: Report) -> None:
    """Fetch the rest of the file into `partial`. Raises httpx.HTTPError, SettingsError for an unusable proxy."""
    import httpx

    have = partial.stat().st_size if partial.exists() else 0
    if have >= pinned.size:
        partial.unlink()
        have = 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with httpx.stream(
        "GET", pinned.url, headers=headers, timeout=_TIMEOUT_S, follow_redirects=True,
        proxy=proxy_for(pinned.url), verify=certificates(), trust_env=False,  # these say what is wrong, by name
    ) as answer:  # fmt: skip
        answer.raise_for_status()
        have = have if answer.status_code == _PARTIAL else 0
        with partial.open("ab" if have else "wb") as file:
            for block in answer.iter_bytes(_BLOCK):
                have += len(block)
                if have > pinned.size:
                    break  # the checksum will say so
                file.write(block)
                report(min(1.0, have / pinned.size), tr("fetching {name}", name=pinned.name))


@contextmanager
def _troubles(addition: Addition) -> Iterator[None]:
    import httpx

    name, own = addition.file.name, tr("A copy from elsewhere works too: {own}.", own=addition.own)
    try:
        yield
    except httpx.HTTPStatusError as cause:
        text = tr(
            "{name} could not be fetched: the server answered {status_code}. {own}",
            name=name,
            status_code=cause.response.status_code,
            own=own,
        )
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as cause:  # the last two where a redirect leads
        said = str(cause).rstrip(".") or type(cause).__name__
        text = tr(
            "{name} could not be fetched: {said}. Fetching it again resumes where it stopped. {own}",
            name=name,
            said=said,
            own=own,
        )
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause
    except OSError as cause:
        raise DiskFull() if is_full_disk(cause) else Unavailable(READ_ONLY, _RETRY_S, "not_writable") from cause


def separator(settings: Settings) -> Addition:
    """Return what lets songs be separated."""
    pinned, folder = separator_file.PINNED[0], settings.separators
    found, verified = partial(stored_separator, folder, pinned), partial(_verified, folder, pinned)
    return Addition(pinned, folder, found, verified, _move_network, f"{FETCH} --file FILE")


def refuse_without_separator(settings: Settings) -> None:
    """Raise WrongState if songs cannot be separated yet."""
    if separator_state(settings.separators).remedy:
        raise WrongState(missing_separator(), "no_separator")


def accept_file(studio: Studio, path: Path, report: Report) -> Path:
    """Store a file that the user has, if it is a pinned one. Raises WrongFileError, SeparationError, DiskFull."""
    refuse_full_disk(studio, separator_file.PINNED[0].size)
    return accept_separator(path, studio.settings.separators, report=report)


def _verified(folder: Path, pinned: PinnedFile) -> Path | None:
    path = stored_separator(folder, pinned)
    try:
        if path is not None:
            pinned.refuse_other(path)
    except WrongFileError:
        return None
    return path


def _move_network(studio: Studio, received: Path) -> Path:
    return received.replace(received.with_name(separator_file.PINNED[0].file_name))


@dataclass
class _Fetch:
    """A fetch, running or ended. error: why it failed, else empty."""

    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    progress: float = 0.0
    message: str = ""
    error: str = ""


@dataclass(frozen=True)
class InstallView:
    """How far an addition is. is_stopped: whether the last try was stopped; progress: 0..1; error: why it failed, else
    empty."""

    is_installed: bool
    is_running: bool
    is_stopped: bool
    progress: float
    message: str
    error: str


class Installs:
    """The fetches of a server."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._fetches: dict[str, _Fetch] = {}
        self._lock = threading.Lock()

    def begin(self, addition: Addition) -> None:
        """Fetch and install, unless that is being done."""
        with self._lock:
            if self._is_running(addition):
                return
            one = self._fetches[addition.file.sha256] = _Fetch(progress=addition.received)
            one.thread = threading.Thread(target=self._carry_out, args=(addition, one), name="install", daemon=True)
            one.thread.start()

    def stop(self, addition: Addition) -> None:
        """Let a fetch stop, if there is one, as soon as the network answers."""
        if (one := self._fetches.get(addition.file.sha256)) is not None:
            one.stop.set()

    def view(self, addition: Addition) -> InstallView:
        """Return how far an addition is."""
        one = self._fetches.get(addition.file.sha256) or _Fetch(progress=addition.received)
        running = self._is_running(addition)
        installed = addition.found() is not None and not running
        return InstallView(installed, running, one.stop.is_set(), one.progress, one.message, one.error)

    def _is_running(self, addition: Addition) -> bool:
        one = self._fetches.get(addition.file.sha256)
        return one is not None and one.thread is not None and one.thread.is_alive()

    def _carry_out(self, addition: Addition, one: _Fetch) -> None:
        def report(fraction: float, message: str) -> None:
            one.progress, one.message = fraction, message
            if one.stop.is_set():
                raise Cancelled

        try:
            fetch(self._studio, addition, report)
        except Cancelled:
            pass
        except EngineError as error:
            one.error = "" if one.stop.is_set() else str(error)
        except Exception:  # noqa: BLE001 - a bug, or a disk that fails: the log gets the reason
            import structlog

            structlog.get_logger("studio.installs").exception("failed", file=addition.file.name)
            one.error = _OURS


def can_install(service: ServiceSettings) -> bool:
    """Whether the page may install: it is this machine's own, and its workers are on this machine."""
    return is_for_this_machine(service) and not service.is_demo and service.executor == "local"
