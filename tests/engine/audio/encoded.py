"""Recordings in every container and encoding that can be read, made in memory; what can be expected of each."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
import numpy as np
import soundfile as sf

TRACK_RATE = 48_000
LAYOUTS = {1: "mono", 2: "stereo", 3: "3.0", 4: "quad", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"}
ANY_RATE = (8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000)
MPEG_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)


def tone(count: int, rate: int, channels: int = 1, hertz: float = 220.0) -> np.ndarray:
    """A sawtooth of ten harmonics that peaks at -12 dBFS, in each channel a little later: float32 (channels, count)."""
    time_s = np.arange(count) / rate
    waves = [
        sum(np.sin(2 * np.pi * hertz * k * (time_s - 1e-4 * channel)) / k for k in range(1, 11) if hertz * k < rate / 2)
        for channel in range(channels)
    ]
    return (0.25 * np.stack(waves) / np.abs(waves).max(initial=1e-9)).astype(np.float32)


def with_sndfile(samples: np.ndarray, rate: int, **options: Any) -> bytes:
    file = io.BytesIO()
    with sf.SoundFile(file, "w", rate, len(samples), **options) as opened:
        for first in range(0, samples.shape[1], 4096):  # its Vorbis encoder overflows the stack on more
            opened.write(samples.T[first : first + 4096])
    return file.getvalue()


def with_ffmpeg(
    samples: np.ndarray, rate: int, codec: str, container: str, starts: Sequence[int] | None = None, **options: str
) -> bytes:
    """Encode float32 (channels, n). starts: where the frames begin, if not one after another."""
    file = io.BytesIO()
    layout = LAYOUTS[len(samples)]
    with av.open(file, "w", format=container, options=options) as opened:
        stream: Any = opened.add_stream(codec, rate=rate, layout=layout)
        stream.codec_context.format = kind = stream.codec_context.codec.audio_formats[0]
        stream.codec_context.open()
        size = stream.codec_context.frame_size or 1024
        for number, first in enumerate(range(0, samples.shape[1], size)):
            frame = _frame(samples[:, first : first + size], kind.name, layout)
            frame.sample_rate, frame.time_base = rate, Fraction(1, rate)
            frame.pts = first if starts is None else starts[number]
            opened.mux(stream.encode(frame))
        opened.mux(stream.encode(None))
    return file.getvalue()


def _frame(samples: np.ndarray, kind: str, layout: str) -> av.AudioFrame:
    scale = {"u8": (128, 128, np.uint8), "s16": (2**15, 0, np.int16), "s32": (2**31, 0, np.int32)}
    if kind.rstrip("p") in scale:
        factor, middle, integer = scale[kind.rstrip("p")]
        limits = np.iinfo(integer)
        values = np.rint(samples.astype(np.float64) * factor + middle).clip(limits.min, limits.max).astype(integer)
    else:
        values = samples.astype(np.float64 if kind.startswith("dbl") else np.float32)
    return av.AudioFrame.from_ndarray(
        np.ascontiguousarray(values if kind.endswith("p") else values.T.reshape(1, -1)), kind, layout
    )


def remuxed(content: bytes, kind: str, container: str) -> bytes:
    """Put the packets of a recording into another container."""
    file = io.BytesIO()
    with av.open(io.BytesIO(content), format=kind) as source, av.open(file, "w", format=container) as target:
        stream = target.add_stream_from_template(source.streams.audio[0])
        for packet in source.demux(source.streams.audio[0]):
            if packet.size:
                packet.stream = stream
                target.mux(packet)
    return file.getvalue()


def several(sounds, container="matroska", codec="pcm_s16le", default=0, codecs=(), titles=(), **options) -> bytes:
    """A file with these sounds (1, n) as its tracks; default: the place of the one that players play."""
    file = io.BytesIO()
    with av.open(file, "w", format=container, options=options) as opened:
        names = codecs or [codec] * len(sounds)
        tracks: list[Any] = [opened.add_stream(one, rate=TRACK_RATE, layout="mono") for one in names]
        for number, track in enumerate(tracks):
            track.codec_context.format = track.codec_context.codec.audio_formats[-1]
            track.disposition = int(number == default)
            if titles:
                track.metadata["title"], track.metadata["language"] = titles[number], "deu"
        for first in range(0, sounds[0].shape[1], 960):
            for track, samples in zip(tracks, sounds, strict=True):
                opened.mux(track.encode(_frame_at(track, samples[:, first : first + 960], first)))
        for track in tracks:
            opened.mux(track.encode(None))
    return file.getvalue()


def _frame_at(track: Any, samples: np.ndarray, first: int) -> av.AudioFrame:
    kind = track.codec_context.format.name
    integer = {"s16": np.int16, "s32": np.int32}.get(kind.rstrip("p"))
    full = 1.0 if integer is None else float(np.iinfo(integer).max) - 200.0
    values = np.ascontiguousarray((full * samples).astype(integer or np.float32))
    frame = av.AudioFrame.from_ndarray(values, kind, "mono")
    frame.sample_rate, frame.pts, frame.time_base = TRACK_RATE, first, Fraction(1, TRACK_RATE)
    return frame


@dataclass(frozen=True)
class Kind:
    """A container with an encoding, by FFmpeg's names, and how to write it.

    rates: those it can have; read_rate: what it is read at, if always the same. longer, shorter: samples by which it
    may be read longer or shorter than it was, where neither its packets nor its header say better. step: the largest
    error of a sample relative to full scale; None for lossy encodings, whose level may differ by `level_db` down to
    `floor_db`.
    """

    container: str
    codec: str
    write: Callable[[np.ndarray, int], bytes]
    channels: int = 8
    rates: tuple[int, ...] = ANY_RATE
    read_rate: int = 0
    longer: int = 0
    shorter: int = 0
    step: float | None = None
    level_db: float = 0.5
    floor_db: float = -80.0

    def __str__(self) -> str:
        return f"{self.container}-{self.codec}"


def _stored(container: str, codec: str, kind: str, subtype: str, step: float | None, **expected: Any) -> Kind:
    """A kind that libsndfile writes."""

    def encoded(samples: np.ndarray, rate: int) -> bytes:
        return with_sndfile(samples, rate, format=kind, subtype=subtype)

    return Kind(container, codec, encoded, step=step, **expected)


def _coded(container: str, codec: str, muxer: str, encoder: str = "", **expected: Any) -> Kind:
    """A kind that FFmpeg writes."""
    return Kind(container, codec, lambda samples, rate: with_ffmpeg(samples, rate, encoder or codec, muxer), **expected)


def _vorbis(container: str, muxer: str, **expected: Any) -> Kind:
    def write(samples: np.ndarray, rate: int) -> bytes:
        return remuxed(with_sndfile(samples, rate, format="OGG", subtype="VORBIS"), "ogg", muxer)

    return Kind(container, "vorbis", write, **expected)


S8, S16, S24 = 1.01 * 2.0**-7, 1.01 * 2.0**-15, 1.01 * 2.0**-23
_SUBTYPES = {"s16": ("PCM_16", S16), "s24": ("PCM_24", S24), "s32": ("PCM_32", S24)}
_SUBTYPES |= {"f32": ("FLOAT", 1e-9), "f64": ("DOUBLE", 1e-9)}
_LAW = {"level_db": 0.5, "floor_db": -60.0}
_TELEPHONE = {"channels": 1, "rates": (8_000,), "floor_db": -40.0}
_AAC_RATES = (*MPEG_RATES, 64_000, 88_200, 96_000)
_OPUS_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
_LOSSY = {"level_db": 1.5, "floor_db": -60.0}

KINDS = (
    *(_stored("wav", f"pcm_{name}le", "WAV", *subtype) for name, subtype in _SUBTYPES.items()),
    _stored("wav", "pcm_s24le", "RF64", "PCM_24", S24),
    _stored("wav", "pcm_u8", "WAV", "PCM_U8", S8),
    _stored("wav", "pcm_alaw", "WAV", "ALAW", None, **_LAW),
    _stored("wav", "pcm_mulaw", "WAV", "ULAW", None, **_LAW),
    _stored("wav", "adpcm_ms", "WAV", "MS_ADPCM", None, channels=2, level_db=1.5, floor_db=-40.0),
    _stored("wav", "adpcm_ima_wav", "WAV", "IMA_ADPCM", None, channels=2, level_db=1.5, floor_db=-40.0, longer=16_384),
    _stored("wav", "gsm_ms", "WAV", "GSM610", None, level_db=3.0, **_TELEPHONE),
    _coded("wav", "mp3", "wav", "libmp3lame", channels=2, rates=MPEG_RATES, longer=1105, **_LOSSY),
    _coded("wav", "mp2", "wav", channels=2, rates=MPEG_RATES[3:], longer=1152, **_LOSSY),
    *(_stored("aiff", f"pcm_{name}be", "AIFF", *subtype) for name, subtype in _SUBTYPES.items()),
    _stored("aiff", "pcm_s8", "AIFF", "PCM_S8", S8, longer=1),
    _stored("aiff", "pcm_alaw", "AIFF", "ALAW", None, longer=1, **_LAW),
    _stored("aiff", "pcm_mulaw", "AIFF", "ULAW", None, longer=1, **_LAW),
    _stored("aiff", "adpcm_ima_qt", "AIFF", "IMA_ADPCM", None, channels=2, level_db=1.5, floor_db=-40.0, longer=64),
    _stored("aiff", "gsm", "AIFF", "GSM610", None, level_db=3.0, longer=160, **_TELEPHONE),
    *(_stored("caf", f"pcm_{name}be", "CAF", *subtype) for name, subtype in _SUBTYPES.items()),
    _stored("caf", "pcm_mulaw", "CAF", "ULAW", None, **_LAW),
    _stored("caf", "pcm_alaw", "CAF", "ALAW", None, **_LAW),
    _coded("caf", "alac", "caf", channels=6, step=S16),  # that of libsndfile crashes
    _coded("caf", "flac", "caf", step=S16),
    *(_stored("w64", f"pcm_{name}le", "W64", *subtype) for name, subtype in _SUBTYPES.items()),
    _stored("w64", "pcm_alaw", "W64", "ALAW", None, **_LAW),
    _stored("w64", "pcm_mulaw", "W64", "ULAW", None, **_LAW),
    *(_stored("au", f"pcm_{name}be", "AU", *subtype) for name, subtype in _SUBTYPES.items()),
    _stored("au", "pcm_alaw", "AU", "ALAW", None, **_LAW),
    _stored("au", "pcm_mulaw", "AU", "ULAW", None, **_LAW),
    _stored("flac", "flac", "FLAC", "PCM_16", S16),
    _stored("flac", "flac", "FLAC", "PCM_24", S24),
    _stored("mp3", "mp3", "MP3", "MPEG_LAYER_III", None, channels=2, rates=MPEG_RATES, **_LOSSY),
    _coded("mp3", "mp2", "mp2", channels=2, rates=MPEG_RATES[3:], longer=2 * 1152, **_LOSSY),
    _stored("ogg", "vorbis", "OGG", "VORBIS", None, **_LOSSY),
    _stored("ogg", "opus", "OGG", "OPUS", None, channels=2, rates=_OPUS_RATES, read_rate=48_000, **_LOSSY),
    _coded("ogg", "opus", "ogg", "libopus", rates=(48_000,), **_LOSSY),
    _coded("ogg", "flac", "ogg", step=S16),
    _coded("aac", "aac", "adts", channels=6, rates=_AAC_RATES, longer=3 * 1024, **_LOSSY),
    _coded("mov", "aac", "ipod", channels=6, rates=_AAC_RATES, **_LOSSY),
    _coded("mov", "aac", "mov", channels=6, rates=_AAC_RATES, **_LOSSY),
    _coded("mov", "alac", "ipod", channels=6, step=S16),
    _coded("mov", "flac", "mp4", step=S16),
    _coded("mov", "opus", "mp4", "libopus", rates=(48_000,), **_LOSSY),
    _coded("mov", "mp3", "mov", "libmp3lame", channels=2, rates=MPEG_RATES[3:], longer=1152, shorter=48, **_LOSSY),
    _coded("mov", "ac3", "mp4", channels=6, rates=(32_000, 44_100, 48_000), longer=1536, shorter=256, **_LOSSY),
    _coded("mov", "eac3", "mp4", channels=6, rates=(32_000, 44_100, 48_000), longer=1536, shorter=256, **_LOSSY),
    _coded("mov", "pcm_s16le", "mov", step=S16),
    _coded("mov", "pcm_s24le", "mov", step=S24),
    _coded("mov", "pcm_f32le", "mov", step=1e-9),
    _coded("mov", "pcm_alaw", "mov", **_LAW),
    _coded("mov", "pcm_mulaw", "mov", **_LAW),
    _coded("mov", "mp2", "mp4", channels=2, rates=MPEG_RATES[3:], longer=2 * 1152, shorter=481, **_LOSSY),
    _coded("mov", "adpcm_ima_qt", "mov", channels=2, level_db=1.5, floor_db=-40.0, longer=64),
    _coded("mov", "amr_nb", "3gp", "libopencore_amrnb", level_db=6.0, longer=320, **_TELEPHONE),
    _coded("mpegts", "aac", "mpegts", channels=6, rates=_AAC_RATES, longer=1024, **_LOSSY),
    _coded("mpegts", "mp3", "mpegts", "libmp3lame", channels=2, rates=MPEG_RATES[3:], longer=3 * 1152, **_LOSSY),
    _coded("mpegts", "mp2", "mpegts", channels=2, rates=MPEG_RATES[3:], longer=2 * 1152, **_LOSSY),
    _coded("mpegts", "ac3", "mpegts", channels=6, rates=(32_000, 44_100, 48_000), longer=2 * 1536, **_LOSSY),
    _coded("mpegts", "eac3", "mpegts", channels=6, rates=(32_000, 44_100, 48_000), longer=2 * 1536, **_LOSSY),
    _coded("matroska", "opus", "webm", "libopus", rates=(48_000,), **_LOSSY),
    _coded("matroska", "opus", "matroska", "libopus", rates=(48_000,), **_LOSSY),
    _coded("matroska", "flac", "matroska", step=S16),
    _coded("matroska", "aac", "matroska", channels=6, rates=_AAC_RATES, longer=1024, **_LOSSY),
    _coded("matroska", "mp3", "matroska", "libmp3lame", channels=2, rates=MPEG_RATES, **_LOSSY),
    _coded("matroska", "ac3", "matroska", channels=6, rates=(32_000, 44_100, 48_000), longer=1536, **_LOSSY),
    _coded("matroska", "eac3", "matroska", channels=6, rates=(32_000, 44_100, 48_000), longer=1536, **_LOSSY),
    _coded("matroska", "mp2", "matroska", channels=2, rates=MPEG_RATES[3:], longer=2 * 1152, shorter=481, **_LOSSY),
    _coded("matroska", "alac", "matroska", channels=6, step=S16),
    _vorbis("matroska", "webm", longer=2048, shorter=1024, **_LOSSY),  # as FFmpeg cuts the OGG
    _coded("matroska", "pcm_s16le", "matroska", step=S16),
    _coded("matroska", "pcm_s24le", "matroska", step=S24),
)
