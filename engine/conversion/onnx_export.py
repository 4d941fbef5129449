"""Export a voice of this studio for other programs: its networks as ONNX, with a reference host and an example.

The folder holds listener.onnx, voice.onnx, synthesizer.onnx, tables.npz, voice.json, host.py (see
`engine.conversion.onnx_host`, which documents the inputs), example.npz and the card.
"""

import copy
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.envelope import BANDS, loudness_of
from engine.analysis.windows import cut_windows
from engine.audio.files import Audio, read_audio
from engine.conversion import onnx_host
from engine.conversion.articulation import articulate
from engine.conversion.convert import base_on, chosen_transpose
from engine.conversion.preview import SAMPLE
from engine.conversion.renderer import ShapedMelody
from engine.conversion.rendering_step import RenderingStep, beyond
from engine.conversion.settings import ConversionSettings
from engine.errors import VoiceError
from engine.features.analysed_windows import AnalysedWindows
from engine.features.survey import survey_recording
from engine.installed import add_extra
from engine.networks.base import BaseModel
from engine.networks.envelope_decoder import EnvelopeDecoder, between_decoders, prosody_input
from engine.networks.layers import FrameConvolution
from engine.networks.spectral_frames import PIECE, cut_frames
from engine.networks.synthesizer import LARGEST_LIFT, LOWEST, UNVOICED, synthesize
from engine.texts import tr
from engine.units import HOP, SAMPLE_RATE
from engine.voices.card import CARD_FILE, card_text, new_voice_folder
from engine.voices.voice import Voice

_EXAMPLE_S = 2.0
_OPSET = 17


class _VoiceNetworks(nn.Module):
    """Features, their mean, prosody and timbre -> relative log envelope."""

    def __init__(self, base: BaseModel, decoder: EnvelopeDecoder, voice: Voice) -> None:
        super().__init__()
        self.content, self.decoder = base.content, decoder
        self.centre, self.contrast = nn.Parameter(voice.centre), nn.Parameter(voice.contrast)

    def forward(self, features: Tensor, mean: Tensor, prosody: Tensor, timbre: Tensor) -> Tensor:
        decoded = self.decoder(self.content(features, mean, prosody.shape[1]), prosody, timbre)
        return articulate(decoded, self.centre, self.contrast)


class _Listener(nn.Module):
    def __init__(self, base: BaseModel) -> None:
        super().__init__()
        self.listener = base.listener

    def forward(self, spectrum: Tensor) -> Tensor:
        return self.listener.encode(spectrum)


class _Filters(nn.Module):
    def __init__(self, base: BaseModel) -> None:
        super().__init__()
        self.synthesizer = base.synthesizer

    def forward(self, envelope: Tensor, hertz: Tensor, voicing: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.synthesizer.filters(envelope, hertz, voicing)


class _AnyLength(nn.Module):
    """The convolution of a FrameConvolution as it is: the images of the faster one have a fixed number of rows."""

    def __init__(self, convolution: nn.Conv1d) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, sequence: Tensor) -> Tensor:
        return self.convolution(sequence.transpose(1, 2)).transpose(1, 2)


def export_onnx(voice: Voice, folder: Path, accent: float = 1.0) -> Path:
    """Write the voice as ONNX into a new folder, replaced if it exists, and return it.

    accent: as in ConversionSettings; it is fixed in the export. Raises VoiceError if the package onnx is missing, or
    the folder cannot be written.
    """
    try:
        import onnx  # noqa: F401 - what PyTorch writes with
    except ImportError as cause:
        raise VoiceError(tr("Exporting as ONNX needs a package: {install}.", install=add_extra("onnx"))) from cause
    base = base_on("cpu")
    decoder = between_decoders(base.decoder, voice.decoder, accent)
    content = {"features": torch.zeros(1, 100, 1024), "mean": torch.zeros(1, 1024)}
    performed = {"prosody": torch.zeros(1, 199, 3), "timbre": torch.zeros(1, 128)}
    melody = {"hertz": torch.full((1, 200), 200.0), "voicing": torch.ones(1, 200)}
    envelope = {"envelope": torch.zeros(1, 200, len(voice.centre))}
    with new_voice_folder(folder) as place:
        _write(_Listener(base), {"spectrum": torch.zeros(1, 80, 200)}, place / "listener.onnx")
        _write(_VoiceNetworks(base, decoder, voice), content | performed, place / "voice.onnx")
        _write(_Filters(base), envelope | melody, place / "synthesizer.onnx")
        np.savez(
            place / "tables.npz",
            mels=base.listener.mels.numpy(),
            bands_to_bins=base.synthesizer.bands_to_bins.numpy(),
            timbre=voice.timbre.numpy(),
        )
        facts = {"hop": HOP, "sample_rate": SAMPLE_RATE, "transform": PIECE, "accent": accent}
        facts |= {"beyond": beyond(voice, is_sung=True), "beyond_spoken": beyond(voice, is_sung=False)}
        facts |= {"floor": LOWEST, "largest_lift": LARGEST_LIFT, "unvoiced": UNVOICED}
        (place / "voice.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        (place / CARD_FILE).write_text(card_text(voice.card), encoding="utf-8")
        shutil.copyfile(onnx_host.__file__, place / "host.py")
        np.savez(place / "example.npz", **_example(base, voice, decoder))
    return folder


def _write(network: nn.Module, inputs: dict[str, Tensor], path: Path) -> None:
    network = copy.deepcopy(network)
    for one in list(network.modules()):
        for name, child in one.named_children():
            if isinstance(child, FrameConvolution):
                setattr(one, name, _AnyLength(child.convolution))
    moving = {"spectrum": 2, "features": 1, "prosody": 1, "envelope": 1, "hertz": 1, "voicing": 1}
    axes = {name: {moving[name]: f"{name}_frames"} for name in inputs if name in moving}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of branches that the trace takes for good
        torch.onnx.export(
            network,
            tuple(inputs.values()),
            str(path),
            input_names=list(inputs),
            dynamic_axes=axes,
            dynamo=False,
            opset_version=_OPSET,
        )


def _example(base: BaseModel, voice: Voice, decoder: EnvelopeDecoder) -> dict[str, Any]:
    """Return the inputs of a moment of the bundled recording, and the samples that the studio renders of them.

    They are those before loudness matching and consonant protection, which are no networks.
    """
    sample = read_audio(SAMPLE)
    moment = Audio(sample.samples[:, : round(_EXAMPLE_S * sample.rate)], sample.rate)
    survey = survey_recording([moment.samples], base)
    settings = ConversionSettings()
    (window,) = cut_windows([moment.samples])
    found = AnalysedWindows(base.listener).analyse(window)
    pitch = ShapedMelody(settings, chosen_transpose(settings, survey, voice)).take_pitch(0, 0, found.pitch)
    with torch.inference_mode():
        loudness = loudness_of(torch.from_numpy(found.envelope) - survey.level.nepers)
        features = torch.from_numpy(found.features.astype(np.float32))
        content = base.content(features[None], survey.feature_mean[None], len(pitch))
        prosody = prosody_input(torch.from_numpy(pitch.semitones), torch.from_numpy(pitch.voicing), loudness)
        timbre = voice.timbre + beyond(voice, survey.style == "melodic") * (voice.timbre - survey.timbre)
        step = RenderingStep(decoder, base.synthesizer, voice, torch.ones(BANDS))
        envelope = step.decode(content[0], prosody, timbre) + survey.level.nepers
        measured, all_of_it = torch.from_numpy(found.envelope), torch.ones(len(pitch))
        recorded = step.excitation(cut_frames(found.mid, len(pitch)), measured, pitch, all_of_it, settings)
    samples = synthesize(base.synthesizer, envelope.numpy(), pitch, recorded=recorded)
    tensors = {"features": features, "feature_mean": survey.feature_mean, "timbre": survey.timbre, "loudness": loudness}
    melody = {"hertz": pitch.hertz, "voicing": pitch.voicing, "spoken": np.bool_(survey.style != "melodic")}
    level = {"level_nepers": np.float32(survey.level.nepers)}
    recording = {"recording": found.mid, "recording_envelope": found.envelope, "samples": samples}
    return {name: one.numpy() for name, one in tensors.items()} | melody | level | recording
