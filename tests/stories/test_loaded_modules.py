"""What commands load: no more than they need, as loading is most of the time of a first conversion."""

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
from studio.commands.beginning import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(sys.modules)))
"""
# packages that a conversion of a file needs, and those that these load
NEEDED = {
    *("typer", "sqlalchemy", "obstore", "filelock", "platformdirs"),  # command line and studio
    *("numpy", "scipy", "torch", "safetensors", "soxr", "soundfile", "av"),  # sound
    *("pydantic", "c2pa", "cryptography", "lazy_loader"),  # cards, credentials
}
LOADED_BY_THEM = {
    *("annotated_doc", "annotated_types", "click", "cython_runtime", "greenlet", "pydantic_core", "rich"),
    *("shellingham", "torchgen", "tqdm", "typing_extensions", "typing_inspection"),
}
# of the engine and the studio, what a conversion does without
ROOMS_OF_OTHERS = tuple(
    "engine.live engine.plots engine.widgets engine.research studio.http studio.page studio.server".split()
)
MODULES_OF_OTHERS = tuple(
    """
    engine.effects.processing engine.training.train engine.training.teaching engine.evaluation.evaluator
    engine.songs.separation engine.networks.discriminator engine.networks.student studio.addresses
    studio.executors.local studio.executors.ray studio.executors.callback_sender alembic numpy.f2py
    scipy.cluster.hierarchy sqlalchemy.dialects.postgresql torch._dynamo torch._decomp
    torch.distributions.normal torch.optim.adam torch.fx.passes
    """.split()
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> set[str]:
    """The modules in a process that has converted a WAV file, where the studio's database was already there."""
    folder = tmp_path_factory.mktemp("first")
    source = folder / "a.wav"
    seconds = np.arange(10 * 16_000) / 16_000  # long enough for two singers to be looked for
    soundfile.write(source, 0.2 * np.sin(2 * np.pi * 220 * seconds + np.sin(2 * np.pi * 5 * seconds)), 16_000)
    run(folder, "voices")
    return run(folder, "convert", str(source), "--voice", "kathleen", "--transpose", "0", "-o", str(folder / "b.wav"))


def run(folder: Path, *arguments: str) -> set[str]:
    """The modules in a process that has carried out a command of the studio in a folder."""
    environment = os.environ | {"TIMBRE_STUDIO_HOME": str(folder / "home")}
    call = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in sys.stdlib_module_names


def test_convert_loads_no_package_that_it_does_not_need(loaded):
    packages = set(filter(_is_public, (name.partition(".")[0] for name in loaded))) - {"engine", "studio"}
    assert sorted(packages - NEEDED - LOADED_BY_THEM) == []
    assert sorted(NEEDED - packages) == []  # what is not needed any more is taken off the list


def test_convert_loads_no_part_of_the_program_that_is_for_other_work(loaded):
    assert not [name for name in loaded if name.startswith(ROOMS_OF_OTHERS)]
    assert not {name for name in loaded if name.startswith(MODULES_OF_OTHERS)}


def test_convert_loads_no_package_of_scipy_but_its_compiled_parts(loaded):
    """Where it has one channel, and no pitch is edited: `engine.filters` has what it needs."""
    assert {name for name in loaded if name.startswith("scipy.") and name.count(".") == 1 and "._" not in name} == {
        "scipy.version"
    }


@pytest.mark.parametrize(("command", "beyond"), [("--help", {"sqlalchemy", "numpy.f2py"}), ("voices", {"alembic"})])
def test_commands_without_sound_load_nothing_for_it(tmp_path, command, beyond):
    run(tmp_path, "voices")  # makes the database
    for_sound = {"torch", "scipy", "librosa", "onnxruntime", "c2pa"}
    assert run(tmp_path, command) & (for_sound | beyond) == set()
