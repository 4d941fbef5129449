"""Where `voices import` takes voices from: a file, a folder or zip of RVC's models, or a link to one of these."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from engine.errors import SettingsError
from engine.texts import numeral, tr
from studio.commands.confirmation import ask_before
from studio.commands.progress import progress_bar
from studio.commands.wording import say, translated

if TYPE_CHECKING:  # the database takes a moment to load
    from engine.voices.profile import Stated
    from studio.actions.rvc_models import FoundModel
    from studio.store.studio import Studio


@dataclass(frozen=True)
class Statements:
    """What the one who imports a model of RVC says of it: its file says neither. source: where it comes from."""

    licence: str | None = None
    consent: str | None = None
    source: str | None = None

    def as_profile(self) -> "Stated":
        """Return those that are made, as fields of a profile."""
        made = {"licence": self.licence, "source": self.source}
        consent: Stated = {"consent": {"statement": self.consent}} if self.consent else {}
        return {name: value for name, value in made.items() if value} | consent

    def asked(self) -> "Statements":
        """Return them with those that were left out asked for; empty answers are allowed."""
        licence, consent = self.licence, self.consent
        if licence is None:
            licence = _answer(tr("Its licence, as the page it comes from states it (Enter: not stated)"))
        if consent is None:
            consent = _answer(tr("Who gave consent to this voice, and how (Enter: not stated)"))
        return replace(self, licence=licence, consent=consent)


@contextmanager
def voices_from(
    studio: "Studio", source: str, index: str | None, yes: bool, said: Statements
) -> "Iterator[tuple[list[FoundModel], Statements]]":
    """Yield the files of the voices at a place, which exist until the block ends, and what is said of them.
    yes: do not ask. Raises SettingsError without an answer."""
    from studio.actions.rvc_models import FoundModel, models_in
    from studio.actions.uploads import is_link, scratch_folder

    linked = [one for one in (source, index) if one is not None and is_link(one)]
    with scratch_folder(studio) as place:
        paths = {link: _fetched(studio, link, place, yes) for link in linked}
        path = paths.get(source, Path(source))
        own_index = None if index is None else paths.get(index, Path(index))
        if own_index is None and (folder := _unpacked(path, place)):
            models = models_in(folder)
        else:
            models = [FoundModel(path, own_index)]
        if source in paths:
            said = replace(said, source=said.source or source)
            is_packed = any(model.path != path for model in models)
            said = said.asked() if not yes and (is_packed or _is_rvc(path)) else said
        yield models, said


def _fetched(studio: "Studio", link: str, place: Path, yes: bool) -> Path:
    from studio.actions.uploads import fetch_link

    if not yes:
        ask_before(tr("Fetch {link}?", link=link), tr("Nothing was imported."), _UNANSWERED)
    folder = place / f"fetched-{len(list(place.iterdir()))}"
    folder.mkdir()
    with progress_bar() as report:
        fetched = fetch_link(studio, link, folder, report)
    say(
        tr(
            "{name}: {megabytes} MB, SHA-256 {digest}",
            name=fetched.path.name,
            megabytes=numeral(fetched.size / 1e6, ".1f"),
            digest=fetched.sha256,
        )
    )
    return fetched.path


def _unpacked(path: Path, place: Path) -> Path | None:
    """Return the folder with the models in a folder or a zip; None for one file."""
    import zipfile

    from engine.archives import extract_archive
    from studio.actions.rvc_models import MODELS

    if path.is_dir():
        return path
    if not zipfile.is_zipfile(path) or _is_rvc(path):  # a .pth is a zip, too
        return None
    with zipfile.ZipFile(path) as archive:
        if not any(name.lower().endswith(MODELS) for name in archive.namelist()):
            return None
    extract_archive(path, place / "unpacked")
    return place / "unpacked"


def _is_rvc(path: Path) -> bool:
    from studio.actions.rvc_models import is_rvc_model

    return is_rvc_model(path)


def _answer(question: str) -> str:
    try:
        return str(typer.prompt(translated(question), default="", show_default=False, err=True)).strip()
    except typer.Abort as cause:
        raise SettingsError(_UNANSWERED) from cause


_UNANSWERED = tr(
    "Nothing was imported: there was no answer. Use --yes with --licence and --consent to skip the questions."
)
