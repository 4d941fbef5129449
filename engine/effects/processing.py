"""Apply effects to a finished vocal: noise reduction, EQ, de-esser, compressor and reverb.

pedalboard does the filters, the dynamics and the reverb, noisereduce the spectral gate. The result has exactly the
length, rate and channels of the original and its loudness (ITU-R BS.1770), so effects can be compared fairly. Files
are read in three passes, a block at a time: measure, run the chain for its loudness, run it again and write.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy import signal

from engine.analysis.loudness import limit_peaks
from engine.analysis.programme_loudness import LoudnessMeter
from engine.audio.channels import fold
from engine.audio.files import Audio, AudioWriter, Recording, audio_of, open_audio
from engine.audio.session_metadata import place_of
from engine.effects.settings import Effects, EffectSettings, effects_of
from engine.errors import AudioError
from engine.installed import add_packages
from engine.progress import Report, no_report
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.texts import tr

_PASSED_S = 10.0  # at a time: noise reduction begins anew with each block
_AROUND_S = 0.5  # of a block, that noise reduction also sees
_SIBILANCE_HERTZ = 5000.0
_PIECE_S = 0.05  # in which levels are measured
_NOISE_PIECES = 20  # the quietest ones are taken for the noise
_SILENT_DB = -100.0  # quieter is digital silence, which says nothing about noise
_QUIET_LUFS = -70.0
_LARGEST_GAIN_DB = 24.0
_LEAST_SAMPLES = 16  # that are given to pedalboard at a time

Blocks = Callable[[], Iterator[np.ndarray]]  # the recording from its beginning, float32 (channels, n)


@dataclass(frozen=True)
class Levels:
    """What the effects need to know about a recording before they begin."""

    lufs: float  # of the whole
    sibilance_db: float  # of the loudest sibilants, above _SIBILANCE_HERTZ
    noise: np.ndarray  # (samples,): its quietest pieces


def apply_effects(recording: Recording, effects: EffectSettings | Effects) -> Audio:
    """Apply effects to a finished vocal, at its loudness.

    Parameters
    ----------
    recording : Audio, Path, str or pair (samples, rate)
        The vocal.
    effects : EffectSettings, str or mapping
        All effects, the name of a preset (clean, vocal, speech, hall, off), or single ones by their names.

    Returns
    -------
    Audio
        With its length, rate and channels.

    Raises
    ------
    SettingsError
        For an unknown preset or a value outside its range.
    AudioError
        If it is not a recording, or the file cannot be read.

    Examples
    --------
    >>> apply_effects("vocal.flac", "hall").duration_s
    3.0
    """
    audio, settings = audio_of(recording), effects_of(effects)
    if settings.is_off:
        return audio
    size = round(_PASSED_S * audio.rate)
    chain = _prepared(lambda: audio.blocks(size), settings, audio.rate, audio.channels)
    return replace(audio, samples=np.concatenate(list(chain), axis=1))


def apply_effects_to_file(
    source: Path | str,
    target: Path | str,
    effects: EffectSettings | Effects,
    report: Report = no_report,
    statement: Statement | None = None,
    installation: Installation | None = None,
) -> None:
    """Apply effects to a file of any length, a block at a time.

    Parameters
    ----------
    source : Path or str
        The vocal.
    target : Path or str
        The suffix selects the format, as in AudioWriter.
    effects : EffectSettings, str or mapping
        As in `apply_effects`.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.
    statement, installation
        As in AudioWriter; the effects are added to the statement's settings.

    Raises
    ------
    AudioError
        If a file cannot be read or written; an existing target is left untouched then.
    SettingsError
        For an unknown preset or a value outside its range.

    Examples
    --------
    >>> apply_effects_to_file("vocal.flac", "hall.flac", "hall", print)
    1.0 applying effects
    """
    settings = effects_of(effects)
    with open_audio(source) as opened:
        rate, channels, count = opened.rate, opened.channels, opened.sample_count
    size = round(_PASSED_S * rate)

    def blocks() -> Iterator[np.ndarray]:
        with open_audio(source) as recording:
            yield from recording.blocks(size)

    if statement is not None:
        statement = stating_effects(statement, settings)
    written = 0
    with AudioWriter(target, rate, channels, statement, installation, place_of(Path(source))) as writer:
        for block in _prepared(blocks, settings, rate, channels):
            writer.write(block)
            written += block.shape[1]
            report(min(1.0, written / max(count or written, 1)), tr("applying effects"))


def stating_effects(statement: Statement, settings: EffectSettings) -> Statement:
    """Return the statement with the effects as one more setting."""
    return replace(statement, settings={**statement.settings, "effects": asdict(settings)})


def load_effects() -> None:
    """Load what the effects need, which takes seconds, so that the first of them is heard as soon as the next. Raises
    AudioError if pedalboard is not installed."""
    _pedalboard()
    import noisereduce  # noqa: F401


def _prepared(blocks: Blocks, settings: EffectSettings, rate: int, channels: int) -> Iterator[np.ndarray]:
    """Run the chain over the blocks at the loudness of the original."""
    levels = measure_levels(blocks(), rate, channels)
    meter = LoudnessMeter(rate, channels)
    for block in EffectChain(settings, rate, channels, levels).run(blocks()):
        meter.push(block)
    lufs = meter.lufs()
    wanted_db = 0.0 if lufs is None else float(np.clip(levels.lufs - lufs, -_LARGEST_GAIN_DB, _LARGEST_GAIN_DB))
    gain = np.float32(10.0 ** (wanted_db / 20.0))
    for block in EffectChain(settings, rate, channels, levels).run(blocks()):
        yield limit_peaks(block * gain)


def measure_levels(blocks: Iterator[np.ndarray], rate: int, channels: int) -> Levels:
    """Measure loudness, sibilance and the quietest pieces of a recording, one block at a time."""
    meter, split = LoudnessMeter(rate, channels), _Sibilance(rate, channels)
    length = max(1, round(_PIECE_S * rate))
    high_db: list[np.ndarray] = []
    quiet: list[tuple[float, np.ndarray]] = []
    for block in blocks:
        meter.push(block)
        high_db.append(_levels(_pieces(split.high(block), length)))
        pieces = _pieces(fold(block, rate)[None], length)
        levels = _levels(pieces).tolist()
        quiet += [(level, piece[0]) for level, piece in zip(levels, pieces, strict=True) if level > _SILENT_DB]
        quiet = sorted(quiet, key=lambda one: one[0])[:_NOISE_PIECES]
    lufs, high = meter.lufs(), np.concatenate([np.zeros(0), *high_db])
    return Levels(
        lufs=_QUIET_LUFS if lufs is None else lufs,
        sibilance_db=float(np.percentile(high, 98)) if len(high) else _QUIET_LUFS,
        noise=np.concatenate([np.zeros(0, np.float32), *(piece for _, piece in quiet)]),
    )


def _pieces(samples: np.ndarray, length: int) -> np.ndarray:
    """Return the whole pieces (pieces, channels, length) of samples (channels, n)."""
    whole = samples[:, : samples.shape[1] // length * length]
    return whole.reshape(len(samples), -1, length).swapaxes(0, 1)


def _levels(pieces: np.ndarray) -> np.ndarray:
    """Return the level of each piece in dB, by the mean power of its channels, (pieces,)."""
    return np.asarray(10.0 * np.log10(np.square(pieces, dtype=np.float64).mean((1, 2)) + 1e-12))


class EffectChain:
    """The effects with their state, for one pass over a recording; blocks keep their length."""

    def __init__(self, settings: EffectSettings, rate: int, channels: int, levels: Levels) -> None:
        self._settings, self._rate, self._levels = settings, rate, levels
        # reverb knows mono and stereo; of more channels each is on its own
        width = channels if channels <= 2 else 1
        self._parts = [_Plugins(settings, rate, width, levels) for _ in range(0, channels, width)]

    def run(self, blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the blocks of a whole recording with all effects, each as long as the original."""
        for block in self._denoised(blocks) if self._settings.denoise else blocks:
            rows = np.split(block, len(self._parts))
            yield np.concatenate([part.process(one) for part, one in zip(self._parts, rows, strict=True)])

    def _denoised(self, blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        """Reduce noise in blocks that overlap, since the spectral gate looks to both sides."""
        around = round(_AROUND_S * self._rate)
        before: np.ndarray | None = None
        block = next(blocks, None)
        while block is not None:
            after = next(blocks, None)
            parts = [block] if before is None else [before[:, -around:], block]
            start = 0 if before is None else parts[0].shape[1]
            yield self._gated(np.concatenate([*parts, *([] if after is None else [after[:, :around]])], 1))[
                :, start : start + block.shape[1]
            ]
            before, block = block, after

    def _gated(self, samples: np.ndarray) -> np.ndarray:
        if not len(self._levels.noise):
            return samples
        import noisereduce

        strength = {"prop_decrease": self._settings.denoise, "n_std_thresh_stationary": 1.5}
        noise = self._levels.noise
        gated = noisereduce.reduce_noise(y=samples, sr=self._rate, y_noise=noise, stationary=True, **strength)
        return np.asarray(gated, np.float32)


class _Plugins:
    """EQ, de-esser, compressor and reverb of one or two channels, with their state."""

    def __init__(self, settings: EffectSettings, rate: int, channels: int, levels: Levels) -> None:
        pedalboard = _pedalboard()
        self._rate = rate
        self._sibilance = _Sibilance(rate, channels) if settings.de_ess else None
        self._de_esser = pedalboard.Compressor(levels.sibilance_db - 8.0, 1.0 + 7.0 * settings.de_ess, 1.0, 60.0)
        self._equaliser = pedalboard.Pedalboard(_equaliser(pedalboard, settings, rate))
        self._rest = pedalboard.Pedalboard(_dynamics_and_room(pedalboard, settings, levels))

    def process(self, samples: np.ndarray) -> np.ndarray:
        """Process the next samples, float32 (channels, n), and return as many."""
        count = samples.shape[1]
        # of fewer it cannot tell channels from samples
        padded = np.pad(samples, ((0, 0), (0, max(0, _LEAST_SAMPLES - count))))
        equalised = self._equaliser(padded, self._rate, reset=False)
        if self._sibilance:
            high = self._sibilance.high(equalised)
            equalised = equalised - high + self._de_esser.process(high, self._rate, reset=False)
        return self._rest(equalised, self._rate, reset=False)[:, :count]


class _Sibilance:
    """Everything above _SIBILANCE_HERTZ; what is left is the recording less this, so both together are exact."""

    def __init__(self, rate: int, channels: int) -> None:
        cutoff = min(_SIBILANCE_HERTZ, 0.45 * rate)
        self._sections = signal.butter(2, cutoff, "highpass", fs=rate, output="sos")
        self._state = np.zeros((len(self._sections), channels, 2))

    def high(self, samples: np.ndarray) -> np.ndarray:
        """Filter the next samples, float32 (channels, n)."""
        high, self._state = signal.sosfilt(self._sections, samples, axis=1, zi=self._state)
        return high.astype(np.float32)


def _equaliser(pedalboard: Any, settings: EffectSettings, rate: int) -> list[Any]:
    plugins = []
    if settings.low_cut_hertz:
        # two first-order filters: 12 dB per octave
        plugins += [pedalboard.HighpassFilter(settings.low_cut_hertz) for _ in range(2)]
    if settings.low_db:
        plugins.append(pedalboard.LowShelfFilter(200.0, settings.low_db))
    if settings.middle_db:
        plugins.append(pedalboard.PeakFilter(2500.0, settings.middle_db, 0.8))
    if settings.high_db:
        plugins.append(pedalboard.HighShelfFilter(min(8000.0, 0.4 * rate), settings.high_db))
    return plugins


def _dynamics_and_room(pedalboard: Any, settings: EffectSettings, levels: Levels) -> list[Any]:
    plugins = []
    if settings.compressor_ratio > 1.0:
        threshold_db = levels.lufs + settings.compressor_threshold_db
        plugins.append(pedalboard.Compressor(threshold_db, settings.compressor_ratio, 5.0, 120.0))
    if settings.reverb:
        wet, dry = settings.reverb, 1.0 - 0.5 * settings.reverb
        # its dry signal is twice its level, its wet one three times
        plugins.append(pedalboard.Reverb(settings.reverb_size, 0.5, wet / 3.0, dry / 2.0, 1.0))
    return plugins


def _pedalboard() -> ModuleType:
    try:
        import pedalboard
    except ImportError as cause:
        raise AudioError(
            tr("Effects need the package pedalboard: {install}.", install=add_packages("pedalboard"))
        ) from cause
    return pedalboard
