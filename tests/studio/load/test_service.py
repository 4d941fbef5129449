"""The load test: that it counts rightly, and small loads on the real service."""

import io
import json

import pytest
from rich.console import Console

from studio.load.service import Load, Polling, Uploads, as_json, as_table, measure_polling, measure_uploads
from studio.load.trial_service import TrialService

POLLING = Polling(
    clients=200,
    seconds=30.0,
    answers=6000,
    errors={},
    p50_ms=3.0,
    p95_ms=12.0,
    p99_ms=40.0,
    longest_ms=90.0,
    conversions_done=50,
    load_generator_share=0.25,
)
UPLOADS = Uploads(20, 100, 30.0, {"200": 20}, 190.0, 400.0)


def changed(part, **values):
    return type(part)(**{**vars(part), **values})


def test_polling_keeps_bounds_only_without_errors_and_in_time():
    assert POLLING.keeps_bounds
    assert not changed(POLLING, p95_ms=50.0).keeps_bounds
    assert not changed(POLLING, errors={"ReadTimeout": 1}).keeps_bounds


def test_uploads_keep_bounds_only_without_refusals_and_in_little_memory():
    assert UPLOADS.keeps_bounds
    assert not changed(UPLOADS, answers={"200": 19, "503": 1}).keeps_bounds
    assert not changed(UPLOADS, memory_peak_mb=600.0).keeps_bounds


def test_as_json_and_as_table_show_the_figures():
    figures = json.loads(as_json(POLLING, UPLOADS))
    assert figures["polling"]["p95_ms"] == 12.0
    assert figures["uploads"]["memory_peak_mb"] == 400.0
    assert figures["polling"]["keeps_bounds"] is True
    console = Console(file=io.StringIO(), width=100)
    console.print(as_table(POLLING, UPLOADS))
    shown = console.file.getvalue()
    assert "3.0 / 12.0 / 40.0 / 90.0 ms" in shown
    assert "200 x 20" in shown


def test_as_json_and_as_table_leave_out_a_missing_part():
    assert "uploads" not in json.loads(as_json(POLLING, None))
    console = Console(file=io.StringIO(), width=100)
    console.print(as_table(None, UPLOADS))
    assert "p95" not in console.file.getvalue()


@pytest.mark.system
def test_measure_polling_measures_a_few_clients_of_a_real_service(service: TrialService):
    polling = measure_polling(service, Load(clients=10, conversions=2, seconds=2.0))
    assert polling.errors == {}
    assert 10 <= polling.answers <= 30
    assert 0 < polling.p50_ms <= polling.p95_ms <= polling.p99_ms <= polling.longest_ms
    assert 0 < polling.load_generator_share < 1


def test_measure_uploads_measures_a_few_uploads_to_a_real_service(service: TrialService):
    uploads = measure_uploads(service, Load(uploads=3, megabytes=1))
    assert uploads.answers == {"200": 3}
    assert 20 < uploads.memory_before_mb <= uploads.memory_peak_mb < 600


def test_measure_uploads_counts_refused_uploads_by_their_answer(service: TrialService):
    uploads = measure_uploads(service, Load(uploads=1, megabytes=120))
    assert set(uploads.answers) <= {
        "413",
        "ReadError",
        "WriteError",
    }  # the service may hang up before all of it is sent
    assert not uploads.keeps_bounds
