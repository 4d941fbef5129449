"""The page as its tabs see it: whose it is, how events are wired, and how one tab sends the visitor to another."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
import structlog

from engine.errors import EngineError
from studio.page.parts.notice import sentence_of, silent, told_error
from studio.store.accounts import Account
from studio.store.studio import Studio

Updates = Mapping[Any, Any] | None
_OURS = "Something went wrong in the studio. The reason is in its log."
_FRESH_S = 10.0  # what is wished by another tab comes just before this one is shown
_AT_ONCE = 8  # calls of the same event by different visitors


@dataclass(frozen=True)
class Visit:
    """Who looks at the page, at the moment of one event."""

    studio: Studio
    account: Account
    now_s: float  # since 1970
    base_url: str = ""  # links lead to wherever the page was loaded from

    def just_wished(self, wish: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """What another tab wishes, where that is as new as the tab's being shown for it; else nothing."""
        return wish if wish and self.now_s - wish["at"] < _FRESH_S else {}


@dataclass(frozen=True)
class Page:
    """What a tab is built with. `tabs` holds the tabs by their ids; `wishes` what another tab asks of each; `heading`
    is always there; `returning` tells when somebody comes back to this window."""

    studio: Studio
    account_of: Callable[[gr.Request], Account]
    blocks: gr.Blocks
    tabs: gr.Tabs
    wishes: Mapping[str, gr.State]
    heading: gr.HTML
    returning: gr.HTML

    def on(
        self,
        event: Callable[..., Any],
        action: Callable[..., Updates],
        inputs: Sequence[Any] | set[Any] = (),
        outputs: Sequence[Any] = (),
        notice: gr.HTML | None = None,
        **options: Any,
    ) -> Any:
        """Wire an event privately: `action(visit, *values)` gives new values by component.

        inputs: a sequence gives values one by one, a set one dict by component. Where there is a `notice`, an
        EngineError is told in it, and it is silent after an action that went well. options: those of the event.
        """
        told = [*outputs, *([notice] if notice is not None else [])]

        @functools.wraps(action)
        def handler(request: gr.Request, *values: Any) -> Any:
            return self._done(request, action, values, told, notice)

        return self._wired(event, handler, inputs, told, options)

    def on_data(
        self,
        event: Callable[..., Any],
        action: Callable[..., Updates],
        inputs: Sequence[Any] | set[Any] = (),
        outputs: Sequence[Any] = (),
        notice: gr.HTML | None = None,
        **options: Any,
    ) -> Any:
        """As `on`, for events that carry data (those of our own elements): `action(visit, data, *values)`."""
        told = [*outputs, *([notice] if notice is not None else [])]

        @functools.wraps(action)
        def handler(request: gr.Request, event: gr.EventData, *values: Any) -> Any:
            return self._done(request, action, (event._data, *values), told, notice)

        return self._wired(event, handler, inputs, told, options)

    def on_seen(
        self,
        tab: gr.Tab,
        action: Callable[..., Updates],
        inputs: Sequence[Any] | set[Any] = (),
        outputs: Sequence[Any] = (),
        notice: gr.HTML | None = None,
        **options: Any,
    ) -> None:
        """Wire what is done whenever a tab comes to be seen: when it is chosen, and when somebody comes back to the
        window with it, since meanwhile something may have changed in another window. Otherwise as `on`."""
        self.on(tab.select, action, inputs, outputs, notice, **options)
        self.on_return(tab, action, inputs, outputs, **options)

    def on_return(
        self,
        tab: gr.Tab,
        action: Callable[..., Updates],
        inputs: Sequence[Any] | set[Any] = (),
        outputs: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        """The second of these alone."""

        @functools.wraps(action)
        def come_back(visit: Visit, told: Any, *values: Any) -> Updates:
            return action(visit, *values) if told.get("tab") == tab.label else None

        self.on_data(self.returning.returned, come_back, inputs, outputs, **options)

    def go(self, tab: str, **wish: Any) -> dict[Any, Any]:
        """Updates that show another tab and tell it what is wished there; `self.tabs` and its wish are outputs then."""
        return {self.tabs: gr.Tabs(selected=tab), self.wishes[tab]: wish | {"at": time.time()}}

    def _done(
        self,
        request: gr.Request,
        action: Callable[..., Updates],
        values: Sequence[Any],
        told: Sequence[Any],
        notice: gr.HTML | None,
    ) -> Any:
        try:
            visit = Visit(self.studio, self.account_of(request), time.time())
            given: dict[Any, Any] = dict(action(visit, *values) or {})
        except EngineError as error:
            if notice is None:
                raise gr.Error(sentence_of(error), print_exception=False) from error
            given = {notice: told_error(sentence_of(error))}
        except Exception as error:  # a mistake of ours: its reason is for the log, a sentence for the visitor
            structlog.get_logger("studio.page.blocks").exception("failed", action=action.__qualname__)
            if notice is None:
                raise gr.Error(_OURS, print_exception=False) from error
            given = {notice: told_error(_OURS)}
        else:
            if notice is not None:
                given.setdefault(notice, silent())
        if not told:
            return None
        return given or {told[0]: gr.skip()}

    def _wired(
        self,
        event: Callable[..., Any],
        handler: Callable[..., Any],
        inputs: Sequence[Any] | set[Any],
        outputs: Sequence[Any],
        options: dict[str, Any],
    ) -> Any:
        # gradio looks at annotations to find what it shall give
        handler.__annotations__ = {"request": gr.Request, "event": gr.EventData}
        del handler.__wrapped__  # type: ignore[attr-defined]
        return event(
            handler,
            inputs if isinstance(inputs, set) else list(inputs),
            list(outputs),
            **{
                "api_visibility": "private",
                "show_progress": "hidden",
                # gradio counts time 60 times a second on what waits, for ever where that is taken away meanwhile
                "show_progress_on": self.heading,
                "concurrency_limit": _AT_ONCE,
                **({"show_progress_on": None} if "show_progress" in options else {}),
                **options,
            },
        )
