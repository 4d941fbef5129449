"""Tracing that is off, and what turns it on. What it sends: tests/stories/test_traces.py."""

import subprocess
import sys

import pytest

from engine.errors import SettingsError
from studio.settings.environment import trace_exporter
from studio.tracing import Stages, note_failure, span, start_tracing, trace_id_of
from tests.waiting import OwnClock


@pytest.mark.parametrize(
    ("environment", "exporter"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "voices"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}, None),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "console"),
    ],
)
def test_trace_exporter_follows_the_environment(environment, exporter):
    assert trace_exporter(environment) == exporter


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "must be otlp, console or none, not zipkin"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "must be http/protobuf, not grpc"),
    ],
)
def test_trace_exporter_refuses_unsupported_exporters_and_protocols(environment, sentence):
    with pytest.raises(SettingsError, match=sentence):
        trace_exporter(environment)


def test_start_tracing_names_the_extra_to_install(monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(SettingsError, match=r'pip install .*"opentelemetry-sdk<2,>=1.45"'):
        start_tracing()


def test_tracing_does_nothing_when_off(monkeypatch):
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    start_tracing()
    with span("run conversion", "consumer", None, 1.0) as traced, Stages() as stages:
        traced.set({"task.id": "a"})
        stages.enter("analysing")
        note_failure("a reason")
    assert traced.traceparent is None
    assert "opentelemetry.trace" not in sys.modules


@pytest.mark.system
def test_server_does_not_import_opentelemetry_sdk_by_default():
    program = "import sys, studio.server, studio.executors.worker; sys.exit('opentelemetry.sdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("traceparent", "trace_id"),
    [
        (None, None),
        ("", None),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736"),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", None),  # not sent
    ],
)
@pytest.mark.system
def test_trace_id_of_returns_an_id_only_for_sent_traces(traceparent, trace_id):
    assert trace_id_of(traceparent) == trace_id


def test_stages_measure_how_long_each_took_also_without_traces():
    clock = OwnClock(0.0)
    with Stages(clock.time) as stages:
        for message, seconds in (("Analysing the recording", 2.0), ("analysing the voice", 1.0), ("writing", 4.0)):
            stages.enter(message)
            clock.sleep(seconds)
        stages.enter("analysing again")
        clock.sleep(0.5)
    assert stages.seconds == {"analysing": 3.5, "writing": 4.0}
