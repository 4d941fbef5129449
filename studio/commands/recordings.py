"""The recordings that a command is given: files, folders and patterns, found before anything heavy is loaded."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from engine.audio.containers import AUDIO_SUFFIXES
from engine.errors import AudioError, EngineError
from engine.texts import ntr, tr
from studio.commands.result_names import made_with
from studio.commands.wording import say

_RESULTS = tr("Results of earlier conversions in this folder are left out; name them to convert them.")


def find_recordings(given: Sequence[Path]) -> list[Path]:
    """Return the files that are meant, each once: a folder's recordings are those in it and below, by name.
    Results of earlier conversions are left out, unless nothing else is named. A pattern, which Windows leaves to
    the program, is what it matches. Raises AudioError for what is not there."""
    found = dict.fromkeys(path for one in _without_results(given) for path in _meant(one))
    return list({path.resolve(): path for path in reversed(found)}.values())[::-1]


def _without_results(given: Sequence[Path]) -> Sequence[Path]:
    files = [path for path in given if path.is_file()]
    results = [path for path in files if _is_result(path)] if len(files) > 1 else []
    left_out = len(results)
    if left_out in (0, len(files)):
        return given
    say(
        ntr(
            "{count} result of earlier conversions is left out; name it alone to convert it.",
            "{count} results of earlier conversions are left out; name them alone to convert them.",
            count=left_out,
        )
    )
    return [path for path in given if path not in results]


def find_recording(given: Path) -> None:
    """Raise AudioError for a file that is not there."""
    if not given.exists():
        raise AudioError(tr('The file "{given}" does not exist.', given=given))


def _meant(given: Path) -> Iterator[Path]:
    if given.is_dir():
        inside = sorted(path for path in given.rglob("*") if _is_recording(path.relative_to(given)) and path.is_file())
        sung = [path for path in inside if not _is_result(path)]
        if not sung:
            raise AudioError(tr('There are no recordings in the folder "{given}".', given=given))
        if len(sung) < len(inside):
            say(_RESULTS, about=str(given))
        yield from sung
    elif not given.exists() and (matches := sorted(Path(given.anchor).glob(str(given.relative_to(given.anchor))))):
        for match in matches:
            yield from _meant(match)
    else:
        find_recording(given)
        yield given


def _is_result(path: Path) -> bool:
    """Return whether this program made a file, by its own word or that of the vocal or mix it was made with."""
    return _says_so(path) or any(_says_so(one) for one in made_with(path) if one.is_file())


def _says_so(path: Path) -> bool:
    """Return whether a file says that this program made it; one that cannot be read is refused when its turn comes."""
    from engine.provenance.verification import statement_of

    with suppress(EngineError):
        return statement_of(path) is not None
    return False


def _is_recording(path: Path) -> bool:
    """Return whether a file in a folder is meant; hidden ones are not."""
    return path.suffix.lower() in AUDIO_SUFFIXES and not any(part.startswith(".") for part in path.parts)
