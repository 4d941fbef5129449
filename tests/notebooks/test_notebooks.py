"""The notebooks as they lie in git, and each of them run from top to bottom in a fresh kernel."""

import ast
import builtins
import importlib.util
import json
import os
import shlex
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from studio.settings.environment import HOME_VARIABLE
from tests.load.trial_service import TrialService, trial_service

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
WIDGET = "application/vnd.jupyter.widget-view+json"


def notebook(name: str) -> NotebookNode:
    return nbformat.read(ROOT / "notebooks" / name, as_version=4)


def code_cells(name: str) -> list[NotebookNode]:
    return [cell for cell in notebook(name).cells if cell.cell_type == "code"]


# ---- as they lie in git


def test_notebooks_folder_holds_exactly_the_known_notebooks():
    assert sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb")) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_holds_no_outputs_and_no_personal_metadata(name):
    text = (ROOT / "notebooks" / name).read_text(encoding="utf-8")
    content = json.loads(text)
    nbformat.validate(content)
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    assert set(content["metadata"]["language_info"]) == {"name"}
    for cell in content["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


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


# ---- where nothing is installed yet


def first_cell(name: str) -> str:
    return code_cells(name)[0].source


def test_first_cell_is_the_same_in_all_notebooks_and_names_the_repository():
    (source,) = {first_cell(name) for name in NAMES}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    published = project.get("urls", {}).get("Repository", "")
    where = f"git+{published}" if published else ""
    assert f'WHERE = "{where}"' in source  # once the project has an address, notebooks find it there


class Shell:
    """Instead of the notebook's: notes what would be installed."""

    def __init__(self) -> None:
        self.installed: list[str] = []

    def run_line_magic(self, magic: str, line: str, *_: Any) -> None:
        assert magic == "pip"
        self.installed.append(line.format(**self.namespace))

    namespace: dict[str, Any]


def run_first_cell(monkeypatch: pytest.MonkeyPatch, there: bool, where: str = "") -> list[str]:
    shell = Shell()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if there else None)
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    source = TransformerManager().transform_cell(first_cell(NAMES[0]).replace('WHERE = ""', f'WHERE = "{where}"'))
    shell.namespace = {}
    exec(compile(source, "first cell", "exec"), shell.namespace)
    return shell.installed


def test_first_cell_installs_nothing_if_the_engine_is_there(monkeypatch):
    assert run_first_cell(monkeypatch, there=True) == []


def test_first_cell_installs_the_checkout_it_runs_in(monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    (line,) = run_first_cell(monkeypatch, there=False)
    assert shlex.split(line)[-1] == str(ROOT)


def test_first_cell_installs_an_uploaded_zip_or_the_address(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="WHERE"):
        run_first_cell(monkeypatch, there=False)
    (tmp_path / "my folder").mkdir()
    monkeypatch.chdir(tmp_path / "my folder")
    Path("timbre-studio-main.zip").write_bytes(b"")
    (line,) = run_first_cell(monkeypatch, there=False)
    assert shlex.split(line)[-1] == str(tmp_path / "my folder" / "timbre-studio-main.zip")
    assert "--ignore-requires-python" in line  # Colab's Python is a later one
    (line,) = run_first_cell(monkeypatch, there=False, where="git+https://example.org/timbre")
    assert shlex.split(line)[-1] == "git+https://example.org/timbre"


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
    installs, prepares, begins = [cell for cell in ran.cells if cell.cell_type == "code"][:3]
    assert "retry_s=5.0" in begins.source
    begins.source = begins.source.replace("retry_s=5.0", "retry_s=0.1")  # it waits for a service that is starting
    gives_token = nbformat.v4.new_code_cell("import os; os.environ['TIMBRE_STUDIO_TOKEN'] = 'some-token'")
    ran.cells = [installs, prepares, begins, gives_token, deepcopy(begins)]
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(ran, timeout=CELL_S, kernel_name="python3", resources=place, allow_errors=True).execute()
    (without_token,), (without_service,) = ran.cells[2].outputs, ran.cells[4].outputs
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
