"""The shape of the project, read from its files and its code."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine

ROOT = Path(__file__).parents[2]
TOP_LEVEL = set(
    "pyproject.toml README.md LICENSE requirements.txt packages.txt app.py studio notebooks engine tests".split()
)
DOTTED = {".ci", ".github", ".gitignore", ".gitattributes", ".oxlintrc.json", ".pre-commit-config.yaml"}
SHELL_ONLY = {"studio", "gradio", "fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "ray", "obstore"}
NAMELESS = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
SPEAKING = "engine/research/command.py"  # reports on the terminal
SETUP = (
    "python3.11 -m venv .venv && .venv/bin/pip install -q torch==2.13.0 && .venv/bin/pip install -q -e . "
    "&& .venv/bin/python app.py"
)
TESTS = (
    "python3.11 -m venv .venv-test && .venv-test/bin/pip install -q torch==2.13.0 "
    "&& .venv-test/bin/pip install -q -e '.[development,evaluation]' "
    "&& .venv-test/bin/python -m pip install -q --no-deps resemblyzer "
    "&& .venv-test/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder"
)


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


OURS = [*modules("engine"), *modules("studio")]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path, inside_functions: bool = True) -> Iterator[str]:
    """Dotted names of what a module imports; for `from a.b import c` both a.b and a.b.c, as c may be a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if inside_functions else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name_of(path)}:{node.lineno}: write imports from the top, not relative"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def top_imports(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


def calls(path: Path) -> Iterator[tuple[int, str, ast.Call]]:
    """(line, name as written, node) of every call in a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func), node


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if name]


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# ---- files


def test_repository_root_holds_the_agreed_files_and_folders():
    top = {name.split("/")[0] for name in tracked()}
    assert {name for name in top if not name.startswith(".")} == TOP_LEVEL
    assert {name for name in top if name.startswith(".")} <= DOTTED


def test_files_and_folders_have_no_vague_names_such_as_utils():
    named = [path for package in ("engine", "studio", "notebooks", "tests") for path in (ROOT / package).rglob("*")]
    assert not [name_of(path) for path in named if set(path.stem.lower().split("_")) & NAMELESS]


def test_tests_have_no_init_files():
    assert not [name_of(path) for path in modules("tests") if path.name == "__init__.py"]


def test_readme_contains_the_setup_and_test_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert SETUP in readme
    assert TESTS in readme


def test_requirements_of_the_hosted_space_match_the_project(project):
    elsewhere = ("gradio", "jupyterlab", "ipywidgets")  # the first by the host, the others are for notebooks
    wanted = [need for need in project["dependencies"] if not need.startswith(elsewhere)]
    assert (ROOT / "requirements.txt").read_text(encoding="utf-8").split("\n") == [*wanted, ""]
    assert wanted[0] == "torch==2.13.0"


# ---- imports go one way


def test_engine_imports_no_web_database_or_studio_modules():
    assert not [name_of(path) for path in modules("engine") if top_imports(path) & SHELL_ONLY]


def test_server_and_voice_actions_do_not_import_torch():
    """It answers while workers compute, so it should be small; what needs a network imports it when it is asked."""
    program = "import sys, studio.server, studio.actions.voices.voice; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def test_routes_and_tabs_do_not_import_database_storage_or_catalogue():
    made_of = {f"studio.store.{name}" for name in ("database", "tables", "storage", "catalogue", "workspaces")}
    tabs = [path for path in modules("studio/page") if path.parent.name not in {"page", "parts"}]
    faces = [*modules("studio/http/routes"), *tabs]
    assert tabs
    assert not [name_of(path) for path in faces if made_of & set(imports(path))]


def test_notebooks_do_not_import_studio_except_its_client():
    """Read as text, since a cell may hold commands of the notebook beside Python."""
    pattern = re.compile(r"\b(?:import|from)\s+(?:studio(?!\.client\b)|app|gradio)\b")
    notebooks = (ROOT / "notebooks").rglob("*.ipynb")
    assert not [name_of(path) for path in notebooks if pattern.search(path.read_text(encoding="utf-8"))]


def test_readme_notebooks_and_examples_import_names_directly_from_engine():
    """README files, notebooks and examples import names from `engine`, whatever room they live in."""
    shown = [ROOT / "README.md", *ROOT.glob("*/README.md"), *(ROOT / "notebooks").glob("*.ipynb"), *modules("engine")]
    elsewhere = r"(?!widgets\b|research\.demonstrations\b)"
    deep = re.compile(rf'(?:^|>>> |")\s*from engine\.{elsewhere}[\w.]+ import', re.MULTILINE)
    examples = {path: path.read_text("utf-8") for path in shown}
    for path in modules("engine"):
        examples[path] = "\n".join(line for line in examples[path].splitlines() if ">>>" in line)
    assert len(examples) > 100
    assert not [name_of(path) for path, text in examples.items() if deep.search(text)]


def test_engine_offers_each_name_once():
    """Two rooms may have a Part of their own; through one door only one would come."""
    stub = ast.parse((ROOT / "engine" / "__init__.pyi").read_text(encoding="utf-8"))
    offered = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert len(offered) > 50
    assert sorted(offered) == engine.__all__


def test_client_imports_nothing_from_studio_but_its_exchange():
    files = [ROOT / "studio" / "client.py", *(ROOT / "studio" / "exchange").glob("*.py")]
    ours = {name for path in files for name in imports(path) if name.startswith("studio")}
    assert all(name.startswith("studio.exchange") for name in ours)


def test_engine_and_studio_do_not_import_app_tests_or_notebooks():
    assert not [name_of(path) for path in OURS if top_imports(path) & {"app", "tests", "notebooks"}]


# ---- what the code may not do


def test_engine_and_studio_do_not_load_code_from_data():
    offenders = []
    for path in OURS:
        offenders += [f"{name_of(path)} imports {name}" for name in top_imports(path) & UNSAFE]
        for line, name, call in calls(path):
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            unsafe = name in ("eval", "exec") or (name == "torch.load" and given.get("weights_only") != "True")
            if unsafe or (name in ("np.load", "numpy.load") and given.get("allow_pickle", "False") != "False"):
                offenders.append(f"{name_of(path)}:{line} calls {name}")
    assert not offenders


def test_engine_does_not_print():
    silent = [path for path in modules("engine") if name_of(path) != SPEAKING]
    spoken = ("print", "sys.stdout.write", "sys.stderr.write")
    assert not [f"{name_of(path)}:{line}" for path in silent for line, name, _ in calls(path) if name in spoken]


def test_engine_has_no_global_statements():
    trees = {name_of(path): ast.walk(ast.parse(path.read_text("utf-8"))) for path in modules("engine")}
    assert not [
        f"{name}:{node.lineno}" for name, tree in trees.items() for node in tree if isinstance(node, ast.Global)
    ]


def test_modules_have_docstrings():
    trees = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in [*OURS, ROOT / "app.py"]}
    assert not [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)]


def length_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function, without its docstring."""
    documented = function.body[0] if ast.get_docstring(function) else None
    said = (documented.end_lineno or 0) - documented.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - said


def test_functions_have_at_most_60_lines():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    trees = {name_of(path): ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in OURS}
    functions = [(name, node) for name, tree in trees.items() for node in tree if isinstance(node, kinds)]
    assert not [f"{name}:{node.lineno} {node.name}" for name, node in functions if length_of(node) > 60]
