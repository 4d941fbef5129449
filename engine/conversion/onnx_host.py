"""Reference host of an exported voice: NumPy and ONNX Runtime alone, nothing of the studio.

Copied into every export; `python host.py FOLDER` renders example.npz and compares it with what the studio rendered.

    samples at 16 kHz --> log-mel spectrum --> listener.onnx --> features, every 20 ms
    features, their mean, prosody, timbre --> voice.onnx --> log envelope, every 10 ms
    envelope, pitch, voicing --> synthesizer.onnx --> filters of pulses and noise --> samples at 44.1 kHz
    recording / its envelope --> its own excitation, in place of both where it is voiced
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

_NOISE_BLOCK = 1 << 16


class Host:
    """An exported voice."""

    def __init__(self, folder: Path) -> None:
        self.facts: dict[str, Any] = json.loads((folder / "voice.json").read_text(encoding="utf-8"))
        self.tables = dict(np.load(folder / "tables.npz"))
        names = ("listener", "voice", "synthesizer")
        providers = ["CPUExecutionProvider"]
        self._networks = {
            name: onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=providers) for name in names
        }

    def features(self, samples: np.ndarray) -> np.ndarray:
        """Return features (frames, 1024) every 20 ms of mono samples at 16 kHz, at most 30 s, in whole seconds."""
        window, hop = np.hanning(401)[:-1].astype(np.float32), 160
        padded = np.pad(samples.astype(np.float32), 200, "reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, 400)[::hop][: len(samples) // hop]
        power = np.abs(np.fft.rfft(frames * window)) ** 2
        decades = np.log10(np.maximum(self.tables["mels"] @ power.T, 1e-10))
        spectrum = (np.maximum(decades, decades.max() - 8.0) + 4.0) / 4.0
        return self._run("listener", spectrum=spectrum)[0][0]

    def render(self, inputs: dict[str, np.ndarray], seed: int = 0) -> np.ndarray:
        """Return samples at 44.1 kHz, float32 ((frames - 1) * 441,).

        inputs: features (k, 1024) and feature_mean (1024,) over the recording; for each 10 ms frame: hertz
        (above 0, interpolated where unvoiced), voicing (0..1), loudness (nepers relative to level_nepers); timbre
        (128,) of the recording; level_nepers. Where the pitch is the recording's own, also recording (samples at
        44.1 kHz) and recording_envelope (frames, 108), its absolute log envelope: what it sounds like is then kept.
        spoken: whether the recording is speech, from which a voice that has only sung is pushed less far away.
        """
        hertz, voicing = inputs["hertz"].astype(np.float32), inputs["voicing"].astype(np.float32)
        loudness = inputs["loudness"]
        semitones = 69 + 12 * np.log2(hertz / 440.0)
        prosody = np.stack([(semitones - 57) / 12, voicing * 2 - 1, loudness.clip(-8, 2) / 2 + 1], 1)
        own, beyond = self.tables["timbre"], self.facts["beyond_spoken" if inputs.get("spoken") else "beyond"]
        timbre = own + beyond * (own - inputs["timbre"])
        given = {"features": inputs["features"], "mean": inputs["feature_mean"], "prosody": prosody, "timbre": timbre}
        envelope = self._run("voice", **given)[0][0] + inputs["level_nepers"]
        kept = inputs.get("recording"), inputs.get("recording_envelope")
        return self._synthesize(envelope, hertz, voicing, seed, *kept)

    def _synthesize(
        self,
        envelope: np.ndarray,
        hertz: np.ndarray,
        voicing: np.ndarray,
        seed: int,
        recording: np.ndarray | None,
        measured: np.ndarray | None,
    ) -> np.ndarray:
        found = self._run("synthesizer", envelope=envelope, hertz=hertz, voicing=voicing)
        harmonic, noise, phase = (one[0].astype(np.float64) @ self.tables["bands_to_bins"] for one in found)
        samples = (len(hertz) - 1) * self.facts["hop"]
        pulses = self._frames(self._pulses(hertz))
        hiss = self._frames(noise_at(samples, seed))
        spectra = pulses * np.exp(harmonic + 1j * (phase + self._minimum_phase(harmonic))) + hiss * np.exp(noise)
        if recording is not None and measured is not None:
            whole = np.pad(recording, (0, max(0, samples - len(recording))))[:samples]
            own = self._frames(whole) / self._response(measured.clip(self.facts["floor"]))
            own = own * self._response(np.minimum(envelope, measured + self.facts["largest_lift"]))
            share = 1.0 / (1.0 + np.exp(12.0 * (self.facts["unvoiced"] - voicing)))
            spectra = spectra + share[:, None] * (own - spectra)
        return self._overlap_add(spectra)

    def _response(self, envelope: np.ndarray) -> np.ndarray:
        log_gain = envelope.astype(np.float64) @ self.tables["bands_to_bins"]
        return np.exp(log_gain + 1j * self._minimum_phase(log_gain))

    def _pulses(self, hertz: np.ndarray) -> np.ndarray:
        """Return band-limited pulses of unit power density: all cosines below half the rate, in closed form."""
        hop, rate = self.facts["hop"], self.facts["sample_rate"]
        log = np.log2(hertz.astype(np.float64))
        share = np.arange(hop) / hop
        frequency = np.exp2(log[:-1, None] * (1 - share) + log[1:, None] * share).ravel()
        cycles = np.cumsum(frequency / rate)
        harmonics = 0.5 * rate / frequency
        whole = np.floor(harmonics)
        half = np.sin(np.pi * (cycles % 1.0))
        upper = np.sin(2 * np.pi * (((whole + 0.5) * (cycles % 1.0)) % 1.0))
        near_zero = np.abs(half) < 1e-4
        total = np.where(near_zero, whole, upper / (2 * np.where(near_zero, 1.0, half)) - 0.5)
        highest = np.cos(2 * np.pi * (((whole + 1) * (cycles % 1.0)) % 1.0))
        return (total + (harmonics - whole) * highest) * np.sqrt(2 * frequency / (0.5 * rate))

    def _frames(self, excitation: np.ndarray) -> np.ndarray:
        """Return windowed spectra of an excitation, frame i centred on sample i * hop."""
        hop = self.facts["hop"]
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(2 * hop) / (2 * hop))
        frames = np.lib.stride_tricks.sliding_window_view(np.pad(excitation, hop), 2 * hop)[::hop]
        return np.fft.rfft(frames * window, self.facts["transform"])

    def _minimum_phase(self, log_gain: np.ndarray) -> np.ndarray:
        size = self.facts["transform"]
        fold = np.zeros(size)
        fold[1 : size // 2], fold[0], fold[size // 2] = 2.0, 1.0, 1.0
        return np.fft.rfft(np.fft.irfft(log_gain, size) * fold).imag

    def _overlap_add(self, spectrum: np.ndarray) -> np.ndarray:
        hop, size = self.facts["hop"], self.facts["transform"]
        before, frames = (size - 2 * hop) // 4, len(spectrum)
        pieces = np.roll(np.fft.irfft(spectrum, size), before, 1)
        joined = np.zeros((frames - 1) * hop + size)
        for number, piece in enumerate(pieces):
            joined[number * hop : number * hop + size] += piece
        return joined[before + hop : before + hop + (frames - 1) * hop].astype(np.float32)

    def _run(self, network: str, **inputs: np.ndarray) -> list[np.ndarray]:
        """Run a network on inputs without their batch."""
        found = self._networks[network].run(None, {name: one[None].astype(np.float32) for name, one in inputs.items()})
        return [np.asarray(one) for one in found]


def noise_at(samples: int, seed: int) -> np.ndarray:
    """Return white noise, the studio's of this seed."""
    blocks = [
        np.random.Generator(np.random.Philox(key=[seed, block])).standard_normal(_NOISE_BLOCK, np.float32)
        for block in range(samples // _NOISE_BLOCK + 1)
    ]
    return np.concatenate(blocks)[:samples]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    example = dict(np.load(place / "example.npz"))
    wanted, rendered = example.pop("samples"), Host(place).render(example)
    error_db = 20 * np.log10(np.abs(rendered - wanted).max() / np.abs(wanted).max())
    sys.exit(0 if error_db < -60 else f"{error_db:.1f} dB from the studio's rendering")
