"""`voices import` from folders, zips and links, as a user and a script see it."""

import hashlib
import json
import shutil
import zipfile

import httpx
import pytest
import torch

from tests.command_line import assert_one_sentence, run
from tests.engine.rvc.models import checkpoint_of, work_in_this_process
from tests.engine.rvc.test_index_file import INDEX

LINK = "https://example.com/mia/Mia.pth"


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model of RVC; it is read in this process, which is faster."""
    work_in_this_process(monkeypatch)
    monkeypatch.setattr("studio.actions.rvc_models.contentvec_path", lambda: tmp_path / "contentvec.safetensors")
    path = tmp_path / "Mia.pth"
    torch.save(checkpoint_of("v1"), path)
    return path


@pytest.fixture
def web(monkeypatch) -> dict[str, bytes]:
    """The internet: contents by link."""
    contents: dict[str, bytes] = {}

    def serve(request: httpx.Request) -> httpx.Response:
        content = contents.get(str(request.url))
        return httpx.Response(404) if content is None else httpx.Response(200, content=content)

    monkeypatch.setattr("studio.addresses.GuardedTransport", lambda: httpx.MockTransport(serve))
    return contents


def printed(result) -> str:
    """What a command printed, without the answers that typer's runner shows there, behind a space."""
    return "\n".join(line for line in result.stdout.splitlines() if not line.startswith(" "))


def imported(home) -> dict[str, dict]:
    """The cards of the voices here by their ids."""
    cards = [json.loads(path.read_text("utf-8")) for path in (home / "voices").glob("*/card.json")]
    return {card["id"]: card for card in cards}


def with_index(home) -> set[str]:
    return {name for name, card in imported(home).items() if card["model"]["probes"]}


def test_import_of_a_folder_takes_every_model_with_its_index_and_names_what_failed(model, home, tmp_path):
    folder = tmp_path / "applio"
    for name in ("mia", "leo"):
        (folder / name).mkdir(parents=True)
        shutil.copy(model, folder / name / f"{name}_200e_4000s.pth")
    shutil.copy(INDEX, folder / "mia" / "mia.index")
    (folder / "torn.pth").write_bytes(b"no model")
    result = run("voices", "import", folder)
    assert (result.exit_code, result.stdout.split()) == (1, ["leo-200e-4000s", "mia-200e-4000s"])
    assert "torn.pth" in result.stderr
    assert with_index(home) == {"mia-200e-4000s"}


def test_import_of_a_zip_with_a_model_takes_it_out(model, home, tmp_path):
    with zipfile.ZipFile(tmp_path / "shared.zip", "w") as archive:
        archive.write(model, "Mia/Mia.pth")
        archive.write(INDEX, "Mia/added_IVF1.index")
    result = run("voices", "import", tmp_path / "shared.zip", "--licence", "CC BY 4.0", "--consent", "Mia agreed.")
    assert (result.exit_code, result.stdout) == (0, "mia\n")
    card = imported(home)["mia"]
    assert (card["licence"], card["consent"]["statement"]) == ("CC BY 4.0", "Mia agreed.")


def test_import_by_link_asks_shows_the_checksum_and_keeps_what_is_said(model, home, web):
    web[LINK] = model.read_bytes()
    result = run("voices", "import", LINK, given="y\nCC BY-NC 4.0\nMia agreed by letter.\n")
    assert (result.exit_code, printed(result)) == (0, "mia")
    assert hashlib.sha256(web[LINK]).hexdigest() in result.stderr
    card = imported(home)["mia"]
    assert (card["licence"], card["source"]) == ("CC BY-NC 4.0", LINK)
    assert card["consent"]["statement"] == "Mia agreed by letter."


def test_import_by_link_with_an_index_without_questions(model, home, web):
    web[LINK], web["https://example.com/Mia.index"] = model.read_bytes(), INDEX.read_bytes()
    result = run("voices", "import", LINK, "--index", "https://example.com/Mia.index", "--yes")
    assert (result.exit_code, result.stdout) == (0, "mia\n")
    assert with_index(home) == {"mia"}
    assert not imported(home)["mia"].get("consent")


def test_import_by_link_without_consent_is_refused_where_it_is_required(model, home, web, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_CONSENT", "required")
    web[LINK] = model.read_bytes()
    result = run("voices", "import", LINK, given="y\n\n\n")
    assert (result.exit_code, printed(result)) == (1, "")
    assert "consent" in result.stderr
    assert run("voices", "import", LINK, "--yes", "--consent", "Mia agreed.").stdout == "mia\n"


def test_import_by_link_failures_are_one_sentence_and_import_nothing(home, web):
    for answer, said in (("n\n", "Nothing was imported.\n"), ("", "skip the questions.\n")):
        refused = run("voices", "import", LINK, given=answer)
        assert (refused.exit_code, printed(refused)) == (1, "")
        assert refused.stderr.endswith(said)
    assert_one_sentence(run("voices", "import", LINK, "--yes"), "404", alone=False)
    assert_one_sentence(run("voices", "import", "http://example.com/mia.pth", "--yes"), "https://", alone=False)
    web["https://example.com/page"] = b"<html>"
    assert_one_sentence(run("voices", "import", "https://example.com/page", "--yes"), "page", alone=False)
    assert imported(home) == {}


def test_import_of_several_models_refuses_what_is_for_one(model, home, tmp_path):
    folder = tmp_path / "two"
    folder.mkdir()
    for name in ("a.pth", "b.pth"):
        shutil.copy(model, folder / name)
    assert_one_sentence(run("voices", "import", folder, "--name", "Mia"), "--name", alone=False)
    (tmp_path / "none").mkdir()
    assert_one_sentence(run("voices", "import", tmp_path / "none"), "none", alone=False)
    assert imported(home) == {}
