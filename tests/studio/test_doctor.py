import pytest

import engine.analysis.pitch
from engine.rvc.limits_here import LimitsHere
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


@pytest.mark.parametrize(
    ("limits", "mark", "said"),
    [
        (LimitsHere(False, False, False, False), "ok", "they read nothing else"),
        (LimitsHere(True, False, True, False), "note", "a harmful one could: read your files, use the network"),
    ],
)
def test_doctor_says_what_a_model_of_a_stranger_could_do(monkeypatch, limits, mark, said):
    monkeypatch.setattr("engine.rvc.limits_here.limits_here", lambda: limits)
    finding = doctor._confinement()
    assert str(finding).startswith(mark)
    assert said in finding.detail
    assert finding.works
