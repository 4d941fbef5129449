"""Voices that were models of RVC: imported from `.pth` or `.onnx`, with their `.index`, and loaded again.

Their folder is like any voice's: card.json, weights.safetensors, model.onnx if they were one. `card.kind` says which
networks render it, `card.model` their configuration. They convert as they are; what needs networks of this studio
(training, blending, packages) refuses them.
"""

import os
import shutil
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from typing_extensions import TypeAliasType

from engine.analysis.pitch_statistics import PitchStatistics
from engine.errors import VoiceError
from engine.files import as_path, shown_name
from engine.networks.base import BaseModel
from engine.rvc.checkpoint import read_checkpoint
from engine.rvc.configuration import from_json
from engine.rvc.index_file import VoiceIndex, read_index
from engine.rvc.onnx_models import onnx_from_json, read_onnx
from engine.rvc.rendering import Moment, OnnxRendering, Rendering, RetrievalIndex, TorchRendering, is_sound
from engine.rvc.sandbox import ModelFileError, ModelProcess, no_such_speaker
from engine.rvc.torch_models import INDEX
from engine.texts import joined, tr
from engine.voices.card import (
    CARD_FILE,
    PACKAGE,
    PREVIEW_FILE,
    WEIGHTS_FILE,
    Folders,
    VoiceCard,
    card_text,
    damaged_weights,
    load_card,
    new_identifier,
    new_voice_folder,
    voice_home,
)
from engine.voices.card_rules import LONGEST_NAME
from engine.voices.voice import Voice, load_voice
from engine.voices.voice import networks_digest as digest_of_own

ONNX_FILE = "model.onnx"
UNKNOWN_PITCH = PitchStatistics(40.0, 57.0, 76.0)  # E2 to E5: an RVC file does not say how high its voice is
_TRIALS = ((100, 200.0), (16, 0.0), (32, 1000.0), (251, 400.0))  # frames, and how high they rise; at 0 Hz unvoiced
_SILENT = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class ImportedVoice:
    """A voice of RVC, ready for conversion: `load_any_voice` makes one, once `import_rvc` has imported it.

    - card: what is known of it
    - networks: in a process of their own
    - index: frames of its recordings
    - folder: where it was loaded from
    """

    card: VoiceCard
    networks: Rendering
    index: RetrievalIndex | None
    folder: Path | None = None

    def __repr__(self) -> str:
        return f"ImportedVoice({self.card.name})"

    @property
    def preview(self) -> Path | None:
        """Path of the preview, or None."""
        path = self.folder / PREVIEW_FILE if self.folder else None
        return path if path and path.exists() else None

    def on(self, device: torch.device) -> "ImportedVoice":
        """Return the voice with its networks on a device."""
        return replace(self, networks=self.networks.on(device))


AnyVoice = TypeAliasType("AnyVoice", Voice | ImportedVoice)


def load_any_voice(voice: str | Path, folder: Folders | None = None) -> AnyVoice:
    """Load a voice of this studio, or one that was imported from RVC.

    Parameters
    ----------
    voice, folder
        As for `load_voice`.

    Returns
    -------
    Voice or ImportedVoice
        Its card's `kind` decides.

    Raises
    ------
    VoiceError, ArchiveError
        As `load_voice`, except that imported voices are loaded.

    Examples
    --------
    >>> load_any_voice("koguchi").card.is_imported
    False
    """
    home = voice_home(voice, folder)
    if home.suffix.lower() == PACKAGE or not (card := load_card(home)).is_imported:
        return load_voice(voice, folder)
    return _imported_from(card, home)


def voice_of(voice: AnyVoice | str | Path) -> AnyVoice:
    """Return a voice however it is given: loaded, or as `load_any_voice` takes it. Raises VoiceError.

    >>> voice_of("Kathleen")
    Voice(Kathleen)
    """
    if isinstance(voice, Voice | ImportedVoice):
        return voice
    if isinstance(voice, str | os.PathLike):
        return load_any_voice(voice)
    raise VoiceError(tr("A voice is an id, a name, a path, or a Voice, not {name}.", name=type(voice).__name__))


def networks_digest(base: BaseModel, voice: AnyVoice) -> str:
    """Return a SHA-256 digest of all weights that render a take; an edit of the take needs the same ones."""
    if isinstance(voice, Voice):
        return digest_of_own(base, voice)
    digest = sha256(voice.networks.digest().encode())
    if voice.index is not None:
        digest.update(voice.index.vectors.numpy().data)
    return digest.hexdigest()


def import_rvc(
    path: Path | str,
    voices: Path | str,
    index: Path | str | None = None,
    name: str | None = None,
    speaker: int = 0,
    taken: Collection[str] = (),
) -> VoiceCard:
    """Turn a model of RVC into a voice; nothing of its pickle is kept.

    Parameters
    ----------
    path : Path or str
        The model, .pth or .onnx.
    voices : Path or str
        The folder in which the voice gets its own folder.
    index : Path or str, optional
        Its .index.
    name : str, optional
        The name of the voice; by default that of the file.
    speaker : int
        The speaker of a model with several, from 0.
    taken : collection of str
        Further ids that it may not have.

    Returns
    -------
    VoiceCard
        With the id to load it by.

    Raises
    ------
    ModelFileError
        For any other file, naming what it is, and for weights that render no voice.
    """
    path, voices = as_path(path), Path(voices)
    is_onnx, file_name = path.suffix.lower() == ".onnx", _one_line(shown_name(path))
    title = _one_line(name or path.stem)[:LONGEST_NAME] or "RVC"
    there = {one.name.split(".")[0] for one in voices.iterdir()} if voices.is_dir() else set()
    identifier = new_identifier(title, {*there, *taken})
    with new_voice_folder(voices / identifier) as folder:
        weights: dict[str, torch.Tensor] = {}
        model: dict[str, Any]
        if is_onnx:
            described = read_onnx(path, speaker)
            shutil.copyfile(path, folder / ONNX_FILE)
            model, width, rate = {"onnx": asdict(described)}, described.content, described.sample_rate
        else:
            configuration = read_checkpoint(path, folder / WEIGHTS_FILE)
            if not 0 <= speaker < configuration.speakers:
                raise no_such_speaker(shown_name(path), speaker, configuration.speakers)
            model, width, rate = asdict(configuration), configuration.content, configuration.sample_rate
            weights = load_file(folder / WEIGHTS_FILE) if index else {}
        found = _index_of(Path(index), folder) if index else None
        if found is not None and found.vectors.shape[1] != width:
            raise ModelFileError(
                tr(
                    "The index belongs to another model: its vectors have {shape} numbers, and this model reads "
                    "{width}. Choose the one made with it, or import the model without.",
                    shape=found.vectors.shape[1],
                    width=width,
                ),
                "wrong_index",
            )
        if found is not None or is_onnx:
            save_file(weights | _index_tensors(found), folder / WEIGHTS_FILE)
        with path.open("rb") as file:
            origin = file_digest(file, "sha256").hexdigest()
        model |= {"speaker": speaker, "probes": found.probes if found else 0, "file": file_name, "sha256": origin}
        card = _card(identifier, title, model, rate)
        (folder / CARD_FILE).write_text(card_text(card), encoding="utf-8")
        try:
            _refuse_senseless(_imported_from(card, folder))
        except ModelFileError:
            raise
        except VoiceError as cause:
            raise ModelFileError(joined(": ", (f'"{shown_name(path)}"', str(cause))), "wrong_shapes") from cause
    return card


def _one_line(text: str) -> str:
    """Return a text as a card may hold it; the names of files may hold anything."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _index_of(path: Path, folder: Path) -> VoiceIndex:
    """Read an index by way of a file in `folder`, which is not kept."""
    passed_on = folder / "index.safetensors"
    found = read_index(path, passed_on)
    passed_on.unlink()
    return found


def _card(identifier: str, name: str, model: dict[str, object], rate: int) -> VoiceCard:
    return VoiceCard(
        id=identifier, name=name, gender=None, age=None, description="", base_language=None, traits=[], genre=None,
        voice_type=None, vocal_range={"min": "E2", "max": "E5"}, pitch=UNKNOWN_PITCH, bandwidth_hertz=rate / 2,
        licence="", source=tr("imported from {file}", file=model["file"]), consent={}, kind="rvc", model=model,
    )  # fmt: skip


def _index_tensors(index: VoiceIndex | None) -> dict[str, torch.Tensor]:
    if index is None:
        return {}
    arrays = {"vectors": index.vectors, "starts": index.starts, "centroids": index.centroids.astype(np.float32)}
    return {INDEX + name: torch.from_numpy(np.array(values)) for name, values in arrays.items()}


def _imported_from(card: VoiceCard, folder: Path) -> ImportedVoice:
    """Load what is known of an imported voice: its index, and the process of its networks. Raises VoiceError."""
    model = dict(card.model)
    try:
        with safe_open(folder / WEIGHTS_FILE, "pt") as file:
            names = [name for name in file.keys() if name.startswith(INDEX)]  # noqa: SIM118 - the file is not a dict
            own = {name.removeprefix(INDEX): file.get_tensor(name) for name in names}
        speaker, probes = int(model.pop("speaker")), int(model.pop("probes"))
        index = RetrievalIndex(own["vectors"], own["starts"], own["centroids"], probes) if own else None
        return ImportedVoice(card, _networks(model, folder.absolute(), speaker), index, folder)
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as cause:
        raise VoiceError(damaged_weights(card.id)) from cause


def _networks(model: dict[str, Any], folder: Path, speaker: int) -> Rendering:
    """Return the networks that a card describes. Raises VoiceError, and OSError where their file is missing."""
    name, threads = str(model.pop("file", "")), torch.get_num_threads()
    model.pop("sha256", None)
    if "onnx" in model:
        path = folder / ONNX_FILE
        path.stat()
        process = ModelProcess("engine.rvc.onnx_models", path, name, threads)
        return OnnxRendering(path, onnx_from_json(model["onnx"]), speaker, process)
    path = folder / WEIGHTS_FILE
    return TorchRendering(path, from_json(model), speaker, ModelProcess("engine.rvc.torch_models", path, name, threads))


def _refuse_senseless(voice: ImportedVoice) -> None:
    """Render random content of several lengths, from silence to high notes: weights may be numbers and yet make no
    sound, and a graph may do something else at each length. Raises ModelFileError."""
    width = 256 if voice.networks.version == "v1" else 768
    drawn = torch.Generator().manual_seed(0)
    for seed, (frames, highest) in enumerate(_TRIALS):
        content = torch.randn(frames, width, generator=drawn) * 0.3
        samples = voice.networks.render(content, torch.linspace(0.0, highest, frames), Moment(seed, seed * frames, 0.0))
        if not (is_sound(samples) and np.abs(samples).max() > _SILENT):
            raise ModelFileError(
                tr(
                    'The weights of "{file}" produce no voice: use an earlier checkpoint of the same training.',
                    file=voice.card.model["file"],
                ),
                "senseless",
            )
