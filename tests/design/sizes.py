"""What the product costs in lines, by room and by feature: `python -m tests.design.sizes`.

Lines of files as they are, with comments and blank ones; research, load programs, tests and notebooks are no part of
it. Each file counts for the first feature that names it; what no feature names serves all.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
_KINDS = {".py": "python", ".js": "javascript"}
_NOT_OURS = ("research", "benchmark", "pretraining", "load", "typescript", "__pycache__", "swagger")
REST = "what all features share"
# a feature and the files that would go with it
_FEATURES = """
imported models of RVC, and voices taught by them
    engine/rvc/* engine/voices/imported.py engine/conversion/rvc_renderer.py **/teach*.py **/rvc*.py
live
    engine/live/* **/live* studio/page/live/* engine/networks/causal_content.py engine/networks/listener_stream.py
    studio/http/protocol.py
songs: separation, second singers, mixes
    engine/songs/* **/song*.py **/mix.py **/separation.py **/mixer.js **/channel.js **/faders.js **/regions.js
    engine/audio/placement.py engine/audio/stems.py engine/audio/ambience.py engine/audio/channels.py
pitch editor
    **/pitch_edit*.py **/edit*.py **/rerendering.py **/patches.py **/pitch-*.js **/edit-*.js
    engine/conversion/edit_data.py
comps, takes and projects
    **/comp*.py **/comp.js **/project*.py **/take*.py **/batch*.py studio/page/history/* **/timeline.py
    **/downloads.py studio/actions/conversions/views.py **/waveforms.py
effects
    engine/effects/* **/effects.py
training of one's own voices
    engine/training/* **/train*.py studio/page/train/* studio/actions/trainings/* **/checkpoint*.py **/curves.js
data sets and their reports
    engine/datasets/* **/dataset*.py **/draft*.py studio/page/create/* **/report* studio/actions/voices/making.py
voices: cards, packages, blends
    engine/voices/* **/voice* **/blend*.py **/package*.py **/profile*.py studio/page/voices/* studio/actions/voices/*
    **/catalogue.py **/avatar.js
Explore, pictures and scores
    studio/page/explore/* **/analys*.py **/exploration.py engine/plots/* engine/evaluation/* **/roll*.js **/notes.js
    **/spectrogram.py **/scores*.py
notebooks
    engine/widgets/* **/notebooks.py
provenance and consent
    engine/provenance/* **/credentials.py
lessons
    studio/learn/* **/lessons.py
languages
    studio/languages/* **/catalogues.py **/language.js **/texts.js engine/texts.py
Ray, PostgreSQL and S3
    studio/executors/ray/* studio/store/storage.py studio/store/folder_import.py
callbacks
    **/callback* **/deliver* **/callback_sender.py studio/addresses.py
OpenAI's calls, assistants, the Python client
    **/openai.py **/speech.py **/mcp*.py studio/client.py studio/exchange/*
accounts, tokens, demos for visitors
    **/account*.py **/token* **/log_in.py **/visitors.py **/rate_limits.py **/origin_guard.py **/sessions.py
    **/cookies.py **/demo.py
the rest of the HTTP service
    studio/http/* studio/http/routes/*
the rest of the command line
    studio/commands/*
the rest of the page
    studio/page/* studio/page/*/*
the rest of the queue and its workers
    studio/executors/*
"""


def _features(text: str) -> Mapping[str, Sequence[str]]:
    """Return what a text says: a name, and its patterns in the indented lines below."""
    paragraphs = (paragraph.partition("\n") for paragraph in re.split(r"\n(?=\S)", text.strip()))
    return {name: patterns.split() for name, _, patterns in paragraphs}


FEATURES = _features(_FEATURES)


@dataclass(frozen=True)
class Size:
    """Lines of a kind of code, by place."""

    python: int
    javascript: int


def files_of(root: Path = ROOT) -> dict[PurePath, Size]:
    """Return the files of the product with their lines."""
    found = {}
    for room in ("engine", "studio"):
        for path in sorted((root / room).rglob("*")):
            place = path.relative_to(root)
            if path.suffix in _KINDS and not set(place.parts) & set(_NOT_OURS) and ".min." not in path.name:
                lines = len(path.read_text(encoding="utf-8").splitlines())
                found[place] = Size(lines, 0) if path.suffix == ".py" else Size(0, lines)
    return found


def feature_of(place: PurePath, features: Mapping[str, Sequence[str]] = FEATURES) -> str:
    """Return the feature that a file belongs to."""
    named = (name for name, patterns in features.items() if any(_matches(place, one) for one in patterns))
    return next(named, REST)


def room_of(place: PurePath) -> str:
    """Return the room of a file, or the module that is one."""
    return "/".join(place.parts[:2])


def summed(files: Iterable[tuple[str, Size]]) -> list[tuple[str, Size]]:
    """Return the sizes by name, the largest first."""
    python: Counter[str] = Counter()
    javascript: Counter[str] = Counter()
    for name, size in files:
        python[name] += size.python
        javascript[name] += size.javascript
    order = sorted(python, key=lambda name: (-python[name] - javascript[name], name))
    return [(name, Size(python[name], javascript[name])) for name in order]


def _matches(place: PurePath, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return PurePath(place.name).match(pattern.removeprefix("**/"))
    return len(place.parts) == len(PurePath(pattern).parts) and place.match(pattern)


def main() -> None:
    """Print both tables."""
    files = files_of()
    for title, name_of in (("feature", feature_of), ("room", room_of)):
        table = Table(title, "Python", "JavaScript")
        rows = summed((name_of(place), size) for place, size in files.items())
        for name, size in [*rows, *summed(("all", size) for size in files.values())]:
            table.add_row(name, f"{size.python:,}", f"{size.javascript:,}")
        Console().print(table)


if __name__ == "__main__":
    main()
