"""Songs as a worker makes them: real stages, and a network of a few hundred bytes in place of the pinned one."""

import shutil
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
import soundfile

from engine.errors import Cancelled
from engine.songs import separator_file
from engine.songs.parts import Part
from studio.actions.conversions.conversion import ConversionRequest, conversion_view, convert_again, start_conversion
from studio.actions.conversions.songs import SentFile, SongRequest
from studio.actions.conversions.takes import result_view
from studio.actions.tasks import cancel_task, delete_task, task_view
from studio.executors.housekeeping import _needed
from studio.executors.work import run_task
from studio.store import tasks
from studio.store.accounts import local_account
from studio.store.records.codec import plain
from studio.store.records.conversion import Rendered
from studio.store.studio import Studio
from tests.engine.songs.conftest import chords, save, write_network

pytestmark = pytest.mark.system

VOICE = "koguchi"


@pytest.fixture
def studio(shared_installation) -> Studio:
    there = shared_installation
    return Studio(
        there.settings, there.service, there.database, there.storage, b"secret", local_account(there.database)
    )


@pytest.fixture
def separator(shared_installation, monkeypatch):
    folder = shared_installation.settings.separators
    folder.mkdir(parents=True, exist_ok=True)
    content = write_network(folder / separator_file.PINNED[0].file_name).read_bytes()
    pinned = replace(separator_file.PINNED[0], size=len(content), sha256=sha256(content).hexdigest())
    monkeypatch.setattr(separator_file, "PINNED", (pinned,))


@pytest.fixture
def stems(vocal):
    return vocal(3.0, 200.0).astype(np.float32), chords(3.0)


@pytest.fixture
def song(stems, tmp_path):
    sung, sides = stems
    return save(tmp_path / "song.wav", sung + sides, sung - sides)


def start(studio, audio, tmp_path, **song):
    copy = shutil.copy(audio, tmp_path / "sent.wav")
    request = ConversionRequest(VOICE, {}, song=SongRequest([Part(0.0, VOICE)], **song))
    return start_conversion(studio, studio.local, copy, "My song.wav", request)


def run(installation):
    return run_task(installation.context(), installation.claim())


def read(installation, key):
    return soundfile.read(installation.settings.data / key)[0].T


def test_song_task_separates_converts_and_mixes(shared_installation, studio, song, stems, separator, tmp_path):
    task_id = start(studio, song, tmp_path, separate=True)
    assert run(shared_installation) == "completed"
    task = shared_installation.task(task_id)
    lanes, (mix,) = task.result["lanes"], task.result["outputs"]
    backing = read(shared_installation, lanes["backing"])
    gain = 10 ** (task.result["mix"]["gain_db"] / 20)
    np.testing.assert_allclose(backing, gain * np.stack([stems[1], -stems[1]]), atol=1e-5)
    np.testing.assert_allclose(
        read(shared_installation, mix), backing + read(shared_installation, lanes["vocal"]), atol=1e-5
    )
    view = conversion_view(studio, studio.local, task_id, "http://here", 0.0)
    assert list(plain(view))[:4] == [
        "status",
        "input_audio_url",
        "output_audio_urls",
        "output_settings",
    ]  # as published
    assert view.mix == view.output_audio_urls[0]
    assert {"vocal", "backing"} < set(plain(view))
    kept = {key for key in shared_installation.storage.list_keys(f"tasks/{task_id}")}
    assert kept == _needed(task)  # no stage is left, and housekeeping takes nothing away


def test_song_task_resumes_after_the_last_finished_stage(
    shared_installation, studio, song, separator, tmp_path, monkeypatch
):
    task_id = start(studio, song, tmp_path, separate=True)
    claimed = shared_installation.claim()
    from engine.songs import song as module

    def killed(*_, **__):
        raise Cancelled  # as a shutdown: the task is given back

    with monkeypatch.context() as broken:
        broken.setattr(module, "convert_parts", killed)
        assert run_task(shared_installation.context(), claimed) == "given back"
    stages = [key for key in shared_installation.storage.list_keys(f"tasks/{task_id}") if "/stages/" in key]
    assert len(stages) == 2
    monkeypatch.setattr(module, "separate_file", lambda *_: pytest.fail("it was separated again"))
    assert run(shared_installation) == "completed"
    assert not [key for key in shared_installation.storage.list_keys(f"tasks/{task_id}") if "/stages/" in key]


def test_convert_again_repeats_a_song_with_backing_and_harmony(shared_installation, studio, stems, vocal, tmp_path):
    sung = save(tmp_path / "vocal.wav", stems[0])
    backing = SentFile(save(tmp_path / "backing.wav", stems[1], stems[1]), "backing.wav")
    stem = SentFile(save(tmp_path / "stem.wav", 0.5 * vocal(3.0, 250.0).astype(np.float32)), "harmony.wav")
    first = start(studio, sung, tmp_path, backing=backing, stem=stem, faders={"stem": -6.0})
    assert run(shared_installation) == "completed"
    again = convert_again(studio, studio.local, first, "kathleen")
    assert run(shared_installation) == "completed"
    one, other = shared_installation.task(first), shared_installation.task(again)
    assert set(one.result["lanes"]) == {"vocal", "backing", "stem"}
    assert other.result["statement"]["voice"] == "kathleen"
    np.testing.assert_allclose(
        *(read(shared_installation, task.result["lanes"]["backing"]) for task in (one, other)), atol=0.02
    )


def test_song_task_that_fails_names_the_reason_and_keeps_its_recordings(shared_installation, studio, stems, tmp_path):
    sung = save(tmp_path / "vocal.wav", stems[0])
    holding = SentFile(save(tmp_path / "b.wav", stems[0] + stems[1]), "backing.wav")
    task_id = start(studio, sung, tmp_path, backing=holding)
    assert run(shared_installation) == "failed"
    task = shared_installation.task(task_id)
    assert "already holds the vocal" in task.error
    assert tasks.find(studio.database, studio.local.id, task_id).state == "failed"
    assert set(shared_installation.storage.list_keys(f"tasks/{task_id}")) == _needed(task)


@pytest.mark.parametrize("stored", ["input", "backing", "stem"])
def test_song_task_names_a_damaged_file_as_its_owner_does(shared_installation, studio, stems, tmp_path, stored):
    sung, played, stem = (save(tmp_path / f"{name}.wav", stems[name == "b"]) for name in ("a", "b", "c"))
    files = {"backing": SentFile(played, "Chords.wav"), "stem": SentFile(stem, "Second voice.wav")}
    task_id = start(studio, sung, tmp_path, **files)
    (path,) = (shared_installation.settings.data / f"tasks/{task_id}").glob(f"{stored}*")
    path.write_bytes(b"RIFF no more")
    assert run(shared_installation) == "failed"
    named = {"input": "My song.wav", "backing": "Chords.wav", "stem": "Second voice.wav"}
    assert shared_installation.task(task_id).error.startswith(f'"{named[stored]}" ')


def test_song_task_reuses_the_stages_of_a_cancelled_one(
    shared_installation, studio, song, separator, tmp_path, monkeypatch
):
    from engine.songs import song as module

    task_id = start(studio, song, tmp_path, separate=True)
    claimed = shared_installation.claim()

    def cancelled(*given, **_):
        cancel_task(studio, studio.local, task_id, "http://here", 0.0)
        while True:  # until the heartbeat has noticed it
            given[5](0.1, "converting")

    with monkeypatch.context() as broken:
        broken.setattr(module, "convert_parts", cancelled)
        assert run_task(shared_installation.context(), claimed) == "cancelled"
    monkeypatch.setattr(module, "separate_file", lambda *_: pytest.fail("it was separated again"))
    again = start(studio, song, tmp_path, separate=True)
    assert run(shared_installation) == "completed"
    assert set(shared_installation.task(again).result["lanes"]) == {"vocal", "backing"}
    delete_task(studio, studio.local, task_id)
    assert not list(shared_installation.storage.list_keys(f"tasks/{task_id}"))  # nothing of it outlives it


def test_song_task_messages_name_the_uploaded_files(shared_installation, studio, stems, vocal, separator, tmp_path):
    sung, both = save(tmp_path / "v.wav", stems[0]), save(tmp_path / "two.wav", stems[0] + 0.5 * vocal(3.0, 252.0))
    six = SentFile(save(tmp_path / "b.wav", *[stems[1]] * 6), "Six (channels).wav")
    stereo = SentFile(save(tmp_path / "s.wav", stems[1], stems[1]), "backing.wav")
    mono = save(tmp_path / "m.wav", stems[0], stems[0])
    refused = start(studio, mono, tmp_path, backing=six)
    assert run(shared_installation) == "failed"
    assert shared_installation.task(refused).error.startswith(
        '"My song.wav" has 2 channels and "Six (channels).wav" has 6'
    )
    choir = SentFile(both, "Our choir.wav")
    noted = start(studio, sung, tmp_path, backing=stereo, stem=choir, stem_parts=[Part(0.0, VOICE)])
    assert run(shared_installation) == "completed"
    notes = shared_installation.task(noted).result_as(Rendered).notes
    assert any(note.startswith('"Our choir.wav": Two pitches') for note in notes)


def test_song_task_warns_of_recordings_without_a_voice(shared_installation, studio, stems, separator, tmp_path):
    noise = np.random.default_rng(0).uniform(-0.3, 0.3, len(stems[0])).astype(np.float32)
    hiss = save(tmp_path / "s.wav", noise)

    def backing():
        return SentFile(save(tmp_path / "b.wav", stems[1]), "backing.wav")

    def warning_of(audio, *others, **song):
        request = ConversionRequest(VOICE, {}, song=SongRequest([Part(0.0, VOICE), *others], **song))
        copy = shutil.copy(audio, tmp_path / "sent.wav")
        task_id = start_conversion(studio, studio.local, copy, "My song.wav", request)
        assert run(shared_installation) == "completed"
        view = result_view(studio, studio.local, task_id, "", 0.0)
        warning = task_view(studio, studio.local, task_id, "", 0.0).warning
        assert view.warning == warning
        return warning

    sung, played = save(tmp_path / "v.wav", stems[0]), save(tmp_path / "n.wav", noise, 0.5 * noise)
    assert warning_of(sung, backing=backing()) is None
    assert "No voice was found" in warning_of(hiss, Part(1.5, "kathleen"))
    assert "not an instrumental" in warning_of(played, separate=True)
    stem = SentFile(hiss, "Hiss (loud).wav")
    assert warning_of(sung, backing=backing(), stem=stem, stem_parts=[Part(0.0, VOICE)]).startswith(
        '"Hiss (loud).wav": No voice was found'
    )


def test_song_task_refuses_a_backing_longer_than_the_limit(shared_installation, studio, stems, tmp_path):
    sung = save(tmp_path / "vocal.wav", stems[0])
    backing = SentFile(save(tmp_path / "b.wav", chords(4.0)), "backing.wav")
    task_id = start(studio, sung, tmp_path, backing=backing)
    context = shared_installation.context(service=replace(shared_installation.service, longest_audio_minutes=0.05))
    assert run_task(context, shared_installation.claim()) == "failed"
    assert "longer than 3 seconds, the limit here" in shared_installation.task(task_id).error
