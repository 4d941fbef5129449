"""The command line as a user and a script see it: exit status, stdout, stderr, and what lies in the folder after."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from rich.progress import Progress
from typer import Context
from typer.main import get_command

import engine.voices.card
from engine.audio.files import read_audio
from studio.commands.cli import app, main
from studio.commands.demo import bundled_sample
from studio.commands.failures import STOPPED
from tests.command_line import assert_one_sentence, run

RATE = 44_100
API_FIELDS = set("id name gender age description base_language traits genre voice_type vocal_range".split())


def vocal(seconds: float) -> np.ndarray:
    """A buzz with vibrato around A3, float64 (samples,), with silence at both ends."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    phase = 2 * np.pi * 220 * time_s + 2 * np.sin(2 * np.pi * 5.5 * time_s)
    buzz = sum(np.sin(harmonic * phase) / harmonic for harmonic in range(1, 20))
    return 0.15 * buzz * (np.abs(time_s / seconds - 0.5) < 0.4)


@pytest.fixture
def source(here) -> Path:
    soundfile.write(here / "vocal.wav", vocal(1.5), RATE)
    return here / "vocal.wav"


def names(folder: Path) -> list[str]:
    """All that lies in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


# ---- convert


def test_convert_names_the_result_after_recording_and_voice(here, source):
    result = run("convert", source)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "vocal.kathleen.wav\n"
    assert names(here) == ["vocal.kathleen.wav", "vocal.wav"]
    assert soundfile.info(here / "vocal.kathleen.wav").frames == soundfile.info(source).frames


def test_convert_numbers_the_paths_of_several_takes(here, source):
    result = run("convert", source, "--takes", 3, "-o", "song.flac")
    assert result.stdout.splitlines() == ["song.flac", "song.take2.flac", "song.take3.flac"]
    assert names(here) == ["song.flac", "song.take2.flac", "song.take3.flac", "vocal.wav"]
    assert len({(here / name).read_bytes() for name in result.stdout.split()}) == 3


@pytest.mark.parametrize(
    ("output", "made"),
    [
        *(("results", "results/vocal.kathleen.wav"), ("new/folder/", "new/folder/vocal.kathleen.wav")),
        *(("{voice}/{name}-{take}", "kathleen/vocal-1.wav"), ("to/{name}.flac", "to/vocal.flac")),
    ],
)
def test_convert_output_is_a_folder_or_a_template(here, source, output, made):
    (here / "results").mkdir()
    assert run("convert", source, "-o", output).stdout == f"{made}\n"
    assert (here / made).exists()


def test_convert_is_deterministic_with_a_seed_and_replaces_an_earlier_result_only_when_asked(here, source):
    (here / "out.wav").write_bytes(b"an earlier result")
    written = []
    for more, made in (((), ["out-2.wav", "out-2.take2.wav"]), (("--overwrite",), ["out.wav", "out.take2.wav"])):
        result = run("convert", source, "--takes", 2, "--seed", 1, "-o", "out.wav", *more)
        assert result.stdout.splitlines() == made
        written.append([read_audio(here / name).samples.tobytes() for name in made])
        if not more:
            assert (here / "out.wav").read_bytes() == b"an earlier result"
    assert written[0] == written[1]


def test_convert_takes_folders_and_several_files_and_goes_on_after_a_bad_one(here, source):
    (here / "in" / "deep").mkdir(parents=True)
    for path in ("in/b.wav", "in/deep/vocal.wav"):
        shutil.copy(source, here / path)
    (here / "in" / "a.wav").write_text("no sound")
    result = run("convert", source, "in", source, "-o", "out/", "--rate", "48000", "--bits", "16", "--json")
    assert result.exit_code == 1
    assert 'a.wav": ' in result.stderr
    found = json.loads(result.stdout)
    told = [one.get("error") or one["takes"][0]["path"] for one in found["conversions"]]
    assert [told[0], *told[2:]] == ["out/vocal.kathleen.wav", "out/b.kathleen.wav", "out/vocal.kathleen-2.wav"]
    assert "in/a.wav" not in told[1]
    assert "a.wav" in told[1]
    form = soundfile.info(here / "out" / "b.kathleen.wav")
    assert (form.samplerate, form.subtype, form.frames) == (48_000, "PCM_16", 72_000)
    scores = found["conversions"][0]["takes"][0]["scores"]
    assert set(found["score_units"]) == set(scores)
    assert scores["pitch_accuracy"] > 0.9
    assert len({one["project"] for one in found["conversions"] if "project" in one}) == 1  # the same recording
    done = run("convert", source, "in/b.wav", "-o", "out/", "--skip-existing")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.count("Its results already exist") == 2
    assert names(here / "out") == ["b.kathleen.wav", "vocal.kathleen-2.wav", "vocal.kathleen.wav"]


def test_convert_with_several_jobs_gives_the_same_bytes_names_and_messages_in_the_same_order(here, source):
    for number in range(3):
        soundfile.write(here / f"{number}.wav", vocal(1.0 + 0.5 * (3 - number)), RATE)
    (here / "1b.wav").write_text("no sound")
    files, done = ["0.wav", "1.wav", "1b.wav", "2.wav"], []
    for jobs in (1, 3):
        done.append(run("convert", *files, "--no-project", "--takes", 2, "-o", "{voice}.wav", "--jobs", jobs))
        kept = here / f"by {jobs}"
        kept.mkdir()
        for path in here.glob("kathleen*"):
            path.rename(kept / path.name)
    assert [one.exit_code for one in done] == [1, 1]
    assert (done[0].stdout, done[0].stderr) == (done[1].stdout, done[1].stderr)
    assert done[0].stderr.index("1b.wav") < done[0].stderr.index('"2.wav"')
    made = [names(here / one) for one in ("by 1", "by 3")]
    assert made[0] == made[1]
    assert len(made[0]) == 6
    for name in made[0]:
        assert np.array_equal(*(soundfile.read(here / one / name)[0] for one in ("by 1", "by 3")))


def test_convert_stops_all_jobs_when_it_is_asked_to(here, source, monkeypatch):
    """Nothing that has begun goes on, and nothing else begins."""
    from engine.errors import Cancelled
    from studio.commands import takes

    begun = []
    monkeypatch.setattr(takes, "converted_task", lambda studio, recording, *_: begun.append(recording) or stop())

    def stop() -> None:
        raise Cancelled

    for number in range(8):
        shutil.copy(source, here / f"{number}.wav")
    done = run("convert", *(f"{number}.wav" for number in range(8)), "--jobs", 2)
    assert (done.exit_code, done.stdout) == (STOPPED, "")


def test_convert_gives_a_session_its_rate_and_its_samples_back(here):
    samples = np.interp(np.arange(72_001) / 48_000, np.arange(66_150) / RATE, vocal(1.5))
    soundfile.write(here / "session.wav", samples, 48_000)
    assert run("convert", "session.wav").exit_code == 0
    made = soundfile.info(here / "session.kathleen.wav")
    assert (made.samplerate, made.frames, made.subtype) == (48_000, 72_001, "PCM_24")


def test_convert_puts_its_conversions_in_a_project_with_the_name_given(here, source):
    soundfile.write(here / "other.wav", vocal(1.0), RATE)
    assert run("convert", source, "--project", "Summer").exit_code == 0
    assert run("convert", source, "--voice", "koguchi").exit_code == 0
    [one] = [one for one in json.loads(run("projects", "--json").stdout)["projects"] if one["name"] == "Summer"]
    assert sorted(one["voices"]) == ["Kathleen", "Koguchi"]
    assert one["file_name"] == "vocal.wav"
    for given in ("Summer", "vocal.wav"):
        assert run("projects", "export", given, "-o", "s.zip").exit_code == 0
    assert {"s.zip", "s-2.zip"} <= set(names(here))
    refused = run("convert", source, "other.wav", "--project", "Summer")
    assert_one_sentence(refused)
    assert "one recording" in refused.stderr
    assert run("convert", "other.wav", "--no-project").exit_code == 0
    assert "other" not in run("projects").stdout
    assert_one_sentence(run("convert", source, "--project", "Summer", "--no-project"))
    assert run("projects", "delete", "Summer", "--yes").stderr.startswith("Deleted 2 conversions")


def typed(code: str, *arguments: Any, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of its own, in which `main` is the command line."""
    code = f"import sys\nfrom studio.commands.cli import main\n{code}"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.wav",), "not exist"),
        (("vocal.wav", "nothing.wav"), "not exist"),
        (("no/*.wav",), "not exist"),
        (("empty",), "no recordings"),
        (("vocal.wav", "-v", "koguchii"), "did you mean koguchi"),
        (("vocal.wav", "-v", "nobody"), "There is no voice 'nobody'"),
        (("vocal.wav", "-o", "x.xyz"), 'cannot be saved as a ".xyz" file'),
    ],
)
def test_convert_refuses_what_cannot_be_before_it_loads_anything_heavy(here, source, arguments, said):
    (here / "empty").mkdir()
    heavy = "{'torch', 'sqlalchemy', 'librosa'} & set(sys.modules)"
    end = f"try: main(sys.argv[1:])\nexcept SystemExit as end: print(sorted({heavy}), end.code)"
    done = typed(end, "convert", *arguments)
    assert done.stdout == "[] 1\n"
    assert said in done.stderr


@pytest.mark.parametrize("preset", ["melodic", "rhythmic", "spoken"])
def test_convert_accepts_every_preset_and_names_it(here, source, preset):
    result = run("convert", source, "--preset", preset)
    assert result.exit_code == 0
    assert preset in result.stderr


def test_convert_with_effects_changes_the_takes_but_keeps_their_length(here, source):
    dry = run("convert", source, "-o", "dry.wav")
    wet = run("convert", source, "--effects", "hall", "--takes", 2, "-o", "wet.flac")
    assert (dry.exit_code, wet.exit_code) == (0, 0), wet.stderr
    assert wet.stdout.splitlines() == ["wet.flac", "wet.take2.flac"]
    before, after = soundfile.read("dry.wav")[0], soundfile.read("wet.flac")[0]
    assert before.shape == after.shape
    assert np.abs(before - after).max() > 0.01


def test_convert_effects_refuses_unknown_names_and_overwriting_the_recording(here, source):
    assert_one_sentence(run("convert", source, "--effects", "cathedral"))
    before = source.read_bytes()
    assert_one_sentence(run("convert", source, "--effects", "hall", "-o", source))
    assert source.read_bytes() == before
    assert names(here) == ["vocal.wav"]


def test_convert_with_transpose_auto_reports_the_transposition(here, source):
    result = run("convert", source, "--transpose", "auto", "--voice", "koguchi")
    assert result.exit_code == 0, result.stderr
    assert re.search("Koguchi, melodic, (not transposed|transposed by)", result.stderr)


def test_convert_runs_on_the_given_device_and_refuses_an_unknown_one(source):
    assert run("convert", source, "--device", "cpu").exit_code == 0
    result = run("convert", source, "--device", "tpu", "-o", "other.wav")
    assert (result.exit_code, result.stderr) == (1, "'tpu' is not a device; choose auto, cuda, mps or cpu.\n")
    assert not Path("other.wav").exists()


def test_convert_prints_scores_to_stderr_and_only_paths_to_stdout(here, source):
    result = run("convert", source, "--scores")
    assert result.stdout == "vocal.kathleen.wav\n"
    assert "length error" in result.stderr
    assert "pitch accuracy" in result.stderr


def test_convert_refuses_to_overwrite_its_recording(here, source):
    before = source.read_bytes()
    (here / "other-name.wav").hardlink_to(source)
    assert_one_sentence(run("convert", source, "-o", "{name}", "--overwrite"))
    for output in (source, "other-name.wav", "../" + here.name + "/vocal.wav"):
        assert_one_sentence(run("convert", source, "-o", output))
    assert source.read_bytes() == before


def test_convert_help_lists_every_conversion_setting():
    from dataclasses import fields

    from engine.conversion.settings import ConversionSettings

    text = run("convert", "--help").stdout
    assert all("--" + field.name.replace("_", "-") in text for field in fields(ConversionSettings))


def commands(group: Any = None, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    """All commands under their names, groups too: `voices export`; as they are when they are asked for."""
    group = group or get_command(app)
    found = {}
    for name in group.list_commands(None):
        words = (*prefix, name)
        _, found[" ".join(words)], _ = group.resolve_command(Context(group), [name])
        if hasattr(found[" ".join(words)], "commands"):
            found |= commands(found[" ".join(words)], words)
    return found


@pytest.mark.parametrize("name", commands())
def test_help_describes_every_command_and_option(name):
    command = commands()[name]
    assert command.help.splitlines()[0].rstrip().endswith(".")
    text = " ".join(run(*name.split(), "--help").stdout.replace("│", " ").split())
    for parameter in command.params:
        assert parameter.help, parameter.name
        assert parameter.help.split(". (")[0] in text, parameter.name
        if parameter.param_type_name == "option":
            assert parameter.opts[-1] in text


def test_cli_has_exactly_the_expected_commands_and_help_lists_them():
    groups = {
        "credentials": {"rotate"},
        "presets": {"show", "delete"},
        "projects": {"set", "export", "delete"},
        "rvc": {"fetch", "status", "teach", "use"},
        "separation": {"fetch", "status"},
        "token": {"create", "list", "revoke"},
        "voices": {"export", "import", "blend", "delete"},
    }
    alone = {"serve", "convert", "create", "report", "train", "analyse", "doctor", "demo", "mcp", "verify", "mix"}
    alone |= {"comp", "lab", "lessons", "live", "notebooks", "reaper", "update"}
    within = {f"{group} {name}" for group, names in groups.items() for name in names}
    assert set(commands()) == alone | {*groups} | within
    assert all(f" {name} " in run("--help").stdout for name in alone | {*groups})


# ---- bad input


def no_file(path: Path) -> None:
    pass


def folder(path: Path) -> None:
    path.mkdir()


def empty_file(path: Path) -> None:
    path.touch()


def text(path: Path) -> None:
    path.write_text("These are the words of a song, not its sound.\n" * 50)


def truncated(path: Path) -> None:
    soundfile.write(path, vocal(2.0), RATE)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def no_samples(path: Path) -> None:
    soundfile.write(path, np.zeros(0), RATE)


def not_a_number(path: Path) -> None:
    samples = vocal(1.0)
    samples[20_000:20_010] = np.nan
    soundfile.write(path, samples, RATE, subtype="FLOAT")


BAD_RECORDINGS = [no_file, folder, empty_file, text, truncated, no_samples, not_a_number]


@pytest.mark.parametrize("make", BAD_RECORDINGS)
@pytest.mark.parametrize("options", [("convert",), ("convert", "--preset", "melodic"), ("analyse",)])
def test_convert_and_analyse_refuse_a_bad_recording_and_write_nothing(here, options, make):
    make(here / "bad.wav")
    before = names(here)
    assert_one_sentence(run(*options, here / "bad.wav"))
    assert names(here) == before


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--transpose", "25"), "transpose"),
        (("--transpose", "-25"), "transpose"),
        (("--transpose", "high"), "transpose"),
        (("--takes", "0"), "takes"),
        (("--takes", "11"), "takes"),
        (("--takes", "two"), "takes"),
        (("--likeness", "nan"), "likeness"),
        (("--voice", "nobody"), "nobody"),
        (("-o", "song.xyz"), ".xyz"),
        (("-o", "{nobody}.wav"), "template"),
        (("--rate", "22050"), "rate"),
        (("--overwrite", "--skip-existing"), "choose one"),
    ],
)
def test_convert_refuses_an_invalid_option_value_and_names_the_problem(here, source, options, named):
    result = run("convert", source, *options)
    assert_one_sentence(result)
    assert named in result.stderr.lower()
    assert names(here) == ["vocal.wav"]


@pytest.mark.parametrize(
    "command",
    [
        ("convert", "-o", "vocal.wav/below-a-file.wav"),
        ("analyse", "--plot", "vocal.wav/below-a-file.png"),
        ("analyse", "--plot", "no-such-folder/song.png"),
    ],
)
def test_convert_and_analyse_refuse_an_output_path_without_a_parent_folder(here, source, command):
    name, *output = command
    assert_one_sentence(run(name, source, *output))
    assert names(here) == ["vocal.wav"]


@pytest.mark.skipif(
    not Path("/sys/kernel").is_dir(), reason="needs a folder that even the administrator cannot write to"
)
@pytest.mark.parametrize("command", [("convert", "-o", "wav"), ("analyse", "--plot", "png")])
def test_convert_and_analyse_refuse_an_unwritable_output_folder(here, source, command):
    name, option, suffix = command
    result = run(name, source, option, f"/sys/kernel/song.{suffix}")
    assert_one_sentence(result)
    assert "not writable" in result.stderr


@pytest.fixture
def tiny_disk(here):
    """A folder with 64 KB of room."""
    disk = here / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if not shutil.which("mount") or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can only be made by the administrator")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("command", [("convert", "-o", "wav"), ("analyse", "--plot", "png")])
def test_convert_and_analyse_report_a_full_disk_and_leave_it_empty(here, source, tiny_disk, command):
    name, option, suffix = command
    result = run(name, source, option, tiny_disk / f"song.{suffix}")
    assert_one_sentence(result)
    assert "disk is full" in result.stderr
    assert names(tiny_disk) == []


@pytest.mark.parametrize("takes", [1, 2])
def test_convert_reports_a_failed_write_and_leaves_no_partial_result(here, source, takes):
    assert run("voices").exit_code == 0  # the studio's own database is there already
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    soundfile.write(source, vocal(8.0), RATE)  # 705,600 bytes
    resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, hard))  # bytes a file may have; the result needs 1,058,400
    try:
        result = run("convert", source, "--takes", takes)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_one_sentence(result)
    assert "written" in result.stderr
    assert names(here) == ["vocal.wav"]


@pytest.mark.parametrize("takes", [1, 2])
@pytest.mark.system
def test_convert_leaves_no_partial_result_when_interrupted(here, monkeypatch, takes):
    soundfile.write(here / "long.wav", vocal(60.0), RATE)
    (here / "long.kathleen.wav").write_bytes(b"an earlier result")
    update = Progress.update
    asked = []

    def press_control_c(self, task, *, completed, **more):
        update(self, task, completed=completed, **more)
        if completed > 0.2 and not asked:
            asked.append(completed)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "update", press_control_c)
    result = run("convert", "long.wav", "--takes", takes)
    assert asked
    assert asked[0] < 1.0
    assert_one_sentence(result, "Stopped", status=STOPPED)
    assert names(here) == ["long.kathleen.wav", "long.wav"]
    assert (here / "long.kathleen.wav").read_bytes() == b"an earlier result"


# ---- voices, analyse, doctor, demo


def test_voices_lists_the_demo_voices():
    cards = json.loads(run("voices", "--json").stdout)["models"]
    assert len(cards) >= 4
    assert all(set(card) == API_FIELDS for card in cards)
    table = run("voices").stdout
    assert all(card["id"] in table for card in cards)


def test_analyse_reports_duration_and_vocal_range(here, source):
    found = json.loads(run("analyse", source, "--json").stdout)
    assert set(found) == {"duration_s", "vocal_style", "vocal_range", "warning", "pitch", "notes"}
    assert found["duration_s"] == pytest.approx(1.5)
    hertz, step = found["pitch"]["hertz"], 1 / found["pitch"]["frames_per_second"]
    assert len(hertz) * step == pytest.approx(1.5, abs=0.02)
    assert hertz[0] is hertz[-1] is None  # where it is silent
    assert np.median([one for one in hertz if one]) == pytest.approx(220, rel=0.01)
    assert {note["name"] for note in found["notes"]} == {"A3"}
    assert found["notes"][0]["start_s"] == pytest.approx(0.15, abs=0.1)
    assert {found["vocal_range"]["min"], found["vocal_range"]["max"]} <= {"G#3", "A3", "A#3"}
    assert "{min} to {max}".format(**found["vocal_range"]) in run("analyse", source).stdout


def test_analyse_reports_no_vocal_range_for_silence(here):
    soundfile.write("silence.wav", np.zeros(RATE), RATE)
    found = json.loads(run("analyse", "silence.wav", "--json").stdout)
    assert found["vocal_range"] is None
    assert "no notes found" in run("analyse", "silence.wav").stdout


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_analyse_plot_writes_png_svg_and_pdf(here, source, suffix, magic):
    assert run("analyse", source, "--plot", f"plot.{suffix}").exit_code == 0
    assert (here / f"plot.{suffix}").read_bytes().startswith(magic)
    assert names(here) == [f"plot.{suffix}", "vocal.wav"]


def test_analyse_writes_pitch_as_a_table_and_notes_as_midi_and_overwrites_neither(here, source):
    for number in ("", "-2"):
        assert run("analyse", source, "--csv", "pitch.csv", "--midi", "notes.mid").exit_code == 0
        header, *rows = (here / f"pitch{number}.csv").read_text().splitlines()
        assert header.startswith("seconds,hertz")
        assert len(rows) == pytest.approx(150, abs=2)
        assert (here / f"notes{number}.mid").read_bytes().startswith(b"MThd")
    assert run("analyse", source, "--csv", "pitch.csv", "--overwrite").exit_code == 0
    assert "pitch-3.csv" not in names(here)


def test_analyse_refuses_an_unknown_plot_format(here, source):
    assert_one_sentence(run("analyse", source, "--plot", "plot.xyz"))


def test_doctor_reports_no_fault_on_this_machine():
    result = run("doctor")
    assert result.exit_code == 0, result.stdout
    assert "FAULT" not in result.stdout
    for subject in ("Python", "torch", "device cpu", "pitch model", "conversion", "free disk"):
        assert subject in result.stdout


def test_doctor_json_lists_its_findings():
    found = json.loads(run("doctor", "--json").stdout)
    assert found["works"] is True
    assert {"subject", "detail", "remedy", "works"} == set(found["findings"][0])


def test_doctor_reports_missing_voices(monkeypatch):
    monkeypatch.setattr(engine.voices.card, "list_voices", list)
    result = run("doctor")
    assert result.exit_code == 1
    assert "FAULT base model and voices" in result.stdout
    assert "->" in result.stdout


def test_demo_prints_the_result_path_and_its_scores(here):
    result = run("demo")
    assert result.exit_code == 0, result.stderr
    [path] = result.stdout.splitlines()
    assert soundfile.info(path).frames > 0
    assert soundfile.info(path).duration == pytest.approx(soundfile.info(bundled_sample()).duration)
    assert "pitch accuracy" in result.stderr


def test_convert_with_an_incomplete_installation_points_to_the_doctor(source, monkeypatch):
    monkeypatch.setitem(sys.modules, "engine.conversion.convert", None)
    result = run("convert", source)
    assert_one_sentence(result)
    assert "python -m studio doctor" in result.stderr


@pytest.mark.parametrize(("given", "kept"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_main_makes_threads_wait_passively_unless_configured(monkeypatch, given, kept):
    monkeypatch.setenv("OMP_WAIT_POLICY", given or "")
    if given is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    with pytest.raises(SystemExit):
        main(["--help"])
    assert os.environ["OMP_WAIT_POLICY"] == kept


def test_cli_help_works_without_loading_the_engine():
    done = typed("sys.exit(sorted({'torch', 'librosa', 'matplotlib'} & set(sys.modules)) or 0)")
    assert done.returncode == 0, f"loaded by studio.commands.cli: {done.stderr}"
    assert "convert" in run("--help").stdout


def test_version_help_and_quiet_are_options_as_everywhere(here, source):
    assert run("--version").stdout.split()[0] == "timbre-studio"
    assert "--epochs" in run("train", "-h").stdout
    for arguments in (("-q", "demo"), ("demo", "-q")):
        result = run(*arguments)
        assert result.stdout.endswith(".wav\n")
        assert "Converting" not in result.stderr
    assert "Converting" in run("demo").stderr  # not quiet for ever
    assert_one_sentence(run("-q", "convert", "nothing.wav"))


def test_help_shows_what_is_in_brackets():
    for _ in range(2):
        assert '"mcp<3,>=2.3"' in " ".join(run("mcp", "--help").stdout.split())
    assert "<bool>" not in run("convert", "--help").stdout


def test_texts_use_the_name_that_the_program_was_called_by():
    for arguments in (["voices", "export", "nobody"], ["convert"]):
        done = typed("sys.argv[0] = '/elsewhere/timbre-studio'; main()", *arguments)
        assert f"timbre-studio {arguments[0]}" in done.stderr


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("convert --voice ko", "koguchi"),
        ("voices export go", "goekhan"),
        ("voices blend go ko", "koguchi"),
        ("train ko", "koguchi"),
        ("rvc teach ko", "koguchi"),
        ("con", "convert"),
    ],
)
def test_shells_complete_commands_and_voices(words, completed):
    words, count = f"timbre-studio {words}", str(len(words.split()))
    asked = {"_TIMBRE_STUDIO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    done = typed("sys.argv[0] = 'timbre-studio'; main()", **asked)
    assert done.stdout.split() == [completed], done.stderr


def test_completion_is_for_the_installed_program():
    refused = run("--show-completion")
    assert refused.exit_code == 2
    assert "timbre-studio" in refused.stderr


def test_comp_lists_phrases_as_json_and_takes_any_number_of_choices(here, source):
    shutil.copy(source, here / "take.wav")
    phrases = json.loads(run("comp", source, "take.wav", "--json").stdout)["phrases"]
    assert phrases[0] == {"start_s": 0.0}
    more = run("comp", source, "take.wav", "--choose", "1," * len(phrases) + "1")
    assert more.exit_code == 0, more.stderr
    assert f"has {len(phrases)} phrase" in more.stderr
    assert run("comp", source, "take.wav", "--choose", "1").exit_code == 0  # for all that follow, too
    assert run("comp", source, "take.wav", "--choose", "3").exit_code == 1


def test_comp_joins_takes_and_lists_phrases(here, source):
    for number, level in ((1, 0.5), (2, 0.25)):
        soundfile.write(
            here / f"take{number}.wav", level * soundfile.read(source)[0], soundfile.info(source).samplerate
        )
    listed = run("comp", source, here / "take1.wav", here / "take2.wav")
    phrases = len(listed.stdout.splitlines())
    assert (listed.exit_code, phrases >= 1) == (0, True)
    choice = ",".join(["2"] * phrases)
    made = run("comp", source, here / "take1.wav", here / "take2.wav", "--choose", choice, "-o", here / "best.wav")
    assert made.stdout.strip() == str(here / "best.wav")
    np.testing.assert_allclose(soundfile.read(here / "best.wav")[0], soundfile.read(here / "take2.wav")[0], atol=1e-4)
    before = names(here)
    for wrong in (("--choose", "1,x"), ("--choose", ",".join(["3"] * phrases))):
        assert_one_sentence(run("comp", source, here / "take1.wav", here / "take2.wav", *wrong))
    assert names(here) == before


@pytest.mark.parametrize("stem", ["x" * 251, "\u3042" * 83])
def test_convert_names_results_of_long_names_so_that_they_fit(here, stem):
    recording = here / f"{stem}.wav"
    soundfile.write(recording, vocal(1.5), RATE)
    done = run("convert", recording, "--voice", "koguchi", "--takes", "2")
    assert done.exit_code == 0, done.output
    made = sorted(name for name in names(here) if name != recording.name)
    assert [name.partition(".")[2] for name in made] == ["koguchi.take2.wav", "koguchi.wav"]
    done = run("comp", recording, *made[::-1], "--choose", "2")
    assert done.exit_code == 0, done.output
    assert len(names(here)) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "vocal.wav", "-o", "y" * 300 + ".wav"],
        ["comp", "vocal.wav", "vocal.wav", "--choose", "1", "-o", "y" * 300 + ".wav"],
        ["mix", "vocal.wav", "vocal.wav", "-o", "y" * 300 + ".wav"],
        ["report", "y" * 300],
        ["voices", "export", "koguchi", "-o", "y" * 300],
    ],
)
def test_commands_report_names_that_are_too_long(source, arguments):
    done = run(*arguments)
    assert done.exit_code == 1
    assert done.stderr.startswith(f'The name "{"y" * 40}…" is too long for the disk: give a shorter one')
    assert names(source.parent) == ["vocal.wav"]
