"""The course of a training for the Train tab: its curves, its sounds and its state, as the elements have them."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.training.plan import MAY_CHANGE, TrainingPlan
from engine.units import rounded_duration
from studio.actions.trainings import seconds_left

_MOST_POINTS = 300  # of a curve, which is no wider on the page
_FIRST_EPOCHS = (
    TrainingPlan().epochs
)  # what is proposed for a new voice, and how many more for one that has been trained
_SCORES = (  # name in the history, what it is called, how it is written
    ("likeness", "likeness", ".3f"),
    ("content", "words kept", ".3f"),
    ("mel_distance", "difference of held-out recordings", ".2f"),
    ("pitch_error_cents", "pitch error in cents", ".0f"),
)
_STATES = {
    "pending": "to be trained",
    "training": "in training",
    "completed": "trained",
    "failed": "its training failed",
}


def choice_of(voice: Mapping[str, Any]) -> tuple[str, str]:
    """A voice in the list of those that can be trained: what is shown, and its id."""
    is_stopped = voice["state"] == "pending" and voice["epoch"]
    stands = f"stopped at epoch {voice['epoch']}" if is_stopped else _STATES[voice["state"]]
    return f"{voice['name']} ({stands})", voice["id"]


def is_active(view: Mapping[str, Any]) -> bool:
    """Whether the voice's training waits or goes on."""
    return view["task"] is not None and view["task"]["state"] in ("queued", "running")


def is_timed(view: Mapping[str, Any]) -> bool:
    """Whether a worker is finding out how long it takes."""
    return view["estimating"] is not None and view["estimating"]["state"] in ("queued", "running")


def proposed_epochs(view: Mapping[str, Any]) -> int:
    """The total to propose: what was asked for and not reached, else so many more."""
    asked = int(view["task"]["epochs"] if view["task"] else view["epochs"])
    if asked > view["epoch"] and view["state"] != "completed":
        return asked
    return max(asked, int(view["epochs"]), int(view["epoch"])) + _FIRST_EPOCHS


def start_label(view: Mapping[str, Any]) -> str:
    """What the button that begins it says."""
    return f"Go on from epoch {view['epoch']}" if view["epoch"] else "Start training"


def given_settings(view: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of the settings on the page those that are to be said: all that are no default; where the training was begun,
    those that can still change."""
    default = TrainingPlan()
    return {
        name: value
        for name, value in settings.items()
        if (name in MAY_CHANGE if view["begun"] else value != getattr(default, name))
    }


def estimate_text(view: Mapping[str, Any], epochs: int, evaluate_epochs: int = 0) -> str:
    """How long it takes, as a sentence."""
    if is_timed(view):
        return f"Finding out how long it takes here: {view['estimating']['message'] or 'waiting for a worker'} …"
    seconds = seconds_left(view, epochs, evaluate_epochs)
    if seconds is None:
        return (view["estimating"] or {}).get("error") or "How long it takes here is not known yet."
    if epochs <= view["epoch"]:
        return f"It has {_epochs(view['epoch'])} already: ask for more to go on."
    more = f"from epoch {view['epoch']} to {epochs}" if view["epoch"] else f"for {_epochs(epochs)}"
    return f"About {rounded_duration(seconds)} {more} on this machine; less where it ends by itself."


def state_rows(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where the training stands, line by line."""
    rows: list[dict[str, Any]] = [{"label": "State", "value": _state(view)}]
    history = view["history"]
    if view["error"]:
        rows.append({"label": "It ended with", "value": view["error"], "state": "bad"})
    if history is None:
        return rows
    rows.append({"label": "Epochs so far", "value": f"{view['epoch']} of {history['ceiling']}"})
    if kept := _kept(view):
        value = f"epoch {kept['epoch']}, score {kept['score']:.3f}"
        rows.append({"label": "Kept", "value": value, "note": "the best moment so far is the voice", "state": "good"})
    if view["chosen_epoch"] is not None:
        rows.append({"label": "In use", "value": f"epoch {view['chosen_epoch']}", "note": "chosen by ear"})
    rows += [{"label": f"Epoch {event['epoch']}", "value": event["text"]} for event in history["events"][-5:]]
    return rows


def curves(view: Mapping[str, Any], chosen: int | None) -> dict[str, Any] | None:
    """Data of <timbre-curves>; None before there is anything to draw."""
    history, evaluations = view["history"], view["evaluations"]
    if history is None or not (history["epochs"] or evaluations):
        return None
    epochs = history["epochs"]
    kept = _kept(view)
    charts: list[dict[str, Any]] = [
        {
            "title": "On what it never heard",
            "unit": "higher is better",
            "lines": [
                _line("likeness", "accent", evaluations, "likeness", marks=True),
                _line("words kept", "range", evaluations, "content", marks=True),
                _line("score", "good", evaluations, "score", marks=True),
            ],
        },
        {
            "title": "Difference from the voice",
            "unit": "nepers, less is better",
            "lines": [
                _line("while learning", "accent", epochs, "envelope"),
                _line("held-out recordings", "range", evaluations, "mel_distance", marks=True),
            ],
        },
        {
            "title": "Still missed while learning",
            "unit": "0 is best",
            "lines": [_line("timbre", "accent", epochs, "taken"), _line("words", "range", epochs, "kept")],
        },
    ]
    shown = [chart | {"lines": [line for line in chart["lines"] if line["points"]]} for chart in charts]
    return {
        "epochs": max(view["epoch"], history["ceiling"] if is_active(view) else 0, 1),
        "kept": kept["epoch"] if kept else None,
        "chosen": chosen,
        "choices": [line["epoch"] for line in evaluations if line["sounds"]],
        "charts": [chart for chart in shown if chart["lines"]],
    }


def sounds(view: Mapping[str, Any], part: str | None, chosen: int | None) -> dict[str, Any] | None:
    """Data of <timbre-player>: one part as it was before, at the beginning, at the kept moment, at the last, and at
    the one that was chosen; None where there is nothing to hear."""
    original = next((one for one in view["parts"] if one["name"] == part), None)
    lines = _heard(view, part, chosen)
    if original is None or not lines:
        return None
    kept = _kept(view)
    tracks = [{"label": "Original", "url": original["url"]}]
    tracks += [
        {"label": _moment(line), "url": line["sounds"][part], "note": f"score {line['score']:.3f}"} for line in lines
    ]
    epochs = [line["epoch"] for line in lines]
    first = chosen if chosen in epochs else kept["epoch"] if kept and kept["epoch"] in epochs else epochs[-1]
    return {"id": f"train-{view['id']}-{part}", "tracks": tracks, "chosen": 1 + epochs.index(first)}


def score_rows(view: Mapping[str, Any], part: str | None, chosen: int | None) -> list[dict[str, Any]]:
    """The scores of the moments that can be heard, line by line."""
    return [
        {
            "label": _moment(line),
            "value": ", ".join(
                f"{name} {line[score]:{form}}" for score, name, form in _SCORES if line.get(score) is not None
            ),
        }
        for line in _heard(view, part, chosen)
    ]


def signature(view: Mapping[str, Any]) -> list[Any]:
    """What is another one once there is something new to draw or to hear."""
    history = view["history"]
    counted = [len(history["epochs"]), len(history["evaluations"]), history["ceiling"]] if history else []
    return [view["id"], view["state"], *counted]


def _epochs(number: int) -> str:
    return "1 epoch" if number == 1 else f"{number} epochs"


def _state(view: Mapping[str, Any]) -> str:
    task = view["task"]
    if not is_active(view):
        stopped = view["state"] == "pending" and view["epoch"] > 0
        return "stopped: it can go on" if stopped else _STATES[view["state"]]
    if task["state"] == "running":
        return _STATES["training"]
    return "waits: it is next" if task["place"] == 1 else f"waits: {task['place']} in the queue"


def _kept(view: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((line for line in view["evaluations"] if line["kept"]), None)


def _heard(view: Mapping[str, Any], part: str | None, chosen: int | None) -> list[Mapping[str, Any]]:
    """The evaluations that are heard side by side: the first, the kept, the last, and the one that was chosen."""
    heard = [line for line in view["evaluations"] if part in line["sounds"]]
    kept = _kept(view)
    wanted = {line["epoch"] for line in (*heard[:1], *heard[-1:])} | {chosen, kept["epoch"] if kept else None}
    return [line for line in heard if line["epoch"] in wanted]


def _moment(line: Mapping[str, Any]) -> str:
    name = f"Epoch {line['epoch']}" if line["epoch"] else "Before training"
    return f"{name} (kept)" if line["kept"] else name


def _line(
    label: str, colour: str, lines: Sequence[Mapping[str, Any]], name: str, marks: bool = False
) -> dict[str, Any]:  # fmt: skip
    points = [[line["epoch"], line[name]] for line in lines if line.get(name) is not None]
    apart = -(-len(points) // _MOST_POINTS)
    return {
        "label": label,
        "colour": colour,
        "points": points if apart < 2 else [*points[::apart], *points[-1:]],
        "marks": marks,
    }
