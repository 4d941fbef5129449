"""A whole service of one's own for a while, in a process and a folder of its own: for measurements and tests."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import httpx

from engine.errors import EngineError
from engine.provenance.installation import HOME_VARIABLE
from engine.provenance.installation import VARIABLES as PREFIX
from studio.errors import NotFound
from studio.load.waiting import PATIENCE_S
from studio.settings.service import ServiceConstants
from studio.store.accounts import LOCAL, create_account, find_account, local_account
from studio.store.database import Database, database_url, open_database
from studio.store.tokens import create_token

ENDED_WITHIN_S = 40.0
_LOOK_S = 0.1
Chosen = dict[str, str | int | float]  # settings of a service, and its constants
_SHOWN_OF_LOG = 2000  # characters


# as `python -m studio serve`, with other constants
_SERVE = """
import json, sys
from dataclasses import replace
from studio.settings import environment
load, constants = environment.load_service_settings, json.loads(sys.argv[1])
environment.load_service_settings = lambda *given: replace(load(*given), **constants)
from studio.commands.cli import main
main(["serve"])
"""


@dataclass(frozen=True)
class TrialService:
    """A running service; `log` is what it said so far."""

    base_url: str
    home: Path
    process: subprocess.Popen[bytes]
    log: Path
    environment: dict[str, str]

    def command(self, *arguments: str) -> str:
        """What a command of the command line prints, run on this installation. Raises EngineError."""
        command = [sys.executable, "-m", "studio", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EngineError(f"{' '.join(arguments[:2])} failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def database(self) -> "closing[Database]":
        """The database of this installation, to be closed."""
        return closing(open_database(database_url(self.environment.get(f"{PREFIX}DATABASE_URL", ""), self.home)))

    def token(self, account: str = LOCAL) -> str:
        """A new token of an account, which is made where it is not there."""
        with self.database() as database:  # a command would have to be loaded first
            try:
                owner = local_account(database) if account == LOCAL else find_account(database, account)
            except NotFound:
                owner = create_account(database, account)
            return create_token(database, owner, "trial")[1]


@contextmanager
def trial_service(home: Path, **settings: str | int | float) -> Iterator[TrialService]:
    """A service on loopback, whose data lie in `home`, with these settings and constants, and else its defaults.

    Nothing of this process's own installation is seen by it. It is ended with its workers. Raises EngineError, with
    what it said last, where it does not start.
    """
    constants = {one.name: settings.pop(one.name) for one in fields(ServiceConstants) if one.name in settings}
    given = {"host": "127.0.0.1", "port": _free_port()} | settings
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment |= {PREFIX + name.upper(): str(value) for name, value in given.items()}
    environment |= {HOME_VARIABLE: str(home)}
    log = home.with_name(f"{home.name}.log")
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, json.dumps(constants)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that it can be ended with all it started
        )
    try:
        service = TrialService(f"http://127.0.0.1:{given['port']}", home, process, log, environment)
        _wait_until_it_answers(service)
        yield service
    finally:
        _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(service: TrialService) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not _answers(service.base_url):
        if service.process.poll() is not None or time.monotonic() > end_s:
            said = service.log.read_text(encoding="utf-8", errors="replace")
            raise EngineError(f"The service did not start. It said last: {said[-_SHOWN_OF_LOG:]}")
        time.sleep(_LOOK_S)


def _answers(base_url: str) -> bool:
    try:
        return httpx.get(f"{base_url}/health", trust_env=False).is_success
    except httpx.TransportError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(ENDED_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
