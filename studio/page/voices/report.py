"""A voice as data for the elements of the Voices tab: profile, recordings and training."""

from engine.texts import ntr, numeral, tr
from engine.units import note_number
from engine.voices.card import TRAIN_AGAIN, UNTRAINED
from engine.voices.card_rules import RVC
from studio.actions.recordings import consent_line
from studio.actions.voices.cards import SPEAKS, VoiceDetails
from studio.actions.voices.voice import TaughtBy, score_lines
from studio.page.parts.element_data import FactRow, Facts, VoiceHead
from studio.page.parts.keyboard import Stretch, keyboard_svg
from studio.store.records.cards import ReportedData

BADGES = {
    "pending": UNTRAINED,
    "training": tr("in training"),
    "failed": tr("training failed"),
    TRAIN_AGAIN: tr("made with an earlier version: train or import it again"),
}
_HELD_OUT = tr("on recordings that neither was taught with")
_SCORES = (
    ("likeness", tr("Likeness"), tr("similarity of converted recordings to the voice; 1 is best")),
    ("content", tr("Intelligibility"), tr("how well the words are kept; 1 is best")),
    ("pitch_error_cents", tr("Pitch error"), tr("deviation from the sung melody")),
)


def range_picture(voice: VoiceDetails) -> str:
    """Draw the range of a voice on a keyboard; return nothing while it is unknown."""
    notes = voice.vocal_range
    if not notes:
        return ""
    low, high = note_number(notes["min"]), note_number(notes["max"])
    return keyboard_svg([Stretch(low, high, tr("{min} to {max}", min=notes["min"], max=notes["max"]))])


def report_picture(report: ReportedData) -> str:
    """Draw the duration of each note in the recordings, with the detected and the stated range."""
    stretches = []
    if heard := report.get("vocal_range"):
        stretches.append(
            Stretch(
                note_number(heard[0]),
                note_number(heard[1]),
                tr("detected: {lowest} to {highest}", lowest=heard[0], highest=heard[1]),
            )
        )
    if stated := report.get("stated_range"):
        low, high = stated
        stretches.append(
            Stretch(note_number(low), note_number(high), tr("stated: {low} to {high}", low=low, high=high), "stated")
        )
    seconds = {int(note): time_s for note, time_s in (report.get("pitch_histogram") or {}).items()}
    return keyboard_svg(stretches, seconds)


def head(voice: VoiceDetails) -> VoiceHead:
    """Return data of <timbre-voice>."""
    badge = tr("built-in") if voice.demo else BADGES.get(voice.state, "")
    return VoiceHead(
        name=voice.name,
        avatar=voice.avatar,
        uses=voice.uses,
        state=voice.state,
        badge=badge,
        kind=[word for word in _kinds(voice) if word and word not in ("other", "adult")],
        demo=voice.demo,
        description=voice.description,
        traits=voice.traits,
    )


def _kinds(voice: VoiceDetails) -> tuple[str | None, ...]:
    return None if SPEAKS in voice.uses else voice.voice_type, voice.gender, voice.age, voice.genre


def about(voice: VoiceDetails) -> Facts:
    """Return data of <timbre-facts>: licence, source and consent."""
    consent = voice.consent
    rows = [
        (tr("Licence"), voice.licence, ""),
        (tr("Source"), voice.source, ""),
        (tr("Consent"), consent.get("statement", ""), consent_line(consent, voice.consent_origin)),
        (tr("Taught by"), _teacher(voice.taught_by), ""),
        (tr("Blended from"), _parts(voice.learned.get("blend")), ""),
        (tr("ID"), voice.id, tr("for the command line and the API")),
    ]
    named = {tr("Licence"), tr("Source"), tr("Blended from"), "ID"}  # in the words of others
    return Facts(
        rows=[
            FactRow(label=label, value=value, note=note, is_name=label in named) for label, value, note in rows if value
        ]
    )


def training_rows(voice: VoiceDetails) -> list[FactRow]:
    """Return rows of <timbre-facts> about the last training; none for an untrained voice."""
    learned = voice.learned
    rows: list[FactRow] = []
    if voice.error:
        label = tr("Conversion") if voice.kind == RVC else tr("Last training")
        rows.append(FactRow(label=label, value=voice.error, state="bad"))
    if isinstance(minutes := learned.get("minutes"), int | float):
        rows.append(
            FactRow(
                label=tr("Trained on"),
                value=ntr(
                    "{minutes} minute of recordings", "{minutes} minutes of recordings", minutes=numeral(minutes, "g")
                ),
            )
        )
    if "best_epoch" in learned:
        how = tr("chosen by ear") if learned.get("chosen") else tr("best score")
        value = tr(
            "epoch {best_epoch} of {value}",
            best_epoch=learned["best_epoch"],
            value=learned.get("epochs", learned["best_epoch"]),
        )
        rows.append(FactRow(label=tr("Checkpoint"), value=value, note=how))
    found = learned.get("scores")
    scores = found if isinstance(found, dict) else {}
    for name, label, note in _SCORES:
        if isinstance(score := scores.get(name), int | float):
            is_error = name == "pitch_error_cents"
            value = tr("{score} cents", score=numeral(score, ".0f")) if is_error else numeral(score, ".2f")
            rows.append(FactRow(label=label, value=value, note=note))
    if learned:
        rows += [FactRow(label=tr("Scores"), value=line, note=_HELD_OUT) for line in score_lines(voice)]
    return rows


def _teacher(taught: TaughtBy | None) -> str:
    return tr("{name}, imported from {file}", name=taught.name, file=taught.file) if taught else ""


def _parts(blend: object) -> str:
    if not isinstance(blend, dict):
        return ""
    shares = (1.0 - blend["share"], blend["share"])
    voices = zip(blend["voices"], shares, strict=True)
    return ", ".join(f"{one['name']} ({round(100 * share)} %)" for one, share in voices)
