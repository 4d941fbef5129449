"""The service on a socket of this process, without workers: what they would do, tests do themselves."""

import functools
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import jsonschema_rs
import pytest
import uvicorn
from fastapi import FastAPI

from studio.errors import NotFound
from studio.server import build_app
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.accounts import Account, account_prefix, create_account, find_account
from studio.store.studio import Studio, open_studio
from studio.store.tokens import create_token
from tests.waiting import PATIENCE_S, wait_until

SINGING = Path(__file__).parents[4] / "engine" / "samples" / "singing.flac"


@dataclass(frozen=True)
class Running:
    """A service that runs, and accounts of it."""

    base_url: str
    studio: Studio
    app: FastAPI
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    def client(self, name: str = "alice") -> httpx.Client:
        """A client with a token of the account called `name`, which is made where it is not there."""
        if name not in self.clients:
            headers = {"Authorization": f"Bearer {self.token(name)}"}
            self.clients[name] = self._client(headers)
        return self.clients[name]

    def account(self, name: str) -> Account:
        try:
            return find_account(self.studio.database, name)
        except NotFound:
            return create_account(self.studio.database, name)

    def token(self, name: str = "alice", expires_s: float | None = None) -> str:
        return create_token(self.studio.database, self.account(name), "test", expires_s)[1]

    def stranger(self) -> httpx.Client:
        """A client without a token."""
        if "" not in self.clients:
            self.clients[""] = self._client({})
        return self.clients[""]

    def _client(self, headers: dict[str, str]) -> httpx.Client:
        hooks = {"response": [functools.partial(hold_against_document, self.app.openapi())]}
        return httpx.Client(
            base_url=self.base_url, headers=headers, timeout=PATIENCE_S, trust_env=False, event_hooks=hooks
        )

    def work(self, name: str, outputs: list[bytes]) -> str:
        """Be the worker: claim the next conversion, of the account called `name`, and publish these takes."""
        account = self.account(name)
        while (task := self._claimed()).account_id != account.id:
            with self.studio.database.write() as connection:
                tasks.cancelled(connection, task)  # what another test has left
        folder = f"{account_prefix(account)}tasks/{task.id}/{task.fence}"
        keys = [f"{folder}/take-{number}.wav" for number in range(1, len(outputs) + 1)]
        for key, output in zip(keys, outputs, strict=True):
            self.studio.storage.put_bytes(output, key)
        chosen = {"model": task.model_id, "transpose": 0, "vocal_style": "melodic"}
        result = {"outputs": keys, "output_settings": chosen, "scores": [{} for _ in keys], "seconds": 0.1}
        with self.studio.database.write() as connection:
            tasks.complete(connection, task, result)
        return task.id

    def _claimed(self) -> tasks.Task:
        task = tasks.claim(self.studio.database, "test", ("conversion",), 60.0)
        assert task is not None
        return task


def hold_against_document(document: dict, answer: httpx.Response) -> None:
    """Every answer that any test gets must be one that the document speaks of, and look as it says."""
    answer.read()
    path, method = answer.request.url.path, answer.request.method.lower()
    for template, methods in document["paths"].items():
        pattern = re.escape(template).replace(r"\{key\}", ".+")
        if method in methods and re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", pattern), path):
            told = methods[method]["responses"]
            assert str(answer.status_code) in told, f"{method} {path} answers {answer.status_code}: {answer.text}"
            media_type = answer.headers.get("content-type", "").partition(";")[0]
            described = told[str(answer.status_code)].get("content", {}).get(media_type)
            if described and "json" in media_type and answer.content:
                schema = described["schema"] | {"components": document["components"]}
                jsonschema_rs.validator_for(schema).validate(answer.json())
            return


@contextmanager
def running(home: Path, service: ServiceSettings) -> Iterator[Running]:
    studio = open_studio(Settings(home), service)
    app = build_app(studio)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    kept_s = int(PATIENCE_S)  # by default five seconds, after which clients, too, let connections go
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, timeout_keep_alive=kept_s)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        wait_until(lambda: server.started)
        found = Running(f"http://127.0.0.1:{listener.getsockname()[1]}", studio, app)
        yield found
        for client in found.clients.values():
            client.close()
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
        studio.close()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def http(request, tmp_path_factory) -> Iterator[Running]:
    """A service on each database, for tests that need no settings of their own; each uses accounts of its own."""
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgresql_of_the_service")
    many = ServiceSettings(
        database_url=url, submissions_per_minute=1_000_000, free_disk_mb=0, conversions_per_account=1_000_000
    )
    with running(tmp_path_factory.mktemp("http") / "home", many) as service:
        yield service


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[..., Running]]:
    """Starts services with other settings."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            running(tmp_path / f"home{len(settings)}", ServiceSettings(**{"free_disk_mb": 0} | settings))
        )


@pytest.fixture
def singing() -> Path:
    """A short recording."""
    return SINGING
