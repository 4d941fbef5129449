from studio.page.voices.report import about, head, range_picture, report_picture, training_rows
from tests.records import Known

VOICE = Known(
    {
        "id": "mia",
        "name": "Mia",
        "kind": "studio",
        "state": "completed",
        "demo": False,
        "error": None,
        "description": "",
        "traits": [],
        "gender": "female",
        "age": "adult",
        "genre": "other",
        "voice_type": "alto",
        "vocal_range": {"min": "F3", "max": "D5"},
        "licence": "",
        "source": "",
        "avatar": {},
        "uses": [],
        "consent": {},
        "consent_origin": "",
        "learned": {},
        "taught_by": None,
    }
)


def rows(facts):
    return {row.label: (row.value, row.note or "") for row in facts}


def test_head_leaves_out_unspecific_fields_and_shows_the_badge():
    assert head(VOICE).kind == ["alto", "female"]
    assert (head(VOICE).badge, head(VOICE | {"state": "pending"}).badge) == ("", "not trained")
    assert head(VOICE | {"demo": True}).badge == "built-in"


def test_about_shows_id_consent_and_blend():
    assert rows(about(VOICE).rows) == {"ID": ("mia", "for the command line and the API")}
    blend = {"share": 0.25, "voices": [{"name": "Kathleen"}, {"name": "Koguchi"}]}
    consent = {"statement": "It is mine.", "by": "Mia", "date": "2026-03-31"}
    shown = rows(about(VOICE | {"consent": consent, "learned": {"blend": blend}}).rows)
    assert shown["Consent"] == ("It is mine.", "Mia, 2026-03-31")
    assert shown["Blended from"][0] == "Kathleen (75 %), Koguchi (25 %)"


def test_training_rows_show_checkpoint_scores_and_the_last_error():
    scores = {"likeness": 0.9626, "content": None, "pitch_error_cents": 7.56}
    learned = {"minutes": 11.8, "epochs": 10, "best_epoch": 4, "scores": scores}
    shown = rows(training_rows(VOICE | {"learned": learned}))
    assert shown["Checkpoint"] == ("epoch 4 of 10", "best score")
    assert (shown["Likeness"][0], shown["Pitch error"][0]) == ("0.96", "8 cents")
    assert "Intelligibility" not in shown
    chosen = rows(training_rows(VOICE | {"learned": learned | {"chosen": True}}))
    assert chosen["Checkpoint"][1] == "chosen by ear"
    assert training_rows(VOICE) == []
    assert rows(training_rows(VOICE | {"error": "The disk was full."})) == {"Last training": ("The disk was full.", "")}


def test_about_and_training_rows_show_the_teacher_and_the_scores_of_both():
    scores = {"likeness": 0.9, "content": 0.7, "score": 1.2}
    taught = {"taught_by": {"name": "Mia (RVC)", "file": "mia.pth", "scores": scores}}
    voice = VOICE | taught | {"learned": {"epochs": 3}, "training": {"history": {"evaluations": [scores]}}}
    assert rows(about(voice).rows)["Taught by"][0] == "Mia (RVC), imported from mia.pth"
    said = "likeness 0.90, intelligibility 0.70, score 1.20"
    shown = [row.value for row in training_rows(voice)]
    assert shown == [f"Mia (RVC), imported: {said}", f"Mia, taught: {said}"]


def test_range_picture_and_report_picture_draw_only_known_ranges():
    assert "F3 to D5" in range_picture(VOICE)
    assert range_picture(VOICE | {"vocal_range": None}) == ""
    drawn = report_picture(
        {"vocal_range": ["F3", "D5"], "stated_range": ["E3", "E5"], "pitch_histogram": {"53": 2.0, "40": 1.0}}
    )
    assert "detected: F3 to D5" in drawn
    assert "stated: E3 to E5" in drawn
    assert "1 of 3 s of singing are outside this range" in drawn
    assert report_picture({"vocal_range": None, "stated_range": None, "pitch_histogram": {}}) == ""
