"""Results as Markdown tables, aligned in plain text too."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table, aligned in plain text too: the first column to the left, the others to the right."""
    widths = [max(3, *(len(line[column]) for line in [header, *rows])) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cells[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)),
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def score_text(value: float | None, name: str = "") -> str:
    """Format a score with the digits that matter."""
    if value is None:
        return "-"
    return f"{value:.1f}" if name == "leak_db" else f"{value:.6f}" if name == "length_error" else f"{value:.3f}"
