"""Serve stored files through signed links."""

import time

from engine.texts import tr
from studio.errors import NotFound
from studio.store.signed_links import check
from studio.store.storage import StoredFile
from studio.store.studio import Studio


def open_file(studio: Studio, key: str, expires: str, signature: str) -> StoredFile:
    """Return the file a link leads to. Raises NotFound if the link is not ours or expired, or the file is gone."""
    if check(studio.link_secret, key, expires, signature, time.time()):
        file = studio.storage.head(key)
        if file is not None:
            return file
    raise NotFound(tr("There is no such file, or the link has expired: ask for the task again."), "file_not_found")
