"""One trace, from a program's call over queue and worker to the stages of the engine, as a collector receives it."""

import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile

from tests.waiting import PATIENCE_S, wait_until

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

import engine
from studio.load.trial_service import trial_service

pytestmark = pytest.mark.system

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
CALLER = "00f067aa0ba902b7"  # the span of the program that calls


class Collector(ThreadingHTTPServer):
    """Receives spans by OTLP over HTTP; each as (service, span)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.spans = []

    def of(self, trace_id: str) -> dict:
        """The spans of a trace by their names."""
        return {span.name: span for _, span in self.spans if span.trace_id.hex() == trace_id}


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
        for resource in sent.resource_spans:
            [service] = [one.value.string_value for one in resource.resource.attributes if one.key == "service.name"]
            self.server.spans += [(service, span) for scope in resource.scope_spans for span in scope.spans]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ExportTraceServiceResponse().SerializeToString())

    def log_message(self, *said: object) -> None:
        """Stay silent."""


@pytest.fixture(scope="module")
def collector():
    with Collector() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def http(collector, tmp_path_factory):
    """A client of a service that sends its traces to the collector."""
    home = tmp_path_factory.mktemp("traced") / "home"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        environment.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        with trial_service(home, page="off", longest_audio_minutes=0.12) as service:
            headers = {"Authorization": f"Bearer {service.token()}"}
            given = {"base_url": service.base_url, "headers": headers, "trust_env": False, "timeout": PATIENCE_S}
            with httpx.Client(**given) as client:
                yield client


def ended(http: httpx.Client, recording: bytes, trace: str) -> dict:
    """The task of a conversion that a program with this trace asks for."""
    traced = {"traceparent": f"00-{trace}-{CALLER}-01"}
    answer = http.post("/convert", files={"audio": recording}, data={"model": "kathleen"}, headers=traced)
    path = f"/tasks/{answer.json()['task_id']}"
    return wait_until(lambda: task if (task := http.get(path).json())["state"] in ("completed", "failed") else None)


def test_conversion_is_one_trace_across_all_processes(http, collector):
    trace = secrets.token_hex(16)
    task = ended(http, SPEECH.read_bytes(), trace)
    assert (task["state"], task["trace_id"]) == ("completed", trace)
    wait_until(lambda: "run conversion" in collector.of(trace))
    spans = collector.of(trace)
    assert {service for service, _ in collector.spans} == {"timbre-studio"}
    stages = {"engine analysing", "engine converting", "engine scoring"}
    assert {"POST /convert", "submit conversion", "queue", "run conversion", *stages} <= set(spans)

    parents = {name: span.parent_span_id for name, span in spans.items()}
    assert parents["POST /convert"].hex() == CALLER
    assert parents["submit conversion"] == spans["POST /convert"].span_id
    assert parents["queue"] == parents["run conversion"] == spans["submit conversion"].span_id
    assert {parents[name] for name in stages} == {spans["run conversion"].span_id}
    run, rendering = spans["run conversion"], spans["engine converting"]
    assert run.start_time_unix_nano <= rendering.start_time_unix_nano < rendering.end_time_unix_nano
    assert rendering.end_time_unix_nano <= run.end_time_unix_nano
    assert run.status.code == run.status.STATUS_CODE_UNSET


def test_failed_conversion_names_its_trace_and_marks_its_span_as_an_error(http, collector, tmp_path):
    soundfile.write(tmp_path / "long.mp3", 0.1 * np.sin(np.arange(10 * 44_100) * 0.05), 44_100)
    recording = bytearray((tmp_path / "long.mp3").read_bytes())
    at = max(recording.find(b"Xing"), recording.find(b"Info")) + 8  # the number of frames, which is checked at the door
    recording[at : at + 4] = (20).to_bytes(4, "big")
    trace = secrets.token_hex(16)
    task = ended(http, bytes(recording), trace)
    assert (task["state"], task["trace_id"], task["error_code"]) == ("failed", trace, "audio_too_long")
    wait_until(lambda: "run conversion" in collector.of(trace))
    status = collector.of(trace)["run conversion"].status
    assert (status.code, status.message) == (status.STATUS_CODE_ERROR, task["error"])


def test_traces_contain_no_link_signatures(http, collector):
    assert http.get("/files/tasks/none.wav", params={"signature": "secret"}).is_client_error
    assert http.get("/models").is_success
    wait_until(lambda: any(span.name == "GET /models" for _, span in collector.spans))
    assert not [span for _, span in collector.spans if "secret" in str(span)]
