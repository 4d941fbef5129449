"""Choose a voice, and a recording from a list or an upload."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import ipywidgets
from IPython.display import display

from engine.audio.containers import AUDIO_SUFFIXES
from engine.audio.files import Audio, read_audio
from engine.errors import EngineError, VoiceError
from engine.texts import tr
from engine.voices.card import DEMO_VOICES, list_voices
from engine.widgets.playing import player
from engine.widgets.showing import sentence

SAMPLES = Path(__file__).parents[1] / "samples"


class RecordingChooser:
    """A list of recordings, a button to upload others, and a player for the chosen one.

    `path`, `name` and `audio` are those of the chosen one; `follow(change)` calls `change` whenever another is chosen.
    A file that cannot be read is reported, and the previous choice is kept.
    """

    def __init__(self, recordings: Iterable[Path | str] = (), chosen: str | None = None) -> None:
        """List `recordings`, which are files or folders; without any, the engine's samples."""
        self._uploads: Path | None = None
        files = list(_files(recordings or [SAMPLES]))
        if not files:
            raise EngineError(tr("No recordings were found; name files or folders with recordings."))
        self._list = ipywidgets.Dropdown(options=[(path.stem, path) for path in files], description="recording")
        if chosen is not None:
            self._list.value = next(path for path in files if path.stem == chosen)
        self._upload = ipywidgets.FileUpload(accept=",".join(AUDIO_SUFFIXES), description=tr("another file"))
        self._told = ipywidgets.HTML()
        self._playing = ipywidgets.VBox()
        self._followers: list[Callable[[], None]] = []
        self.audio: Audio = read_audio(self._list.value)
        self.path: Path = self._list.value
        self._show()
        self._list.observe(lambda change: self._choose(change["new"]), "value")
        self._upload.observe(lambda change: self._take_in(change["new"]), "value")
        head = ipywidgets.HBox([self._list, self._upload])
        self.widget = ipywidgets.VBox([head, self._told, self._playing])

    @property
    def name(self) -> str:
        """The name of the recording, without its suffix."""
        return self.path.stem

    def follow(self, change: Callable[[], None]) -> None:
        """Call `change` whenever another recording is chosen."""
        self._followers.append(change)

    def _ipython_display_(self) -> None:
        display(self.widget)

    def _choose(self, path: Path) -> None:
        try:
            audio = read_audio(path)
        except EngineError as problem:
            self._told.value = sentence(str(problem), wrong=True)
            self._list.value = self.path
            return
        if path != self.path:
            self.audio, self.path = audio, path
            self._show()
            for change in self._followers:
                change()

    def _show(self) -> None:
        self._told.value = ""
        self._playing.children = [player(self.audio)]

    def _take_in(self, files: Sequence[Any]) -> None:
        """Put uploaded files into the list, and choose the last one."""
        if self._uploads is None:
            self._uploads = Path(tempfile.mkdtemp())
            weakref.finalize(self, shutil.rmtree, self._uploads, ignore_errors=True)
        for file in files:
            path = self._uploads / Path(file["name"].replace("\\", "/")).name
            path.write_bytes(bytes(file["content"]))
            self._list.options = [(path.stem, path), *(one for one in self._list.options if one[1] != path)]
            self._choose(path)
            self._list.value = self.path


def voice_chooser(folder: Path | Sequence[Path] = DEMO_VOICES, chosen: str | None = None) -> ipywidgets.Widget:
    """Make a list of the voices in one or several folders; its `value` is the id of the chosen one.

    Raises VoiceError if there is no usable voice, or the chosen one cannot be used.
    """
    cards = [card for card in list_voices(folder) if not card.is_earlier]
    if chosen is not None and chosen not in [card.id for card in cards]:
        from engine.voices.voice import load_voice  # takes seconds to import; raises the reason

        load_voice(chosen, folder)
    if not cards:
        raise VoiceError(tr("There is no usable voice here: train or import one."))
    options = [
        (
            tr("{name} ({min} to {max})", name=card.name, min=card.vocal_range["min"], max=card.vocal_range["max"]),
            card.id,
        )
        for card in cards
    ]
    return ipywidgets.Dropdown(options=options, value=chosen or cards[0].id, description="voice")


def _files(recordings: Iterable[Path | str]) -> Iterable[Path]:
    for one in recordings:
        path = Path(one)
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in found if file.suffix.lower() in AUDIO_SUFFIXES)
