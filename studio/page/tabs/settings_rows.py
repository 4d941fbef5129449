"""What the Settings tab tells, as rows of its elements: numbers as people read them."""

from collections.abc import Mapping, Sequence
from typing import Any

_AREAS = {"voices": "Voices", "recordings": "Recordings that voices are made of", "conversions": "Conversions"}
_LIMITS = {
    "largest_upload_mb": ("Largest upload", "{:g} MB"),
    "longest_audio_minutes": ("Longest recording to convert", "{:g} minutes"),
    "conversions_per_account": ("Conversions that wait or run", "{:g}"),
    "trainings_per_account": ("Trainings that wait or run", "{:g}"),
    "models_per_account": ("Voices", "{:g}"),
    "keep_outputs_days": ("Conversions are kept", "{:g} days"),
    "link_hours": ("Links to sounds hold", "{:g} hours"),
    "free_disk_mb": ("Room that is never filled", "{:g} MB"),
}
_MACHINE = ("device", "conversion", "base model", "pitch model", "audio files", "Python", "torch", "free disk")


def size(count: float) -> str:
    """Bytes as people read them: 3 kB, 1.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} {unit}" if unit == "bytes" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def token_rows(tokens: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tokens as <timbre-tokens> has them."""
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


def machine_rows(machine: Mapping[str, Any], work: Mapping[str, int]) -> list[dict[str, Any]]:
    """The machine, and what it has to do."""
    workers = f"{machine['conversion_workers']} for conversions, {machine['training_workers']} for trainings"
    if not machine["conversion_workers"]:
        workers = "none here: other programs do the work"
    memory = "" if machine["memory_bytes"] is None else f", {size(machine['memory_bytes'])} of memory"
    return [
        {"label": "Timbre Studio", "value": machine["version"] or "from its folder"},
        {"label": "System", "value": machine["system"]},
        {"label": "Processor", "value": f"{machine['cores']} cores{memory}"},
        {"label": "Workers", "value": workers},
        {"label": "Your work now", "value": f"{work['running']} running, {work['queued']} waiting"},
    ]


def finding_rows(checkup: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What a worker found when it tried the machine; while it does, what it tries."""
    if checkup is None:
        return []
    if checkup["state"] in ("queued", "running"):
        return [{"label": "Trying", "value": checkup["message"] or "waiting for a worker"}]
    if checkup["error"]:
        return [{"label": "Tried", "value": checkup["error"], "state": "bad"}]
    return [
        {
            "label": one["subject"].capitalize(),
            "value": one["detail"],
            "note": one["remedy"],
            "state": "bad" if not one["works"] else "warn" if one["remedy"] else _good(one),
        }
        for one in checkup["findings"]
        if not one["works"] or one["subject"].startswith(_MACHINE)
    ]


def storage_rows(storage: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where the files are and how much room they take."""
    if not storage["is_folder"]:
        return [{"label": "Place", "value": "a storage elsewhere, which the settings of the service name"}]
    rows = [{"label": "Folder", "value": storage["place"]}] if storage["place"] else []
    for name, area in storage["areas"].items():
        least = "" if area["complete"] else "more than "
        files = "1 file" if area["files"] == 1 else f"{area['files']} files"
        rows.append({"label": _AREAS.get(name, name), "value": f"{least}{size(area['bytes'])} in {files}"})
    return [*rows, {"label": "Room left", "value": size(storage["free_bytes"])}]


def limit_rows(limits: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is allowed, and how whoever starts the service changes it."""
    rows = []
    for one in limits:
        label, text = _LIMITS[one["name"]]
        value = text.format(one["value"])
        if one["name"] == "keep_outputs_days" and not one["value"]:
            value = "until they are deleted"
        rows.append({"label": label, "value": value, "note": f"serve {one['option']}"})
    return rows


def _good(finding: Mapping[str, Any]) -> str | None:
    """A device that is not there is no fault."""
    return None if finding["subject"].startswith("device ") and "works" not in finding["detail"] else "good"
