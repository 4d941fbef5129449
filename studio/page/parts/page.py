"""The page as its tabs use it: accounts, the wiring of events, and the way from one tab to another."""

import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Concatenate, Literal, ParamSpec, TypeVar, Unpack

import gradio as gr
import structlog
from gradio.blocks import Block
from gradio.components import Component
from gradio.events import Dependency
from typing_extensions import TypedDict  # pydantic reads Wish, which needs this one before Python 3.12

from engine.errors import EngineError
from engine.texts import tr
from studio.actions.fetched_models import Installs
from studio.page.parts.browser_memory import recalled, stored
from studio.page.parts.notice import sentence_of, show_error, show_problems, silent
from studio.page.parts.values import Values
from studio.store.accounts import Account
from studio.store.studio import Cost, Studio, cost_of

P = ParamSpec("P")
T = TypeVar("T")
Updates = Mapping[Block, object] | None


class Wish(TypedDict, total=False):
    """What another tab asks of one, and when: a voice, a task, a recording, another one to compare it with, whether to
    begin at once."""

    at: float
    voice: str | None
    task: str | None
    recording: str | None
    compare: str | None
    start: bool


class InTurn(TypedDict):
    """Options of events that are answered one after the other."""

    concurrency_id: str
    concurrency_limit: int


class Latest(TypedDict):
    """The option of events of which the last one counts."""

    trigger_mode: Literal["always_last"]


class Options(TypedDict, total=False):
    """Options of an event, as Gradio has them."""

    trigger_mode: Literal["once", "multiple", "always_last"] | None
    concurrency_id: str | None
    concurrency_limit: int | Literal["default"] | None
    show_progress: Literal["full", "minimal", "hidden"]
    show_progress_on: Component | Sequence[Component] | None
    js: str | None


_OURS = tr("Something went wrong in the studio. See its log for details.")
_FRESH_S = 10.0  # another tab's wish arrives just before this one is shown
LATEST: Latest = {"trigger_mode": "always_last"}  # of quick choices the last one counts
_AT_ONCE = 8  # calls of the same event by different visitors


@dataclass(frozen=True)
class Visit:
    """The account and the time of one event."""

    studio: Studio
    account: Account
    now_s: float  # since 1970
    base_url: str = ""  # empty: links begin with the path, not with a host

    def do(self, action: Callable[Concatenate[Studio, Account, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do `action(studio, account, ...)` as this visitor; what takes a while outside of this process, when the
        account's turn comes. Raises what it raises, and TooMany."""
        if cost_of(action) in (Cost.APART, Cost.WARM):
            return self.studio.apart(self.account, action, self.account, *args, **kwargs).result()
        return action(self.studio, self.account, *args, **kwargs)

    def just_wished(self, wish: Wish | None) -> Wish:
        """Return the wish of another tab if it is new; else nothing."""
        return wish if wish and self.now_s - wish["at"] < _FRESH_S else {}


@dataclass(frozen=True)
class Page:
    """The page under construction.

    tabs: the tabs by their ids; wishes: what another tab asks of each; heading: a component that is always visible;
    returning: reports that the visitor returned to this window; installs: what is being installed; recording: that in
    Convert, {id, start_s, stop_s, settled} of an analysis, or None.
    """

    studio: Studio
    account_of: Callable[[gr.Request], Account]
    blocks: gr.Blocks
    tabs: gr.Tabs
    wishes: Mapping[str, gr.State]
    heading: gr.HTML
    returning: gr.HTML
    installs: Installs
    recording: gr.State

    def on(
        self,
        event: Callable[..., Dependency],
        action: Callable[..., Updates],
        inputs: Sequence[Block] | AbstractSet[Block] = (),
        outputs: Sequence[Block] = (),
        notice: gr.HTML | None = None,
        *,
        has_data: bool = False,
        **options: Unpack[Options],
    ) -> Dependency:
        """Wire an event privately: `action(visit, *values)` returns new values by component.

        inputs: a sequence passes values one by one, a set passes all as `Given`. A `notice` shows errors, and is
        cleared after a success. has_data: see `on_data`. options: those of the event.
        """
        components = [*outputs, *([notice] if notice is not None else [])]

        # gradio reads the annotations to find what to pass
        def handler(request: gr.Request, *values: object) -> object:
            return self._done(request, action, values, components, notice)

        def handler_with_data(request: gr.Request, event: gr.EventData, *values: object) -> object:
            return self._done(request, action, (_event_data(event), *values), components, notice)

        return self._wired(event, handler_with_data if has_data else handler, inputs, components, options)

    def on_data(
        self,
        event: Callable[..., Dependency],
        action: Callable[..., Updates],
        inputs: Sequence[Block] | AbstractSet[Block] = (),
        outputs: Sequence[Block] = (),
        notice: gr.HTML | None = None,
        **options: Unpack[Options],
    ) -> Dependency:
        """Wire as `on` an event that carries data, as those of our own elements do: `action(visit, data, *values)`.

        By default Gradio drops an event while the one before is answered: what chooses needs LATEST.
        """
        return self.on(event, action, inputs, outputs, notice, has_data=True, **options)

    def on_seen(
        self,
        tab: gr.Tab,
        action: Callable[..., Updates],
        inputs: Sequence[Block] = (),
        outputs: Sequence[Block] = (),
        notice: gr.HTML | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Wire as `on` what is done whenever a tab becomes visible: when it is selected, and when the visitor returns
        to its window, since something may have changed in another one."""
        self.on(tab.select, action, inputs, outputs, notice, **options)
        self.on_return(tab, action, inputs, outputs, notice, **options)

    def on_return(
        self,
        tab: gr.Tab,
        action: Callable[..., Updates],
        inputs: Sequence[Block] | AbstractSet[Block] = (),
        outputs: Sequence[Block] = (),
        notice: gr.HTML | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Wire only the second of these."""

        def come_back(visit: Visit, where: Mapping[str, str], *values: object) -> Updates:
            return action(visit, *values) if where.get("tab") == tab.id else None

        self.on_data(self.returning.returned, come_back, inputs, outputs, notice, **options)

    def go(self, tab: str, **wish: Unpack[Wish]) -> Values:
        """Return updates that show another tab with a wish; `self.tabs` and its wish must be outputs."""
        return {self.tabs: gr.Tabs(selected=tab), self.wishes[tab]: {**wish, "at": time.time()}}

    def _done(
        self,
        request: gr.Request,
        action: Callable[..., Updates],
        values: Sequence[object],
        components: Sequence[Block],
        notice: gr.HTML | None,
    ) -> object:
        try:
            visit = Visit(self.studio, self.account_of(request), time.time())
            updates = stored(action(visit, *map(recalled, values)) or {})
        except EngineError as error:
            if notice is None:
                raise gr.Error(sentence_of(error), print_exception=False) from error
            updates = {notice: show_problems(error)}
        except Exception as error:  # a bug: the log gets the reason, the visitor a sentence
            structlog.get_logger("studio.page").exception("failed", action=action.__qualname__)
            if notice is None:
                raise gr.Error(_OURS, print_exception=False) from error
            updates = {notice: show_error(_OURS)}
        else:
            if notice is not None:
                updates.setdefault(notice, silent())
        if not components:
            return None
        return updates or {components[0]: gr.skip()}

    def _wired(
        self,
        event: Callable[..., Dependency],
        handler: Callable[..., object],
        inputs: Sequence[Block] | AbstractSet[Block],
        outputs: Sequence[Block],
        options: Mapping[str, object],
    ) -> Dependency:
        return event(
            handler,
            set(inputs) if isinstance(inputs, AbstractSet) else list(inputs),
            list(outputs),
            **{
                "api_visibility": "private",
                "show_progress": "hidden",
                # gradio updates a timer 60 times a second on a waiting component, for ever if that is removed
                "show_progress_on": self.heading,
                "concurrency_limit": _AT_ONCE,
                **({"show_progress_on": None} if "show_progress" in options else {}),
                **options,
            },
        )


def _event_data(event: gr.EventData) -> object:
    """Return what one of our elements tells, or which tab was selected."""
    return event.told if hasattr(event, "told") else {"value": getattr(event, "value", None)}
