"""Make the film that the README links: a phrase of a sample as it was sung, and converted to two demo voices.

    .venv-test/bin/python .github/listen.py        # writes .github/pictures/listen.mp4 and listen.png

A site that shows the README plays a film, and no sound file. Each row is one rendering: waveform and pitch; a line
moves through the row that sounds. The rate of pictures is low and the picture still, so nearly all of the file is
sound.
"""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from engine import Audio, analyse, convert, load_voice, read_audio

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "pictures"
VOICES = ("kathleen", "goekhan")
PAUSE_S = 0.4
PICTURES_PER_S = 10
WIDTH, HEIGHT, DPI = 960, 400, 100
INK, PALE, PITCH = "#2b2b33", "#b9c3d6", "#d6336c"


def phrase() -> Audio:
    """Return the beginning of the sample, up to the quietest point between 5 and 7 s."""
    whole = read_audio(ROOT / "engine" / "samples" / "singing.flac")
    loudness = analyse(whole).loudness_db
    end_s = (500 + int(np.argmin(loudness[500:700]))) / 100
    return Audio(whole.samples[:, : round(end_s * whole.rate)], whole.rate)


def renderings() -> dict[str, Audio]:
    """Return what is heard, by its title: the phrase, and the phrase in each voice."""
    sung = phrase()
    heard = {"as it was sung": sung}
    for name in VOICES:
        voice = load_voice(name)
        heard[f"in the voice of {voice.card.name}"] = convert(sung, voice).takes[0].audio
    return heard


def picture(heard: dict[str, Audio]) -> tuple[np.ndarray, list[tuple[int, int, int, int]]]:
    """Draw a row for each rendering; returns RGB (height, width, 3) and the box of each row in pixels, from the top."""
    figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    rows = figure.subplots(len(heard), 1, sharex=True)
    figure.subplots_adjust(left=0.02, right=0.98, top=0.93, bottom=0.03, hspace=0.35)
    for axes, (title, audio) in zip(rows, heard.items(), strict=True):
        seconds = np.arange(audio.sample_count) / audio.rate
        axes.plot(seconds, audio.mono() / np.abs(audio.mono()).max(), color=PALE, linewidth=0.5)
        found = analyse(audio)
        pitch = axes.twinx()
        pitch.plot(found.times_s, found.pitch.masked_hertz, color=PITCH, linewidth=2)
        pitch.set_yscale("log")
        pitch.set_axis_off()
        axes.set_axis_off()
        axes.set_xlim(0, seconds[-1])
        axes.set_title(title, loc="left", color=INK, fontsize=11, pad=2)
    canvas.draw()
    boxes = [axes.get_window_extent() for axes in rows]
    drawn = np.asarray(canvas.buffer_rgba())[..., :3].copy()
    return drawn, [(int(box.x0), int(box.x1), int(HEIGHT - box.y1), int(HEIGHT - box.y0)) for box in boxes]


def write_film(path: Path, heard: dict[str, Audio]) -> np.ndarray:
    """Write picture and sound to `path`; returns the picture."""
    still, boxes = picture(heard)
    rate = next(iter(heard.values())).rate
    pause = np.zeros(round(PAUSE_S * rate), np.float32)
    pieces = [piece for audio in heard.values() for piece in (audio.mono(), pause)]
    sound = np.concatenate(pieces).astype(np.float32)
    starts_s = np.concatenate([[0.0], np.cumsum([audio.duration_s + PAUSE_S for audio in heard.values()])])
    with av.open(str(path), "w", options={"movflags": "faststart"}) as film:
        pictures = film.add_stream("libx264", rate=PICTURES_PER_S, options={"crf": "28", "preset": "veryslow"})
        pictures.width, pictures.height, pictures.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        voices = film.add_stream("aac", rate=rate, layout="mono")
        voices.bit_rate = 80_000
        for number in range(round(starts_s[-1] * PICTURES_PER_S)):
            shown = still.copy()
            now = number / PICTURES_PER_S
            for (left, right, top, bottom), (start, end) in zip(boxes, pairwise(starts_s), strict=True):
                share = (now - start) / (end - PAUSE_S - start)
                if 0 <= share <= 1:
                    place = left + round(share * (right - left))
                    shown[top:bottom, max(0, place - 1) : place + 2] = (43, 43, 51)
            frame = av.VideoFrame.from_ndarray(shown, "rgb24")
            frame.pts, frame.time_base = number, Fraction(1, PICTURES_PER_S)
            film.mux(pictures.encode(frame))
        frame = av.AudioFrame.from_ndarray(sound[None], "fltp", "mono")
        frame.rate, frame.pts = rate, 0
        film.mux(voices.encode(frame))
        for stream in (pictures, voices):
            film.mux(stream.encode(None))
    return still


def with_triangle(still: np.ndarray) -> np.ndarray:
    """Draw the sign for playing in the middle, so that the still picture says that it can be played."""
    shown = still.copy()
    row, column = np.mgrid[: still.shape[0], : still.shape[1]]
    away = np.hypot(row - still.shape[0] / 2, column - still.shape[1] / 2)
    shown[away < 46] = (43, 43, 51)
    right, down = column - (still.shape[1] / 2 - 14), row - still.shape[0] / 2
    shown[(right >= 0) & (np.abs(down) < (38 - right) * 0.62)] = 255
    return shown


def main() -> None:
    """Write the film and its picture."""
    FOLDER.mkdir(exist_ok=True)
    still = write_film(FOLDER / "listen.mp4", renderings())
    from PIL import Image

    image = Image.fromarray(with_triangle(still)).quantize(64)
    image.save(FOLDER / "listen.png", optimize=True)


if __name__ == "__main__":
    main()
