"""Tables on stdout: in a terminal they fit its width, in a pipe each row is one line."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from studio.commands.wording import translated

_OF_A_PIPE = 10_000  # columns, so that nothing wraps


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under titles; the first column, what commands take as their argument, is never shortened."""
    rows = list(rows)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for number, title in enumerate(titles):
        shown = translated(title)
        widest = max([len(shown), *(len(row[0]) for row in rows)]) if number == 0 else None
        table.add_column(shown, overflow="fold", no_wrap=number == 0, min_width=widest)
    for row in rows:
        table.add_row(*map(escape, row))
    Console(width=None if sys.stdout.isatty() else _OF_A_PIPE).print(table)
