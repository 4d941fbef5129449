"""What elements of the page receive: declared in types.d.ts, kept to by their scripts and by what Python sends."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import studio
from studio.page.history.projects import project_row
from studio.page.history.rows import row_of
from studio.page.train.course import curves, state_rows
from studio.page.voices.report import about, head
from studio.store.records.codec import plain
from tests.records import Known
from tests.studio.page.history.test_rows import TASK
from tests.studio.page.train.test_course import RUNNING
from tests.studio.page.voices.test_report import VOICE

STATIC = Path(studio.__path__[0]) / "page" / "static"
TYPES = (STATIC / "types.d.ts").read_text(encoding="utf-8")
INSTALLED_WITHIN_S = 600.0
OF_PYTHON = {"take", "task"}  # of a track: what a download of it is asked for by


def fields_of(interface: str) -> tuple[set[str], set[str]]:
    """The names of all fields of an interface, and of those that must be there."""
    declared = re.search(rf"export interface {interface}(?: extends (\w+))? {{(.*?)\n?}}\n", TYPES, re.DOTALL)
    assert declared is not None, interface
    extends, body = declared.groups()
    flat = re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", "", body)  # of fields that are records themselves, only the name
    found = re.findall(r"(\w+)(\??):", flat)
    all_of, needed = {name for name, _ in found}, {name for name, optional in found if not optional}
    if extends:
        more, more_needed = fields_of(extends)
        return all_of | more, needed | more_needed
    return all_of, needed


def test_scripts_of_the_elements_keep_to_the_types():
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("tsc is not installed (npm install --global typescript).")
    checked(compiler)


@pytest.mark.slow
def test_scripts_of_the_elements_keep_to_the_types_of_a_fresh_compiler(tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed.")
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(tmp_path), "typescript@5"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=INSTALLED_WITHIN_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    checked(str(tmp_path / "node_modules" / ".bin" / "tsc"))


def checked(compiler: str) -> None:
    done = subprocess.run([compiler, "-p", STATIC / "jsconfig.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def keep_to(interface: str, *records: Mapping[str, Any]) -> None:
    known, needed = fields_of(interface)
    assert records
    for record in map(plain, records):
        assert needed <= set(record) <= known, (interface, needed - set(record), set(record) - known)


def test_rows_of_tasks_have_the_fields_that_their_element_reads():
    project = Known(
        {
            "id": "p",
            "name": "song",
            "file_name": "song.wav",
            "voices": ["Mia"],
            "changed_at": 0.0,
            "conversions": [TASK],
            "timeline": {"tempo_bpm": 120, "beats_per_bar": 4, "start_s": 1.0},
        }
    )
    row = project_row(project, "wav")
    keep_to("TaskOrProject", row)
    keep_to("Task", *row["rows"], row_of(TASK))
    keep_to("TaskAction", *row["actions"], *row_of(TASK)["actions"])
    keep_to("PlayerData", row["player"])
    for track in row["player"]["tracks"]:
        keep_to("Track", {name: value for name, value in track.items() if name not in OF_PYTHON})


def test_data_of_a_training_have_the_fields_that_their_elements_read():
    data = curves(RUNNING, 2)
    keep_to("CurvesData", data)
    keep_to("Chart", *data.charts)
    keep_to("CurveLine", *[line for chart in data.charts for line in chart.lines])
    keep_to("Fact", *state_rows(RUNNING))


def test_data_of_a_voice_have_the_fields_that_their_elements_read():
    keep_to("VoiceHead", head(VOICE))
    keep_to("Fact", *about(VOICE).rows)
