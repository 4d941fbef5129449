"""OpenTelemetry traces of tasks in the queue and in workers, and of the stages of their work.
Off, and not imported, unless the usual OTEL_ variables say where traces go. A task carries its place in the trace
as a `traceparent` (W3C Trace Context) to whichever process does the work. FastAPI traces the calls."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from engine.errors import SettingsError
from engine.installed import add_extra
from engine.version import __version__
from studio.settings.environment import trace_exporter

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as RealSpan
    from opentelemetry.trace import Tracer

NAME = "timbre-studio"
_SAMPLED = "01"  # the flags of a traceparent whose spans are sent
Kind = Literal["internal", "producer", "consumer"]


def start_tracing() -> None:
    """Send this process's spans where the environment says, if it does. Call at program start. Raises SettingsError."""
    name = trace_exporter()
    if name is None:
        return
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        exporter = _exporter(name)
    except ImportError as cause:
        text = f"The OTEL_ variables ask for traces: {add_extra('telemetry')}, or set OTEL_SDK_DISABLED=true."
        raise SettingsError(text) from cause
    ours = Resource({"service.name": NAME, "service.version": __version__})
    provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


def send_spans() -> None:
    """Send the spans that have ended, in a process that may be killed before its exit sends them."""
    trace = sys.modules.get("opentelemetry.trace")
    send = trace and getattr(trace.get_tracer_provider(), "force_flush", None)  # only a started one has it
    if send:
        send()


@dataclass(frozen=True)
class Span:
    """A span of OpenTelemetry, or nothing."""

    real: "RealSpan | None" = None

    def set(self, attributes: Mapping[str, str | int]) -> None:
        """Set attributes, named by OpenTelemetry's conventions where it has any."""
        if self.real is not None:
            self.real.set_attributes(attributes)

    @property
    def traceparent(self) -> str | None:
        """Its place in the trace, for a process that continues it."""
        if self.real is None or not self.real.get_span_context().is_valid:
            return None
        own = self.real.get_span_context()
        return f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}"


@contextmanager
def span(name: str, kind: Kind = "internal", parent: str | None = None, begun_s: float | None = None) -> Iterator[Span]:
    """Trace what the block does; spans inside become its children.
    parent: a traceparent from another process. begun_s: when it began, in seconds since 1970, if that was earlier."""
    tracer = _tracer()
    if tracer is None:
        yield Span()
        return
    from opentelemetry.trace import SpanKind

    start_ns = None if begun_s is None else int(begun_s * 1e9)
    with tracer.start_as_current_span(name, _context(parent), SpanKind[kind.upper()], start_time=start_ns) as real:
        yield Span(real)


def trace_id_of(traceparent: str | None) -> str | None:
    """Return the id of a trace, 32 hexadecimal digits, if its spans are sent."""
    parts = (traceparent or "").split("-")
    return parts[1] if len(parts) == 4 and parts[3] == _SAMPLED else None


def note_failure(reason: str) -> None:
    if _tracer() is not None:
        from opentelemetry import trace

        trace.get_current_span().set_status(trace.StatusCode.ERROR, reason)


class Stages:
    """The stages of a work that reports its progress: one begins when the message's first word changes.
    Each is a span, if there are traces. seconds: how long each took, by its name."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = ""
        self._span: RealSpan | None = None
        self._clock, self._begun_s = clock, clock()
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.enter("")

    def enter(self, message: str) -> None:
        """Begin the stage of this message, as the engine reports it, and end the last one."""
        name = message.partition(" ")[0].lower()
        if name == self._name:
            return
        now_s = self._clock()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now_s - self._begun_s
        if self._span is not None:
            self._span.end()
        tracer = _tracer()
        self._name, self._begun_s = name, now_s
        self._span = tracer.start_span(f"engine {name}") if tracer and name else None


def _exporter(name: str) -> "SpanExporter":
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _tracer() -> "Tracer | None":
    """Return the tracer; None while nothing has started tracing."""
    trace = sys.modules.get("opentelemetry.trace")
    return None if trace is None else trace.get_tracer(NAME)


def _context(parent: str | None) -> "Context | None":
    if parent is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent})
