"""Mix a finished song again, with other faders."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from engine.errors import SettingsError
from engine.files import fitting_name
from engine.provenance.statement import canonical_json
from engine.songs.mixing import Fader, Lane, mix_files
from engine.texts import tr
from studio.actions.arrivals import workplace
from studio.actions.names import voice_name
from studio.actions.preferences import FORMATS
from studio.actions.songs import LANES
from studio.errors import Invalid, NotFound
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Conversion, Rendered
from studio.store.studio import Studio
from studio.store.tasks import find

_GONE = tr("The lanes of this song have been deleted: convert it again.")
_SYNTHETIC = ("vocal", "stem")  # lanes that may be


def mix_again(
    studio: Studio, account: Account, task_id: str, faders: Any, kind: str, base_url: str, now_s: float
) -> dict[str, str]:
    """Mix the lanes of a finished song; return the `url` and `name` of the mix, kept beside the song's own.

    faders: {gain_db, mute, solo} by lane. kind: a format. Raises NotFound, Invalid for a format that is not offered,
    SettingsError for faders that cannot be, or if no lane sounds.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    rendered = task.result_as(Rendered)
    lanes = rendered.lanes or {}
    if not lanes or task.outputs_deleted_at is not None:
        raise NotFound(_GONE, "lanes_gone")
    if kind not in FORMATS:
        raise Invalid([("format", tr("The formats are {formats}, not {kind}.", formats=", ".join(FORMATS), kind=kind))])
    given = {name: _fader((faders or {}).get(name)) for name in LANES if name in lanes}
    marks = {name: [one.gain_db, one.mute, one.solo] for name, one in given.items()}
    key = f"{PurePath(lanes['vocal']).parent}/mix-{sha256(canonical_json(marks)).hexdigest()[:16]}.{kind}"
    if studio.storage.head(key) is None:
        with workplace(studio) as place:
            (place / "fetched").mkdir()
            files = [
                Lane(
                    studio.storage.fetch(lanes[name], place / "fetched"), fader,
                    statement=rendered.statement if name in _SYNTHETIC else None,
                )
                for name, fader in given.items()
            ]  # fmt: skip
            mix_files(files, place / f"mix.{kind}", installation=studio.installation)
            studio.storage.put_file(place / f"mix.{kind}", key)
    voice = voice_name(studio.database, account, task)
    name = fitting_name(PurePath(task.asked_as(Conversion).file_name).stem, f" - {voice} mix.{kind}")
    return {"url": studio.link(key, base_url, now_s), "name": name}


def _fader(given: Any) -> Fader:
    if given is None:
        return Fader()
    if not isinstance(given, Mapping):
        raise SettingsError(tr("A fader is gain_db, mute and solo."))
    return Fader(given.get("gain_db", 0.0), given.get("mute") is True, given.get("solo") is True)
