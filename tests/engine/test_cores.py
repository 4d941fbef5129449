"""Cores that this process may use: of the machine, and of its container."""

import os

import pytest

from engine.cores import free_memory, usable_cores

QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"
MACHINE = 16
UNIT = "system.slice/ts.service"


def version_1(groups: str, folder: str, quota: str) -> dict[str, str]:
    return {"self": groups, f"{folder}/{QUOTA}": quota, f"{folder}/{PERIOD}": "100000\n"}


# how a container may be told: files below the root, and the cores that they leave of sixteen
TREES = {
    "none": ({}, 16),
    "version 2, a container with --cpus 2": ({"self": "0::/", "cpu.max": "200000 100000"}, 2),
    "version 2, without a quota": ({"self": "0::/", "cpu.max": "max 100000"}, 16),
    "version 2, half a core more": ({"self": "0::/", "cpu.max": "150000 100000"}, 2),
    "version 2, a tenth of a core": ({"self": "0::/", "cpu.max": "10000 100000"}, 1),
    "version 2, more than there are": ({"self": "0::/", "cpu.max": "9900000 100000"}, 16),
    "version 2, a unit of systemd": ({"self": f"0::/{UNIT}", f"{UNIT}/cpu.max": "300000 100000"}, 3),
    "version 2, the group around": ({"self": "0::/a/b", "a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000"}, 4),
    "version 2, the smaller": ({"self": "0::/a/b", "a/cpu.max": "400000 100000", "a/b/cpu.max": "100000 50000"}, 2),
    "version 1, --cpus 2": (version_1("3:cpu,cpuacct:/docker/4f\n2:memory:/docker/4f", "cpu", "200000\n"), 2),
    "version 1, without a quota": (version_1("3:cpu,cpuacct:/", "cpu", "-1"), 16),
    "version 1, of the host": (version_1("3:cpuacct,cpu:/docker/4f\n0::/", "cpu/docker/4f", "250000"), 3),
    "version 1, a quota without a period": ({"self": "3:cpu:/", f"cpu/{QUOTA}": "100000"}, 16),
    "what is no text": ({"self": "0::/", "cpu.max": "\xff\xfe"}, 16),
}


@pytest.fixture
def machine(monkeypatch):
    """A machine of sixteen cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(MACHINE)), raising=False)


@pytest.mark.parametrize("told", TREES)
def test_usable_cores_keep_to_the_quota_of_a_container(machine, tmp_path, told):
    files, cores = TREES[told]
    for name, text in files.items():
        path = tmp_path / ("proc/self/cgroup" if name == "self" else f"sys/fs/cgroup/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "latin-1")
    assert usable_cores(tmp_path) == cores


def test_usable_cores_keep_to_the_cores_this_process_may_run_on(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert usable_cores(tmp_path) == 2


def test_usable_cores_are_those_of_the_machine_where_the_system_does_not_say(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores(tmp_path) == 1


MEMINFO = "MemTotal:       8000 kB\nMemAvailable:   4000 kB\n"
GROUP = "sys/fs/cgroup/memory"
CONTAINER = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/", f"{GROUP}.current": "1500000\n"}
LESS = CONTAINER | {f"{GROUP}.max": "2000000\n", f"{GROUP}.stat": "anon 7\ninactive_file 300000\n"}
MEMORY = {
    "a machine": ({"proc/meminfo": MEMINFO}, 4_096_000),
    "a container with less": (LESS, 800_000),
    "a container without a limit": (CONTAINER | {f"{GROUP}.max": "max\n"}, 4_096_000),
    "a system that does not say": ({}, None),
}


@pytest.mark.parametrize("machine", MEMORY)
def test_free_memory_is_what_the_machine_and_the_container_leave(machine, tmp_path):
    files, expected = MEMORY[machine]
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert free_memory(tmp_path) == expected
