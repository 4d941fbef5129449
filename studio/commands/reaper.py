"""`reaper`: put the script that converts items in REAPER where it finds it, with access to this studio."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.errors import EngineError
from engine.files import write_atomically
from engine.texts import tr
from studio.commands.failures import in_one_sentence
from studio.commands.wording import say

SCRIPT = Path(__file__).parents[1] / "reaper" / "timbre_studio.lua"
_SETTINGS = "timbre_studio_settings.lua"
_CLIENT = "REAPER"  # the name of its token


@in_one_sentence
def reaper(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help=tr("REAPER's folder of scripts. Default: the usual one."))
    ] = None,
) -> None:
    """Write a script for REAPER that converts the selected item into a new take of it; prints its path."""
    place = folder or _usual_folder() / "Scripts"
    if not (place if folder else place.parent).is_dir():
        raise EngineError(
            tr(
                'REAPER has no folder "{folder}" here. In REAPER, choose Options > Show REAPER resource '
                "path, and give the "
                "folder Scripts in it to this command.",
                folder=place,
            )
        )
    place.mkdir(exist_ok=True)
    target, settings = place / SCRIPT.name, place / _SETTINGS
    if target.exists() and _first_line(target) != _first_line(SCRIPT):
        raise EngineError(tr('"{path}" is another script. Rename it, then repeat this command.', path=target))
    write_atomically(target, SCRIPT.read_bytes())
    if not settings.exists():
        _write_settings(settings)
    say(tr("In REAPER, choose Actions > Show action list > New action > Load ReaScript, and this file:"))
    typer.echo(target)


def _usual_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", "")) / "REAPER"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "REAPER"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "REAPER"


def _first_line(script: Path) -> bytes:
    return script.read_bytes().partition(b"\n")[0]


def _write_settings(path: Path) -> None:
    """Write where this studio is and a new token for it, readable by the user alone."""
    from studio.commands.token import token_database
    from studio.settings.environment import load_service_settings
    from studio.store.accounts import local_account
    from studio.store.tokens import create_token

    with token_database() as database:
        _, secret = create_token(database, local_account(database), _CLIENT)
    address = f"http://127.0.0.1:{load_service_settings().port}"
    path.touch(0o600)
    path.write_text(f'return {{ address = "{address}", token = "{secret}" }}\n', encoding="utf-8")
