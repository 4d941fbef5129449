"""Rows for the elements of the Settings tab."""

from collections.abc import Mapping, Sequence

from engine.texts import Text, joined, ntr, numeral, tr
from studio.actions.account import TokenView
from studio.actions.machine_and_storage import CheckupView, LimitView, MachineView, StorageView
from studio.doctor import Finding
from studio.page.parts.element_data import FactRow, TokenRow

_AREAS = {
    "voices": tr("Voices"),
    "recordings": tr("Training recordings"),
    "trainings": tr("Trainings"),
    "conversions": tr("Conversions"),
    "analyses": tr("Analyses for the page"),
    "packages": tr("Exported packages"),
    "prepared": tr("Prepared for training"),
}
_REMAKEABLE = ("analyses", "packages", "prepared")
_LIMITS = {
    "largest_upload_mb": (tr("Largest upload"), tr("{value} MB")),
    "longest_audio_minutes": (tr("Longest recording to convert"), tr("{value} minutes")),
    "largest_conversion_minutes": (tr("Largest conversion: recording x channels x takes"), tr("{value} minutes")),
    "longest_dataset_hours": (tr("Recordings of one voice"), ntr("{value} hour", "{value} hours")),
    "conversions_per_account": (tr("Queued or running conversions"), "{value}"),
    "trainings_per_account": (tr("Queued or running trainings"), "{value}"),
    "models_per_account": (tr("Voices"), "{value}"),
    "keep_outputs_days": (tr("Conversions kept for"), ntr("{value} day", "{value} days")),
    "link_hours": (tr("Audio links valid for"), ntr("{value} hour", "{value} hours")),
    "free_disk_mb": (tr("Disk space kept free"), tr("{value} MB")),
}
_MACHINE = (
    "device",
    "conversion",
    tr("base model"),
    tr("pitch model"),
    tr("audio files"),
    tr("Python"),
    "torch",
    tr("free disk"),
    "separation",
)


def size(count: float) -> str:
    """Write a number of bytes with its unit: 3 kB, 1.2 GB."""
    for unit in (tr("bytes"), "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return joined(" ", (numeral(count, ".0f" if unit == "bytes" or count >= 10 else ".1f"), unit))
        count /= 1000
    raise AssertionError("unreachable")


def token_rows(tokens: Sequence[TokenView]) -> list[TokenRow]:
    """Return tokens as data of <timbre-tokens>."""
    return [
        TokenRow(
            id=one.id,
            name=one.name,
            state=one.state,
            created_s=one.created_at,
            expires_s=one.expires_at,
            used_s=one.used_at,
        )
        for one in tokens
    ]


def machine_rows(machine: MachineView, work: Mapping[str, int]) -> list[FactRow]:
    """Return the machine and its work as rows."""
    workers = tr(
        "{conversion_workers} for conversions, {training_workers} for trainings",
        conversion_workers=machine.conversion_workers,
        training_workers=machine.training_workers,
    )
    if not machine.conversion_workers:
        workers = tr("none here; other processes do the work")
    memory = (
        ""
        if machine.memory_bytes is None
        else tr(", {memory_bytes} of memory", memory_bytes=size(machine.memory_bytes))
    )
    return [
        FactRow(label="Timbre Studio", value=machine.version or tr("run from its folder")),
        FactRow(label=tr("System"), value=machine.system),
        FactRow(
            label=tr("Processor"),
            value=ntr("{cores} core{memory}", "{cores} cores{memory}", cores=machine.cores, memory=memory),
        ),
        FactRow(label=tr("Workers"), value=workers),
        FactRow(
            label=tr("Your tasks"),
            value=tr("{running} running, {queued} waiting", running=work["running"], queued=work["queued"]),
        ),
    ]


def finding_rows(checkup: CheckupView | None) -> list[FactRow]:
    """Return a checkup's findings as rows, or its progress while it runs."""
    if checkup is None:
        return []
    if checkup.state in ("queued", "running"):
        return [FactRow(label=tr("Checking"), value=checkup.message or tr("waiting for a worker"))]
    if checkup.error:
        return [FactRow(label=tr("Check failed"), value=checkup.error, state="bad")]
    return [
        FactRow(
            label=one.subject,
            value=one.detail,
            note=one.remedy,
            is_command=not isinstance(one.remedy, Text),  # what is no sentence is to be typed
            state="bad" if not one.works else "warn" if one.remedy else _good(one),
        )
        for one in checkup.findings
        if not one.works or one.subject.startswith(_MACHINE)
    ]


def storage_rows(storage: StorageView) -> list[FactRow]:
    """Return the location and the size of the stored files as rows."""
    if not storage.is_folder:
        return [FactRow(label=tr("Location"), value=tr("external storage, set by the service's options"))]
    rows: list[FactRow] = [FactRow(label=tr("Folder"), value=storage.place)] if storage.place else []
    for name, area in storage.areas.items():
        held, count = size(area.bytes), area.files
        value = (
            ntr("{held} in {count} file", "{held} in {count} files", count=count, held=held)
            if area.complete
            else ntr("more than {held} in {count} file", "more than {held} in {count} files", count=count, held=held)
        )
        note = tr("cache") if name in _REMAKEABLE else ""
        rows.append(FactRow(label=_AREAS[name], value=value, note=note))
    free_bytes = storage.free_bytes
    return rows if free_bytes is None else [*rows, FactRow(label=tr("Free space"), value=size(free_bytes))]


def limit_rows(limits: Sequence[LimitView]) -> list[FactRow]:
    """Return the limits, each with the option that sets it, if there is one, as rows."""
    rows: list[FactRow] = []
    for one in limits:
        label, text = _LIMITS[one.name]
        value = text.format(value=numeral(one.value, "g"))
        if one.name == "keep_outputs_days" and not one.value:
            value = tr("until deleted")
        note = f"serve {one.option}" if one.option else None
        rows.append(FactRow(label=label, value=value, note=note, is_command=True if note else None))
    return rows


def _good(finding: Finding) -> str | None:
    """Return no state for a missing device, which is no fault."""
    return None if finding.subject.startswith("device ") and "works" not in finding.detail else "good"
