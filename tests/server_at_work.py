"""A server with its page that does what takes a while, and ends with a sentence if it loads what is slow to load.

    python -m tests.server_at_work FOLDER MODEL...    in the data folder of the environment; MODEL: of RVC, to import

Actions of the page are called as its events call them, without a browser.
"""

import io
import os
import sys
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import gradio as gr
from fastapi.testclient import TestClient

import engine
from engine.provenance.statement import Statement
from studio.actions.conversions.downloads import load_effects, take_download, take_with_effects
from studio.actions.fetched_models import Installs
from studio.actions.project_exports import project_zip
from studio.actions.voices.drafts import add_recordings
from studio.actions.voices.packages import package_link
from studio.executors.action_processes import ApartActions
from studio.page.blocks import OFFLINE, mount_page
from studio.page.parts.page import Page, Visit
from studio.page.voices.importing import Import, Question
from studio.server import build_app
from studio.settings.environment import load_settings
from studio.settings.service import ServiceSettings
from studio.store.accounts import create_token
from studio.store.studio import Studio, open_studio
from studio.store.tasks import claim, complete

SLOW = ("torch", "onnxruntime", "onnx", "librosa", "scipy.signal", "scipy.ndimage", "pedalboard", "noisereduce", "c2pa")
NOW_S = 1e9  # of links
SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"


def loads_nothing(what: str) -> None:
    """End with a sentence if something slow has been loaded by now."""
    if found := [name for name in SLOW if name in sys.modules]:
        sys.exit(f"{what} has loaded {', '.join(found)}")


def serve(client: TestClient, studio: Studio, models: list[Path]) -> tuple[bytes, str, str]:
    """Answer calls; return a package, a project and a conversion."""

    def sent(path: str, name: str, content: bytes, field: str, **fields: str) -> dict:
        answer = client.post(path, files={field: (name, content)}, data=fields)
        assert answer.status_code == 200, (path, answer.text)
        loads_nothing(f"{path} of {name}")
        return answer.json()

    package = client.get("/models/kathleen/package")
    assert package.status_code == 200
    loads_nothing("the export of a voice")
    sent("/models/import", "kathleen.voice.zip", package.content, "package")
    for model in models:
        sent("/models/import", model.name, model.read_bytes(), "package")
    assert client.post("/models/import", files={"package": ("a.pth", b"no model")}).status_code == 415
    sent("/verify", "speech.flac", SPEECH.read_bytes(), "audio")
    recordings = io.BytesIO()
    with zipfile.ZipFile(recordings, "w") as archive:
        archive.writestr("model.json", '{"name": "Mia"}')
        for number in range(3):
            archive.write(SPEECH, f"audio/{number}.flac")
    sent("/models/create", "mia.zip", recordings.getvalue(), "training_audio_files")
    task_id = sent("/convert", "speech.flac", SPEECH.read_bytes(), "audio", model="kathleen")["task_id"]
    finish(studio, task_id)
    (project,) = client.get("/projects").json()["projects"]
    assert client.get(f"/projects/{project['id']}/export").status_code == 200
    loads_nothing("the export of a project")
    return package.content, project["id"], task_id


def finish(studio: Studio, task_id: str) -> None:
    """End a conversion as a worker would: its take is the recording."""
    task = claim(studio.database, "worker", ["conversion"], 600)
    assert task is not None
    assert task.id == task_id
    key = f"{task.parameters['input_key'].rpartition('/')[0]}/{task.fence}/take-1.wav"
    studio.storage.put_bytes(SPEECH.read_bytes(), key)
    result = {
        "outputs": [key],
        "output_settings": {"model": "kathleen", "transpose": 0, "vocal_style": "spoken"},
        "settings": {},
        "statement": asdict(Statement("kathleen", "Kathleen", None, {}, None, "0.9")),
        "scores": [],
    }
    with studio.database.write() as connection:
        complete(connection, task, result)


def use(visit: Visit, package: Path, project: str, task_id: str) -> None:
    """Do on the page what takes a while."""
    with gr.Blocks() as blocks, gr.Tabs() as tabs, gr.Tab() as tab:
        studio, nothing = visit.studio, gr.HTML()
        page = Page(
            studio, lambda request: visit.account, blocks, tabs, {}, nothing, nothing, Installs(studio), gr.State(None)
        )
        part = Import(page, tab, gr.UploadButton(), Question())
    assert part.look(visit, [str(package)])[part.question.name] != "Kathleen"
    loads_nothing("a look at a package")
    part.take_in(visit, [str(package)], 0, "Another")
    loads_nothing("an import on the page")
    for action, *given in (
        (package_link, "kathleen", "", visit.now_s),
        (project_zip, project, "", visit.now_s + 1),
        (take_download, task_id, 1, "mp3", "", visit.now_s),
        (take_with_effects, task_id, 1, "hall", "", visit.now_s),
        (add_recordings, None, [SPEECH], visit.now_s),
    ):
        visit.do(action, *given)
        loads_nothing(action.__name__)
    visit.do(load_effects)
    loads_nothing("the fold of the effects")


def main(folder: Path, models: list[Path]) -> None:
    """Serve and use everything, in the data folder of the environment."""
    os.environ.update(OFFLINE)
    studio = open_studio(load_settings(), ServiceSettings(free_disk_mb=0, executor="none", submissions_per_minute=1000))
    apart = ApartActions(studio)
    studio = replace(studio, submit=apart.submit)
    app = mount_page(build_app(studio), studio)
    loads_nothing(f"the page of gradio {gr.__version__}")
    headers = {"Authorization": f"Bearer {create_token(studio.database, studio.local, 'test')[1]}"}
    content, *made = serve(TestClient(app, headers=headers), studio, models)
    package = folder / "given.voice.zip"
    package.write_bytes(content)
    use(Visit(studio, studio.local, NOW_S), package, *made)
    apart.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(one) for one in sys.argv[2:]])
