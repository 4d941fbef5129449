import json

from typer.testing import CliRunner

from engine.songs.separator_file import HTDEMUCS_FT_VOCALS
from studio.commands.cli import app


def test_separation_status_names_the_fetch_command_and_the_licence():
    told = CliRunner().invoke(app, ["separation", "status", "--json"])
    assert json.loads(told.stdout)["remedy"] == "timbre-studio separation fetch"
    assert "MIT" in CliRunner().invoke(app, ["separation", "status"]).stdout


def test_separation_fetch_shows_size_origin_and_licence_and_asks(home):
    told = CliRunner().invoke(app, ["separation", "fetch"], input="n\n")
    assert told.exit_code == 1
    for said in ("166 MB", "licence MIT", "facebookresearch/demucs", HTDEMUCS_FT_VOCALS.url, "Fetch it?"):
        assert said in told.stderr
    assert not (home / "separators").exists()


def test_separation_fetch_refuses_a_file_with_another_checksum(tmp_path, home):
    (tmp_path / "network.onnx").write_bytes(b"something else")
    told = CliRunner().invoke(app, ["separation", "fetch", "--file", str(tmp_path / "network.onnx")])
    assert (told.exit_code, told.stdout) == (1, "")
    assert "its checksum differs" in told.stderr
    assert not (home / "separators").exists()
