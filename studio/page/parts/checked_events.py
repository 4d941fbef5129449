"""A page that checks what a browser sends before an event begins.

Only files that this visitor uploaded to the page are accepted, under the names given to them. Gradio (6.31) takes
paths instead, and checks that such a file was uploaded only in a page that it has launched itself. In a page mounted
beside a service, anybody could read any file of this machine and request any address.

What the components of the page cannot read is refused in a sentence; gradio would log a traceback for each such event.

Its texts are marked (`engine.texts`) and said where they leave for the browser, in the language of the visitor.

A value that is no longer a choice of its list becomes None. A browser may still send the old choice after the list has
changed, and gradio would then refuse the whole event with an error that the visitor cannot act on.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.blocks import Block
from gradio.state_holder import SessionState

from engine.texts import Numeral, Text
from studio.errors import NotFound
from studio.languages.reading import read_in, reader_language, said
from studio.page.catalogues import language_of
from studio.page.cookies import visitor_of
from studio.page.parts.shared_config import SharedConfig
from studio.page.parts.values import NOT_OURS
from studio.page.uploads import UploadNames

_LISTS = (gr.Dropdown, gr.Radio, gr.CheckboxGroup)


class CheckedEvents(gr.Blocks):
    """Blocks that refuse events naming other files, in a value or in the event's data, and pass None for choices that
    are gone."""

    def __init__(self, uploads: UploadNames, *, title: str, delete_cache: tuple[int, int] | None) -> None:
        super().__init__(title=title, analytics_enabled=False, delete_cache=delete_cache)
        self.default_config = SharedConfig(self)
        self._uploads = uploads

    async def process_api(
        self, block_fn: BlockFunction | int, inputs: list[object], *positional: Any, **options: Any
    ) -> dict[str, object]:
        """Run the event as gradio does, in its visitor's language. Raises gr.Error for a file that was not uploaded."""
        event, request = options.get("event_data"), options.get("request")
        visitor = "" if request is None else visitor_of(request.request.scope)
        with read_in(reader_language() if request is None else language_of(request.request.headers).code):
            try:
                with_own_files([inputs, event and event._data], lambda name: self._uploads.path_of(name, visitor))
            except NotFound as error:
                raise gr.Error(said(str(error)), print_exception=False) from error
            components = self._as_seen(block_fn, positional[0] if positional else options.get("state"))
            result = await super().process_api(block_fn, with_choices_left(components, inputs), *positional, **options)
            outputs = (self.fns[block_fn] if isinstance(block_fn, int) else block_fn).outputs
            shown = zip(result["data"], [*outputs, *[None] * len(result["data"])], strict=False)
            return {**result, "data": [as_shown(value, isinstance(one, _LISTS)) for value, one in shown]}

    @property
    def config(self) -> Any:
        """What the page begins with, in the language of whoever asks for it."""
        return as_shown(self._config)

    @config.setter
    def config(self, config: object) -> None:
        self._config = config

    async def preprocess_data(self, *given: Any, **options: Any) -> list[object]:
        """Read the values as the components do. Raises gr.Error for what no page sends: others, or fewer."""
        try:
            return list(await super().preprocess_data(*given, **options))
        except gr.Error as error:
            error.print_exception = False
            raise
        except Exception as error:
            raise gr.Error(said(NOT_OURS), print_exception=False) from error

    def _as_seen(self, block_fn: BlockFunction | int, state: SessionState | None) -> list[Block]:
        """Return the input components of an event as they are in the session."""
        inputs = (self.fns[block_fn] if isinstance(block_fn, int) else block_fn).inputs
        return [state[one._id] if state is not None and one._id in state else one for one in inputs]


def as_shown(value: object, is_list: bool = False) -> object:
    """Return what gradio sends with its texts in the reader's language.

    is_list: of a list of choices, which the browser sends back as they stand in the code: only their labels are said.
    """
    if isinstance(value, dict):
        kept = ("value", "choices") if is_list or "choices" in value else ()
        shown = {name: one if name in kept else as_shown(one) for name, one in value.items()}
        if value.get("choices"):
            shown["choices"] = [(as_shown(label), choice) for label, choice in value["choices"]]
        return shown
    if is_list:
        return value
    if isinstance(value, list | tuple):
        return [as_shown(one) for one in value]
    return said(value) if isinstance(value, Text | Numeral) else value


def with_choices_left(components: Sequence[Block], values: Sequence[object]) -> list[object]:
    """Replace values that are no choice of their dropdown by None."""
    pairs = zip(components, values, strict=False)  # gradio checks their number
    seen = [None if isinstance(one, gr.Dropdown) and _is_gone(one, value) else value for one, value in pairs]
    return [*seen, *values[len(seen) :]]


def _is_gone(dropdown: gr.Dropdown, value: object) -> bool:
    several_or_own = dropdown.multiselect or dropdown.allow_custom_value
    return not several_or_own and value not in [choice for _, choice in dropdown.choices]


def with_own_files(value: object, path_of: Callable[[str], Path]) -> None:
    """Replace the names of files by their paths, anywhere in a value sent by a browser.

    Raises NotFound, as `path_of` does for a name that the visitor was not given.
    """
    to_see = [value]
    while to_see:
        now = to_see.pop()
        if isinstance(now, dict):
            if "meta" in now and isinstance(now.get("path"), str):  # only marked as a file counts as one
                now["path"] = str(path_of(now["path"]))
            to_see += now.values()
        elif isinstance(now, list | tuple):
            to_see += now
