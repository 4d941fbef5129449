"""Scores of takes as the terminal and the JSON of commands show them."""

from collections.abc import Mapping

import typer

from engine.texts import tr
from studio.commands.wording import padded, translated

# score: how it is called, and its unit
SCORES: Mapping[str, tuple[str, str]] = dict(
    zip(
        ("pitch_accuracy", "pitch_corr", "voicing_error", "leak_db", "length_error", "pitch_seconds"),
        zip(
            (
                tr("pitch accuracy"),
                tr("pitch correlation"),
                tr("voicing error"),
                tr("leak"),
                tr("length error"),
                tr("voiced in both"),
            ),
            ("share", "", "share", "dB", "s", "s"),
            strict=True,
        ),
        strict=True,
    )
)


def score_units() -> dict[str, str]:
    """Return the unit of each score, for programs."""
    return {name: unit for name, (_, unit) in SCORES.items()}


def print_scores(take: int, scores: Mapping[str, float | None]) -> None:
    """Print the scores of a take to stderr."""
    typer.echo(translated(tr("Take {take}:", take=take)), err=True)
    for name, (title, unit) in SCORES.items():
        value = scores.get(name)
        shown = translated(tr("does not apply")) if value is None else _written(value, unit)
        typer.echo(f"  {padded(title, 20)}{shown}", err=True)


def _written(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.1f} %"
    return f"{value:.1f} dB" if unit == "dB" else f"{value:.3f} {unit}".rstrip()
