"""What the page is made of, which its sessions share.

Gradio (6.31) describes every component anew for every session, for links to the state of a page, which this page does
not offer; and it makes a component anew for every session that an event updates it in. That was nearly all of
the 1.8 MB that it kept of each visitor.
"""

from collections import defaultdict, deque
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from gradio.blocks import Block, Blocks, BlocksConfig
from gradio.renderable import Renderable

_UNDESCRIBED = cast(dict[str, Any], MappingProxyType({}))
_VARIANTS = 4  # of a component; while a page opens, some are updated by several events


class SharedConfig(BlocksConfig):
    """The components and events of a page, of which each session has a copy of its own."""

    def __init__(self, page: Blocks) -> None:
        super().__init__(page)
        self._variants: dict[int, deque[Block]] = defaultdict(partial(deque, maxlen=_VARIANTS))

    def __copy__(self) -> BlocksConfig:
        """Return the copy for a session: the same components and events, and lists that the session may change."""
        copied = _OfSession(self.root_block)
        vars(copied).update(vars(super().__copy__()))  # type: ignore[no-untyped-call]
        copied.blocks = _Components(copied.blocks, self._variants)
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


class _Components(dict[int, Block]):
    """The components of a session, by their ids. What another session has just the same is not kept twice."""

    def __init__(self, of_page: dict[int, Block], variants: dict[int, deque[Block]]) -> None:
        super().__init__(of_page)
        self._variants = variants

    def __setitem__(self, key: int, made: Block) -> None:
        known = self._variants[key]
        for one in known:
            if type(one) is type(made) and one.constructor_args == made.constructor_args:
                made = one
                break
        else:
            known.append(made)
        super().__setitem__(key, made)
