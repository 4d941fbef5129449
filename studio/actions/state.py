"""The state of the installation: machine, workers, tasks and limits."""

import os
import platform
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from engine.texts import tr
from studio.actions.submission import Work, new_task, submit_work
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account
from studio.store.kinds import CHECKUP
from studio.store.records.checkup import Checkup
from studio.store.records.voices import Nothing
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, Task, list_tasks

LIMITS = (
    "largest_upload_mb", "longest_audio_minutes", "largest_conversion_minutes", "longest_dataset_hours",
    "conversions_per_account", "trainings_per_account", "models_per_account", "keep_outputs_days", "link_hours",
    "free_disk_mb",
)  # fmt: skip


def machine_view(studio: Studio, account: Account) -> dict[str, Any]:
    """Return what is known about the machine without a checkup: version, system, cores, memory_bytes, workers."""
    service = studio.service
    return {
        "version": _version(),
        "system": tr(
            "{platform} {platform2}, Python {platform3}",
            platform=platform.system(), platform2=platform.machine(), platform3=platform.python_version(),
        ),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_bytes": _memory_bytes(),
        "conversion_workers": service.conversion_workers if service.executor == "local" else 0,
        "training_workers": service.training_workers if service.executor == "local" else 0,
    }


def work_view(studio: Studio, account: Account) -> dict[str, int]:
    """Count the account's running and queued tasks, up to a thousand."""
    return {
        state: len(list_tasks(studio.database, account.id, state=state, limit=1000)[0]) for state in reversed(ACTIVE)
    }


def limits_view(studio: Studio) -> list[dict[str, Any]]:
    """Return the limits that hold on the page: name, value, meaning, and the option of `serve` that changes each."""
    known = {one.name: one for one in fields(ServiceSettings)}
    return [
        {
            "name": name,
            "value": getattr(studio.service, name),
            "meaning": known[name].metadata["meaning"],
            "option": f"--{name.replace('_', '-')}",
        }
        for name in LIMITS
        if name != "largest_upload_mb" or studio.service.page_upload_mb  # on one's own machine the disk is the limit
    ]


def start_checkup(studio: Studio, account: Account) -> str:
    """Queue a checkup of what this machine can do, unless one is active; return the task's id."""
    last = _last_checkup(studio, account)
    if last is not None and not last.has_ended:
        return last.id
    return submit_work(studio, new_task(account), Work(CHECKUP, Nothing()))


def checkup_view(studio: Studio, account: Account) -> dict[str, Any] | None:
    """Return the last checkup: state, message, error, finished_at (Unix time) and findings; None before the first.

    findings: {"subject", "detail", "remedy", "works"}, as `studio.doctor` has them.
    """
    last = _last_checkup(studio, account)
    if last is None:
        return None
    return {
        "state": last.state,
        "message": last.message,
        "error": last.error,
        "finished_at": last.finished_at,
        "findings": [asdict(one) for one in last.result_as(Checkup).findings],
    }


def _last_checkup(studio: Studio, account: Account) -> Task | None:
    found, _ = list_tasks(studio.database, account.id, kind=CHECKUP, limit=1)
    return found[0] if found else None


def _version() -> str:
    try:
        return version("timbre-studio")
    except PackageNotFoundError:
        return ""


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
