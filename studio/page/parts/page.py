"""The page as its tabs use it: accounts, the wiring of events, and the way from one tab to another."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import gradio as gr
import structlog

from engine.errors import EngineError
from studio.actions.installation import Installs
from studio.page.parts.memory import recalled, stored
from studio.page.parts.notice import sentence_of, show_error, show_problems, silent
from studio.store.accounts import Account
from studio.store.studio import Studio

P = ParamSpec("P")
T = TypeVar("T")
Updates = Mapping[Any, Any] | None
_OURS = "Something went wrong in the studio. See its log for details."
_FRESH_S = 10.0  # another tab's wish arrives just before this one is shown
LATEST: dict[str, Any] = {"trigger_mode": "always_last"}  # of quick choices the last one counts
_AT_ONCE = 8  # calls of the same event by different visitors


@dataclass(frozen=True)
class Visit:
    """The account and the time of one event."""

    studio: Studio
    account: Account
    now_s: float  # since 1970
    base_url: str = ""  # empty: links begin with the path, not with a host

    def apart(self, action: Callable[Concatenate[Studio, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `action(studio, ...)`, which takes a while or loads much, outside of this process, when the account's
        turn comes. Raises what it raises, and TooMany."""
        return self.studio.apart(self.account, action, *args, **kwargs).result()

    def just_wished(self, wish: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the wish of another tab if it is new; else nothing."""
        return wish if wish and self.now_s - wish["at"] < _FRESH_S else {}


@dataclass(frozen=True)
class Page:
    """The page under construction.

    tabs: the tabs by their ids; wishes: what another tab asks of each; heading: a component that is always visible;
    returning: reports that the visitor returned to this window; installs: what is being installed.
    """

    studio: Studio
    account_of: Callable[[gr.Request], Account]
    blocks: gr.Blocks
    tabs: gr.Tabs
    wishes: Mapping[str, gr.State]
    heading: gr.HTML
    returning: gr.HTML
    installs: Installs

    def on(
        self,
        event: Callable[..., Any],
        action: Callable[..., Updates],
        inputs: Sequence[Any] | set[Any] = (),
        outputs: Sequence[Any] = (),
        notice: gr.HTML | None = None,
        *,
        has_data: bool = False,
        **options: Any,
    ) -> Any:
        """Wire an event privately: `action(visit, *values)` returns new values by component.

        inputs: a sequence passes values one by one, a set passes one dict by component. A `notice` shows errors, and is
        cleared after a success. has_data: see `on_data`. options: those of the event.
        """
        components = [*outputs, *([notice] if notice is not None else [])]

        @functools.wraps(action)
        def handler(request: gr.Request, *values: Any) -> Any:
            return self._done(request, action, values, components, notice)

        @functools.wraps(action)
        def handler_with_data(request: gr.Request, event: gr.EventData, *values: Any) -> Any:
            return self._done(request, action, (event._data, *values), components, notice)

        return self._wired(event, handler_with_data if has_data else handler, inputs, components, options)

    def on_data(self, event: Callable[..., Any], action: Callable[..., Updates], *wiring: Any, **options: Any) -> Any:
        """Wire as `on` an event that carries data, as those of our own elements do: `action(visit, data, *values)`.

        By default Gradio drops an event while the one before is answered: what chooses needs LATEST.
        """
        return self.on(event, action, *wiring, has_data=True, **options)

    def on_seen(self, tab: gr.Tab, action: Callable[..., Updates], *wiring: Any, **options: Any) -> None:
        """Wire as `on` what is done whenever a tab becomes visible: when it is selected, and when the visitor returns
        to its window, since something may have changed in another one."""
        self.on(tab.select, action, *wiring, **options)
        self.on_return(tab, action, *wiring, **options)

    def on_return(self, tab: gr.Tab, action: Callable[..., Updates], *wiring: Any, **options: Any) -> None:
        """Wire only the second of these."""

        @functools.wraps(action)
        def come_back(visit: Visit, where: Any, *values: Any) -> Updates:
            return action(visit, *values) if where.get("tab") == tab.id else None

        self.on_data(self.returning.returned, come_back, *wiring, **options)

    def stop_on_leaving(self, tab: gr.Tab, timer: gr.Timer) -> None:
        """Stop a tab's timer as soon as another tab is shown."""

        def leave(visit: Visit, to: dict[str, Any]) -> Updates:
            return None if to.get("value") == tab.label else {timer: gr.Timer(active=False)}

        self.on_data(self.tabs.select, leave, [], [timer])

    def go(self, tab: str, **wish: Any) -> dict[Any, Any]:
        """Return updates that show another tab with a wish; `self.tabs` and its wish must be outputs."""
        return {self.tabs: gr.Tabs(selected=tab), self.wishes[tab]: wish | {"at": time.time()}}

    def _done(
        self,
        request: gr.Request,
        action: Callable[..., Updates],
        values: Sequence[Any],
        components: Sequence[Any],
        notice: gr.HTML | None,
    ) -> Any:
        try:
            visit = Visit(self.studio, self.account_of(request), time.time())
            given = stored(action(visit, *map(recalled, values)) or {})
        except EngineError as error:
            if notice is None:
                raise gr.Error(sentence_of(error), print_exception=False) from error
            given = {notice: show_problems(error)}
        except Exception as error:  # a bug: the log gets the reason, the visitor a sentence
            structlog.get_logger("studio.page").exception("failed", action=action.__qualname__)
            if notice is None:
                raise gr.Error(_OURS, print_exception=False) from error
            given = {notice: show_error(_OURS)}
        else:
            if notice is not None:
                given.setdefault(notice, silent())
        if not components:
            return None
        return given or {components[0]: gr.skip()}

    def _wired(
        self,
        event: Callable[..., Any],
        handler: Callable[..., Any],
        inputs: Sequence[Any] | set[Any],
        outputs: Sequence[Any],
        options: dict[str, Any],
    ) -> Any:
        # gradio reads the annotations to find what to pass
        handler.__annotations__ = {"request": gr.Request, "event": gr.EventData}
        del handler.__wrapped__  # type: ignore[attr-defined]
        return event(
            handler,
            inputs if isinstance(inputs, set) else list(inputs),
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
