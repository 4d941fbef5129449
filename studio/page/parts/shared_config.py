"""What the page is made of, which its sessions share.

Gradio (6.31) describes every component anew for every session, for links to the state of a page, which this page does
not offer: 1 MB of the 1.1 that it kept of each visitor.
"""

from types import MappingProxyType
from typing import Any, cast

from gradio.blocks import Block, BlocksConfig
from gradio.renderable import Renderable

_UNDESCRIBED = cast(dict[str, Any], MappingProxyType({}))


class SharedConfig(BlocksConfig):
    """The components and events of a page, of which each session has a copy of its own."""

    def __copy__(self) -> BlocksConfig:
        """Return the copy for a session: the same components and events, and lists that the session may change."""
        copied = _OfSession(self.root_block)
        vars(copied).update(vars(super().__copy__()))  # type: ignore[no-untyped-call]
        return copied


class _OfSession(BlocksConfig):
    """The components and events as one session has them."""

    @staticmethod
    def config_for_block(
        _id: int, rendered_ids: list[int], block: Block, renderable: Renderable | None = None
    ) -> dict[str, Any]:
        """Describe a component only where the session renders anew what holds it, not to remember it."""
        if renderable is None:
            return _UNDESCRIBED
        return BlocksConfig.config_for_block(_id, rendered_ids, block, renderable)
