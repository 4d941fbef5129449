"""Several recordings at once: converted with the settings of the tab, and downloaded as a ZIP file."""

import json
from collections.abc import Sequence
from pathlib import Path

import gradio as gr
from gradio.blocks import Block

from engine.audio.containers import AUDIO_SUFFIXES
from engine.texts import tr
from studio.actions.account import FORMATS
from studio.actions.conversions.batches import Row, batch_view, batch_zip, cancel_batch, start_batch
from studio.actions.uploads import receive_upload, scratch_folder
from studio.errors import Invalid
from studio.page.convert.layout import Layout
from studio.page.convert.settings import Settings
from studio.page.convert.voice import GONE, Voice
from studio.page.parts.analyses import BUSY
from studio.page.parts.markup import markup
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, show_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.values import Given, Values

_POLL_S = 1.0
_STATES = {
    "queued": tr("waiting"), "running": tr("converting"), "completed": tr("done"), "failed": tr("failed"),
}  # fmt: skip
_FETCH = """text => {
  if (!text) return;
  const {url, name} = JSON.parse(text);
  Object.assign(document.createElement("a"), {href: url, download: name}).click();
}"""


class Batch:
    """The part of the tab for several recordings. rows: {file_name, task, error} of each, which stay."""

    def __init__(self, page: Page, layout: Layout) -> None:
        self.page = page
        self.rows = remembered("convert-batch", [])
        self.timer = gr.Timer(_POLL_S, active=False)
        with layout.batch:
            self.back = gr.Button(tr("One recording"), size="sm", scale=0, min_width=120, elem_id="convert-one")
            self.files = gr.File(
                label=tr("Recordings"), file_count="multiple", type="filepath", file_types=list(AUDIO_SUFFIXES),
                height=150, elem_id="convert-files",
            )  # fmt: skip
            self.problem = notice("convert-batch-problem")
            self.table = gr.HTML(visible=False, elem_id="convert-batch")
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
        page.on(self.timer.tick, self.watch, [self.rows], [self.timer, self.table, self.going, self.done])
        page.on(self.cancel.click, self.stop, [self.rows], [self.timer], notice=problem)
        packed = page.on(self.fetch.click, self.pack, [self.rows, self.kind], [self.link], notice=problem)
        packed.success(None, self.link, None, js=_FETCH, api_visibility="private", show_progress="hidden")

    @property
    def outputs(self) -> list[Block]:
        """What changes when recordings are converted."""
        return [self.rows, self.timer]

    def restore(self, rows: Sequence[Row] | None) -> Values:
        """Return updates that show what was here when this browser left."""
        return {self.timer: gr.Timer(active=True)} if rows else {}

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
        return {self.rows: rows, self.timer: gr.Timer(active=True), self.files: None}

    def watch(self, visit: Visit, rows: Sequence[Row]) -> Updates:
        found = batch_view(visit.studio, visit.account, rows or [], visit.base_url, visit.now_s)
        active = any(row["state"] in BUSY for row in found)
        return {
            self.timer: gr.Timer(active=active),
            self.table: gr.HTML(_table(found), visible=bool(found)),
            self.going: gr.Row(visible=active),
            self.done: gr.Row(visible=any(row["state"] == "completed" for row in found)),
        }

    def stop(self, visit: Visit, rows: Sequence[Row]) -> Updates:
        cancel_batch(visit.studio, visit.account, rows or [])
        return {self.timer: gr.Timer(active=True)}

    def pack(self, visit: Visit, rows: Sequence[Row], suffix: str) -> Updates:
        made = visit.apart(batch_zip, visit.account, rows or [], suffix, visit.base_url, visit.now_s)
        return {self.link: json.dumps(made)}


def _table(rows: Sequence[Row]) -> str:
    """Return the recordings and how far each is, as HTML."""
    if not rows:
        return ""
    is_over = not any(row["state"] in BUSY for row in rows)  # until then the table is made anew, which would stop it
    lines = "".join(
        f'<tr class="{row["state"]}"><th scope="row" translate="no">{markup(row["file_name"])}</th>'
        f"<td>{_heard(row) if is_over and row.get('url') else _state(row)}</td></tr>"
        for row in rows
    )
    done, failed = (sum(row["state"] == state for row in rows) for state in ("completed", "failed"))
    counted = tr(
        "{done} of {rows} done",
        done=done, rows=len(rows),
    ) + (tr(", {failed} failed", failed=failed) if failed else "")
    share = sum(1.0 if row["state"] not in BUSY else row["progress"] for row in rows) / len(rows)
    return f"{progress_bar(share, counted)}<table><tbody>{lines}</tbody></table>"


def _state(row: Row) -> str:
    return markup(str(row["error"] or row["warning"] or _STATES.get(row["state"], row["state"])))


def _heard(row: Row) -> str:
    name, url = markup(row["file_name"]), markup(row["url"])
    warning = f" {markup(row['warning'])}" if row["warning"] else ""
    return f'<audio controls preload="none" src="{url}" aria-label="{name}" translate="no"></audio>{warning}'
