"""Run the notebooks, and keep what they show at first, so that it is seen where nothing runs.

    .venv-test/bin/python .github/run_notebooks.py                # all of them, some minutes each; or name some
    .venv-test/bin/python .github/run_notebooks.py --check        # exit status 1 if code or sound have changed since

Where a notebook is only shown, widgets are not drawn. So the first view of each is kept as ordinary outputs: pictures,
fewer in pixels, its texts, and its sounds, short and compressed. Controls are left out: they come with a run.
"""

import argparse
import base64
import hashlib
import html
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import nbformat
import numpy as np
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

from engine import Audio, read_audio
from studio.settings.environment import HOME_VARIABLE

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOUND = ROOT / "tests" / "engine" / "data" / "same_sound.json"  # the checksums of the sound, renewed when it changes
SERVICE = "5_the_service.ipynb"
MADE_FROM = "timbre_studio"  # in a notebook's metadata: digests of what its outputs were made from
CELL_S = 1800
WIDTH, QUALITY = 840, 70  # of a picture that is kept
SOUND_S, SOUND_RATE, SOUND_BITS = 3.0, 24_000, 32_000  # of a sound that is kept
VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"
BOXES = ("BoxModel", "VBoxModel", "HBoxModel")


def made_from(notebook: NotebookNode) -> dict[str, str]:
    """Return digests of a notebook's code, and of the sound of the engine."""
    code = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return {"code": digest(code.encode()), "sound": digest(SOUND.read_bytes())}


def digest(content: bytes) -> str:
    """Return a short digest."""
    return hashlib.sha256(content).hexdigest()[:16]


# ---- what is kept


def small_picture(png: bytes) -> str:
    """Return a picture with fewer pixels, as a JPEG in base64: of a spectrogram a PNG is three times as large."""
    image = Image.open(BytesIO(png)).convert("RGB")
    if image.width > WIDTH:
        image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    target = BytesIO()
    image.save(target, "jpeg", quality=QUALITY, optimize=True, subsampling=0)
    return base64.b64encode(target.getvalue()).decode()


def small_sound(encoded: bytes) -> str:
    """Return the beginning of a recording as AAC in MP4, as base64."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sound.flac"
        file.write_bytes(encoded)
        whole = read_audio(file)
    beginning = Audio(whole.samples[:, : round(SOUND_S * whole.rate)], whole.rate)
    samples = np.ascontiguousarray(beginning.mono()[None], np.float32)
    target = BytesIO()
    with av.open(target, "w", format="mp4") as sound:
        stream = sound.add_stream("aac", rate=SOUND_RATE, layout="mono")
        stream.bit_rate = SOUND_BITS
        frame = av.AudioFrame.from_ndarray(samples, "fltp", "mono")
        frame.rate, frame.pts = whole.rate, 0
        for piece in av.AudioResampler("fltp", "mono", SOUND_RATE).resample(frame):
            sound.mux(stream.encode(piece))
        sound.mux(stream.encode(None))
    return base64.b64encode(target.getvalue()).decode()


def shown_as_html(text: str) -> NotebookNode:
    """Return an output of HTML."""
    plain = re.sub(r"<[^>]*>", " ", text).split()
    return nbformat.v4.new_output("display_data", {"text/html": text, "text/plain": html.unescape(" ".join(plain))})


def shown_as_picture(png: bytes) -> NotebookNode:
    """Return an output of a small picture."""
    return nbformat.v4.new_output("display_data", {"image/jpeg": small_picture(png), "text/plain": "a picture"})


def first_view(model: str, states: dict[str, Any]) -> Iterator[NotebookNode]:
    """Yield what a widget shows at first as ordinary outputs: pictures, texts and sounds, in their order."""
    widget = states[model]
    state = widget["state"]
    content = b"".join(base64.b64decode(one["data"]) for one in widget.get("buffers", ()))
    match widget["model_name"]:
        case name if name in BOXES:
            for child in state.get("children", ()):
                yield from first_view(child.removeprefix("IPY_MODEL_"), states)
        case "ImageModel" if content:
            yield shown_as_picture(content)
        case "AudioModel" if content:
            source = f"data:audio/mp4;base64,{small_sound(content)}"
            yield shown_as_html(f'<audio controls src="{source}"></audio>')
        case "HTMLModel" if state.get("value"):
            yield shown_as_html(state["value"])


def merged(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the outputs, with pieces of HTML that follow each other as one."""
    pieces: list[str] = []
    for output in [*outputs, None]:
        if output is not None and set(output.get("data", ())) == {"text/html", "text/plain"}:
            pieces.append(output["data"]["text/html"])
            continue
        if pieces:
            yield shown_as_html("\n".join(pieces))
            pieces = []
        if output is not None:
            yield output


def kept(output: NotebookNode, states: dict[str, Any]) -> Iterator[NotebookNode]:
    """Yield what is kept of an output."""
    data = output.get("data", {})
    if VIEW in data:
        yield from first_view(data[VIEW]["model_id"], states)
    elif "image/png" in data:
        yield shown_as_picture(base64.b64decode(data["image/png"]))
    elif "text/html" in data:
        yield shown_as_html(data["text/html"])
    else:
        yield output


def keep_first_views(ran: NotebookNode, before: NotebookNode) -> None:
    """Put into the notebook `before` what it showed when it `ran`."""
    states = ran.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    for cell, done in zip(before.cells, ran.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs = list(merged([one for output in done.outputs for one in kept(output, states)]))
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output.output_type = "display_data"
    before.metadata[MADE_FROM] = made_from(before)


# ---- the command


def run(path: Path) -> None:
    """Run a notebook in a folder of its own, and keep its first views in it."""
    before = nbformat.read(path, as_version=4)
    ran = nbformat.read(path, as_version=4)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ |= {HOME_VARIABLE: str(folder / "home"), "IPYTHONDIR": str(folder / "ipython")}
        if path.name == SERVICE:
            from studio.load.trial_service import trial_service

            service = stack.enter_context(trial_service(folder / "service", grace_s=1))
            os.environ |= {"TIMBRE_STUDIO_ADDRESS": service.base_url, "TIMBRE_STUDIO_TOKEN": service.token()}
        place = {"metadata": {"path": str(folder)}}
        NotebookClient(ran, timeout=CELL_S, kernel_name="python3", resources=place).execute()
    keep_first_views(ran, before)
    nbformat.validate(before)
    nbformat.write(before, path)


def stale(path: Path) -> list[str]:
    """Name what a notebook's outputs were made from that has changed since."""
    notebook = nbformat.read(path, as_version=4)
    return [what for what, now in made_from(notebook).items() if notebook.metadata.get(MADE_FROM, {}).get(what) != now]


def main() -> int:
    """Run notebooks, or check them; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which of them (default: all)")
    parser.add_argument("--check", action="store_true", help="only say which are stale")
    options = parser.parse_args()
    paths = [NOTEBOOKS / name for name in options.names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    if options.check:
        old = {path.name: changed for path in paths if (changed := stale(path))}
        print("\n".join(f"{name}: its {' and '.join(changed)} changed" for name, changed in old.items()))
        return int(bool(old))
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    for path in paths:
        run(path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
