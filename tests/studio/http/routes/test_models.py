"""Voices over HTTP: listed, made of zips, trained, exported, imported and deleted; each account its own."""

import io
import json
import zipfile

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.voices.card import DEMO_VOICES

RATE = 22_050
PUBLISHED = "id name gender age description base_language traits genre voice_type vocal_range".split()
DEMO = {"everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"}


def vocal(seconds: float) -> bytes:
    """A voice-like buzz as a flac."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    buzz = sum(np.cos(2 * np.pi * 200 * number * time_s) / number for number in range(1, 12))
    buffer = io.BytesIO()
    soundfile.write(buffer, 0.1 * buzz * (time_s % 2.4 < 2.0), RATE, format="FLAC")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def recording() -> bytes:
    return vocal(12.0)


def zipped(entries: dict[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # without the time, which would make each another
    return buffer.getvalue()


def create(client, archive: bytes, headers=None, file="voice.zip", **stated: str):
    files = {"training_audio_files": (file, archive)}
    return client.post("/models/create", files=files, data=stated, headers=headers)


def voice(recording: bytes, **fields) -> bytes:
    return zipped({"model.json": json.dumps({"name": "Mia"} | fields), "audio/one.flac": recording})


def work_left(http) -> list:
    return [path for path in http.studio.settings.work.rglob("*") if path.is_file()]


# ---- listed


def test_list_models_returns_the_demo_voices_with_the_published_fields(http):
    answer = http.client("lists").get("/models").json()
    assert list(answer) == ["models"]
    assert {one["id"] for one in answer["models"]} == DEMO
    assert all(list(one) == PUBLISHED for one in answer["models"])
    assert all(list(one["vocal_range"]) == ["min", "max"] for one in answer["models"])


def test_a_voice_in_full_says_where_it_is_thought_to_speak_or_sing(http):
    client = http.client()
    said = {voice: client.get(f"/models/{voice}").json()["estimated"] for voice in ("safiye", "everett", "koguchi")}
    assert said == {
        "safiye": {"spoken_pitch": {"low": 51.06, "median": 55.76, "high": 62.06}},
        "everett": {"sung_pitch": {"low": 44.11, "median": 51.31, "high": 58.81}},
        "koguchi": {},
    }


def test_list_models_filters_searches_and_pages(http):
    client = http.client("lists")
    everything = client.get("/models").json()["models"]
    for field in ("genre", "gender", "age", "voice_type", "base_language", "q"):
        value = everything[2]["id" if field == "q" else field]
        found = client.get("/models", params={field: value}).json()["models"]
        assert found == [one for one in everything if value in one.values()]
    seen, page = [], {"next_cursor": None}
    while not seen or page["next_cursor"]:
        more = {"cursor": page["next_cursor"]} if seen else {}
        page = client.get("/models", params={"limit": 3} | more).json()
        seen += page["models"]
    assert seen == everything


@pytest.mark.parametrize(
    ("query", "field"),
    [
        *(("genre=polka", "genre"), ("gender=x", "gender"), ("age=7", "age"), ("voice_type=tuba", "voice_type")),
        *(("base_language=english", "base_language"), ("base_language=E1", "base_language"), ("limit=0", "limit")),
        *(("limit=1001", "limit"), ("cursor=x", "cursor"), ("q=%00", "q"), ("q=" + "x" * 300, "q")),
    ],
)
def test_list_models_names_the_invalid_parameter(http, query, field):
    answer = http.client().get(f"/models?{query}")
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


# ---- made and trained


def test_create_model_and_train_respond_as_published(http, recording):
    client = http.client("maker")
    made = create(client, voice(recording, gender="female", genre="pop", mood="sunny"))
    assert made.status_code == 200, made.text
    assert made.json() == {"model_id": "mia"}
    assert "mia" not in {one["id"] for one in client.get("/models").json()["models"]}  # it cannot be used yet
    seen = client.get("/models/mia").json()
    expected = ("pending", "female", False, 0)
    assert (seen["state"], seen["gender"], seen["demo"], seen["training"]["current_epoch"]) == expected
    waiting = client.post("/convert", files={"audio": ("a.flac", recording)}, data={"model": "mia"})
    assert (waiting.status_code, waiting.json()["code"]) == (409, "model_not_ready")
    assert waiting.json()["detail"] == "The voice 'mia' is not trained yet: train it first."
    as_json = {"content": "epochs=3", "headers": {"Content-Type": "application/json"}}
    for asked in ({"data": {"epochs": "3"}}, {"json": {"epochs": 3}}, {"files": {"epochs": (None, "3")}}, as_json):
        started = client.post("/models/mia/train", **asked).json()
        assert started == {"status": "training", "model_id": "mia", "current_epoch": 0}
    [task] = client.get("/tasks?kind=training").json()["tasks"]
    assert (task["model"], task["epochs"]) == ("mia", 3)
    client.delete(f"/tasks/{task['id']}")
    assert client.get("/models/mia").json()["state"] == "pending"
    assert not work_left(http)


@pytest.mark.parametrize("epochs", ["", "0", "-1", "100001", "1.5", "many", "9" * 30, "1e3", "0x10", "٣"])
def test_train_refuses_invalid_epochs(http, epochs):
    client = http.client()
    for said in ({"data": {"epochs": epochs}}, {"json": {"epochs": epochs}}, {"files": {"epochs": (None, epochs)}}):
        answer = client.post("/models/kathleen/train", **said)
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["field"] == "epochs"
    assert client.post("/models/kathleen/train").json()["errors"][0]["field"] == "epochs"
    assert client.post("/models/kathleen/train", json={"epochs": [3]}).status_code == 422


def test_train_refuses_unknown_and_demo_voices(http):
    client = http.client()
    assert client.post("/models/nobody/train", data={"epochs": "1"}).status_code == 404
    assert client.post("/models/NoBody%20/train", data={"epochs": "1"}).status_code == 404
    assert client.post("/models/kathleen/train", data={"epochs": "1"}).status_code == 409


STATED = {
    "name": "Gökhan",
    "gender": "Male",
    "age": "young adult",
    "description": "A voice.",
    "base_language": "tr",
    "traits": "warm, clear",
    "genre": "jazz",
    "voice_type": "tenor",
    "vocal_range": '{"min": "A2", "max": "C5"}',
    "license": "CC0-1.0",
    "source": "My studio",
    "consent": '{"statement": "I agree.", "by": "G", "date": "2025-03-31"}',
}


def test_create_model_takes_all_that_model_json_says_as_fields(http, recording):
    client = http.client("stated")
    made = create(client, zipped({"take one.flac": recording}), **STATED)
    assert made.status_code == 200, made.text
    said = client.get(f"/models/{made.json()['model_id']}").json()
    expected = STATED | (
        {"gender": "male", "traits": ["warm", "clear"], "vocal_range": {"min": "A2", "max": "C5"}}
        | {"licence": "CC0-1.0", "consent": {"statement": "I agree.", "by": "G", "date": "2025-03-31"}}
    )
    del expected["license"]
    assert {name: said[name] for name in expected} == expected


def test_create_model_fields_replace_those_of_model_json(http, recording):
    client = http.client("replaced")
    archive = voice(recording, gender="female", genre="pop", consent={"by": "Mia", "statement": "Yes."})
    made = create(client, archive, genre="jazz", traits='["a, b", "c"]', consent="I agree.", age=" ")
    said = client.get(f"/models/{made.json()['model_id']}").json()
    assert (said["name"], said["gender"], said["genre"], said["age"]) == ("Mia", "female", "jazz", None)
    assert said["traits"] == ["a, b", "c"]
    assert said["consent"] == {"statement": "I agree.", "by": "Mia"}


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        *(({"name": " "}, "name"), ({"name": "x" * 101}, "name"), ({"name": "a\u202eb"}, "name")),
        *(({"name": "A", "gender": "robot"}, "gender"), ({"name": "A", "vocal_range": "A2-C5"}, "vocal_range")),
        *(({"name": "A", "vocal_range": "[" * 9000}, "vocal_range"), ({"name": "A", "traits": '["a"'}, "traits")),
        *(({"name": "A", "consent": '{"date": "x"}'}, "consent.date"), ({"name": "A", "consent": "{}}"}, "consent")),
        ({"name": "A", "licence": "a", "license": "b"}, "license"),
    ],
)
def test_create_model_names_the_invalid_field_of_the_form(http, recording, stated, named):
    answer = create(http.client("misstated"), zipped({"one.flac": recording}), **stated)
    assert answer.status_code == 422, answer.text
    assert [error["field"] for error in answer.json()["errors"]] == [named]


# ---- zips that no voice can be made of


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        *(({"name": ""}, "name"), ({"name": 7}, "name"), ({"gender": "robot"}, "gender"), ({"age": 7}, "age")),
        *(({"base_language": "english"}, "base_language"), ({"genre": "polka"}, "genre")),
        *(({"voice_type": "x"}, "voice_type"), ({"vocal_range": {"min": "H9"}}, "vocal_range")),
        *(({"traits": "loud"}, "traits"), ({"consent": {"date": "x"}}, "consent.date")),
    ],
)
def test_create_model_names_the_invalid_field_of_model_json(http, recording, fields, named):
    answer = create(http.client(), voice(recording, **fields))
    assert (answer.status_code, answer.json()["code"]) == (422, "profile_invalid")
    assert any(error["field"].startswith(named) for error in answer.json()["errors"])


def test_create_model_and_import_leave_no_files_after_a_refused_zip(http, recording):
    """What else they refuse: tests of the archives, data sets and packages."""
    client = http.client("refused")
    refused = {
        "no zip": b"hello",
        "empty": b"",
        "empty zip": zipped({}),
        "no model.json": zipped({"audio/one.flac": recording}),
        "no json": zipped({"model.json": "{", "audio/one.flac": recording}),
        "traversal": zipped({"model.json": '{"name": "Mia"}', "audio/../../../one.flac": recording}),
        "too short": voice(vocal(2.0)),
        "no recording": zipped({"model.json": '{"name": "Mia"}', "audio/one.flac": b"fLaC" + bytes(99)}),
        "cut off": voice(recording)[:-200],
        "damaged": voice(recording).replace(recording[5000:5100], bytes(100)),
    }
    for name, archive in refused.items():
        imported = client.post("/models/import", files={"package": ("a.zip", archive)})
        for answer in (create(client, archive), imported):
            assert answer.status_code in (415, 422), (name, answer.text)
            assert str(http.studio.settings.data) not in answer.text, name
    assert client.get("/tasks").json()["tasks"] == []
    assert not work_left(http)


whole = settings(max_examples=12, suppress_health_check=list(HealthCheck), derandomize=True)


@whole
@given(st.data())
def test_create_model_answers_any_damaged_zip_with_200_415_or_422(http, recording, data):
    archive = bytearray(voice(recording[:3000]))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(archive) - 1))
        archive[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    answer = create(http.client("damaged"), bytes(archive))
    assert answer.status_code in (200, 415, 422), answer.text  # a part of a recording is one, for all its damage
    assert not work_left(http)


@whole
@given(st.data())
def test_convert_answers_any_damaged_recording_with_200_415_or_422(http, recording, singing, data):
    kinds = {"a.flac": singing.read_bytes()[:20_000], "a.wav": _wav(recording)}
    name = data.draw(st.sampled_from(sorted(kinds)))
    audio = bytearray(kinds[name])
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, 80))
        audio[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    files = {"audio": (name, bytes(audio))}
    answer = http.client("damaged").post("/convert", files=files, data={"model": "kathleen"})
    assert answer.status_code in (200, 415, 422), answer.text


def _wav(flac: bytes) -> bytes:
    samples, rate = soundfile.read(io.BytesIO(flac), frames=4000)
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="WAV")
    return buffer.getvalue()


# ---- carried elsewhere, deleted, and whose they are


def test_import_adds_an_exported_package_to_another_account_only(http):
    giver, taker = http.client("giver"), http.client("taker")
    package = giver.get("/models/kathleen/package")
    assert package.status_code == 200
    assert package.headers["content-type"] == "application/zip"
    assert 'filename="kathleen.voice.zip"' in package.headers["content-disposition"]
    brought = taker.post("/models/import", files={"package": ("kathleen.voice.zip", package.content)})
    assert brought.status_code == 200, brought.text
    model_id = brought.json()["model_id"]
    assert model_id not in DEMO
    own = {one["id"]: one for one in taker.get("/models").json()["models"]}
    assert own[model_id]["vocal_range"] == own["kathleen"]["vocal_range"]
    assert taker.get(f"/models/{model_id}").json()["state"] == "completed"
    assert not work_left(http)
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/package"), ("POST", "/train")):
        data = {"epochs": "1"} if method == "POST" else None
        assert giver.request(method, f"/models/{model_id}{path}", data=data).status_code == 404
    assert model_id not in {one["id"] for one in giver.get("/models").json()["models"]}
    refused = giver.post("/convert", files={"audio": b"x"}, data={"model": model_id})
    assert (refused.status_code, refused.json()["code"]) == (404, "model_not_found")
    assert taker.delete(f"/models/{model_id}").status_code == 204
    assert taker.get(f"/models/{model_id}").status_code == 404


@pytest.mark.parametrize("asked", ["bytes=0-3", "bytes=abc", "bytes=99999999999-"])
def test_package_is_sent_whole_for_any_range_header(http, asked):
    package = http.client().get("/models/kathleen/package", headers={"Range": asked})
    assert package.status_code == 200
    assert zipfile.ZipFile(io.BytesIO(package.content)).testzip() is None


def test_export_refuses_a_package_when_the_disk_is_full(serve):
    full = serve(free_disk_mb=10_000_000)
    answer = full.client().get("/models/kathleen/package")
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert not list((full.studio.settings.work / "outgoing").glob("*"))


def test_export_refuses_untrained_and_delete_refuses_demo_or_training_voices(http, recording):
    client = http.client("keeps")
    model_id = create(client, voice(recording)).json()["model_id"]
    assert client.get(f"/models/{model_id}/package").status_code == 409
    assert client.get("/models/nobody/package").status_code == 404
    assert client.delete("/models/kathleen").status_code == 409
    assert client.delete("/models/nobody").status_code == 404
    client.post(f"/models/{model_id}/train", data={"epochs": "1"})
    assert client.delete(f"/models/{model_id}").status_code == 409
    assert DEMO_VOICES.exists()
    assert not work_left(http)
