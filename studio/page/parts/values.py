"""What events receive and return: values by component."""

from typing import TypeVar

import gradio as gr
from gradio.blocks import Block
from pydantic import TypeAdapter, ValidationError

from studio.errors import Invalid

T = TypeVar("T")
Values = dict[Block, object]  # new values by component: plain ones, or components with what changes of them
NOT_OURS = "This is not what the page sends: reload it, and try again."


class Given(dict[Block, object]):
    """What an event receives, by component."""

    def read(self, one: Block, kind: type[T]) -> T | None:
        """Return the value of a component, checked; None if there is none, or if the browser has remembered what this
        version does not know. Raises Invalid for what no page sends."""
        value = self[one]
        try:
            return None if value is None else TypeAdapter(kind).validate_python(value)
        except ValidationError as cause:
            if isinstance(one, gr.BrowserState):
                return None
            raise Invalid([("page", NOT_OURS)]) from cause

    def text(self, one: Block) -> str:
        """Return the text of a component, "" if there is none."""
        return self.read(one, str) or ""

    def number(self, one: Block) -> float:
        """Return the number of a component, 0 if there is none."""
        return self.read(one, float) or 0.0

    def flag(self, one: Block) -> bool:
        """Return whether a component is chosen."""
        return bool(self[one])
