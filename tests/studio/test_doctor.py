import engine.analysis.pitch
from studio import doctor


def test_package_that_cannot_be_loaded_is_a_fault_with_a_remedy(monkeypatch):
    def refuse(name):
        raise OSError("libexample.so: cannot open shared object file")  # what a broken binary wheel raises

    monkeypatch.setattr(doctor.importlib, "import_module", refuse)
    finding = doctor._package("torch")
    assert not finding.works
    assert "libexample.so" in finding.detail
    assert "pip install" in finding.remedy
    assert str(finding).startswith("FAULT torch")


def test_missing_optional_package_is_a_note_and_not_a_fault():
    finding = doctor._optional("the page", ("numpy", "no-such-package-here"), "pip install it")
    assert finding.works
    assert finding.detail == "not installed: no-such-package-here"
    assert str(finding).startswith("note  the page")


def test_optional_packages_are_whole_names():
    assert all(isinstance(names, tuple) for names, _ in doctor.OPTIONAL.values())


def test_pitch_model_hears_a_tone():
    assert doctor._tried("pitch model", doctor._pitch, "").works


def test_wrong_pitch_is_a_fault(monkeypatch):
    detect = engine.analysis.pitch.detect_pitch
    monkeypatch.setattr(
        engine.analysis.pitch, "detect_pitch", lambda samples, rate: detect(samples, rate).transposed(12)
    )
    finding = doctor._tried("pitch model", doctor._pitch, "mend it")
    assert not finding.works
    assert "in a tone of 220.0 Hz" in finding.detail
    assert finding.remedy == "mend it"


def test_audio_files_are_tried_for_real():
    assert doctor._audio_files() == "written and read"


def test_any_failure_is_a_finding():
    def fail():
        raise ZeroDivisionError

    finding = doctor._tried("sums", fail, "count again")
    assert str(finding).splitlines()[0].split(maxsplit=2) == ["FAULT", "sums", "does not work: ZeroDivisionError"]
