"""Several recordings at once: converted with the settings of the tab, heard, opened and downloaded one by one, and all
as a ZIP file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import gradio as gr
from gradio.blocks import Block

from engine.audio.containers import AUDIO_SUFFIXES
from engine.texts import tr
from studio.actions.account import FORMATS, preferences_of
from studio.actions.conversions.batches import Row, batch_view, batch_zip, cancel_batch, start_batch
from studio.actions.conversions.downloads import take_download
from studio.actions.tasks import cancel_task, task_view
from studio.actions.uploads import receive_upload, scratch_folder
from studio.errors import Invalid
from studio.page.convert.layout import Layout
from studio.page.convert.settings import Settings
from studio.page.convert.voice import GONE, Voice
from studio.page.history.rows import CANCEL, STATES, put_outlines, row_of, with_downloads
from studio.page.parts.analyses import BUSY
from studio.page.parts.browser_memory import remembered
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import AskedOfTask
from studio.page.parts.notice import notice, show_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.values import Given, Values
from studio.page.parts.watched_task import WatchedTask

_POLL_S = 1.0
_BESIDE = [{"name": "fetch", "label": tr("Download")}, {"name": "convert", "label": tr("Open")}]
_FETCH = """text => {
  if (!text) return;
  const {url, name} = JSON.parse(text);
  Object.assign(document.createElement("a"), {href: url, download: name}).click();
}"""


class Batch:
    """The part of the tab for several recordings. rows: {file_name, task, error} of each, which stay. made: links
    to takes in formats made on request, by "task track format"."""

    def __init__(self, page: Page, layout: Layout) -> None:
        self.page = page
        self.rows, self.made = remembered("convert-batch", []), gr.State({})
        self.watching = WatchedTask(_POLL_S)
        with layout.batch:
            self.back = gr.Button(tr("One recording"), size="sm", scale=0, min_width=120, elem_id="convert-one")
            self.files = gr.File(
                label=tr("Recordings"), file_count="multiple", type="filepath", file_types=list(AUDIO_SUFFIXES),
                height=110, elem_id="convert-files",
            )  # fmt: skip
            self.problem = notice("convert-batch-problem")
            self.counted = gr.HTML(visible=False, elem_id="convert-batch-counted")
            self.list = element("tasks", events=("asked", "download"), elem_id="convert-batch")
            with gr.Row(visible=False) as self.going:
                self.cancel = gr.Button(tr("Cancel remaining"), size="sm")
            with gr.Row(visible=False) as self.done:
                self.kind = gr.Dropdown(list(FORMATS), value=FORMATS[0], label=tr("Format"), scale=1, min_width=130)
                self.fetch = gr.Button(tr("Download all as ZIP"), scale=2, min_width=160)
        with layout.go:
            self.start = gr.Button(tr("Convert all"), variant="primary", size="lg", visible=False)
        self.link = gr.Textbox(visible=False)

    def wire(self, voice: Voice, settings: Settings) -> None:
        """Wire all events, once voice and settings are there."""
        self.voice, self.settings = voice, settings
        page, problem = self.page, self.problem
        inputs = {self.files, voice.chosen, *settings.controls}
        page.on(self.start.click, self.convert, inputs, [*self.outputs, self.files, *voice.outputs], notice=problem)
        seen = [self.watching.timer, self.counted, self.list, self.going, self.done]
        self.watching.wire(page, self.watch, [self.rows, self.made], seen)
        page.on(self.cancel.click, self.stop, [self.rows], [self.watching.timer], notice=problem)
        elsewhere = [self.link, page.tabs, page.wishes["convert"], self.watching.timer]
        acted = page.on_data(self.list.asked, self.act, [], elsewhere, notice=problem)
        page.on_data(self.list.download, self.download, [self.rows, self.made], [*seen, self.made], notice=problem)
        packed = page.on(self.fetch.click, self.pack, [self.rows, self.kind], [self.link], notice=problem)
        for made in (acted, packed):
            made.success(None, self.link, None, js=_FETCH, api_visibility="private", show_progress="hidden")

    @property
    def outputs(self) -> list[Block]:
        """What changes when recordings are converted."""
        return [self.rows, self.watching.timer]

    def restore(self, rows: Sequence[Row] | None) -> Values:
        """Return updates that show what was here when this browser left."""
        return self.watching.begin() if rows else {}

    def convert(self, visit: Visit, given: Given) -> Updates:
        files, model = given.read(self.files, list[str]), given.read(self.voice.chosen, str)
        if not files:
            raise Invalid([("recordings", tr("Add recordings first."))])
        if not model:
            raise Invalid([("voice", tr("Choose a voice first."))])
        if others := self.voice.without(visit, model):
            return others | {self.problem: show_error(GONE)}
        with scratch_folder(visit.studio) as place:
            copies = [
                (receive_upload(visit.studio, Path(file), place / str(number)), Path(file).name)
                for number, file in enumerate(files)
            ]
            rows = start_batch(
                visit.studio,
                visit.account,
                copies,
                model=model,
                settings=self.settings.asked(given),
                preset=self.settings.preset_of(given),
                effects=self.settings.effects_of(given),
            )
        return {self.rows: rows, **self.watching.begin(), self.files: None}

    def watch(self, visit: Visit, rows: Sequence[Row], made: Mapping[str, Mapping[str, str]]) -> Updates:
        found = visit.do(batch_view, rows or [], visit.base_url, visit.now_s)
        active = any(row["state"] in BUSY for row in found)
        preferred = preferences_of(visit.studio.database, visit.account).format
        tasks = [with_downloads(_row(visit, place, row, preferred), made) for place, row in enumerate(found)]
        return {
            **self.watching.begin(active),
            self.counted: gr.HTML(_counted(found), visible=bool(found)),
            self.list: shown({"tasks": tasks, "empty": ""}),
            self.going: gr.Row(visible=active),
            self.done: gr.Row(visible=any(row["state"] == "completed" for row in found)),
        }

    def act(self, visit: Visit, data: AskedOfTask) -> Updates:
        """Open a recording with its takes, download its best one, or cancel it."""
        task_id = str(data.get("id"))
        match data.get("action"):
            case "convert":
                return {self.link: "", **self.page.go("convert", task=task_id)}
            case "fetch":
                form = preferences_of(visit.studio.database, visit.account).format
                heard = row_of(visit.do(task_view, task_id, visit.base_url, visit.now_s))["player"]
                best = heard["tracks"][heard["chosen"]]["take"]
                return {self.link: json.dumps(_made(visit, task_id, best, form))}
            case "cancel":
                visit.do(cancel_task, task_id, visit.base_url, visit.now_s)
        return {self.link: "", **self.watching.begin()}

    def download(
        self, visit: Visit, data: AskedOfTask, rows: Sequence[Row], made: Mapping[str, Mapping[str, str]]
    ) -> Updates:
        """Make a take in another format; the player fetches it as soon as its link is there."""
        task_id, index, suffix = str(data["id"]), int(data["index"]), str(data["label"])
        made = {**made, f"{task_id} {index} {suffix}": _made(visit, task_id, index, suffix)}
        return {self.made: made, **(self.watch(visit, rows, made) or {})}

    def stop(self, visit: Visit, rows: Sequence[Row]) -> Updates:
        visit.do(cancel_batch, rows or [])
        return self.watching.begin()

    def pack(self, visit: Visit, rows: Sequence[Row], suffix: str) -> Updates:
        made = visit.do(batch_zip, rows or [], suffix, visit.base_url, visit.now_s)
        return {self.link: json.dumps(made)}


def _made(visit: Visit, task_id: str, take: int, suffix: str) -> Mapping[str, str]:
    return visit.do(take_download, task_id, take, suffix, visit.base_url, visit.now_s)


def _row(visit: Visit, place: int, row: Row, preferred: str) -> dict[str, object]:
    """Return a recording as a row of <timbre-tasks>: by its name, with what can be done without opening it."""
    named = {"title": row["file_name"], "is_name": True, "error": None, "note": row["warning"] or ""}
    if not row["task"] or row["error"]:  # refused, failed, or deleted since
        failed = {"id": row["task"] or f"file-{place}", "kind": row["error"], "state": "failed", "player": None}
        nothing = {"progress": 0.0, "message": "", "created_s": visit.now_s, "took": "", "facts": [], "actions": []}
        return failed | nothing | named | {"label": STATES["failed"]}
    task = visit.do(task_view, row["task"], visit.base_url, visit.now_s)
    made = row_of(task, preferred)
    put_outlines(visit, made)
    return (
        made
        | named
        | {
            "kind": task.model_name or "",
            "actions": [CANCEL] if row["state"] in BUSY else [],
            "beside": _BESIDE if made["player"] else [],
        }
    )


def _counted(rows: Sequence[Row]) -> str:
    """Return how many recordings are done, as HTML."""
    if not rows:
        return ""
    done, failed = (sum(row["state"] == state for row in rows) for state in ("completed", "failed"))
    counted = tr("{done} of {rows} done", done=done, rows=len(rows)) + (
        tr(", {failed} failed", failed=failed) if failed else ""
    )
    share = sum(1.0 if row["state"] not in BUSY else row["progress"] for row in rows) / len(rows)
    return progress_bar(share, counted)
