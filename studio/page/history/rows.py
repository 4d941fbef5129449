"""Tasks as rows of <timbre-tasks>: title, status, facts, sounds and actions."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from engine.conversion.settings import ConversionSettings
from engine.texts import joined, ntr, numeral, tr
from engine.units import rounded_duration
from engine.voices.card import UNTRAINED
from studio.actions.account import FORMATS
from studio.actions.conversions.downloads import offered
from studio.actions.conversions.takes import best_first, fidelity
from studio.actions.conversions.waveforms import waveform_of_take
from studio.actions.tasks import TaskView
from studio.actions.voices.cards import avatar_of
from studio.errors import NotFound
from studio.page.parts.controls import EFFECTS, STYLES, setting_title
from studio.page.parts.page import Visit
from studio.page.parts.scores import brief_shift, harmony_text, kept_note, labelled, stands_out
from studio.store.kinds import KINDS, LISTED
from studio.store.records.codec import plain

TITLES = {name: KINDS[name].title for name in LISTED}
STATES = {
    "queued": tr("Waiting"),
    "running": tr("Running"),
    "completed": tr("Done"),
    "failed": tr("Failed"),
    "cancelled": tr("Cancelled"),
}
_PRESETS = {"auto": tr("automatic"), **STYLES}
CANCEL = {"name": "cancel", "label": tr("Cancel")}
_STOP = {"name": "cancel", "label": tr("Stop")}
_REPEAT = {"name": "repeat", "label": tr("Convert again")}
_CONVERT = {"name": "convert", "label": tr("Open in Convert")}
_TRAIN = {"name": "train", "label": tr("Open in Train")}
_VOICE = {"name": "voice", "label": tr("Open in Voices")}
_NO_EFFECTS = "off"
_QUESTION = tr("Delete this entry? The voice is kept.")
_QUESTIONS = {"conversion": tr("Delete this conversion with its recording and takes?")}
_DELETE = {"name": "delete", "label": tr("Delete")}
# settings that are named by themselves, or tell nothing
_OF_EVERY_TAKE = ("transpose", "takes", "seed", "harmony", "harmony_key")


def row_of(view: TaskView, preferred: str = FORMATS[0]) -> dict[str, Any]:
    """Return the row of a task from `history_view` or `queue_view`. preferred: the format offered first."""
    task: Mapping[str, Any] = plain(view)
    return {
        "id": task["id"],
        "title": _title(task),
        "is_name": _is_name(task),
        "avatar": avatar_of(task["model_name"]) if task["model_name"] else None,
        "kind": _kind(task),
        "detail": _detail(task),
        "state": task["state"],
        "label": _label(task),
        "progress": task["progress"],
        "message": task["message"],
        "error": task["error"],
        "created_s": _seconds(task["created_at"]),
        "took": _took(task),
        "facts": _facts(task),
        "compared": _compared(task),
        "player": _player(task, preferred),
        "note": _note(task),
        "actions": _actions(task),
    }


def with_downloads(row: dict[str, Any], made: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return a row with the links that were made of its takes, by "task track format"."""
    for index, track in enumerate((row["player"] or {"tracks": []})["tracks"]):
        if downloads := track.get("downloads"):
            track["downloads"] = [replace(one, **made.get(f"{row['id']} {index} {one.label}", {})) for one in downloads]
    return row


def put_outlines(visit: Visit, row: Mapping[str, Any], is_unfolded: bool = False) -> None:
    """Give the take that a row shows its waveform, all of its takes where they are seen; that of a recording is drawn
    once it is opened."""
    player = row["player"] or {"tracks": [], "chosen": 0}
    for place, track in enumerate(player["tracks"]):
        if "take" not in track:
            continue
        track["outline"] = ()
        if is_unfolded or place == player["chosen"]:
            with suppress(NotFound):  # deleted in another window
                track["outline"] = visit.do(waveform_of_take, track.get("task", row["id"]), track["take"])


def _title(task: Mapping[str, Any]) -> str:
    voice = task["model_name"] or ""
    if task["kind"] == "conversion":
        return f"{task['file_name']} · {voice}" if task.get("file_name") else tr("A recording · {voice}", voice=voice)
    voice = voice or tr("A deleted voice")
    return tr("{voice}: recordings", voice=voice) if task["kind"] == "report" else voice


def _is_name(task: Mapping[str, Any]) -> bool:
    """Whether the title holds nothing but names, which are translated into no language."""
    return bool(
        task.get("file_name") if task["kind"] == "conversion" else task["kind"] != "report" and task["model_name"]
    )


def _kind(task: Mapping[str, Any]) -> str:
    kind = (
        tr("Comp")
        if task.get("comp")
        else tr("Edited take")
        if task.get("edit_of")
        else tr("Song")
        if task.get("mix")
        else TITLES[task["kind"]]
    )
    return (
        ntr("{kind}, {epochs} epoch", "{kind}, {epochs} epochs", epochs=task["epochs"], kind=kind)
        if task["kind"] == "training"
        else kind
    )


def _detail(task: Mapping[str, Any]) -> list[str]:
    """Return which harmony a conversion is, and once it is done its style, its key and what else it was asked for."""
    found = task.get("output_settings") or {}
    if task["kind"] != "conversion":
        return []
    harmony = [one] if (one := harmony_text(task["settings"])) else []
    if not found:
        return harmony
    takes, effects = len(task.get("output_audio_urls") or []), task.get("effects") or _NO_EFFECTS
    return [
        *harmony,
        STYLES[found["vocal_style"]],
        *([_key(found["transpose"])] if found.get("transpose") is not None else []),
        *([tr("{takes} takes", takes=takes)] if takes > 1 else []),
        *([] if effects == _NO_EFFECTS else [_effects(effects)]),
        *(
            joined(" ", (setting_title(name), _value(one)))
            for name, one in _own_settings(task, found["vocal_style"]).items()
        ),
    ]


def _compared(task: Mapping[str, Any]) -> list[list[str]]:
    """Return what a conversion that is done may differ in from another of its recording, as names and values."""
    found = task.get("output_settings") or {}
    if task["kind"] != "conversion" or task["state"] != "completed" or not found:
        return []
    edits = str(task.get("edit_count") or 0)
    return [
        [tr("Voice"), task["model_name"] or ""],
        [tr("Harmony"), harmony_text(task["settings"]) or tr("none")],
        [tr("Style"), STYLES[found["vocal_style"]]],
        [tr("Key"), _key(found.get("transpose") or 0)],
        [tr("Effects"), _effects(task.get("effects") or _NO_EFFECTS)],
        [tr("Pitch edits"), edits],
        *([setting_title(one), _value(value)] for one, value in task["settings"].items() if one not in _OF_EVERY_TAKE),
    ]


def _own_settings(task: Mapping[str, Any], style: str) -> dict[str, Any]:
    """Return the settings that are not those of every recording of this style."""
    usual = ConversionSettings.presets[style]
    return {
        name: value
        for name, value in task["settings"].items()
        if name not in _OF_EVERY_TAKE and value != getattr(usual, name, value)
    }


def _key(transpose: float) -> str:
    return brief_shift(transpose) or tr("same key")


def _effects(effects: Any) -> str:
    """Return the preset of effects; those of one's own have no name."""
    return EFFECTS.get(effects, effects) if isinstance(effects, str) else tr("own effects")


def _label(task: Mapping[str, Any]) -> str:
    if task["state"] == "running":
        return f"{100 * task['progress']:.0f} %" if task["progress"] else STATES["running"]  # it prepares
    if task["state"] == "queued" and task.get("place"):
        return tr("Up next") if task["place"] == 1 else tr("Waiting, number {place} in line", place=task["place"])
    return STATES[task["state"]]


def _took(task: Mapping[str, Any]) -> str:
    if task["started_at"] is None or task["finished_at"] is None:
        return ""
    return rounded_duration(_seconds(task["finished_at"]) - _seconds(task["started_at"]))


def _seconds(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


def _facts(task: Mapping[str, Any]) -> list[list[str]]:
    """Return the task's settings as names and values."""
    facts = []
    if task["kind"] == "conversion":
        found = task.get("output_settings") or {}
        if task.get("untrained"):
            facts.append([tr("Voice"), UNTRAINED])
        if task.get("edit_count"):
            facts.append([tr("Pitch edits"), str(task["edit_count"])])
        if task.get("preset"):
            facts.append([tr("Preset"), _PRESETS.get(task["preset"], task["preset"])])
        if found:
            facts.append([tr("Detected style"), STYLES[found["vocal_style"]]])
        if harmony := harmony_text(task["settings"]):
            facts.append([tr("Harmony"), harmony])
        for name, value in task["settings"].items():
            if name in ("harmony", "harmony_key"):
                continue
            moved = found.get("transpose") if name == "transpose" and isinstance(value, str) else None
            shift = [] if moved is None else [brief_shift(moved) or "0"]
            facts.append([setting_title(name), joined(": ", [_value(value), *shift])])
    elif task["kind"] == "training":
        facts = [[tr("Epochs"), str(task["epochs"])]]
        facts += [[setting_title(name), _value(value)] for name, value in task["settings"].items()]
    return facts


def _value(value: Any) -> str:
    return numeral(value, "g") if isinstance(value, float) else tr(value) if isinstance(value, str) else str(value)


def _player(task: Mapping[str, Any], preferred: str) -> dict[str, Any] | None:
    takes = task.get("output_audio_urls") or []
    if not takes:
        return None
    before = [{"label": tr("Before"), "url": task["input_audio_url"]}] if task.get("input_audio_url") else []
    scores = [*task["scores"], *[{}] * (len(takes) - len(task["scores"]))]
    shares = [fidelity(score) for score in scores]
    best = best_first(shares)[0]
    labels = task.get("take_labels") or [{"name": "", "starred": False}] * len(takes)
    heard = [
        {
            "label": labelled(
                tr("Take {number}", number=number) if len(takes) > 1 else tr("After"), **labels[number - 1]
            ),
            "names": [labels[number - 1]["name"]],
            "url": takes[number - 1],
            "note": kept_note(shares[number - 1], number == best and stands_out(shares)),
            "take": number,
            "avatar": avatar_of(task["model_name"]) if task["model_name"] else None,
            "downloads": offered(preferred),
        }
        for number in range(1, len(takes) + 1)  # as in Convert: a take is at the place of its number
    ]
    return {"id": f"history-{task['id']}", "tracks": [*before, *heard], "chosen": len(before) + best - 1}


def _note(task: Mapping[str, Any]) -> str:
    if task.get("note"):
        return str(task["note"])
    if task["kind"] == "training" and task["state"] == "cancelled":
        return tr("The progress is saved: training can continue from there.")
    return ""


def _actions(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind, state = task["kind"], task["state"]
    beside = {"conversion": [_CONVERT], "training": [_TRAIN]}.get(kind, [_VOICE])
    if state in ("queued", "running"):
        return [_STOP if kind == "training" else CANCEL, *(beside if kind == "training" else [])]
    again = {
        "conversion": _REPEAT if state == "completed" else _REPEAT | {"label": tr("Try again")},
        "training": None if state == "completed" else _REPEAT | {"label": tr("Continue")},
    }.get(kind)
    if kind == "conversion" and task.get("input_audio_url") is None:
        again, beside = None, []
    return [*([again] if again else []), *beside, _DELETE | {"question": _QUESTIONS.get(kind, _QUESTION)}]
