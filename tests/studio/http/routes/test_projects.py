"""Projects over HTTP: found, named, exported and deleted."""

import io
import zipfile

import pytest


@pytest.fixture
def project(http, singing, request):
    """A client whose account has one project, with a take; its name is the test's."""
    client = http.client(request.node.name)
    files = {"audio": (singing.name, singing.read_bytes())}
    client.post("/convert", files=files, data={"model": "kathleen"}).raise_for_status()
    http.work(request.node.name, [singing.read_bytes()])
    return client


def test_projects_route_renames_and_finds_a_project_for_its_own_account_only(project, http):
    [found] = project.get("/projects").json()["projects"]
    assert found["name"] == "singing"
    assert [one["state"] for one in found["conversions"]] == ["completed"]
    changed = project.put(f"/projects/{found['id']}", data={"name": "Chorus", "tempo_bpm": "120"}).json()
    assert changed["timeline"] == {"tempo_bpm": 120.0, "beats_per_bar": 4, "start_s": 0.0}
    assert project.put(f"/projects/{found['id']}", json={"start_s": 4}).json()["name"] == "Chorus"
    assert [one["id"] for one in project.get("/projects?q=chorus").json()["projects"]] == [found["id"]]
    assert project.get("/projects?q=verse").json() == {"projects": [], "next_cursor": None}
    assert http.client("another").get(f"/projects/{found['id']}").json()["code"] == "project_not_found"
    assert project.get("/projects/none").json()["code"] == "project_not_found"
    wrong = project.put(f"/projects/{found['id']}", data={"tempo_bpm": "fast", "name": "Verse"})
    assert wrong.json()["errors"][0]["field"] == "tempo_bpm"
    assert project.get(f"/projects/{found['id']}").json()["name"] == "Chorus"


def test_projects_route_exports_and_deletes_a_project(project):
    [found] = project.get("/projects").json()["projects"]
    made = project.get(f"/projects/{found['id']}/export").json()
    assert made["name"] == "singing.zip"
    with zipfile.ZipFile(io.BytesIO(project.get(made["url"]).content)) as archive:
        stems = [name for name in archive.namelist() if name.startswith("stems/")]
    assert len(stems) == 2
    assert project.delete(f"/projects/{found['id']}").status_code == 204
    assert project.get("/projects").json()["projects"] == []
    assert project.get("/tasks").json()["tasks"] == []
