"""Phone labels for the pretraining corpus, from a small open recogniser.

The corpus has no transcripts. PocketSphinx (BSD; Huggins-Daines et al., 2006) first finds the most
likely words and then aligns their phones to the frames. The labels are wrong in places, which is
fine for what they are used for: an auxiliary loss that tells the content encoder which differences
between sounds carry meaning. Nothing of the recogniser is needed to convert.
"""

from typing import Any

import numpy as np

from engine.errors import TrainingError

PHONES = [
    "SIL", "AA", "AE", "AH", "AO", "AW", "AY", "B", "CH", "D", "DH", "EH", "ER", "EY", "F", "G", "HH", "IH", "IY", "JH",
    "K", "L", "M", "N", "NG", "OW", "OY", "P", "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH",
]  # fmt: skip
UNLABELLED = -1
FRAME_RATE = 100  # the recogniser's own frames per second, equal to the engine's grid
RECOGNISER_RATE = 16000


def label_phones(samples: np.ndarray) -> np.ndarray:
    """Index into PHONES for each 10 ms frame, int8, shape (frames,), UNLABELLED where nothing was recognised.

    samples: mono at 16 kHz, shape (samples,).
    Raises TrainingError if pocketsphinx is not installed.
    """
    try:
        from pocketsphinx import Decoder
    except ImportError as cause:
        sentence = "Phone labels need pocketsphinx: install the project with its 'evaluation' extra."
        raise TrainingError(sentence) from cause
    frame_count = len(samples) * FRAME_RATE // RECOGNISER_RATE
    labels = np.full(frame_count, UNLABELLED, np.int8)
    peak = np.abs(samples).max() if len(samples) else 0.0
    if peak == 0.0:
        return labels
    pcm = (samples / peak * 0.7 * 32767).astype(np.int16).tobytes()
    # A new decoder for each clip: it adapts to what it hears, and clips must not depend on their order.
    decoder = Decoder(samprate=RECOGNISER_RATE, loglevel="FATAL")
    try:
        _decode(decoder, pcm)
        if decoder.hyp() is None:
            return labels
        decoder.set_alignment()
        _decode(decoder, pcm)
        alignment = decoder.get_alignment()
    except RuntimeError:  # no path through the search: leave the clip unlabelled
        return labels
    for word in alignment or ():
        for phone in word:
            name = phone.name if phone.name in PHONES else "SIL"  # +SPN+, +NSN+ and the like are not speech
            labels[phone.start : phone.start + phone.duration] = PHONES.index(name)
    return labels


def _decode(decoder: Any, pcm: bytes) -> None:
    decoder.start_utt()
    decoder.process_raw(pcm, full_utt=True)
    decoder.end_utt()
