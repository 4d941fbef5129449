"""Several recordings at once: dropped together, converted with the settings of the tab, carried away as a zip."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from engine.datasets.dataset import AUDIO_SUFFIXES
from studio.actions.arrivals import take_upload, workplace
from studio.actions.batches import Row, batch_view, batch_zip, cancel_batch, start_batch
from studio.actions.downloads import FORMATS
from studio.errors import Invalid
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.tabs.convert_settings import Settings
from studio.page.tabs.convert_voice import GONE, Voice

_POLL_S = 1.0
_STATES = {"queued": "waiting", "running": "converting", "completed": "done", "failed": "failed"}
_FETCH = """text => {
  if (!text) return;
  const {url, name} = JSON.parse(text);
  Object.assign(document.createElement("a"), {href: url, download: name}).click();
}"""


@dataclass(frozen=True)
class Batch:
    """The part of the tab for several recordings. rows: {file_name, task, error} of each, which stay."""

    page: Page
    rows: gr.BrowserState
    timer: gr.Timer
    files: gr.File
    start: gr.Button
    problem: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """What changes when recordings are begun with."""
        return [self.rows, self.timer]

    def restore(self, rows: Sequence[Row] | None) -> dict[Any, Any]:
        """Updates that show what was here when this browser left."""
        return {self.timer: gr.Timer(active=True)} if rows else {}

    def connect(self, voice: Voice, settings: Settings) -> None:
        """Wire the button that begins, once voice and settings are there."""

        def convert(visit: Visit, given: dict[Any, Any]) -> Updates:
            if not given[self.files]:
                raise Invalid([("recordings", "Add recordings first.")])
            if not given[voice.chosen]:
                raise Invalid([("voice", "Choose a voice first.")])
            if others := voice.without(visit, given[voice.chosen]):
                return others | {self.problem: told_error(GONE)}
            with workplace(visit.studio) as place:
                copies = []
                for number, file in enumerate(given[self.files]):
                    copy = take_upload(visit.studio, Path(file), place / str(number))
                    copies.append((copy, Path(file).name))
                rows = start_batch(
                    visit.studio,
                    visit.account,
                    copies,
                    model=given[voice.chosen],
                    settings=settings.asked(given),
                    preset=settings.preset_of(given),
                )
            return {self.rows: rows, self.timer: gr.Timer(active=True), self.files: None}

        inputs = {self.files, voice.chosen, *settings.controls}
        self.page.on(
            self.start.click, convert, inputs, [*self.outputs, self.files, *voice.outputs], notice=self.problem
        )


def build_batch(page: Page) -> Batch:
    """Layout and events, but for the button that begins."""
    rows = remembered("convert-batch", [])
    timer = gr.Timer(_POLL_S, active=False)
    files = gr.File(
        label="Recordings", file_count="multiple", type="filepath", file_types=list(AUDIO_SUFFIXES), height=150,
        elem_id="convert-files",
    )  # fmt: skip
    start = gr.Button("Convert all", variant="primary")
    problem = notice("convert-batch-problem")
    listed = gr.HTML(visible=False, elem_id="convert-batch")
    with gr.Row(visible=False) as going:
        cancel = gr.Button("Cancel remaining", size="sm")
    with gr.Row(visible=False) as done:
        kind = gr.Dropdown(list(FORMATS), value=FORMATS[0], label="Format", scale=1, min_width=130)
        fetch = gr.Button("Download all as ZIP", scale=2, min_width=160)
    link = gr.Textbox(visible=False)

    def watch(visit: Visit, of: Sequence[Row]) -> Updates:
        found = batch_view(visit.studio, visit.account, of or [])
        active = [row for row in found if row["state"] in ("queued", "running")]
        return {
            timer: gr.Timer(active=bool(active)),
            listed: gr.HTML(_table(found), visible=bool(found)),
            going: gr.Row(visible=bool(active)),
            done: gr.Row(visible=any(row["state"] == "completed" for row in found)),
        }

    def stop(visit: Visit, of: Sequence[Row]) -> Updates:
        cancel_batch(visit.studio, visit.account, of or [])
        return {timer: gr.Timer(active=True)}

    def pack(visit: Visit, of: Sequence[Row], suffix: str) -> Updates:
        made = batch_zip(visit.studio, visit.account, of or [], suffix, visit.base_url, visit.now_s)
        return {link: json.dumps(made)}

    page.on(timer.tick, watch, [rows], [timer, listed, going, done])
    page.on(cancel.click, stop, [rows], [timer], notice=problem)
    packed = page.on(fetch.click, pack, [rows, kind], [link], notice=problem)
    packed.success(None, link, None, js=_FETCH, api_visibility="private", show_progress="hidden")
    return Batch(page, rows, timer, files, start, problem)


def _table(rows: Sequence[Row]) -> str:
    """The recordings and how far each is, as HTML."""
    if not rows:
        return ""
    lines = []
    for row in rows:
        said = html.escape(str(row["error"] or _STATES.get(row["state"], row["state"])))
        lines.append(
            f'<tr class="{row["state"]}"><th scope="row">{html.escape(row["file_name"])}</th><td>{said}</td></tr>'
        )
    done, failed = (sum(row["state"] == state for row in rows) for state in ("completed", "failed"))
    counted = f"{done} of {len(rows)} done" + (f", {failed} failed" if failed else "")
    share = sum(1.0 if row["state"] not in ("queued", "running") else row["progress"] for row in rows) / len(rows)
    return f"{progress_bar(share, counted)}<table><tbody>{''.join(lines)}</tbody></table>"
