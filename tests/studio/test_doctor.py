import platform
import sys

import pytest

import engine.analysis.pitch
from engine.rvc.sandbox_limits import SandboxLimits
from studio import doctor


def test_doctor_reports_a_broken_package_as_a_fault_with_a_remedy(monkeypatch):
    def refuse(name):
        raise OSError("libexample.so: cannot open shared object file")  # what a broken binary wheel raises

    monkeypatch.setattr(doctor.importlib, "import_module", refuse)
    finding = doctor._package("torch")
    assert not finding.works
    assert "libexample.so" in finding.detail
    assert "pip install" in finding.remedy
    assert str(finding).startswith("FAULT torch")


def test_doctor_reports_a_missing_optional_package_as_a_note():
    finding = doctor._optional("the page", ("numpy", "no-such-package-here"), "pip install it")
    assert finding.works
    assert finding.detail == "not installed: no-such-package-here"
    assert str(finding).startswith("note  the page")


@pytest.mark.parametrize(
    ("release", "remedy"),
    [
        ({"ID": "debian"}, "sudo apt install libportaudio2"),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "sudo apt install libportaudio2"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "sudo dnf install portaudio"),
        ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}, "sudo zypper install libportaudio2"),
        ({}, "sudo apt install libportaudio2 / sudo dnf install portaudio / "),
    ],
)
def test_doctor_tries_the_sound_devices_and_says_how_this_system_gets_portaudio(release, remedy, monkeypatch, tmp_path):
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(doctor, "_installed", lambda _: "0.5.6")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    finding = doctor._optional("sound devices for live", ("sounddevice",), "pip install sounddevice")
    assert finding.works
    assert finding.detail == "cannot be loaded: PortAudio library not found"
    assert finding.remedy.startswith(remedy)
    assert str(finding).startswith("note  sound devices for live")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert doctor._optional("live", ("sounddevice",), "pip install sounddevice").remedy == "pip install sounddevice"


def test_doctor_lists_optional_packages_as_tuples_of_names():
    assert all(isinstance(names, tuple) for names, _ in doctor.OPTIONAL.values())


def test_doctor_names_the_precision_in_which_the_processor_trains(halves):
    [processor] = [finding for finding in doctor._devices() if finding.subject == "device cpu"]
    assert processor.detail.startswith("works: ")
    assert processor.detail.endswith(", bfloat16" if halves else ", float32")


def test_doctor_pitch_check_passes():
    assert doctor._tried("pitch model", doctor._pitch, "").works


def test_doctor_reports_a_wrong_pitch_as_a_fault(monkeypatch):
    detect = engine.analysis.pitch.detect_pitch
    monkeypatch.setattr(
        engine.analysis.pitch, "detect_pitch", lambda samples, rate: detect(samples, rate).transposed(12)
    )
    finding = doctor._tried("pitch model", doctor._pitch, "mend it")
    assert not finding.works
    assert "in a tone of 220.0 Hz" in finding.detail
    assert finding.remedy == "mend it"


def test_doctor_writes_and_reads_audio_files():
    assert doctor._audio_files() == "written and read"


def test_doctor_reports_any_exception_as_a_fault():
    def fail():
        raise ZeroDivisionError

    finding = doctor._tried("sums", fail, "count again")
    assert str(finding).splitlines()[0].split(maxsplit=2) == ["FAULT", "sums", "does not work: ZeroDivisionError"]


def page() -> doctor.Finding:
    """What is found of the page, which is loaded in a process as its start does."""
    return doctor._loaded(doctor.Finding("the page", "gradio"))


@pytest.mark.system
def test_doctor_finds_that_the_page_starts_beside_a_socks_proxy(monkeypatch):
    """The page did not start, and the doctor was satisfied."""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "[::1]")
    assert str(page()).startswith("ok")
    [downloads] = doctor._proxies()
    assert str(downloads).startswith("note  downloads")
    assert "ALL_PROXY" in downloads.detail


@pytest.mark.system
def test_doctor_finds_what_stops_the_page(monkeypatch, tmp_path):
    (tmp_path / "gradio.py").write_text("import no_such_package_here")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = page()
    assert found.detail == "does not work: ModuleNotFoundError: No module named 'no_such_package_here'"
    assert str(found).startswith("note  the page")


def test_doctor_names_a_data_folder_that_others_can_open_once(home):
    assert str(doctor._data_folder()).startswith("ok")
    assert not home.exists()
    home.mkdir(mode=0o700, parents=True)
    assert str(doctor._data_folder()).startswith("ok")
    home.chmod(0o2775)
    for above in (home.parent, *home.parent.parents):
        if not above.stat().st_mode & 0o011:
            above.chmod(0o711)  # pytest's own folders are closed
    found = doctor._data_folder()
    assert found.works
    assert str(found).startswith("note  data folder")
    assert f"{home}: others on this machine can open it" in found.detail
    assert f'chmod 700 "{home}"' in found.remedy
    assert home.stat().st_mode & 0o7777 == 0o2775


def test_doctor_reports_a_data_folder_that_cannot_be_used(home):
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text("a file")
    found = doctor._data_folder()
    assert str(found).startswith("FAULT")
    assert "it is a file" in found.detail


@pytest.mark.parametrize(
    ("limits", "mark", "said"),
    [
        (SandboxLimits(False, False, False, False), "ok", "they read nothing else"),
        (SandboxLimits(True, False, True, False), "note", "a harmful one could: read your files, use the network"),
    ],
)
def test_doctor_says_what_a_model_of_a_stranger_could_do(monkeypatch, limits, mark, said):
    monkeypatch.setattr("engine.rvc.sandbox_limits.limits_here", lambda: limits)
    finding = doctor._confinement()
    assert str(finding).startswith(mark)
    assert said in finding.detail
    assert finding.works
