"""Results that are rendered here, written in the form that is wanted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.audio.files import open_audio
from engine.audio.result_files import write_result
from engine.audio.result_format import DEPTHS, ResultFormat
from engine.provenance.installation import Installation
from engine.provenance.verification import statement_of
from engine.units import SAMPLE_RATE


@contextmanager
def rendered_in(
    targets: Sequence[Path], source: Path, form: ResultFormat, installation: Installation | None
) -> Iterator[list[Path]]:
    """Yield paths to render to, which become the targets in this form; source: whose rate they get back."""
    with open_audio(source) as opened:
        rate = form.rate_for(opened.rate, targets[0].suffix)
    if rate == SAMPLE_RATE and form.depth == DEPTHS[0]:  # as it is rendered
        yield list(targets)
        return
    with TemporaryDirectory() as folder:
        rendered = [Path(folder) / f"{number}.wav" for number in range(len(targets))]
        yield rendered
        for path, target in zip(rendered, targets, strict=True):
            write_result(path, target, form, source, statement_of(path, installation), installation)
