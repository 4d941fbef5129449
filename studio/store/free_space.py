"""The disk space that the settings keep free: checked before an upload is read, before storing, and during a task."""

import shutil
from typing import Protocol

from engine.texts import tr
from studio.errors import DiskFull, Unavailable
from studio.settings.environment import VANISHED, Settings
from studio.settings.service import MEGABYTE, ServiceSettings
from studio.store.storage import Storage

_RETRY_S = 60.0
TAKE_BYTES = 3 * 44_100  # of a take, for each second and channel: 24 bits


class Installation(Protocol):
    """What has a data folder and a storage."""

    @property
    def settings(self) -> Settings: ...
    @property
    def service(self) -> ServiceSettings: ...
    @property
    def storage(self) -> Storage: ...


def refuse_full_disk(installation: Installation, needed: float = 0.0) -> None:
    """Raise DiskFull if, after `needed` more bytes, less would be free than the settings keep free; Unavailable where
    the data folder is gone."""
    try:
        own = shutil.disk_usage(installation.settings.data).free
    except FileNotFoundError as cause:
        raise Unavailable(VANISHED, _RETRY_S, "storage_unreachable") from cause
    rooms = [own, installation.storage.free_bytes()]
    if any(room is not None and room < needed + installation.service.free_disk_mb * MEGABYTE for room in rooms):
        raise DiskFull(tr("There is not enough free space on the disk of the service. Delete something and try again."))
