"""Read RVC models in ONNX: two dialects, told apart by the names of their inputs.

phone, phone_lengths, pitch, pitchf, ds, rnd     the noise of the latent is an input
feats, p_len, pitch, pitchf, sid                 the model draws it; its metadata may state the sample rate
"""

import json
import os
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import VoiceError
from engine.files import named, shown_name
from engine.rvc.configuration import CONTENT_WIDTHS, FRAME_RATE, LAYERS, RATES
from engine.rvc.foreign_files import beginning_of, refuse_foreign, refuse_other_encoder
from engine.rvc.messages import Arrays
from engine.rvc.onnx_graph import Graph, inspect_graph
from engine.rvc.sandbox import ModelFileError, no_such_speaker, run_apart, too_demanding
from engine.texts import tr

_TRIAL_FRAMES = 32
_SPARE_FRAMES = 2  # that a model may render more or less
_MOST_LATENT = 1024  # RVC: 192
_PICKLES = (b"PK", b"\x80")
_ELEMENT = {"tensor(float)": "float32", "tensor(float16)": "float16"}


@dataclass(frozen=True)
class OnnxInputs:
    """Names of the inputs; those that a dialect or a model without pitch lacks are empty."""

    content: str
    length: str
    pitch: str
    hertz: str
    speaker: str
    noise: str


@dataclass(frozen=True)
class OnnxModel:
    """What must be known to run one."""

    inputs: OnnxInputs
    content: int  # numbers per frame: 256, 768
    latent: int  # channels of the noise; 0 where the model draws it
    sample_rate: int
    precision: str  # float16, float32


_DIALECTS = (
    OnnxInputs("phone", "phone_lengths", "pitch", "pitchf", "ds", "rnd"),
    OnnxInputs("feats", "p_len", "pitch", "pitchf", "sid", ""),
)


def onnx_from_json(values: Any) -> OnnxModel:
    """Read the fields of a model. Raises VoiceError."""
    try:
        model = OnnxModel(**{**values, "inputs": OnnxInputs(**values["inputs"])})
    except (TypeError, KeyError) as cause:
        raise VoiceError(tr("The description of this ONNX model is damaged; import it again.")) from cause
    fits = model.content in CONTENT_WIDTHS.values() and model.sample_rate in RATES
    if not (fits and isinstance(model.latent, int) and 0 <= model.latent <= _MOST_LATENT):
        raise VoiceError(tr("The description of this ONNX model is damaged; import it again."))
    return model


def read_onnx(path: Path, speaker: int = 0) -> OnnxModel:
    """Inspect an ONNX file and run it with a speaker, in a process of its own. Raises ModelFileError."""
    return onnx_from_json(run_apart("engine.rvc.onnx_models:inspect", path, str(speaker)))


def inspect(source: str, name: str = "", speaker: str = "0") -> tuple[dict[str, Any], Arrays]:
    """Do the work of `read_onnx`, in the process where it is safe."""
    path = named(Path(source), name)
    refuse_foreign(path)
    if beginning_of(path).startswith(_PICKLES):
        raise ModelFileError(
            tr(
                '"{name}" is not an ONNX model: if it is an RVC model, rename it so that it ends in .pth.',
                name=shown_name(path),
            ),
            "not_a_model",
        )
    try:
        inspect_graph(path)  # before anything of it is run
        session = _session(source, 0)
        inputs = {one.name: one for one in session.get_inputs()}
        names = next((one for one in _DIALECTS if {one.content, one.length, one.speaker} <= inputs.keys()), None)
        if names is None:
            raise _no_model(path)
        known = {name: name if name in inputs else "" for name in asdict(names).values()}
        names = OnnxInputs(**{field: known[name] for field, name in asdict(names).items()})
        if set(inputs) - set(known) or bool(names.pitch) != bool(names.hertz):
            raise _no_model(path)
        said = session.get_modelmeta().custom_metadata_map
        stated = said | json.loads(said.get("metadata", "{}"))
        content = inputs[names.content]
        width = content.shape[2] if isinstance(content.shape[2], int) else int(stated.get("embChannels", 768))
        latent = inputs[names.noise].shape[1] if names.noise else 0
        latent = latent if isinstance(latent, int) else 192
        if width not in CONTENT_WIDTHS.values() or not 0 <= latent <= _MOST_LATENT:
            raise _no_model(path)
        model = OnnxModel(names, width, latent, 40_000, _ELEMENT[content.type])
        samples = session.run(None, _trial(model))[0].size
        _refuse_missing_speaker(path, session, model, int(speaker))
    except VoiceError:
        raise
    except Exception as cause:  # ONNX Runtime raises its own kinds
        raise too_demanding(shown_name(path)) if "alloc" in str(cause) else _no_model(path) from cause
    rate = samples * FRAME_RATE // _TRIAL_FRAMES
    if rate not in RATES:
        raise _no_model(path)
    versions = {width: version for version, width in CONTENT_WIDTHS.items()}
    refuse_other_encoder(shown_name(path), stated, LAYERS[versions[width]])
    return asdict(model) | {"sample_rate": rate}, {}


def _refuse_missing_speaker(path: Path, session: Any, model: OnnxModel, speaker: int) -> None:
    """Raise ModelFileError if the model cannot run with this speaker: how many its table has is stated nowhere."""
    if not speaker:
        return
    try:
        if speaker < 0:  # ONNX would count from the end
            raise IndexError
        session.run(None, _trial(model, speaker))
    except Exception as cause:  # ONNX Runtime raises its own kinds
        raise no_such_speaker(shown_name(path), speaker) from cause


def run(path: str, seed: int, frames: int, samples: int, **given: np.ndarray) -> tuple[None, Arrays]:
    """Return so many samples, float32, of a model that is given so many frames, in the process where it is safe."""
    try:
        session = _session(path, seed) if _graph(path).draws else _quiet_session(path)
        found = np.asarray(session.run(None, given)[0], np.float32).reshape(-1)
        if abs(len(found) - samples) > _SPARE_FRAMES * samples // frames:
            raise ValueError(f"{len(found)} samples instead of {samples}")
    except VoiceError:
        raise
    except Exception as cause:  # ONNX Runtime raises its own kinds
        if "alloc" in str(cause):
            raise MemoryError from cause
        raise VoiceError(
            tr(
                "This ONNX model does not run with {frames} frames: it must be one file, and accept any number of "
                "them. Import the .pth that it was made from.",
                frames=frames,
            )
        ) from cause
    return None, {"samples": np.pad(found[:samples], (0, max(0, samples - len(found))))}


@lru_cache(maxsize=1)
def _graph(path: str) -> Graph:
    """Read the graph once, before anything of the model is run, whoever imported it, and when."""
    return inspect_graph(Path(path))


@lru_cache(maxsize=1)
def _quiet_session(path: str) -> Any:
    """Load an ONNX model without random nodes, once."""
    return _session(path, 0)


def _session(path: str, seed: int) -> Any:
    """Load an ONNX model so that its random nodes begin at a seed: they take it when the session is made."""
    import onnxruntime

    onnxruntime.set_seed(seed)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.use_deterministic_compute = True
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    options.add_session_config_entry("session.load_model_format", "ONNX")  # not its own, which is not checked
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _trial(model: OnnxModel, speaker: int = 0) -> dict[str, np.ndarray]:
    names, frames = model.inputs, _TRIAL_FRAMES
    drawn = np.random.default_rng(0).standard_normal
    given = {
        names.content: drawn((1, frames, model.content), np.float32).astype(model.precision),
        names.length: np.array([frames], np.int64),
        names.speaker: np.array([speaker], np.int64),
    }
    if names.pitch:
        given[names.pitch] = np.full((1, frames), 60, np.int64)
        given[names.hertz] = np.full((1, frames), 220.0, model.precision)
    if names.noise:
        given[names.noise] = drawn((1, model.latent, frames), np.float32).astype(model.precision)
    return given


def _no_model(path: Path) -> ModelFileError:
    return ModelFileError(
        tr(
            '"{name}" is not an RVC model in ONNX that can be run here (one file, with the inputs of RVC or of '
            "w-okada, at 32, 40 or 48 kHz): import the .pth that it was made from.",
            name=shown_name(path),
        ),
        "not_a_model",
    )
