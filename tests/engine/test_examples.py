"""Every public function of the engine says what it does, and the examples in what it says are true."""

import ast
import doctest
import importlib
import inspect
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.audio.files import Audio, read_audio, write_audio

ENGINE = Path(__file__).parents[2] / "engine"
SAMPLES = ENGINE / "samples"
LONG = {
    f"engine.training.train.{name}" for name in ("train", "train_dataset", "estimate_training")
}  # take more than a few seconds
# what users call; the rest of the engine may have examples, these must
CALLED_BY_USERS = {
    "analysis.notes": ("find_notes", "notes_as_midi"),
    "analysis.phrases": ("find_phrases",),
    "analysis.pitch": ("detect_pitch",),
    "analysis.recording": ("analyse", "analyse_file"),
    "analysis.timeline": ("pitch_table",),
    "audio.written_formats": ("refuse_unknown_suffix",),
    "audio.files": ("notes_of", "open_audio", "read_audio", "write_audio"),
    "audio.result_files": ("write_result",),
    "audio.stems": ("cut_recording",),
    "conversion.comping": ("comp", "comp_files", "joins", "parts_of", "refuse_other_recordings"),
    "conversion.convert": ("convert", "convert_file"),
    "conversion.pitch_edits": ("edit_pitch",),
    "conversion.preview": ("render_preview",),
    "conversion.rerendering": ("edit_file", "edit_take"),
    "conversion.settings": ("ConversionSettings", "by_style"),
    "datasets.dataset": ("create_dataset", "load_dataset"),
    "datasets.report": ("examine_recordings", "examined"),
    "datasets.teaching": ("bundled_sources", "refuse_as_teacher", "teaching_recordings"),
    "research.demonstrations.frame_features": ("measure_features",),
    "research.demonstrations.perturbation_trial": ("try_perturbation", "warp_voice"),
    "research.demonstrations.source_filter": ("take_apart",),
    "research.demonstrations.speaker_probe": ("probe_speakers",),
    "research.demonstrations.viewers": ("similar_moments", "source_filter_viewer"),
    "cores": ("usable_cores",),
    "devices": ("choose_device",),
    "installed": ("add_extra", "add_packages", "install_again", "installed_files", "shown_path"),
    "effects.processing": ("apply_effects", "apply_effects_to_file"),
    "effects.settings": ("EffectSettings", "effects_named", "effects_of"),
    "files": (
        "beside",
        "fitting_name",
        "names_that_fit",
        "on_track",
        "refuse_overwriting",
        "write_atomically",
        "writing_errors",
    ),
    "evaluation.performance": ("compare_performances", "score_performance", "trace"),
    "features.clips": ("analysed_clips",),
    "features.retrieval": ("nearest_frames",),
    "live.converter": ("LiveConverter",),
    "live.delay_measurement": ("expected_delay_s", "measure_live", "warm_up"),
    "live.pipe": ("ask_for_real_time", "real_time", "short_searches"),
    "live.session": ("convert_recording", "live_statement"),
    "research.demonstrations.content_plots": ("plot_perturbation_trial", "plot_speaker_probes"),
    "plots.recording": ("look_at", "plot_file", "plot_recording"),
    "plots.report": ("plot_data_report",),
    "plots.training": ("plot_learning_curves",),
    "provenance.verification": ("statement_of", "verify"),
    "rvc.sources": ("contentvec_path",),
    "songs.alignment": ("align",),
    "songs.mixing": ("mix_files",),
    "songs.part_conversion": ("convert_parts",),
    "songs.parts": ("read_parts",),
    "songs.separator_file": ("checked_separator", "separator_state"),
    "songs.song": ("make_song",),
    "spelling": ("nearest", "pasted_path"),
    "songs.two_pitches": ("find_two_pitches",),
    "training.history": ("history_from_json", "read_history"),
    "training.plan": ("TrainingPlan",),
    "training.teaching": ("teach",),
    "training.train": ("estimate_training", "train", "train_dataset", "usable_clips"),
    "training.untrained": ("untrained_of", "untrained_voice"),
    "units": ("note_name", "note_number", "rounded_duration"),
    "voices.blend": ("blend_voices",),
    "voices.card": ("list_voices", "new_identifier"),
    "voices.imported": ("load_any_voice",),
    "voices.package": ("export_voice", "import_voice"),
    "voices.voice": ("load_voice", "save_voice"),
}
# needs networks that are installed apart from the rest
WITHOUT_EXAMPLE = {
    "engine.archives.extract_archive",
    *(  # how a command begins
        f"engine.torch_loading.{name}"
        for name in ("begin_loading_torch", "load_for_graphics", "postpone_parts_of_torch")
    ),
    "engine.voices.voice.prepare_base",
    "engine.cores.prepare_torch",
    "engine.evaluation.scores.compare",
    *(f"engine.installed.{name}" for name in ("install_from", "newest_in_index", "origin")),  # of the program itself
    "engine.settings.from_values",
    *(f"engine.texts.{mark}" for mark in ("tr", "ntr", "numeral", "joined")),  # marks of our own texts
}
# what a class's docstring, or that of the protocol it keeps to, already says
_SAID_BY_THE_CLASS = {
    "forward",
    "backward",
    "chunks",
    "blocks",
    "rate",
    "channels",
    "close",
    "write",
    "finish",
    "abandon",
}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ENGINE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = sorted(ENGINE.rglob("*.py"))
WITH_EXAMPLES = [module_name(path) for path in MODULES if ">>>" in path.read_text(encoding="utf-8")]


def examples() -> list[doctest.DocTest]:
    """Of all modules that have any."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [one for name in WITH_EXAMPLES for one in finder.find(importlib.import_module(name), name)]
    return [one for one in found if one.examples]


def with_example() -> set[str]:
    """The full names of what users call."""
    return {f"engine.{module}.{name}" for module, names in CALLED_BY_USERS.items() for name in names}


def inherited(tree: ast.Module) -> set[str]:
    """The full names of methods that classes of a module override, where their base says what they do."""
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    methods = {name: {part.name for part in one.body if hasattr(part, "name")} for name, one in classes.items()}
    bases = {name: [ast.unparse(base) for base in one.bases] for name, one in classes.items()}
    return {f"{name}.{part}" for name in classes for base in bases[name] for part in methods.get(base, ())}


def public(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Public functions, classes and methods, with their names."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list):
                continue
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{node.name}.")


def test_public_functions_classes_and_methods_have_docstrings():
    offenders = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = inherited(tree)
        silent = [name for name, node in public(tree.body) if not ast.get_docstring(node) and name not in said]
        silent = [name for name in silent if "." not in name or name.split(".")[1] not in _SAID_BY_THE_CLASS]
        offenders += [f"{module_name(path)}.{name}" for name in silent]
    assert not offenders


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> Path:
    """What the examples speak of: vocal.flac, and the folder recordings."""
    folder = tmp_path_factory.mktemp("examples")
    singing = read_audio(SAMPLES / "singing.flac")
    write_audio(folder / "vocal.flac", Audio(singing.samples[:, : 3 * singing.rate], singing.rate))
    (folder / "recordings").mkdir()
    shutil.copy(SAMPLES / "singing.flac", folder / "recordings" / "one.flac")
    shutil.copy(SAMPLES / "foreign" / "singing-high.flac", folder / "recordings" / "two.flac")
    return folder


@pytest.mark.system
@pytest.mark.parametrize(
    "example",
    [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.name in LONG else []) for one in examples()],
)
def test_docstring_example_runs_as_written(example, recordings, tmp_path, monkeypatch):
    place = tmp_path / "place"
    shutil.copytree(recordings, place)
    monkeypatch.chdir(place)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=said.append)
    assert not runner.failures, "".join(said)


def test_functions_called_by_users_have_an_example():
    there = {one.name for one in examples()}
    assert not with_example() - there


def sources() -> Iterator[str]:
    """What our own users of the engine read: the Python of both READMEs, the notebooks, the commands."""
    for readme in (ENGINE.parent / "README.md", ENGINE / "README.md"):
        yield from re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    for path in sorted((ENGINE.parent / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
        yield code
    texts = [path.read_text(encoding="utf-8") for path in sorted((ENGINE.parent / "studio" / "commands").glob("*.py"))]
    yield from (text for text in texts if "import typer" in text)  # the commands, without what they are made of


def test_functions_called_in_readme_notebooks_and_commands_are_listed():
    imports = [
        (node.module or "", alias.name)
        for source in sources()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "engine"
        for alias in node.names
    ]
    used = [getattr(importlib.import_module(module), name) for module, name in imports if name != "widgets"]
    called = {f"{one.__module__}.{one.__name__}" for one in used if inspect.isfunction(one)}
    assert len(called) > 20
    assert not called - WITHOUT_EXAMPLE - with_example()
