"""The names of results: in a folder, by a template, or one file; nothing is overwritten unless that is asked for."""

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path, PurePath

from engine.errors import SettingsError
from engine.files import beside, fitting_name, numbered, refuse_overwriting, writing_errors
from engine.texts import tr

FIELDS = ("name", "voice", "take")
_USUAL = ".wav"
_LANE = re.compile(r"(?P<base>.+)\.(?:backing|stem\d+)")  # of a song: what no voice was made of, which bears no mark


@dataclass(frozen=True)
class Named:
    """A file to be: `base`, or beside it what ends otherwise; a number belongs to the base."""

    base: Path
    ending: str = ""

    def path(self, number: int) -> Path:
        """Return the name; number: 1 for the first choice."""
        base = next(islice(numbered(self.base), number - 1, None))
        return beside(base, self.ending) if self.ending else base


@dataclass(frozen=True)
class ResultNames:
    """What `-o`, `--overwrite`, `--skip-existing` and `--format` say of the results of a call."""

    output: str | None = None
    overwrite: bool = False
    skip_existing: bool = False
    form: str | None = None
    _taken: set[Path] = field(default_factory=set)  # by earlier results of this call

    @property
    def suffix(self) -> str:
        """The suffix of all results."""
        return self._template_suffix if self._is_template else PurePath(self._file or "").suffix or self._usual

    def check_suffix(self) -> None:
        """Raise AudioError if no format has the suffix of the results, SettingsError if another one is asked for."""
        from engine.audio.written_formats import refuse_unknown_suffix  # brings what reads and writes files

        refuse_unknown_suffix(self._usual.lower())
        refuse_unknown_suffix(self.suffix.lower())
        if self.form and self.suffix.lower() != self._usual.lower():
            raise SettingsError(
                tr(
                    "-o names a {suffix} file, and --format says {form}: leave one of them out.",
                    suffix=self.suffix,
                    form=self.form,
                )
            )

    def check(self, recordings: Sequence[Path], is_tried: bool = False) -> None:
        """Make the folder, and refuse what cannot become the results of these recordings, before any work is done.
        is_tried: nothing is made or written. Raises SettingsError, AudioError."""
        if self.overwrite and self.skip_existing:
            raise SettingsError(tr("Choose one of --overwrite and --skip-existing."))
        if self._is_template:
            self._filled("name", "voice", 1)
            return
        if self._file is not None and len(recordings) > 1:
            raise SettingsError(tr("-o names one file for several recordings: name a folder, or use {name} in it."))
        if self._file is not None:
            refuse_overwriting(recordings[0], [self._file])
        if not is_tried:
            target = self._file or Path(self.output or "", "results")
            with writing_errors(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=target.parent):
                    pass

    def takes(self, recording: Path, voice: str, takes: int) -> list[Named]:
        """Return the names of takes: vocal.kathleen.wav, vocal.kathleen.take2.wav, ..., or as the template has them."""
        numbers = range(2, takes + 1)
        if self._is_template and "{take" in str(self.output):
            return [Named(self._filled(recording.stem, voice, number)) for number in (1, *numbers)]
        base = self._base(recording, voice)
        return [Named(base), *(Named(base, f".take{number}{base.suffix}") for number in numbers)]

    def lanes(self, recording: Path, voice: str, lanes: Sequence[str]) -> list[Named]:
        """Return the names of a mix, vocal.kathleen.mix.wav or as it was asked for, and of its lanes beside it."""
        base = self._base(recording, voice)
        mix = Named(base) if self._file or self._is_template else Named(base, f".mix{base.suffix}")
        return [mix, *(Named(base, f".{lane}{base.suffix}") for lane in lanes)]

    def skips(self, files: Sequence[Named]) -> bool:
        """Return whether these results are all there, and are to be left as they are."""
        if not self.skip_existing:
            return False
        number = next(number for number in count(1) if not self._taken.intersection(_paths(files, number)))
        if there := all(path.exists() for path in _paths(files, number)):
            self._taken.update(_paths(files, number))
        return there

    def free(self, files: Sequence[Named], sources: Sequence[Path], is_tried: bool = False) -> list[Path]:
        """Return paths to write to: with a number where something has one of the names, unless it may be overwritten.
        sources: recordings of the call, which are never overwritten: SettingsError. is_tried: no folder is made."""
        paths = next(one for number in count(1) if self._is_free(one := _paths(files, number)))
        for source in sources:
            refuse_overwriting(source, paths)
        self._taken.update(paths)
        if self._file is None and not is_tried:
            with writing_errors(paths[0]):
                paths[0].parent.mkdir(parents=True, exist_ok=True)
        return paths

    def _is_free(self, paths: Sequence[Path]) -> bool:
        return not self._taken.intersection(paths) and (self.overwrite or not any(map(os.path.lexists, paths)))

    @property
    def _usual(self) -> str:
        return f".{self.form}" if self.form else _USUAL

    @property
    def _is_template(self) -> bool:
        return "{" in (self.output or "")

    @property
    def _file(self) -> Path | None:
        """The one file that is asked for; a name without a suffix is a folder's."""
        if self.output is None or self._is_template or self.output.endswith((os.sep, "/")):
            return None
        path = Path(self.output)
        return None if path.is_dir() or not path.suffix else path

    @property
    def _template_suffix(self) -> str:
        return PurePath("x" + str(self.output).rpartition("}")[2]).suffix or self._usual

    def _base(self, recording: Path, voice: str) -> Path:
        if self._is_template:
            return self._filled(recording.stem, voice, 1)
        return self._file or Path(self.output or "", fitting_name(recording.stem, f".{voice}{self._usual}"))

    def _filled(self, name: str, voice: str, take: int) -> Path:
        try:
            filled = str(self.output).format(name=name, voice=voice, take=take)
        except (LookupError, ValueError, AttributeError) as cause:
            known = ", ".join(f"{{{one}}}" for one in FIELDS)
            raise SettingsError(tr("A template of -o has {known} and no other braces.", known=known)) from cause
        return Path(filled if filled.endswith(self._template_suffix) else filled + self._template_suffix)


def free_path(path: Path, overwrite: bool, sources: Sequence[Path] = ()) -> Path:
    """Return where to write one file: numbered if something has its name, unless that may be overwritten.
    Raises SettingsError if the name is that of one of the sources."""
    for source in sources:
        refuse_overwriting(source, [path])
    return ResultNames(str(path), overwrite).free([Named(path)], sources)[0]


def made_with(path: Path) -> list[Path]:
    """Return the names of the vocal and of the mix that were made with a song's backing or stem; [] for other files.

    >>> [one.name for one in made_with(Path("song.mia.backing.wav"))]
    ['song.mia.vocal.wav', 'song.mia.mix.wav', 'song.mia.wav']
    """
    lane = _LANE.fullmatch(path.stem)
    return [path.with_name(f"{lane['base']}{end}{path.suffix}") for end in (".vocal", ".mix", "")] if lane else []


def _paths(files: Sequence[Named], number: int) -> list[Path]:
    return [one.path(number) for one in files]
