"""Songs over HTTP: what the fields say, and what cannot be."""

import pytest

from tests.studio.http.routes.test_conversions import parameters


def send(client, singing, files=("audio",), **fields):
    opened = {name: (f"{name}.flac", singing.read_bytes()) for name in files}
    return client.post("/convert", files=opened, data={"model": "kathleen"} | fields)


def test_convert_passes_song_fields_to_the_task(http, singing):
    client = http.client("songs")
    fields = {"parts": "0:02 koguchi, 0:04 keep", "offset": "-0.5", "vocal_db": "-3", "stem_parts": "koguchi"}
    answer = send(client, singing, ("audio", "backing", "stem"), **fields)
    song = parameters(http, answer)["song"]
    assert song["parts"] == [[0.0, "kathleen"], [2.0, "koguchi"], [4.0, "keep"]]
    assert song["stem_parts"] == [[0.0, "koguchi"]]
    assert (song["offset_s"], song["faders"], song["separate"]) == (-0.5, {"vocal": -3.0}, False)
    assert song["names"] == {"backing": "backing.flac", "stem": "stem.flac"}
    assert http.studio.storage.head(song["keys"]["backing"]).size == singing.stat().st_size


def test_convert_adds_no_song_to_a_plain_conversion(http, singing):
    assert "song" not in parameters(http, send(http.client("songs"), singing, separate="false"))


def test_check_task_and_get_task_link_the_lanes_of_a_finished_song(http, singing):
    client = http.client("finished-song")
    started = send(client, singing, ("audio", "backing")).json()["task_id"]
    http.work("finished-song", [b"RIFF-mix"])
    from studio.store.tables import tasks

    with http.studio.database.write() as connection:
        row = connection.execute(tasks.select().where(tasks.c.id == started)).one()
        lanes = {name: row.result["outputs"][0] for name in ("vocal", "backing")}
        connection.execute(tasks.update().where(tasks.c.id == started).values(result=row.result | {"lanes": lanes}))
    for address in (f"/check-task/{started}", f"/tasks/{started}"):
        answer = client.get(address).json()
        assert http.stranger().get(answer["mix"]).content == b"RIFF-mix"
        assert answer["vocal"].startswith(http.base_url)
        assert answer["backing"].startswith(http.base_url)


@pytest.mark.parametrize(
    ("files", "fields", "status", "said"),
    [
        ((), {"separate": "true"}, 409, "separation fetch"),
        ((), {"separate": "maybe"}, 422, "separate must be true or false"),
        (("backing",), {"offset": "soon"}, 422, "offset must be a number"),
        (("backing",), {"vocal_db": "99"}, 422, "vocal_db must be a number"),
        (("backing",), {"generations_count": "2"}, 422, "made in one take"),
        (("backing",), {"effects": "hall"}, 422, "Effects"),
        (("backing",), {"parts": "later koguchi"}, 422, "is not a part"),
        (("backing",), {"parts": "1:42"}, 422, "is not a part"),  # it was no voice of that name, and 404
        (("backing",), {"parts": "0:02 nobody"}, 404, "nobody"),
        (("backing",), {"parts": "0 keep"}, 422, "Nothing is converted"),
        (("stem",), {}, 422, "stem needs a backing"),
        ((), {"offset": "1"}, 422, "offset needs a backing"),
        ((), {"backing": "text"}, 422, "backing must be a file"),
    ],
)
def test_convert_refuses_invalid_song_fields_with_a_sentence(http, singing, files, fields, status, said):
    answer = send(http.client("songs"), singing, ("audio", *files), **fields)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text


def test_convert_refuses_a_backing_that_is_not_audio(http, singing):
    files = {"audio": ("a.flac", singing.read_bytes()), "backing": ("b.wav", b"no audio")}
    answer = http.client("songs").post("/convert", files=files, data={"model": "kathleen"})
    assert answer.status_code == 415
    assert '"b.wav"' in answer.json()["detail"]
