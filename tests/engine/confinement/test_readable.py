import os
import sys
from pathlib import Path

import engine
from engine.confinement.readable import readable_paths


def covers(paths, path):
    return any(one in (path, *path.parents) for one in paths)


def test_readable_paths_are_the_model_python_and_libraries_and_nothing_of_the_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    model = home / "data" / "Mia.pth"
    model.write_bytes(b"x")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(home), *sys.path])  # as python -m and notebooks add them
    found = readable_paths("engine.rvc.checkpoint", model, "cpu")
    assert covers(found, model)
    for needed in (Path(os.__file__), Path(engine.__file__), Path(sys.modules["numpy"].__file__).resolve()):
        assert covers(found, needed), needed
    own = (home, tmp_path, home / "data" / "other.pth", Path(engine.__file__).parents[1] / "studio")
    for private in (*own, *map(Path, ("/etc/passwd", "/home", "/proc/1", "/tmp", "/var/lib", "/dev/mem"))):
        assert not covers(found, private), private
    assert not [one for one in found if set(found) & set(one.parents)]


def test_readable_paths_hold_both_ends_of_a_link(tmp_path):
    real = tmp_path / "real" / "Mia.pth"
    real.parent.mkdir()
    real.write_bytes(b"x")
    (tmp_path / "link").symlink_to(real.parent)
    found = readable_paths("engine.rvc.checkpoint", tmp_path / "link" / "Mia.pth", "cpu")
    assert {tmp_path / "link" / "Mia.pth", real.resolve()} <= set(found)


def test_readable_paths_of_a_gpu_hold_what_its_driver_reads():
    found = readable_paths("engine.rvc.torch_models", Path(__file__), "cuda:0")
    assert Path("/sys") in found or not Path("/sys").exists()
