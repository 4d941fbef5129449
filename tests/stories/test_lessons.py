"""The lessons, followed: their commands and programs in order, and their sounds, pictures and reference made anew."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image
from playwright.sync_api import expect
from typer.testing import CliRunner

import engine
from studio.commands.cli import app
from studio.learn.site import FOLDER
from studio.settings.environment import HOME_VARIABLE, PREFIX
from tests import lessons
from tests.python_reference import TOPICS, names_of, python_pages
from tests.waiting import WORK_MS

ROOT = Path(__file__).parents[2]
RATE = 44_100
EPOCHS = {"100": "1"}  # what a test has no time for
# what cannot be done here: typed as far as its options go
ELSEWHERE = {
    "separation fetch": "a download",
    "convert song.mp3": "needs it",
    "rvc fetch": "a download",
    "rvc teach": "needs it",
    "voices import rita.pth": "a model of somebody's",
    "live --devices": "a sound card",
    "serve": "does not end",
    "pactl": "a sound server",
    "reaper": "a folder of REAPER",
}
_BLOCKS = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINES, _BANDS = 64, 24  # of a picture and a sound, when they are compared


def blocks(kind: str) -> dict[str, list[str]]:
    """The blocks of a kind by lesson, those that have any."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
    found = {name: [code for one, code in _BLOCKS.findall(text) if one == kind] for name, text in texts.items()}
    return {name: codes for name, codes in found.items() if codes}


def commands(codes: list[str]) -> Iterator[str]:
    yield from (line for code in codes for line in code.splitlines())


def is_elsewhere(line: str) -> bool:
    return any(line.removeprefix("timbre-studio ").startswith(start) for start in ELSEWHERE)


COMMANDS, PROGRAMS = blocks("sh"), blocks("python")


def environment(desk: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return kept | {HOME_VARIABLE: str(desk.parent / "home"), "PYTHONPATH": str(ROOT)}


def done(words: list[str], desk: Path) -> None:
    made = subprocess.run(
        words, cwd=desk, env=environment(desk), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert made.returncode == 0, f"{shlex.join(words)}\n{made.stdout}\n{made.stderr}"


@pytest.mark.system
@pytest.mark.parametrize("lesson", COMMANDS)
def test_commands_of_a_lesson_work_in_their_order(lesson, desk):
    timbre = [sys.executable, "-m", "studio"]
    lines = [line for line in commands(COMMANDS[lesson]) if not is_elsewhere(line)]
    if any("vocal.koguchi.wav" in line for line in lines) and lesson != "consent":  # from a lesson before
        done([*timbre, "convert", "vocal.wav", "--voice", "koguchi"], desk)
    if lesson == "team":
        for account in ("anna", "ben"):
            done([*timbre, "token", "create", "other", "--account", account], desk)
    for line in lines:
        words = [found for word in shlex.split(line)[1:] for found in expanded(word, desk)]
        done([*timbre, *(EPOCHS.get(word, word) for word in words)], desk)


def expanded(word: str, desk: Path) -> list[str]:
    """What a shell makes of a pattern."""
    return sorted(path.name for path in desk.glob(word)) if "*" in word else [word]


@pytest.mark.parametrize("line", sorted({line for codes in COMMANDS.values() for line in commands(codes)}))
def test_lines_of_lessons_are_commands_of_ours_with_options_that_exist(line):
    program, *words = shlex.split(line)
    if program != "timbre-studio":
        assert is_elsewhere(line)
        return
    answer = CliRunner().invoke(app, [*words, "--help"])
    assert answer.exit_code == 0, answer.output


def test_options_that_do_not_exist_are_noticed_beside_help():
    assert CliRunner().invoke(app, ["convert", "vocal.wav", "--voise", "x", "--help"]).exit_code == 2


def test_lessons_leave_little_untried():
    lines = [line for codes in COMMANDS.values() for line in commands(codes)]
    assert len(lines) > 45
    assert all(any(line.removeprefix("timbre-studio ").startswith(start) for line in lines) for start in ELSEWHERE)
    assert sum(map(is_elsewhere, lines)) < len(lines) / 4


@pytest.mark.system
@pytest.mark.parametrize("lesson", PROGRAMS)
def test_programs_of_a_lesson_run(lesson, desk):
    for code in PROGRAMS[lesson]:
        done([sys.executable, "-c", code], desk)
    assert (desk / "take2.wav").is_file()


def test_reference_is_what_the_code_says():
    written = {name: (FOLDER / name).read_text(encoding="utf-8") for name in lessons.reference()}
    assert written == lessons.reference(), "python -m tests.lessons writes it anew"


def test_reference_of_python_shows_everything_that_is_offered_once():
    shown = [name for topic in TOPICS for name in names_of(topic)]
    assert sorted(shown) == sorted(engine.__all__)
    assert all(names_of(topic) for topic in TOPICS)


def test_reference_of_python_shows_what_a_function_takes_gives_raises_and_an_example():
    entry = python_pages()["python-convert.md"].partition("## `convert`\n")[2].partition("\n## ")[0]
    assert "convert(recording, voice, settings=None, report=None, device='auto', threads=None, rate='source')" in entry
    assert "| `voice` | Voice, ImportedVoice, str or Path: Loaded, or as `load_any_voice` takes it" in entry
    for part in ("**Parameters**", "**Returns**", "**Raises**", "| `VoiceError` |", ">>> conversion = convert("):
        assert part in entry
    assert "### `Audio.mono`\n\n```\nAudio.mono()\n```" in python_pages()["python-audio.md"]


# ---- sounds and pictures


@pytest.mark.system
def test_sounds_of_the_lessons_are_those_of_the_engine(tmp_path):
    lessons.write_sounds(tmp_path)
    assert names(tmp_path) == names(lessons.SOUNDS)
    for path in tmp_path.iterdir():
        made, shown = outline(path), outline(lessons.SOUNDS / path.name)
        assert made.shape == shown.shape, path.name
        assert np.corrcoef(made.ravel(), shown.ravel())[0, 1] > 0.98, path.name


@pytest.mark.system
def test_sounds_of_the_lessons_can_be_told_apart():
    """So that a wrong one would be noticed by the test before."""
    sung, octave = outline(lessons.SOUNDS / "sung.mp3"), outline(lessons.SOUNDS / "wrong-octave.mp3")
    assert np.corrcoef(sung.ravel(), octave.ravel())[0, 1] < 0.98


@pytest.mark.system
def test_pictures_of_the_lessons_are_drawn_by_the_engine(tmp_path):
    lessons.write_pictures(tmp_path)
    assert names(tmp_path) == names(lessons.PICTURES)
    for path in tmp_path.iterdir():
        with Image.open(path) as made, Image.open(lessons.PICTURES / path.name) as shown:
            assert made.size == shown.size, path.name
            ones, others = (np.asarray(one.convert("L").resize((_LINES, _LINES)), float) for one in (made, shown))
        assert np.corrcoef(ones.ravel(), others.ravel())[0, 1] > 0.95, path.name


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def outline(path: Path) -> np.ndarray:
    """The level (dB) of bands of a sound, some ten times a second."""
    samples, _ = soundfile.read(path)
    frames = np.abs(np.fft.rfft(samples[: len(samples) // 4096 * 4096].reshape(-1, 4096) * np.hanning(4096)))
    bands = np.array_split(frames[:, 8:760], _BANDS, axis=1)
    return np.stack([20 * np.log10(band.mean(axis=1) + 1e-3) for band in bands])


# ---- the site in a browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """Where the command has written it."""
    out = tmp_path_factory.mktemp("site")
    answer = CliRunner().invoke(app, ["lessons", "--out", str(out)])
    assert answer.stdout.strip() == str(out / "index.html")
    yield out
    shutil.rmtree(out)


def test_lessons_command_writes_a_site_of_its_own(folder):
    assert (folder / "sounds" / "sung.mp3").stat().st_size > 10_000
    assert len(list(folder.glob("*.html"))) == len(list(FOLDER.glob("*.md")))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_site_is_readable_on_a_phone_without_a_network(folder, browser, scheme):
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme, offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index", "live", "from-rvc", "settings"):
        page.goto((folder / f"{name}.html").as_uri())
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), name
        assert page.evaluate("document.querySelectorAll('h1').length") == 1
        back, ink = (page.evaluate(f"getComputedStyle(document.body).{one}") for one in ("backgroundColor", "color"))
        assert (back, ink) == (
            ("rgb(255, 255, 255)", "rgb(30, 41, 59)")
            if scheme == "light"
            else ("rgb(15, 23, 42)", "rgb(241, 245, 249)")
        )
    assert asked
    assert all(url.startswith("file:") for url in asked)
    context.close()


def test_question_mark_of_the_page_leads_to_the_lessons_and_back(visitor):
    visitor.get_by_role("button", name="Help", exact=True).click()
    with visitor.expect_popup() as opened:
        visitor.get_by_role("link", name="Lessons", exact=True).click()
    lesson = opened.value
    lesson.get_by_role("link", name="Fix a bad result", exact=True).first.click()
    expect(lesson.get_by_role("heading", name="Wrong octave", exact=True)).to_be_visible()
    length = lesson.evaluate(
        "async () => { const one = document.querySelector('audio'); one.preload = 'metadata'; one.load();"
        " await new Promise((done) => one.onloadedmetadata = done); return one.duration; }"
    )
    assert length > 4  # the sound arrives, past the policy of the site
    assert (
        lesson.evaluate("getComputedStyle(document.querySelector('nav a')).textDecorationLine") == "none"
    )  # its style
    lesson.get_by_role("link", name="Open the studio", exact=True).click()
    expect(lesson.get_by_role("tab", name="Convert", exact=True)).to_be_visible(timeout=WORK_MS)
