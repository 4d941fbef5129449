"""What tasks cost beside the conversion: that it is counted rightly, and a little of it on a real service."""

import io
import json

import pytest
from rich.console import Console

from studio.load import throughput
from studio.load.throughput import Throughput, Way, as_json, as_table, main

pytestmark = pytest.mark.system

FOUND = Throughput(9.0, [Way("the engine itself", 2, 10, 2.5), Way("local workers", 2, 10, 3.0)])


def test_throughput_computes_the_overhead_of_a_task():
    assert FOUND.ways[1].worker_seconds == pytest.approx(0.6)
    assert FOUND.overhead_ms(FOUND.ways[1]) == pytest.approx(100.0)


def test_throughput_as_json_and_as_table_show_the_overhead():
    assert json.loads(as_json(FOUND))["ways"][1]["overhead_ms"] == pytest.approx(100.0)
    console = Console(file=io.StringIO(), width=100)
    console.print(as_table(FOUND))
    assert "100 ms" in console.file.getvalue()
    assert "200" in console.file.getvalue()  # a minute


def test_throughput_command_requires_database_and_storage_urls_together(capsys):
    assert main(["--database-url", "postgresql://x/y"]) == 2
    assert "both" in capsys.readouterr().err


@pytest.mark.slow
def test_throughput_command_measures_a_few_conversions(capsys):
    assert main(["--conversions", "2", "--workers", "1", "--json"]) == 0
    ways = json.loads(capsys.readouterr().out)["ways"]
    assert [(way["name"], way["conversions"]) for way in ways] == [("the engine itself", 2), ("local workers", 2)]
    assert all(way["seconds"] > 0 for way in ways)


def test_throughput_command_reports_a_failing_engine(monkeypatch, capsys):
    monkeypatch.setattr(throughput, "VOICE", "nobody")
    assert main(["--conversions", "1", "--workers", "1"]) == 1
    assert "could not be measured" in capsys.readouterr().err
