"""What `.ci/release` writes for package managers: of this version and this wheel, and each as its format has it."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = f"timbre_studio-{PROJECT['version']}-py3-none-any.whl"
ADDRESS = f"https://files.example.org/{NAME}"
FILES = [*(f"pinokio/{name}" for name in ("install.json", "pinokio.js", "reset.json", "start.json"))]
FILES += ["timbre-studio.json", "timbre-studio.rb"]


def release(wheel: Path, address: str, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / ".ci" / "release", wheel, address, "--homepage", "https://example.org"]
    return subprocess.run([*command, "--out", out], capture_output=True, text=True, check=False)


@pytest.fixture
def released(tmp_path):
    """The folder that a release is written to, and the digest of its wheel."""
    wheel = tmp_path / NAME
    wheel.write_bytes(b"a wheel")
    done = release(wheel, ADDRESS, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == [str(tmp_path / "out" / name) for name in FILES]
    return SimpleNamespace(folder=tmp_path / "out", digest=hashlib.sha256(b"a wheel").hexdigest())


def read(released: SimpleNamespace, name: str) -> dict:
    return json.loads((released.folder / name).read_text(encoding="utf-8"))


def messages(released: SimpleNamespace, name: str) -> list[str]:
    """The lines that a script of Pinokio gives to its shell."""
    steps = [one["params"] for one in read(released, name)["run"] if one["method"] == "shell.run"]
    assert all(one["venv"] == "env" for one in steps)
    return [line for one in steps for line in one["message"]]


def test_release_names_no_host_but_those_that_were_given(released):
    for path in released.folder.rglob("*.*"):
        hosts = set(re.findall(r"https?://([\w.-]+)", path.read_text(encoding="utf-8")))
        assert hosts <= {"files.example.org", "example.org"}, path


def test_scoop_manifest_has_the_fields_of_its_schema(released):
    made = read(released, "timbre-studio.json")
    assert {"version", "description", "homepage", "license", "url", "hash", "bin"} <= set(made)  # which Scoop wants
    assert set(made) <= set("version description homepage license url hash bin depends installer shortcuts".split())
    assert (made["version"], made["license"]) == (PROJECT["version"], "Apache-2.0")
    assert (made["url"], made["hash"]) == (ADDRESS, released.digest)
    assert re.fullmatch(r"(main/)?[\w.-]+", made["depends"])
    script = "\n".join(made["installer"]["script"])
    assert PROJECT["dependencies"][0] in script
    assert script.count("abort") == 2
    assert made["shortcuts"][0][0] == made["bin"] == "env\\Scripts\\timbre-studio.exe"


def test_homebrew_formula_has_what_brew_reads(released):
    text = (released.folder / "timbre-studio.rb").read_text(encoding="utf-8")
    assert text.startswith("class TimbreStudio < Formula\n")
    fields = dict(re.findall(r'^  (\w+) "([^"]+)"', text, re.MULTILINE))
    assert fields["url"] == ADDRESS
    assert fields["sha256"] == released.digest
    assert fields["license"] == "Apache-2.0"
    assert len(fields["desc"]) <= 80
    assert not re.match(r"(A|An|The) |.*\.$", fields["desc"])  # as `brew audit` wants it
    blocks = len(re.findall(r"^\s*(class|def|test do|on_macos do)\b", text, re.MULTILINE))
    assert blocks == len(re.findall(r"^\s*end$", text, re.MULTILINE)) == 4
    oldest, beyond = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    assert int(oldest) <= int(fields["depends_on"].removeprefix("python@3.")) < int(beyond)
    if ruby := shutil.which("ruby"):
        subprocess.run([ruby, "-c", released.folder / "timbre-studio.rb"], check=True, capture_output=True)


def test_pinokio_menu_leads_to_its_scripts(released):
    text = (released.folder / "pinokio" / "pinokio.js").read_text(encoding="utf-8")
    menu = json.loads(text.removeprefix("module.exports = "))["menu"]
    assert {one["href"] for one in menu} == {"start.json", "install.json", "reset.json"}
    if node := shutil.which("node"):
        program = "console.log(require(process.argv[1]).menu.length)"
        command = [node, "-e", program, released.folder / "pinokio" / "pinokio.js"]
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == "3"


def test_pinokio_installs_this_wheel_and_the_torch_of_the_project(released):
    torch, wheel = messages(released, "pinokio/install.json")
    assert torch == f"uv pip install {PROJECT['dependencies'][0]}"
    wanted = Requirement(re.fullmatch(r'uv pip install "(.*)"', wheel)[1])
    assert (wanted.name, wanted.url) == ("timbre-studio", f"{ADDRESS}#sha256={released.digest}")


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="The shell is another")
def test_pinokio_starts_the_studio_and_finds_its_address(released, tmp_path, home):
    """The shell's line run as it stands, with a command of this environment in place of the installed one."""
    programs = tmp_path / "programs"
    programs.mkdir()
    command = programs / "timbre-studio"
    program = "import sys; sys.argv[0] = 'timbre-studio'; from studio.commands.beginning import start; start()"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{program}" "$@"\n')
    command.chmod(0o755)
    [line] = messages(released, "pinokio/start.json")
    shell, found = read(released, "pinokio/start.json")["run"]
    [event] = shell["params"]["on"]
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        ["sh", "-c", "exec " + line.replace("{{port}}", "0")],
        **dict(env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True),
    )
    with process:
        address = next(match for said in process.stdout if (match := re.search(event["event"].strip("/"), said)))
        assert found["params"]["url"] == "{{input.event[1]}}"
        with urlopen(f"{address[1]}/health") as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("wheel", "address"), [("timbre_studio-0.0.1-py3-none-any.whl", ADDRESS), (NAME, "https://example.org/latest.whl")]
)
def test_release_refuses_a_wheel_of_another_version(wheel, address, tmp_path):
    (tmp_path / wheel).touch()
    done = release(tmp_path / wheel, address, tmp_path / "out")
    assert done.returncode == 2
    assert f"The wheel of this version is {NAME}" in done.stderr
    assert not (tmp_path / "out").exists()
