"""A voice as data for the elements of the Voices tab: profile, recordings and training."""


from engine.units import note_number
from engine.voices.card import TRAIN_AGAIN
from engine.voices.card_rules import RVC
from studio.actions.recordings import consent_line
from studio.actions.voice_cards import VoiceDetails
from studio.actions.voices import TaughtBy, score_lines
from studio.page.parts.element_data import FactRow, Facts, VoiceHead
from studio.page.parts.keyboard import Stretch, keyboard_svg
from studio.store.records.cards import ReportedData

BADGES = {
    "pending": "untrained",
    "training": "in training",
    "failed": "training failed",
    TRAIN_AGAIN: "made with an earlier version: train or import it again",
}
_HELD_OUT = "on recordings that neither was taught with"
_SCORES = (
    ("likeness", "Likeness", "similarity of converted recordings to the voice; 1 is best"),
    ("content", "Intelligibility", "how well the words are kept; 1 is best"),
    ("pitch_error_cents", "Pitch error", "deviation from the sung melody"),
)


def range_picture(voice: VoiceDetails) -> str:
    """Draw the range of a voice on a keyboard; return nothing while it is unknown."""
    notes = voice.get("vocal_range")
    if not notes:
        return ""
    low, high = note_number(notes["min"]), note_number(notes["max"])
    return keyboard_svg([Stretch(low, high, f"{notes['min']} to {notes['max']}")])


def report_picture(report: ReportedData) -> str:
    """Draw the duration of each note in the recordings, with the detected and the stated range."""
    stretches = []
    if heard := report.get("vocal_range"):
        stretches.append(Stretch(note_number(heard[0]), note_number(heard[1]), f"detected: {heard[0]} to {heard[1]}"))
    if stated := report.get("stated_range"):
        low, high = stated
        stretches.append(Stretch(note_number(low), note_number(high), f"stated: {low} to {high}", "stated"))
    seconds = {int(note): time_s for note, time_s in (report.get("pitch_histogram") or {}).items()}
    return keyboard_svg(stretches, seconds)


def head(voice: VoiceDetails) -> VoiceHead:
    """Return data of <timbre-voice>."""
    badge = "built-in" if voice["demo"] else BADGES.get(voice["state"], "")
    return {
        "name": voice["name"],
        "avatar": voice["avatar"],
        "uses": voice["uses"],
        "state": voice["state"],
        "badge": badge,
        "kind": [word for word in _kinds(voice) if word and word not in ("other", "adult")],
        "demo": voice["demo"],
        "description": voice["description"],
        "traits": voice["traits"],
    }


def _kinds(voice: VoiceDetails) -> tuple[str | None, ...]:
    return voice["voice_type"], voice["gender"], voice["age"], voice["genre"]


def about(voice: VoiceDetails) -> Facts:
    """Return data of <timbre-facts>: licence, source and consent."""
    consent = voice["consent"]
    rows = [
        ("Licence", voice["licence"], ""),
        ("Source", voice["source"], ""),
        ("Consent", consent.get("statement", ""), consent_line(consent, voice["consent_origin"])),
        ("Taught by", _teacher(voice["taught_by"]), ""),
        ("Blended from", _parts(voice["learned"].get("blend")), ""),
        ("ID", voice["id"], "for the command line and the API"),
    ]
    named = {"Licence", "Source", "Blended from", "ID"}  # in the words of others
    return {
        "rows": [
            {"label": label, "value": value, "note": note, "is_name": label in named}
            for label, value, note in rows
            if value
        ]
    }


def training_rows(voice: VoiceDetails) -> list[FactRow]:
    """Return rows of <timbre-facts> about the last training; none for an untrained voice."""
    learned = voice["learned"]
    rows: list[FactRow] = []
    if voice["error"]:
        label = "Conversion" if voice["kind"] == RVC else "Last training"
        rows.append({"label": label, "value": voice["error"], "state": "bad"})
    if isinstance(minutes := learned.get("minutes"), int | float):
        rows.append({"label": "Trained on", "value": f"{minutes:g} minutes of recordings"})
    if "best_epoch" in learned:
        how = "chosen by ear" if learned.get("chosen") else "best score"
        value = f"epoch {learned['best_epoch']} of {learned.get('epochs', learned['best_epoch'])}"
        rows.append({"label": "Checkpoint", "value": value, "note": how})
    found = learned.get("scores")
    scores = found if isinstance(found, dict) else {}
    for name, label, note in _SCORES:
        if isinstance(score := scores.get(name), int | float):
            value = f"{score:.0f} cents" if name == "pitch_error_cents" else f"{score:.2f}"
            rows.append({"label": label, "value": value, "note": note})
    if learned:
        rows += [{"label": "Scores", "value": line, "note": _HELD_OUT} for line in score_lines(voice)]
    return rows


def _teacher(taught: TaughtBy | None) -> str:
    return f"{taught['name']}, imported from {taught['file']}" if taught else ""


def _parts(blend: object) -> str:
    if not isinstance(blend, dict):
        return ""
    shares = (1.0 - blend["share"], blend["share"])
    voices = zip(blend["voices"], shares, strict=True)
    return ", ".join(f"{one['name']} ({round(100 * share)} %)" for one, share in voices)
