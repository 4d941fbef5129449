"""How the service is: told to anybody in a word, and to Prometheus in numbers."""

import sqlite3
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families

from studio.errors import Unavailable
from studio.http.routes.health import Checkup
from studio.store.database import open_database
from studio.store.durations import add_durations
from tests.waiting import PATIENCE_S


def numbers(http) -> dict:
    answer = http.client("prometheus").get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {(sample.name, *sorted(sample.labels.items())): sample.value for sample in samples}


def test_health_needs_no_token_and_returns_only_status_and_workers(http):
    answer = http.stranger().get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "workers": None})


def test_health_answers_head_requests(http):
    answer = http.stranger().head("/health")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == http.stranger().get("/health").headers["content-length"]


def test_health_returns_503_if_the_database_is_unreachable(serve, monkeypatch):
    broken = serve()

    def fail(self):
        raise Unavailable("The database cannot be reached.", 2.0, "database_unreachable")

    monkeypatch.setattr(type(broken.studio.database), "read", fail)
    answer = broken.stranger().get("/health")
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unreachable")
    assert int(answer.headers["retry-after"]) >= 1
    assert broken.stranger().get("/models").status_code == 401


def test_checkup_checks_the_storage_once_for_many_calls(http, monkeypatch):
    looks = []
    monkeypatch.setattr(type(http.studio.storage), "check", lambda self: looks.append(1))
    checkup = Checkup(http.studio)
    for _ in range(50):
        checkup.check()
    assert looks == [1]


def test_metrics_count_calls_and_tasks(serve, singing):
    service = serve()
    client = service.client()
    before = numbers(service)
    client.post("/convert", files={"audio": ("a.flac", singing.read_bytes())}, data={"model": "kathleen"})
    client.post("/convert", files={"audio": ("a.flac", b"x")}, data={"model": "kathleen"})
    for task_id in ("0" * 24, "1" * 24):
        client.get(f"/check-task/{task_id}")
    client.get("/models/a/b/c/d")
    service.stranger().get("/models")
    after = numbers(service)
    calls = "timbre_studio_http_calls_total"
    expected = {("POST", "/convert", "200"): 1, ("POST", "/convert", "415"): 1}
    expected |= {("GET", "/check-task/{task_id}", "404"): 2, ("GET", "/models", "404"): 1, ("GET", "/models", "401"): 1}
    for (method, route, status), number in expected.items():
        key = (calls, ("method", method), ("route", route), ("status", status))
        assert after[key] - before.get(key, 0) == number, key
    assert after[("timbre_studio_http_seconds_count", ("route", "/convert"))] == 2
    assert after[("timbre_studio_http_received_bytes_total",)] > singing.stat().st_size
    assert after[("timbre_studio_tasks", ("kind", "conversion"), ("state", "queued"))] == 1
    assert after[("timbre_studio_oldest_task_wait_seconds",)] >= 0


@pytest.mark.parametrize("path", ["/" + "x" * 2000, "/models/" + "y" * 2000, "/tasks/%F0%9F%8E%B5"])
def test_metrics_never_use_client_paths_as_labels(http, path):
    http.client().get(path)
    text = http.client("prometheus").get("/metrics").text
    assert "xxxx" not in text
    assert "yyyy" not in text
    assert "🎵" not in text


def test_routes_report_a_busy_database_with_a_retry_after(serve, monkeypatch, singing):
    busy = serve()
    client = busy.client()

    def fail(self):
        raise Unavailable("The database is busy. Try again in a moment.", 2.0, "database_busy")

    monkeypatch.setattr(type(busy.studio.database), "read", fail)
    for method, path in (("GET", "/models"), ("POST", "/convert"), ("GET", "/check-task/abc"), ("GET", "/metrics")):
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (503, "database_busy")
        assert answer.headers["retry-after"] == "2"


def test_metrics_have_a_histogram_of_each_stage(serve):
    service = serve()
    add_durations(service.studio.database, "conversion", {"analysing": 0.3, "writing": 2.0})
    add_durations(service.studio.database, "conversion", {"analysing": 20.0})
    found = numbers(service)
    labels = (("kind", "conversion"), ("stage", "analysing"))
    name = "timbre_studio_task_stage_seconds"
    assert [found[(f"{name}_bucket", labels[0], ("le", le), labels[1])] for le in ("0.25", "0.5", "+Inf")] == [0, 1, 2]
    assert (found[(f"{name}_count", *labels)], found[(f"{name}_sum", *labels)]) == (2, 20.3)


def test_reading_calls_do_not_wait_for_a_locked_database(serve, monkeypatch):
    """They came after ten seconds: the use of the token and the count of the calls waited for the lock."""
    patient = partial(open_database, busy_s=PATIENCE_S)
    monkeypatch.setattr("studio.store.studio.open_database", patient)
    service = serve()
    client = service.client("mia")
    lock = sqlite3.connect(service.studio.settings.data / "studio.sqlite", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    for path in ("/models", "/tasks", "/projects", "/callbacks", "/models/kathleen", "/v1/models"):
        assert client.get(path).status_code == 200
    lock.close()
