"""How the command line begins: what a conversion waits for longest is begun before the commands are loaded."""

import sys
from collections.abc import Sequence

from engine.cores import prepare_torch
from engine.torch_loading import begin_loading_torch, postpone_parts_of_torch
from studio.commands.garbage import collect_nothing
from studio.commands.reading_ahead import read_ahead

_WITHOUT_SOUND = {"--help", "-h", "--dry-run"}


def start() -> None:
    """Run `timbre-studio` as it is installed: without a command it starts the studio."""
    given = sys.argv[1:]
    main(["serve", *given] if given in ([], ["--verbose"]) else given)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line on `arguments`, or on the process's own, and exit with its status."""
    prepare_torch()  # before anything brings torch
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["convert"] and not _WITHOUT_SOUND.intersection(given):
        read_ahead()
        begin_loading_torch()
        postpone_parts_of_torch()
        collect_nothing()

    from studio.commands.cli import main as run

    run(arguments)
