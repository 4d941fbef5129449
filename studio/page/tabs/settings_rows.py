"""Rows for the elements of the Settings tab."""

from collections.abc import Mapping, Sequence

from studio.actions.account import TokenView
from studio.actions.installation import CheckupView, LimitView, MachineView, StorageView
from studio.doctor import Finding
from studio.page.parts.element_data import FactRow, TokenRow

_AREAS = {
    "voices": "Voices",
    "recordings": "Training recordings",
    "trainings": "Trainings",
    "conversions": "Conversions",
    "analyses": "Analyses for the page",
    "packages": "Exported packages",
    "prepared": "Prepared for training",
}
_REMAKEABLE = ("analyses", "packages", "prepared")
_LIMITS = {
    "largest_upload_mb": ("Largest upload", "{:g} MB"),
    "longest_audio_minutes": ("Longest recording to convert", "{:g} minutes"),
    "largest_conversion_minutes": ("Largest conversion: recording x channels x takes", "{:g} minutes"),
    "longest_dataset_hours": ("Recordings of one voice", "{:g} hours"),
    "conversions_per_account": ("Queued or running conversions", "{:g}"),
    "trainings_per_account": ("Queued or running trainings", "{:g}"),
    "models_per_account": ("Voices", "{:g}"),
    "keep_outputs_days": ("Conversions kept for", "{:g} days"),
    "link_hours": ("Audio links valid for", "{:g} hours"),
    "free_disk_mb": ("Disk space kept free", "{:g} MB"),
}
_MACHINE = (
    "device",
    "conversion",
    "base model",
    "pitch model",
    "audio files",
    "Python",
    "torch",
    "free disk",
    "separation",
)


def size(count: float) -> str:
    """Write a number of bytes with its unit: 3 kB, 1.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} {unit}" if unit == "bytes" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def token_rows(tokens: Sequence[TokenView]) -> list[TokenRow]:
    """Return tokens as data of <timbre-tokens>."""
    return [
        {
            "id": one["id"],
            "name": one["name"],
            "state": one["state"],
            "created_s": one["created_at"],
            "expires_s": one["expires_at"],
            "used_s": one["used_at"],
        }
        for one in tokens
    ]


def machine_rows(machine: MachineView, work: Mapping[str, int]) -> list[FactRow]:
    """Return the machine and its work as rows."""
    workers = f"{machine['conversion_workers']} for conversions, {machine['training_workers']} for trainings"
    if not machine["conversion_workers"]:
        workers = "none here; other processes do the work"
    memory = "" if machine["memory_bytes"] is None else f", {size(machine['memory_bytes'])} of memory"
    return [
        {"label": "Timbre Studio", "value": machine["version"] or "run from its folder"},
        {"label": "System", "value": machine["system"]},
        {"label": "Processor", "value": f"{machine['cores']} cores{memory}"},
        {"label": "Workers", "value": workers},
        {"label": "Your tasks", "value": f"{work['running']} running, {work['queued']} waiting"},
    ]


def finding_rows(checkup: CheckupView | None) -> list[FactRow]:
    """Return a checkup's findings as rows, or its progress while it runs."""
    if checkup is None:
        return []
    if checkup["state"] in ("queued", "running"):
        return [{"label": "Checking", "value": checkup["message"] or "waiting for a worker"}]
    if checkup["error"]:
        return [{"label": "Check failed", "value": checkup["error"], "state": "bad"}]
    return [
        {
            "label": one.subject,
            "value": one.detail,
            "note": one.remedy,
            "state": "bad" if not one.works else "warn" if one.remedy else _good(one),
        }
        for one in checkup["findings"]
        if not one.works or one.subject.startswith(_MACHINE)
    ]


def storage_rows(storage: StorageView) -> list[FactRow]:
    """Return the location and the size of the stored files as rows."""
    if not storage["is_folder"]:
        return [{"label": "Location", "value": "external storage, set by the service's options"}]
    rows: list[FactRow] = [{"label": "Folder", "value": storage["place"]}] if storage["place"] else []
    for name, area in storage["areas"].items():
        held, count = size(area["bytes"]), area["files"]
        value = f"{held} in {count} files" if area["complete"] else f"more than {held} in {count} files"
        note = "cache" if name in _REMAKEABLE else ""
        rows.append({"label": _AREAS[name], "value": value, "note": note})
    free_bytes = storage["free_bytes"]
    return rows if free_bytes is None else [*rows, {"label": "Free space", "value": size(free_bytes)}]


def limit_rows(limits: Sequence[LimitView]) -> list[FactRow]:
    """Return the limits, each with the option that sets it, if there is one, as rows."""
    rows: list[FactRow] = []
    for one in limits:
        label, text = _LIMITS[one["name"]]
        value = text.format(one["value"])
        if one["name"] == "keep_outputs_days" and not one["value"]:
            value = "until deleted"
        row: FactRow = {"label": label, "value": value}
        if option := one["option"]:
            row |= {"note": f"serve {option}", "is_command": True}
        rows.append(row)
    return rows


def _good(finding: Finding) -> str | None:
    """Return no state for a missing device, which is no fault."""
    return None if finding.subject.startswith("device ") and "works" not in finding.detail else "good"
