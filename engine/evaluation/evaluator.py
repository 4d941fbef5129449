"""Everything that scores of a conversion need of one recording: speaker, sound quality, words and performance.

Third-party networks, none of which takes part in converting: speaker embeddings by resemblyzer (Wan et al., 2018,
generalized end-to-end loss), DNSMOS (Reddy et al., 2021 and 2022) for quality without a reference, PocketSphinx
(Huggins-Daines et al., 2006) for words. All receive mono at 16 kHz.
"""

import importlib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.audio.files import Audio, Recording, audio_of
from engine.audio.resampling import resample
from engine.errors import AudioError, EngineError
from engine.evaluation.performance import EVALUATION_RATE, NOTHING_TO_SCORE, Performance, trace
from engine.forks import refuse_forked
from engine.installed import add_evaluation
from engine.reprs import Brief
from engine.texts import tr

EMBEDDING_LEVEL_DB = -30.0  # quieter recordings are raised to this before the speaker embedding
EVALUATION_PEAK = 0.7  # peak level that the quality and word networks receive


@dataclass(frozen=True, repr=False)
class Measurement(Brief):
    """Everything measured in one recording.

    - performance: pitch, voicing and level
    - embedding: float32 (256,) or None, of the speaker; None for a recording without any sound
    - ovrl, p808: DNSMOS, 1 to 5: overall, and as an ITU-T P.808 listening test would rate it
    - text: recognised words; None unless they were asked for
    """

    performance: Performance
    embedding: np.ndarray | None
    ovrl: float
    p808: float
    text: str | None


class Evaluator:
    """The networks that score conversions, loaded once for any number of recordings.

    Use it from one thread at a time.

    - words: false leaves out the speech recogniser, which is faster and needs no pocketsphinx and jiwer

    Raises EngineError naming a missing package and, like all methods, in a process forked after the engine was used.
    """

    def __init__(self, words: bool = True) -> None:
        """Load the networks."""
        refuse_forked()
        if words:
            import_package("pocketsphinx")
            import_package("jiwer")
        self._words = words
        self._dnsmos = import_package("speechmos.dnsmos")
        self._encoder = import_package("resemblyzer").VoiceEncoder("cpu", verbose=False)

    def measure(self, recording: Recording, words: bool = True) -> Measurement:
        """Measure a recording of seconds to minutes with every network, for `compare`; without `words`, none is
        recognised.

        Raises AudioError if it is not a recording, or has no samples.
        """
        audio = audio_of(recording)
        samples = _evaluation_samples(audio)
        ovrl, p808 = self._quality(samples)
        return Measurement(
            performance=trace(audio),
            embedding=self._embedding(samples),
            ovrl=ovrl,
            p808=p808,
            text=_recognise(samples) if words and self._words else None,
        )

    def embed(self, recording: Recording) -> np.ndarray | None:
        """Return the speaker embedding of a recording, float32 (256,) of length 1; None for silence.

        Raises AudioError if it is not a recording, or has no samples.
        """
        return self._embedding(_evaluation_samples(audio_of(recording)))

    def target_embedding(self, recordings: Iterable[Recording]) -> np.ndarray:
        """Average the speaker embeddings of a voice's recordings, ideally ten or more: float32 (256,), for `compare`.

        Raises AudioError if all are silent, or one is not a recording.
        """
        embeddings = [embedding for item in recordings if (embedding := self.embed(item)) is not None]
        if not embeddings:
            raise AudioError(tr("To compare with a voice, give at least one recording of it that is not silent."))
        mean: np.ndarray = np.mean(embeddings, axis=0)
        return mean

    def _embedding(self, samples: np.ndarray) -> np.ndarray | None:
        level = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))
        if level == 0.0:
            return None
        gain = max(1.0, 10 ** (EMBEDDING_LEVEL_DB / 20) / level)
        embedding: np.ndarray = self._encoder.embed_utterance((samples * gain).astype(np.float32))
        return embedding

    def _quality(self, samples: np.ndarray) -> tuple[float, float]:
        opinion = self._dnsmos.run(_at_evaluation_peak(samples), EVALUATION_RATE)
        return float(opinion["ovrl_mos"]), float(opinion["p808_mos"])


def _recognise(samples: np.ndarray) -> str:
    """Recognise English words in mono `samples` at EVALUATION_RATE; often none."""
    if not samples.any():
        return ""  # the recogniser would invent words
    # A new decoder for each recording, because it adapts, and scores must not depend on their order.
    decoder = import_package("pocketsphinx").Decoder(samprate=EVALUATION_RATE, loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw((_at_evaluation_peak(samples) * 32767).astype(np.int16).tobytes(), full_utt=True)
    decoder.end_utt()
    best = decoder.hyp()
    return str(best.hypstr) if best else ""


def _evaluation_samples(audio: Audio) -> np.ndarray:
    """Convert to mono at EVALUATION_RATE, float32 (samples,). Raises AudioError if there are no samples."""
    refuse_forked()
    if audio.sample_count == 0:
        raise AudioError(NOTHING_TO_SCORE)
    samples: np.ndarray = resample(audio.mono(), audio.rate, EVALUATION_RATE)
    return samples


def _at_evaluation_peak(samples: np.ndarray) -> np.ndarray:
    return (samples / (np.abs(samples).max() + 1e-9) * EVALUATION_PEAK).astype(np.float32)


def import_package(name: str) -> Any:
    """Import an optional package. Raises EngineError with the commands that install it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they import deprecated names of their dependencies
            return importlib.import_module(name)
    except ImportError as cause:
        raise EngineError(
            tr(
                "Full scores need the package {value}, which cannot be loaded ({cause}). Run: {install}",
                value=name.split(".")[0],
                cause=cause,
                install=add_evaluation(),
            )
        ) from cause
