"""Projects in the History tab: as rows, with a form for their names and places in a song, and their export."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.blocks import Block

from engine.analysis.timeline import Timeline
from engine.texts import joined, ntr, numeral, tr
from studio.actions.conversions.downloads import offered
from studio.actions.project_exports import Suffix, project_zip
from studio.actions.projects import ProjectView, change_project, project_view
from studio.actions.tasks import TaskView
from studio.page.history.rows import row_of
from studio.page.parts.controls import controls, settings_of
from studio.page.parts.element import element, shown
from studio.page.parts.notice import inform, notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.scores import brief_shift, harmony_text
from studio.page.parts.values import Given, Values
from studio.store.records.codec import plain

_MOST_HEARD = 12  # takes in a project's player
_MOST_ROWS = 6  # of its conversions, until all are asked for
_SAVED = tr("Saved. Exported files are named by it.")
_QUESTION = tr("Delete this project: its recording and all takes of it?")
_ACTIONS = [
    {"name": "open-project", "label": tr("Open in Convert")},
    {"name": "export", "label": tr("Export stems (.zip)")},
    {"name": "daw", "label": tr("Export for a DAW (.dawproject)")},
    {"name": "place", "label": tr("Name and tempo")},
    {"name": "delete-project", "label": tr("Delete"), "question": _QUESTION},
]


class ProjectForm:
    """The form, hidden until a project is to be named, and the link to its export."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.project = gr.State(None)  # the id of the one that is named
        self.export = element("download", elem_id="project-export")
        with gr.Column(visible=False, elem_id="project-form") as self.form:
            gr.HTML("<h2>" + tr("Name and tempo") + "</h2>")
            self.name = gr.Textbox(
                label=tr("Project name"),
                max_length=200,
                max_lines=1,
                info=tr("Leave empty for the name of the recording."),
            )
            with gr.Row():
                self.timeline = controls(Timeline)
            with gr.Row():
                self.save = gr.Button(tr("Save"), variant="primary", size="sm")
                self.cancel = gr.Button(tr("Close"), size="sm")
            self.problem = notice("project-problem")
        self.cancel.click(
            lambda: gr.Column(visible=False), None, self.form, api_visibility="private", show_progress="hidden"
        )

    @property
    def outputs(self) -> list[Block]:
        """What `open` and `make_export` change."""
        return [self.form, self.project, self.name, *self.timeline.values(), self.export]

    def wire(self, after: Callable[..., Updates], asked: Sequence[Block], seen: Sequence[Block]) -> None:
        """Wire the form. after: returns updates that show the list again from `asked`, which change `seen`."""
        inputs = {self.project, self.name, *self.timeline.values()}

        def save(visit: Visit, given: Given) -> Updates:
            project = given.read(self.project, str)
            if project is None:
                return None
            timeline = settings_of(self.timeline, given)
            visit.do(change_project, project, given.text(self.name), timeline)
            return {self.problem: inform(_SAVED)}

        done = self._page.on(self.save.click, save, inputs, [], notice=self.problem)
        self._page.on(done.then, after, asked, seen)

    def open(self, visit: Visit, project_id: str) -> Values:
        """Return updates that show the form for a project. Raises NotFound."""
        view = visit.do(project_view, project_id, visit.base_url, visit.now_s)
        values = {control: view.timeline[name] for name, control in self.timeline.items()}
        return values | {self.form: gr.Column(visible=True), self.project: view.id, self.name: view.name}

    def make_export(
        self, visit: Visit, project_id: str, faders: Mapping[str, object] | None, suffix: Suffix = "zip"
    ) -> Values:
        """Return updates that download a project, with the faders that the browser has. Raises NotFound, AudioError,
        DiskFull."""
        made = visit.do(project_zip, project_id, visit.base_url, visit.now_s, suffix=suffix, faders=faders)
        return {self.export: shown(made)}


def project_row(project: ProjectView, preferred: str, is_whole: bool = False) -> dict[str, Any]:
    """Return the row of a project from `projects_view` with those of its conversions, as <timbre-tasks> shows them.

    is_whole: all conversions, not only the latest.
    """
    told = project.conversions if is_whole else project.conversions[:_MOST_ROWS]
    count, active = (len(project.conversions), any(one.state in ("queued", "running") for one in project.conversions))
    timeline, voices = project.timeline, ", ".join(project.voices)
    facts = [[tr("Recording"), project.file_name], [tr("Voices"), voices]]
    facts += (
        [
            [
                tr("Tempo"),
                ntr(
                    "{tempo_bpm} bpm, {beats_per_bar} beat",
                    "{tempo_bpm} bpm, {beats_per_bar} beats",
                    beats_per_bar=timeline["beats_per_bar"],
                    tempo_bpm=numeral(timeline["tempo_bpm"], "g"),
                ),
            ]
        ]
        if timeline["tempo_bpm"]
        else []
    )
    if start_s := timeline["start_s"]:
        facts.append([tr("Begins at"), tr("{seconds} s", seconds=numeral(start_s, "g"))])
    return {
        "id": project.id,
        "title": project.name,
        "is_name": True,
        "kind": ntr("{count} conversion · {voices}", "{count} conversions · {voices}", count=count, voices=voices),
        "state": "running" if active else "completed",
        "label": tr("Working") if active else "",
        "progress": 0.0,
        "message": "",
        "error": None,
        "created_s": project.changed_at,
        "took": "",
        "facts": facts,
        "player": _player(project, preferred),
        "note": "",
        "actions": _ACTIONS if not active else _ACTIONS[:-1],
        "rows": [_row_within(task, preferred) for task in told],
        "more": count - len(told),
    }


def _row_within(task: TaskView, preferred: str) -> dict[str, Any]:
    """Return the row of a conversion below its recording: it is called by its voice."""
    row = row_of(task, preferred)
    kind = [] if row["kind"] == "Conversion" else [row["kind"]]
    voice = task.model_name
    return row | {
        "title": voice or tr("A deleted voice"),
        "is_name": bool(voice),
        "kind": "",
        "detail": [*kind, *row["detail"]],
    }


def _player(project: ProjectView, preferred: str) -> dict[str, Any] | None:
    """Return the recording and its takes, the latest conversion first."""
    tracks: list[dict[str, Any]] = []
    for task in project.conversions:
        player = row_of(task, preferred)["player"]
        for track in (player or {"tracks": []})["tracks"]:
            if "take" not in track:
                tracks = tracks or [{"label": tr("Original"), "url": track["url"]}]  # as in Convert
                continue
            own = [] if track["label"] == "After" else [track["label"].lower()]
            label = joined(tr(", "), [*_of(task), *own])
            tracks.append(track | {"label": label, "task": task.id, "downloads": offered(preferred)})
    return {"id": f"project-{project.id}", "tracks": tracks[: _MOST_HEARD + 1], "chosen": 0} if tracks else None


def _of(view: TaskView) -> list[str]:
    """Return what tells a conversion from others of its recording: voice, what it is, and key."""
    task: Mapping[str, Any] = plain(view)
    harmony = harmony_text(task["settings"])
    marks = [mark for mark, name in ((tr("edited"), "edit_of"), (tr("comp"), "comp")) if task.get(name)]
    shift = brief_shift((task.get("output_settings") or {}).get("transpose"))
    return [task["model_name"] or "voice", *([harmony] if harmony else []), *marks, *([shift] if shift else [])]
