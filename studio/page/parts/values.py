"""What events receive and return: values by component."""

from typing import TypeGuard, TypeVar

import gradio as gr
from gradio.blocks import Block
from pydantic import TypeAdapter, ValidationError

from engine.texts import tr
from studio.errors import Invalid

T = TypeVar("T")
Values = dict[Block, object]  # new values by component: plain ones, or components with what changes of them
NOT_OURS = tr("This is not what the page sends: reload it, and try again.")


class Given(dict[Block, object]):
    """What an event receives, by component."""

    def read(self, one: Block, kind: type[T]) -> T | None:
        """Return the value of a component, checked; None if there is none, or if the browser has remembered what this
        version does not know. Raises Invalid for what no page sends."""
        value = self[one]
        if value is not None and _is_a(value, kind):
            return value
        if value is not None and not isinstance(one, gr.BrowserState):
            raise Invalid([("page", NOT_OURS)])
        return None

    def text(self, one: Block) -> str:
        """Return the text of a component, "" if there is none."""
        return self.read(one, str) or ""

    def number(self, one: Block) -> float:
        """Return the number of a component, 0 if there is none."""
        return self.read(one, float) or 0.0

    def flag(self, one: Block) -> bool:
        """Return whether a component is chosen."""
        return bool(self[one])


def _is_a(value: object, kind: type[T]) -> TypeGuard[T]:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True
