"""What `convert` loads: no more than a recording needs, as loading is most of the time of a first conversion."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from studio.commands.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(sys.modules)))
"""
# packages that a conversion of a file needs, and those that these load
NEEDED = {
    "typer", "babel", "sqlalchemy", "obstore", "structlog", "filelock", "platformdirs",  # command line and studio
    "numpy", "scipy", "torch", "safetensors", "soxr", "soundfile", "av",  # sound
    "pydantic", "c2pa", "cryptography", "lazy_loader",  # cards, credentials
}  # fmt: skip
LOADED_BY_THEM = {
    "annotated_doc", "annotated_types", "attr", "charset_normalizer", "click", "cython_runtime", "greenlet",
    "pydantic_core", "pygments", "pytz", "rich", "shellingham", "torchgen", "tqdm", "typing_extensions",
    "typing_inspection",
}  # fmt: skip
# of the engine and the studio, what a conversion does without
ROOMS_OF_OTHERS = (
    "engine.live", "engine.plots", "engine.widgets", "engine.research", "studio.http", "studio.page", "studio.server",
)  # fmt: skip
MODULES_OF_OTHERS = (
    "engine.effects.processing", "engine.training.train", "engine.training.teaching", "engine.evaluation.evaluator",
    "engine.songs.separation", "engine.networks.discriminator", "engine.networks.student", "studio.addresses",
    "studio.executors.local", "studio.executors.ray", "studio.executors.callback_sender", "alembic",
    "scipy.cluster.hierarchy",
)  # fmt: skip


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> set[str]:
    """The modules in a process that has converted a WAV file, where the studio's database was already there."""
    folder = tmp_path_factory.mktemp("first")
    source = folder / "a.wav"
    seconds = np.arange(3 * 16_000) / 16_000
    soundfile.write(source, 0.2 * np.sin(2 * np.pi * 220 * seconds + np.sin(2 * np.pi * 5 * seconds)), 16_000)
    environment = os.environ | {"TIMBRE_STUDIO_HOME": str(folder / "home")}

    def run(*arguments: str) -> str:
        call = [sys.executable, "-c", PROGRAM, *arguments]
        done = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("voices")
    told = run("convert", str(source), "--voice", "kathleen", "--transpose", "0", "-o", str(folder / "b.wav"))
    return set(json.loads(told.splitlines()[-1]))


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in sys.stdlib_module_names


def test_convert_loads_no_package_that_it_does_not_need(loaded):
    packages = set(filter(_is_public, (name.partition(".")[0] for name in loaded))) - {"engine", "studio"}
    assert sorted(packages - NEEDED - LOADED_BY_THEM) == []
    assert sorted(NEEDED - packages) == []  # what is not needed any more is taken off the list


def test_convert_loads_no_part_of_the_program_that_is_for_other_work(loaded):
    assert not [name for name in loaded if name.startswith(ROOMS_OF_OTHERS)]
    assert not {name for name in loaded if name.startswith(MODULES_OF_OTHERS)}
