"""The commands of research, each with parts: `python -m engine.benchmark training --minutes 3`.

A part is a module. The first line of its docstring is its line in the help; `add_options(parser)` adds its options, and
`run(options)` yields what is to be printed. The first part of a command need not be named.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module

from engine.cores import prepare_torch
from engine.errors import EngineError
from engine.progress import Report

PARTS = {
    "benchmark": ("conversion", "training", "card", "opinions", "word-errors", "beside-rvc"),
    "pretraining": ("base", "voices", "through-synthesis"),
}


def main(command: str, arguments: Sequence[str] | None = None) -> int:
    """Run a part of `benchmark` or of `pretraining`, and return the exit status."""
    prepare_torch()  # before a part brings torch
    given = list(sys.argv[1:] if arguments is None else arguments)
    parts = PARTS[command]
    named = bool(given) and given[0] in parts
    part = given.pop(0) if named else parts[0]
    module = import_module(f"engine.research.{command}.{part.replace('-', '_')}")
    parser = argparse.ArgumentParser(
        prog=f"python -m engine.{command} {part}" if named else f"python -m engine.{command}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=None if named else f"Other parts, whose options follow their name: {', '.join(parts[1:])}",
    )
    parser.add_argument("--threads", type=_numbers, metavar="N", help="CPU threads (default: all)")
    module.add_options(parser)
    options = parser.parse_args(given)
    if len(options.threads or ()) > 1 and not getattr(module, "TAKES_SEVERAL_THREADS", False):
        parser.error("argument --threads: this part takes one number")
    if options.threads:
        import torch

        torch.set_num_threads(options.threads[0])
    try:
        for text in module.run(options):
            print(text, flush=True)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _numbers(text: str) -> tuple[int, ...]:
    """Read numbers of threads: 4, or 1,2,4."""
    numbers = tuple(int(one) for one in text.split(","))
    if min(numbers) < 1:
        raise ValueError
    return numbers


def log(line: str) -> None:
    """Tell on the standard error what is being done."""
    print(line, file=sys.stderr, flush=True)


def show_progress(fraction: float, message: str) -> None:
    """Report progress on the standard error, a line for each report."""
    log(f"{fraction:6.1%}  {message}")


def every_few_seconds(show: Report = show_progress, clock: Callable[[], float] = time.monotonic) -> Report:
    """Return a report that is shown at most every five seconds, and at the end."""
    shown = clock()

    def report(fraction: float, message: str) -> None:
        nonlocal shown
        if clock() - shown > 5 or fraction == 1:
            show(fraction, message)
            shown = clock()

    return report
