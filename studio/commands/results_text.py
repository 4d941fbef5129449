"""What `convert` prints: paths as they come, or all as JSON at the end."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from engine.texts import ntr, numeral, tr
from studio.commands.piped import shown_path
from studio.commands.wording import complain, padded, say, translated

if TYPE_CHECKING:  # the engine takes seconds to load
    from studio.commands.songs import Files
    from studio.commands.takes import Converted, Failed

# score: how it is called, and its unit
SCORES: Mapping[str, tuple[str, str]] = {
    "pitch_accuracy": (tr("pitch accuracy"), "share"),
    "pitch_corr": (tr("pitch correlation"), ""),
    "voicing_error": (tr("voicing error"), "share"),
    "leak_db": (tr("leak"), "dB"),
    "length_error": (tr("length error"), "s"),
    "pitch_seconds": (tr("voiced in both"), "s"),
}


def score_units() -> dict[str, str]:
    """Return the unit of each score, for programs."""
    return {name: unit for name, (_, unit) in SCORES.items()}


def print_scores(take: int, scores: Mapping[str, float | None]) -> None:
    typer.echo(translated(tr("Take {take}:", take=take)), err=True)
    for name, (title, unit) in SCORES.items():
        value = scores.get(name)
        shown = translated(tr("does not apply")) if value is None else _written(value, unit)
        typer.echo(f"  {padded(title, 20)}{shown}", err=True)


def _written(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.1f} %"
    return f"{value:.1f} dB" if unit == "dB" else f"{value:.3f} {unit}".rstrip()


def print_song(files: "Files", as_json: bool) -> None:
    if as_json:
        _print_json(conversions=[files])
        return
    for path in files["files"].values():
        typer.echo(path)


@dataclass
class TakesPrinter:
    """Prints the takes of recordings. preset: as it was asked for; several: whether each line needs a name."""

    scores: bool
    as_json: bool
    preset: str
    several: bool
    records: list[dict[str, Any]] = field(default_factory=list)
    failures: int = 0

    def failed(self, failed: "Failed") -> None:
        """Print why a recording has no takes."""
        self.failures += 1
        self.records.append({"recording": shown_path(failed.recording), "error": failed.reason})
        complain(failed.reason, about=shown_path(failed.recording))

    def converted(self, done: "Converted") -> None:
        """Print a recording's takes."""
        self._say(done)
        self.records.append(done.as_json())
        for number, (path, scores) in enumerate(zip(done.takes, done.scores, strict=True), 1):
            if not self.as_json:
                typer.echo(path)
            if self.scores:
                print_scores(number, scores)

    def end(self) -> None:
        """Print the JSON of all that was converted."""
        if self.as_json:
            _print_json(conversions=self.records, score_units=score_units())

    def _say(self, done: "Converted") -> None:
        facts, about = done.facts, shown_path(done.recording) if self.several else ""
        name = facts.model
        if facts.untrained and not any("error" not in record for record in self.records):
            say(
                tr(
                    "{name} is untrained: timbre-studio train {voice} makes it more like the recordings.",
                    name=done.name,
                    voice=name,
                )
            )
        used = self.preset if self.preset != "auto" else facts.style
        say(
            tr("{name}, {used}, not transposed.", name=done.name, used=used)
            if not facts.transpose
            else ntr(
                "{name}, {used}, transposed by {transpose} semitone.",
                "{name}, {used}, transposed by {transpose} semitones.",
                transpose=numeral(facts.transpose, "+g"),
                name=done.name,
                used=used,
            ),
            about,
        )
        for sentence in done.warnings:
            say(sentence, about)


def _print_json(**parts: Any) -> None:
    typer.echo(json.dumps(parts, indent=2, ensure_ascii=False))
