"""The notebooks as they lie in git, and each of them run from top to bottom in a fresh kernel."""

import ast
import base64
import importlib.util
import json
import os
import re
from collections.abc import Iterator
from copy import deepcopy
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

from engine import Audio
from studio.load.trial_service import TrialService, trial_service
from studio.settings.environment import HOME_VARIABLE

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
NAMES = (
    "1_listen_and_look.ipynb",
    "2_convert.ipynb",
    "3_create_and_train.ipynb",
    "4_under_the_hood.ipynb",
    "5_the_service.ipynb",
)
CELL_S = 600
MOST_BYTES = 700_000  # of a notebook with what it shows
WIDGET = "application/vnd.jupyter.widget-view+json"


def program(path: Path) -> ModuleType:
    """A module that stands in no package."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return loaded


run_notebooks = program(ROOT / ".github" / "run_notebooks.py")


def notebook(name: str) -> NotebookNode:
    return nbformat.read(ROOT / "notebooks" / name, as_version=4)


def code_cells(name: str) -> list[NotebookNode]:
    return [cell for cell in notebook(name).cells if cell.cell_type == "code"]


# ---- as they lie in git


def test_notebooks_folder_holds_exactly_the_known_notebooks():
    assert sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb")) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_holds_no_personal_metadata(name):
    text = (ROOT / "notebooks" / name).read_text(encoding="utf-8")
    content = json.loads(text)
    nbformat.validate(content)
    assert set(content["metadata"]) == {"kernelspec", "language_info", "timbre_studio"}
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    assert set(content["metadata"]["language_info"]) == {"name"}
    for cell in content["cells"]:
        assert cell["metadata"] == {}
        assert cell.get("execution_count") is None
    assert not re.search(r"/(tmp|home|root|work|Users)/", text)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_shows_what_its_code_shows_at_first(name):
    """As .github/run_notebooks.py keeps it: pictures and sounds, small, and nothing that only draws where it runs."""
    assert "code" not in run_notebooks.stale(ROOT / "notebooks" / name), f"Run .github/run_notebooks.py {name}."
    shown = [output for cell in code_cells(name) for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error" or WIDGET in output.get("data", {})]
    assert [output for output in shown if "<audio" in output.get("data", {}).get("text/html", "")]
    assert len((ROOT / "notebooks" / name).read_bytes()) < MOST_BYTES


def test_first_view_of_a_widget_is_its_pictures_texts_and_sounds():
    """Of a box as a notebook keeps it: a player of 9 s, a picture of 1,000 pixels, a slider."""
    seconds = np.arange(9 * 44_100) / 44_100
    sound = Audio(0.5 * np.sin(2 * np.pi * 220.0 * seconds, dtype=np.float32), 44_100).as_flac()
    picture = BytesIO()
    Image.fromarray(np.tile(np.arange(1000) % 250, (80, 1)).astype(np.uint8)).save(picture, "png")
    states = {
        "box": model("VBoxModel", children=[f"IPY_MODEL_{name}" for name in ("label", "sound", "slider", "picture")]),
        "label": model("HTMLModel", value="<b>as it was sung</b>"),
        "sound": model("AudioModel", sound),
        "slider": model("FloatSliderModel", value=3.0),
        "picture": model("ImageModel", picture.getvalue()),
    }
    text, image = run_notebooks.merged(list(run_notebooks.first_view("box", states)))
    assert text["data"]["text/html"].startswith("<b>as it was sung</b>\n<audio controls")
    encoded = BytesIO(base64.b64decode(re.search('base64,([^"]+)', text["data"]["text/html"])[1]))
    with av.open(encoded) as opened:
        assert opened.streams.audio[0].codec_context.name == "aac"
        assert float(opened.duration / av.time_base) == pytest.approx(3.0, abs=0.2)
    assert Image.open(BytesIO(base64.b64decode(image["data"]["image/jpeg"]))).size == (840, 67)


def model(name: str, content: bytes = b"", **state: Any) -> dict[str, Any]:
    """A widget as it is saved."""
    buffers = [{"encoding": "base64", "path": ["value"], "data": base64.b64encode(content).decode()}] if content else []
    return {"model_name": name, "state": state, "buffers": buffers}


def test_stale_tells_changed_code_from_the_same(tmp_path):
    path = tmp_path / "1.ipynb"
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    written.metadata[run_notebooks.MADE_FROM] = run_notebooks.made_from(written)
    nbformat.write(written, path)
    assert run_notebooks.stale(path) == []
    written.cells[0].source = "1 + 2"
    nbformat.write(written, path)
    assert run_notebooks.stale(path) == ["code"]


@pytest.mark.parametrize("name", NAMES)
def test_notebook_has_a_title_explanations_and_short_cells(name):
    cells = notebook(name).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith(f"# {name[0]}. ")
    assert sum(cell.cell_type == "markdown" for cell in cells) >= 5
    assert all(len(cell.source.splitlines()) <= 22 for cell in cells)


def test_notebooks_start_no_page_and_ask_for_no_input():
    sources = {name: "\n".join(cell.source for cell in code_cells(name)) for name in NAMES}
    forbidden = ("gradio", "uvicorn", "subprocess", "os.system", "run_server", "input(", "getpass")
    assert not [(name, word) for name, source in sources.items() for word in forbidden if word in source]


# ---- from top to bottom


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path) -> None:
    """Nothing of the user's installation, quiet networks, and no service but the test's."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    for name in [name for name in os.environ if name.startswith("TIMBRE_STUDIO_") and name != HOME_VARIABLE]:
        monkeypatch.delenv(name)


def run(name: str, folder: Path) -> NotebookNode:
    """The notebook with its outputs, run in `folder` as by somebody who presses 'run all' and does nothing else.

    It is left there with its outputs, for whoever wants to see them.
    """
    ran = notebook(name)
    client = NotebookClient(ran, timeout=CELL_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    try:
        client.execute()
    finally:
        nbformat.write(ran, folder / name)
    return ran


def outputs(ran: NotebookNode, kind: str) -> list[Any]:
    """All that is shown of a kind, such as image/png."""
    shown = [output for cell in ran.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output["data"][kind] for output in shown if kind in output.get("data", {})]


def refuse_noise(ran: NotebookNode) -> None:
    """No warnings or other text that nobody asked for."""
    noise = [
        output["text"] for cell in ran.cells for output in cell.get("outputs", []) if output["output_type"] == "stream"
    ]
    assert not noise


@pytest.mark.filterwarnings("default")  # of the client, in the test's own process
@pytest.mark.parametrize(
    ("name", "widgets", "tables", "pictures"),
    [
        ("1_listen_and_look.ipynb", 4, 3, 1),
        ("2_convert.ipynb", 5, 1, 0),
        pytest.param("3_create_and_train.ipynb", 5, 2, 1, marks=pytest.mark.slow),
        pytest.param("4_under_the_hood.ipynb", 7, 1, 2, marks=pytest.mark.slow),
    ],
)
def test_notebook_runs_from_top_to_bottom(name, widgets, tables, pictures, tmp_path):
    ran = run(name, tmp_path)
    assert len(outputs(ran, WIDGET)) == widgets
    assert len(outputs(ran, "text/html")) == tables
    assert len(outputs(ran, "image/png")) == pictures
    refuse_noise(ran)


@pytest.fixture
def service(tmp_path) -> Iterator[TrialService]:
    with trial_service(tmp_path / "service", grace_s=1) as running:
        yield running


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_service_notebook_runs_from_top_to_bottom(service, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_ADDRESS", service.base_url)
    monkeypatch.setenv("TIMBRE_STUDIO_TOKEN", service.token())
    ran = run("5_the_service.ipynb", tmp_path)
    tables = outputs(ran, "text/html")
    assert "koguchi" in tables[0]
    assert "404" in tables[-1]
    assert len(list((tmp_path / "results").glob("*.wav"))) == 9
    refuse_noise(ran)


@pytest.mark.filterwarnings("default")
def test_service_notebook_explains_a_missing_token_and_an_unreachable_service(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_ADDRESS", "http://127.0.0.1:9")
    ran = notebook("5_the_service.ipynb")
    prepares, begins = [cell for cell in ran.cells if cell.cell_type == "code"][:2]
    assert "retry_s=5.0" in begins.source
    begins.source = begins.source.replace("retry_s=5.0", "retry_s=0.1")  # it waits for a service that is starting
    gives_token = nbformat.v4.new_code_cell("import os; os.environ['TIMBRE_STUDIO_TOKEN'] = 'some-token'")
    ran.cells = [prepares, begins, gives_token, deepcopy(begins)]
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(ran, timeout=CELL_S, kernel_name="python3", resources=place, allow_errors=True).execute()
    (without_token,), (without_service,) = ran.cells[1].outputs, ran.cells[3].outputs
    # as sentences, not as places in our code
    assert "There is no token: run" in without_token["data"]["text/html"]
    assert "cannot be reached: is the service running there?" in without_service["data"]["text/html"]


def imported(path: Path) -> set[str]:
    """Names of the modules that a module imports, anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_engine_and_studio_import_no_notebook_packages_outside_engine_widgets():
    """The rest of the engine and the studio run where neither ipywidgets nor IPython is installed."""
    paths = [path for package in ("engine", "studio") for path in (ROOT / package).rglob("*.py")]
    notebooks = (ROOT / "engine" / "widgets", ROOT / "engine" / "research" / "demonstrations")
    others = [path for path in paths if path.parent not in notebooks]
    unwanted = ("ipywidgets.", "IPython.", "engine.widgets.")
    assert not [(path, name) for path in others for name in imported(path) if f"{name}.".startswith(unwanted)]
