"""Conversions over HTTP: the published calls, with what each field may hold."""

import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np
import pytest

from engine.audio.files import AudioWriter
from engine.provenance.statement import Statement
from tests.engine.audio.encoded import several, tone

FIELDS = {"model": "kathleen"}


def convert(client, singing, audio="audio", headers=None, **fields):
    with singing.open("rb") as file:
        return client.post("/convert", files={audio: (singing.name, file)}, data=FIELDS | fields, headers=headers)


def parameters(http, answer) -> dict:
    from studio.store.tables import tasks

    with http.studio.database.read() as connection:
        row = connection.execute(tasks.select().where(tasks.c.id == answer.json()["task_id"])).one()
    return row.parameters | {"model": row.model_id}


@pytest.mark.parametrize("field", ["audio", "audio_file"])
def test_convert_and_check_task_run_a_conversion_from_upload_to_links(http, singing, field):
    name = f"converts-{field}"
    client = http.client(name)
    started = convert(client, singing, field)
    assert started.status_code == 200
    assert list(started.json()) == ["task_id"]
    address = f"/check-task/{started.json()['task_id']}"
    assert client.get(address).json() == {"status": "in_progress"}
    assert http.work(name, [b"RIFF-1", b"RIFF-2"]) == started.json()["task_id"]
    done = client.get(address).json()
    assert list(done) == ["status", "input_audio_url", "output_audio_urls", "output_settings"]
    assert done["status"] == "completed"
    assert done["output_settings"] == {"model": "kathleen", "transpose": 0, "vocal_style": "melodic"}
    links = [done["input_audio_url"], *done["output_audio_urls"]]
    assert all(link.startswith(f"{http.base_url}/files/") for link in links)
    contents = [http.stranger().get(link).content for link in links]
    assert contents == [singing.read_bytes(), b"RIFF-1", b"RIFF-2"]
    assert client.get(address).json() == done  # the same links, so that nothing is fetched twice


def test_convert_stores_its_field_values_in_the_task(http, singing):
    client = http.client("fields")
    for given, expected in (
        ({}, (0, 1)),
        ({"transpose": "-12", "generations_count": "10"}, (-12, 10)),
        ({"transpose": "+12"}, (12, 1)),
        ({"transpose": "auto"}, ("auto", 1)),
        ({"transpose": "best"}, ("best", 1)),
        ({"transpose": "", "generations_count": ""}, (0, 1)),
    ):
        said = parameters(http, convert(client, singing, **given))
        assert (said["settings"]["transpose"], said["settings"]["takes"]) == expected
        assert said["model"] == "kathleen"
    for task in client.get("/tasks").json()["tasks"]:
        client.delete(f"/tasks/{task['id']}")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("transpose", text) for text in ("13", "-13", "1.5", "Auto", "0x1", "1e1", "nan", "9" * 400)),
        *(("generations_count", text) for text in ("0", "11", "auto")),
        *(("model", text) for text in ("", " ", "x" * 300)),
    ],
)
def test_convert_names_the_invalid_field(http, singing, field, value):
    answer = convert(http.client(), singing, **{field: value})
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert error["message"].startswith(field)


def test_convert_uses_an_untrained_voice_only_on_request(http, singing, tmp_path):
    client = http.client("untrained")
    with zipfile.ZipFile(tmp_path / "mia.zip", "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Mia"}))
        for number in range(2):
            archive.write(singing, f"audio/{number}.flac")
    made = client.post("/models/create", files={"training_audio_files": (tmp_path / "mia.zip").read_bytes()})
    assert made.json() == {"model_id": "mia"}
    assert [client.get(f"/models/{one}").json()["untrained"] for one in ("mia", "kathleen")] == [True, False]
    for said in ({}, {"untrained": "false"}, {"untrained": ""}):
        refused = convert(client, singing, model="mia", **said)
        assert (refused.status_code, refused.json()["code"]) == (409, "model_not_ready")
    started = convert(client, singing, model="mia", untrained="true")
    assert client.get(f"/tasks/{started.json()['task_id']}").json()["untrained"]
    assert http.work("untrained", [b"RIFF-1"]) == started.json()["task_id"]
    done = client.get(f"/check-task/{started.json()['task_id']}").json()
    assert list(done) == ["status", "input_audio_url", "output_audio_urls", "output_settings"]


@pytest.mark.parametrize("value", ["yes", "1", "wahr"])
def test_convert_names_an_untrained_value_other_than_true_or_false(http, singing, value):
    answer = convert(http.client(), singing, untrained=value)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"field": "untrained", "message": f"untrained must be true or false, not '{value}'."}
    ]


def test_convert_names_all_faulty_fields_at_once(http):
    answer = http.client().post("/convert", data={"transpose": "13"})
    assert {error["field"] for error in answer.json()["errors"]} == {"audio", "model", "transpose"}


def test_convert_requires_the_recording_as_a_single_file(http, singing):
    client = http.client()
    as_text = client.post("/convert", data=FIELDS | {"audio": "vocal.wav"})
    assert as_text.status_code == 422
    assert "-F audio=@" in as_text.json()["detail"]
    both = client.post("/convert", files={"audio": b"a", "audio_file": b"b"}, data=FIELDS)
    assert both.json()["errors"][0]["field"] == "audio_file"
    twice = client.post("/convert", files=[("audio", ("a", b"a")), ("audio", ("b", b"b"))], data=FIELDS)
    assert twice.status_code == 422


@pytest.mark.parametrize("model", ["nobody", "Kathleen", "../kathleen", "a b", "ü", "kathleen'--", "\x7f", "."])
def test_convert_returns_404_for_an_unknown_voice(http, singing, model):
    answer = convert(http.client(), singing, model=model)
    assert (answer.status_code, answer.json()["code"]) == (404, "model_not_found")


@pytest.mark.parametrize("content", [b"", b"hello", b"RIFF\x24\x00\x00\x00WAVEfmt ", b"fLaC" + bytes(100), b"ID3" * 50])
@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.mp3", "a.exe", ""])
def test_convert_refuses_a_file_that_is_not_audio(http, content, name):
    answer = http.client().post("/convert", files={"audio": (name or "x", content)}, data=FIELDS)
    assert (answer.status_code, answer.json()["code"]) == (415, "audio_not_readable")
    assert str(http.studio.settings.data) not in answer.text
    assert not list((http.studio.settings.work / "incoming").iterdir())


def test_convert_refuses_a_recording_that_is_too_long(serve, singing):
    short = serve(longest_audio_minutes=0.05)
    answer = convert(short.client(), singing)
    assert (answer.status_code, answer.json()["code"]) == (422, "audio_too_long")
    assert answer.json()["errors"][0]["field"] == "audio"


# ---- idempotency


def test_convert_starts_one_task_for_simultaneous_calls_with_the_same_key(http, singing):
    client = http.client("at-once")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: convert(client, singing, headers={"Idempotency-Key": "k"}).json(), range(4)))
    assert len({answer["task_id"] for answer in answers}) == 1
    assert len(client.get("/tasks").json()["tasks"]) == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "\xfc"])
def test_convert_refuses_an_invalid_idempotency_key(http, singing, key):
    answer = convert(http.client(), singing, headers={"Idempotency-Key": key.encode("latin-1")})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"


# ---- whose they are


def test_check_task_and_tasks_hide_the_tasks_of_other_accounts(http, singing):
    task_id = convert(http.client("owner"), singing).json()["task_id"]
    other = http.client("thief")
    for method, path in (("GET", "/check-task/"), ("GET", "/tasks/"), ("DELETE", "/tasks/")):
        answer, unknown = other.request(method, path + task_id), other.request(method, path + "0" * 24)
        assert answer.status_code == 404
        assert answer.text.replace(task_id, "") == unknown.text.replace("0" * 24, "")
    assert other.get("/tasks").json()["tasks"] == []
    assert http.client("owner").get(f"/tasks/{task_id}").json()["state"] == "queued"
    http.client("owner").delete(f"/tasks/{task_id}")


@pytest.mark.parametrize(
    "task_id", ["0" * 24, "x", "%00", "a%20b", "..", "%ff", "0" * 5000, "ü", "'; DROP TABLE tasks"]
)
def test_check_task_and_tasks_return_404_for_an_unknown_id(http, task_id):
    for path in (f"/check-task/{task_id}", f"/tasks/{task_id}"):
        answer = http.client().get(path)
        assert answer.status_code == 404
        assert json.loads(answer.content)["status"] == 404


def test_check_task_shows_only_the_status_failed_for_a_cancelled_conversion(http, singing):
    client = http.client("cancels")
    task_id = convert(client, singing).json()["task_id"]
    assert client.delete(f"/tasks/{task_id}").json()["state"] == "cancelled"
    assert client.get(f"/check-task/{task_id}").json() == {"status": "failed"}


def test_check_task_links_begin_with_the_configured_cdn_url(serve, singing):
    behind = serve(base_url="https://voices.example/api", cdn_url="https://cdn.example/audio/")
    client = behind.client()
    task_id = convert(client, singing).json()["task_id"]
    behind.work("alice", [b"RIFF"])
    link = client.get(f"/check-task/{task_id}").json()["output_audio_urls"][0]
    assert link.startswith("https://cdn.example/audio/")
    there = urlsplit(link)
    assert behind.stranger().get(f"/files{there.path.removeprefix('/audio')}?{there.query}").content == b"RIFF"


@pytest.mark.parametrize(
    "host", ["", "[::1", "a b", "x/../y?z#", "evil.example", "ü", "a:b:c", "127.0.0.1:99999999", "%00"]
)
def test_check_task_and_tasks_never_fail_on_an_odd_host_header(http, singing, host):
    client = http.client("hosts")
    task_id = convert(client, singing).json()["task_id"]
    http.work("hosts", [b"RIFF"])
    for path in (f"/check-task/{task_id}", "/tasks?limit=1"):
        answer = client.get(path, headers={"Host": host.encode("utf-8")})
        assert answer.status_code in (200, 400), answer.text


def test_verify_reports_the_origin_of_a_file_and_keeps_nothing(http, singing, tmp_path):
    client = http.client("verifies")
    take = tmp_path / "take.flac"
    with AudioWriter(take, 44_100, 1, Statement("mia", "Mia", None, {}, None, "0.9"), http.studio.installation) as made:
        made.write(np.full((1, 4410), 0.1, np.float32))
    content = bytearray(take.read_bytes())
    answers = [client.post("/verify", files={"audio": (singing.name, singing.read_bytes())}).json()]
    answers.append(client.post("/verify", files={"audio": ("take.flac", bytes(content))}).json())
    content[-100] ^= 1
    answers.append(client.post("/verify", files={"audio": ("take.flac", bytes(content))}).json())
    assert [answer["state"] for answer in answers] == ["no_credentials", "made_here", "changed"]
    assert answers[1]["statement"]["voice"] == {"id": "mia", "name": "Mia", "consent_sha256": None}
    assert client.get("/tasks").json()["tasks"] == []
    assert not any((http.studio.settings.work / "incoming").iterdir())


def test_verify_refuses_a_file_that_is_not_audio_and_names_it(http):
    answer = http.client("verifies").post("/verify", files={"audio": ("my notes.txt", b"Dear diary")})
    assert (answer.status_code, answer.json()["code"]) == (415, "audio_not_readable")
    assert answer.json()["detail"].startswith('"my notes.txt" is not an audio file')
    assert http.stranger().post("/verify", files={"audio": ("a.wav", b"")}).status_code == 401


@pytest.mark.parametrize(
    ("given", "stored"), [({}, "off"), ({"effects": "vocal"}, "vocal"), ({"effects": '{"reverb": 0}'}, "off")]
)
def test_convert_stores_the_effects_preset(http, singing, given, stored):
    assert parameters(http, convert(http.client("effects"), singing, **given))["effects"] == stored


def test_convert_stores_single_effect_values(http, singing):
    answer = convert(http.client("effects"), singing, effects='{"reverb": 0.2, "low_cut_hertz": 80}')
    kept = parameters(http, answer)["effects"]
    assert (kept["reverb"], kept["low_cut_hertz"], kept["denoise"]) == (0.2, 80, 0.0)


@pytest.mark.parametrize(
    "effects",
    ['{"reverb": 3}', '{"reverb": NaN}', '{"echo": 1}', '{"reverb"', "{}x", '{"a":' * 2000, "[1]", "cathedral"],
)
def test_convert_names_the_effects_field_for_invalid_effects(http, singing, effects):
    refused = convert(http.client("effects"), singing, effects=effects)
    assert refused.status_code == 422
    assert [one["field"] for one in refused.json()["errors"]] == ["effects"]


def test_convert_stores_the_form_of_the_takes_and_refuses_other_words(http, singing):
    client = http.client("form")
    assert "form" not in parameters(http, convert(client, singing))
    assert "form" not in parameters(http, convert(client, singing, rate="44100", bits="24"))
    said = parameters(http, convert(client, singing, rate="source", bits="16"))
    assert said["form"] == {"rate": "source", "bits": "16"}
    refused = convert(client, singing, rate="96000", bits="8")
    assert [one["field"] for one in refused.json()["errors"]] == ["rate", "bits"]
    refused = convert(client, singing, rate="48000", parts="kathleen, 1 koguchi")
    assert [one["field"] for one in refused.json()["errors"]] == ["rate"]


def test_convert_takes_the_sound_track_of_a_film(http, tmp_path):
    client = http.client("tracks")
    film = tmp_path / "film.mkv"
    film.write_bytes(several([tone(48_000, 48_000), tone(48_000, 48_000)]))
    assert parameters(http, convert(client, film, track="2"))["track"] == 2
    assert "track" not in parameters(http, convert(client, film))
    refused = convert(client, film, track="3")
    assert refused.status_code == 415
    assert refused.json()["detail"] == '"film.mkv" has 2 sound tracks, so there is no track 3.'
    for wrong in ("0", "65", "1.5", "two"):
        assert [one["field"] for one in convert(client, film, track=wrong).json()["errors"]] == ["track"]
