"""`lessons`: write the site of lessons."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from engine.files import write_atomically
from engine.texts import tr
from studio.commands.failures import in_one_sentence
from studio.commands.wording import OPTION, known_language, terminal_language
from studio.settings.options import option


@in_one_sentence
def lessons(
    out: Annotated[Path, option("FOLDER", tr("Where to write them; files there are replaced."), "-o", "--out")],
    language: Annotated[
        str, option("CODE", tr("Language of their titles: de, ja, ... (Default: the terminal's.)"), OPTION)
    ] = "",
) -> None:
    """Write the lessons as a site that needs no server and no network; prints the path of its first page."""
    from studio.learn.contents import START
    from studio.learn.site import files, pages_in

    pages = pages_in(known_language(language) if language else terminal_language())
    for name, path in files().items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / name)
    for name, page in pages.items():
        write_atomically(out / name, page.encode())
    typer.echo(out / f"{START}.html")
