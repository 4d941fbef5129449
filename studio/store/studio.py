"""The studio, assembled: settings, database and storage, all that its actions need.

A server and its worker processes each open their own; they share the database and the storage.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection

from engine.provenance.installation import Installation
from studio.settings.environment import Settings, installation_of, make_folder
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account, local_account
from studio.store.database import Database, database_url, open_database
from studio.store.folder_import import import_folders
from studio.store.migration import upgrade
from studio.store.signed_links import secret_of, sign
from studio.store.storage import Storage, open_storage


@dataclass(frozen=True)
class Studio:
    """The context of all actions.

    wake: notifies the workers of a queued task; may do nothing. submitted: receives each training and each blend in the
    transaction that queues it, so that the command line can claim the task before any worker does.
    """

    settings: Settings
    service: ServiceSettings
    database: Database
    storage: Storage
    link_secret: bytes
    local: Account
    wake: Callable[[], None] = lambda: None
    submitted: Callable[[Connection, str], None] = lambda connection, task_id: None

    @property
    def installation(self) -> Installation:
        """What signs results, and knows those made here."""
        return installation_of(self.settings, self.service)

    def link(self, key: str, base_url: str, now_s: float) -> str:
        """Return an absolute URL that opens the stored file until it expires.

        base_url: the address this client uses, if the settings have none.
        """
        begin = self.service.cdn_url or f"{self.base_url(base_url)}/files"
        return f"{begin.rstrip('/')}/{sign(self.link_secret, key, now_s + self.service.link_hours * 3600)}"

    def base_url(self, of_request: str) -> str:
        """Return the service's address from the settings, else as the client called it."""
        return self.service.base_url.rstrip("/") or of_request.rstrip("/") + self.service.path_prefix

    def close(self) -> None:
        """Close the database connections."""
        self.database.close()


def open_studio(settings: Settings, service: ServiceSettings) -> Studio:
    """Open everything: migrate the database, create the local account, load the link secret.

    Raises SettingsError for settings that cannot work, Unavailable if the database or storage is unreachable.
    """
    make_folder(settings.data)
    for folder in (settings.data, *settings.data.iterdir()):
        with suppress(OSError):  # another user's folder, as some hosts mount it
            if folder.is_dir() and folder.stat().st_mode & 0o077:
                folder.chmod(0o700)  # digests of tokens, and all recordings
    database = open_database(database_url(service.database_url, settings.data))
    try:
        upgrade(database)
        storage = open_storage(service.storage_url, settings.data)
        storage.check()
        local = local_account(database)
        import_folders(database, storage, local)
        return Studio(settings, service, database, storage, secret_of(database), local)
    except BaseException:
        database.close()
        raise
