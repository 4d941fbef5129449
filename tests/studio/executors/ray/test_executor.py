"""What is refused before anything is placed on Ray, and that its dispatcher is looked after."""

import importlib.util
import json
import sys

import pytest
import structlog

from engine.errors import SettingsError
from studio.executors.ray.executor import RayExecutor, is_of_this_machine, ray_environment, refuse_what_cannot_work
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from tests.waiting import wait_until

ELSEWHERE = {
    "ray_address": "10.0.0.5:6379",
    "database_url": "postgresql://studio@10.0.0.6/studio",
    "storage_url": "s3://songs",
}
TOKEN = {"RAY_AUTH_TOKEN": "a" * 64}


@pytest.fixture(autouse=True)
def with_ray(monkeypatch):
    """As if Ray were installed, which it need not be: nothing here uses it."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "ray" or real(name))


def test_ray_executor_accepts_a_cluster_with_shared_database_and_storage():
    refuse_what_cannot_work(ServiceSettings(**ELSEWHERE), TOKEN)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"database_url": ""}, "SQLite"),
        ({"database_url": "sqlite:////srv/studio.sqlite"}, "SQLite"),
        ({"storage_url": ""}, "folder"),
        ({"ray_address": "ray://10.0.0.5:10001"}, "HOST:PORT"),
        ({"ray_address": "10.0.0.5"}, "HOST:PORT"),
    ],
)
def test_ray_executor_refuses_settings_other_machines_cannot_reach(changed, said):
    with pytest.raises(SettingsError, match=said) as refused:
        refuse_what_cannot_work(ServiceSettings(**ELSEWHERE | changed), TOKEN)
    assert str(refused.value).endswith(".")


def test_ray_executor_refuses_a_cluster_without_a_token(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SettingsError, match="token"):
        refuse_what_cannot_work(ServiceSettings(**ELSEWHERE), {})
    token = tmp_path / "token"
    with pytest.raises(SettingsError, match="token"):
        refuse_what_cannot_work(ServiceSettings(**ELSEWHERE), {"RAY_AUTH_TOKEN_PATH": str(token)})
    token.write_text("a" * 64)
    refuse_what_cannot_work(ServiceSettings(**ELSEWHERE), {"RAY_AUTH_TOKEN_PATH": str(token)})


@pytest.mark.parametrize("address", ["", "127.0.0.1:6379", "localhost:6379", "[::1]:6379"])
def test_ray_executor_accepts_a_local_ray_without_shared_storage(address):
    assert is_of_this_machine(address)
    refuse_what_cannot_work(ServiceSettings(ray_address=address), TOKEN)


def test_ray_executor_names_the_package_to_install_when_ray_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r'install "?ray==2\.60'):
        refuse_what_cannot_work(ServiceSettings())


def test_ray_environment_requires_a_token_and_disables_usage_stats():
    assert ray_environment() == {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}


def test_ray_executor_restarts_a_dead_dispatcher_and_ends_it_on_stop(tmp_path):
    program = tmp_path / "dispatcher.py"
    program.write_text(
        "import json, os, sys, pathlib\n"
        "order = json.loads(sys.stdin.readline())\n"
        "mark = pathlib.Path(order['data']) / 'mark'\n"
        "if not mark.exists():\n"
        "    mark.touch()\n"
        "    os._exit(1)\n"
        "said = {'workers': 3, 'nodes': 2, 'placed': 0, 'leads': os.environ['RAY_AUTH_MODE'] == 'token'}\n"
        "print(json.dumps(said), flush=True)\n"
        "for line in sys.stdin:\n"
        "    mark.write_text(line)\n"
        "mark.write_text('ended')\n"
    )
    service = ServiceSettings(executor="ray", grace_s=0.0)
    command = [sys.executable, str(program)]
    executor = RayExecutor(Settings(tmp_path), service, structlog.get_logger(), command)
    assert executor.alive()["workers"] == 0
    executor.start()
    try:
        assert wait_until(lambda: executor.alive()["workers"] == 3)
        assert executor.alive() == json.loads(
            '{"workers": 3, "nodes": 2, "placed": 0, "leads": 1, "restarts": 1, "watched": 1}'
        )
        executor.wake()
        assert wait_until(lambda: (tmp_path / "mark").read_text() == "wake\n")
    finally:
        executor.stop()
    assert (tmp_path / "mark").read_text() == "ended"
