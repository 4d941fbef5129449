"""The recordings of the Create tab: uploaded files, ZIP archives and takes from the microphone, in one list."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import gradio as gr

from engine.audio.containers import AUDIO_SUFFIXES
from engine.texts import joined, tr
from studio.actions.voices.drafts import (
    DraftUpload,
    add_recordings,
    choose_track,
    draft_view,
    drop_draft,
    remove_recording,
)
from studio.page.parts.browser_memory import remembered
from studio.page.parts.element import element, shown
from studio.page.parts.notice import inform, notice, show_error, silent
from studio.page.parts.page import InTurn, Page, Updates, Visit
from studio.page.parts.profile_form import ProfileForm
from studio.page.parts.recorder import recorder
from studio.page.parts.track_choice import offered_choice, track_choice
from studio.page.parts.values import Values

_MOST_NAMED = 5  # rejected files


class Recordings:
    """The list and what adds to it. draft: the id of the collected recordings, remembered by the browser.

    outputs: the components changed by `show`.
    """

    def __init__(self, page: Page) -> None:
        self.draft = remembered("create-draft")
        self.files = gr.File(
            label=tr("Recordings or a ZIP archive"),
            file_count="multiple",
            height=170,
            file_types=[*AUDIO_SUFFIXES, ".zip", ".json"],
            elem_id="create-files",
        )
        recorder(page, "create-files")
        self.said = notice("create-recordings-notice")
        self.gathered = element(
            "gathered", events=("removed", "cleared"), data={"recordings": []}, elem_id="create-gathered"
        )
        self.track, self.offered = track_choice("create-track"), gr.State("")  # the id of the recording that has it
        self.outputs = [self.draft, self.gathered, self.said, self.track, self.offered]

    def again(self, visit: Visit, draft_id: str | None) -> Updates:
        """List the recordings of a draft that the browser remembers; it may say so after the tab was opened."""
        return {self.gathered: self._listed(visit, draft_id)} if draft_id else None

    def show(self, visit: Visit, draft_id: str | None) -> Values:
        """Return updates that show a draft, or an empty list."""
        listed = self._listed(visit, draft_id)
        track: Values = {self.track: offered_choice(None), self.offered: ""}
        return {self.draft: draft_id, self.gathered: listed, self.said: silent(), **track}

    def _listed(self, visit: Visit, draft_id: str | None) -> str:
        found = visit.do(draft_view, draft_id, visit.base_url, visit.now_s) if draft_id else []
        return shown({"recordings": found})

    def choose(self, visit: Visit, track: int, recording: str, draft_id: str | None) -> Updates:
        """Put a sound track in the place of the recording that has several."""
        if draft_id:
            visit.do(choose_track, draft_id, recording, track)
        return self.show(visit, draft_id)

    def remove(self, visit: Visit, data: Mapping[Literal["id"], str], draft_id: str | None) -> Updates:
        """Remove a recording from the list."""
        if draft_id:
            visit.do(remove_recording, draft_id, str(data.get("id", "")))
        return self.show(visit, draft_id)

    def clear(self, visit: Visit, data: object, draft_id: str | None) -> Updates:
        """Remove all recordings."""
        if draft_id:
            visit.do(drop_draft, draft_id)
        return self.show(visit, None)

    def connect(self, page: Page, form: ProfileForm) -> None:
        """Wire the events; `form` is filled in from a ZIP archive with a profile."""

        def brought(visit: Visit, came: DraftUpload) -> Values:
            updates = self.show(visit, came.draft_id) | form.filled(came.values, only_said=True)
            if came.choices:
                updates |= {self.track: offered_choice(came.choices[0]), self.offered: came.choices[0].recording}
            if came.refused:
                updates[self.said] = show_error(_rejected(came.refused))
            elif came.values:
                updates[self.said] = inform(tr("The form below has been filled in from the ZIP archive."))
            return updates

        def add(visit: Visit, files: list[str] | None, draft_id: str | None) -> Updates:
            if not files:
                return None
            paths = [Path(file) for file in files]
            came = visit.do(add_recordings, draft_id, paths, visit.now_s)
            return brought(visit, came) | {self.files: gr.File(value=None)}

        # one at a time: each adds to the draft begun by the one before
        in_turn: InTurn = {"concurrency_id": "create", "concurrency_limit": 1}
        filled = [*self.outputs, *form.components]
        page.on(
            self.files.upload,
            add,
            [self.files, self.draft],
            [*filled, self.files],
            notice=self.said,
            show_progress="minimal",
            show_progress_on=[self.gathered],
            **in_turn,
        )
        track = [self.track, self.offered, self.draft]
        page.on(self.track.input, self.choose, track, self.outputs, notice=self.said, **in_turn)
        on_data = partial(page.on_data, notice=self.said, **in_turn)
        on_data(self.gathered.removed, self.remove, [self.draft], self.outputs, trigger_mode="multiple")
        page.on(self.draft.change, self.again, [self.draft], [self.gathered])
        on_data(self.gathered.cleared, self.clear, [self.draft], self.outputs)


def _rejected(reasons: tuple[str, ...]) -> str:
    more = (
        " " + tr("{reasons} more rejected.", reasons=len(reasons) - _MOST_NAMED) if len(reasons) > _MOST_NAMED else ""
    )
    return joined(" ", reasons[:_MOST_NAMED]) + more
