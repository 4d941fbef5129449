import json
from dataclasses import replace

import numpy as np
import pytest
import soundfile
import structlog

from engine.files import track_of
from studio.actions.analyses import (
    SAMPLES,
    analyse_track,
    analysed_recording,
    cancel_analysis,
    compare_analyses,
    start_analysis,
    take_sample,
)
from studio.actions.analysis_views import analysis_view, stretch_view
from studio.errors import Invalid, NotFound, NotReadable, WrongState
from studio.executors.heartbeat import Stopping
from studio.executors.job import WorkerContext
from studio.executors.voice_cache import VoiceCache
from studio.executors.work import run_task
from studio.store.records.codec import plain
from studio.store.tasks import claim, find, list_tasks
from tests.engine.audio.encoded import several, tone

MOST_WAITING = 20  # analyses of an account
BASE = "http://127.0.0.1:1"
NOW_S = 1_800_000_000.0
RATE = 16_000
once = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # what is the same on both


@pytest.fixture
def vocal(tmp_path):
    """Makes a file to be given away: a voice on one note, after so many seconds of silence."""

    def make(seconds: float = 1.5, hertz: float = 220.0, later_s: float = 0.0, name: str = "vocal.wav"):
        time_s = np.arange(round(seconds * RATE)) / RATE
        buzz = sum(np.cos(2 * np.pi * n * hertz * time_s) / n for n in range(1, 12))
        beats = 0.05 + 0.95 * (np.sin(2 * np.pi * 1.3 * time_s**1.2) > -0.3)
        samples = np.concatenate((np.zeros(round(later_s * RATE)), 0.1 * beats * buzz))
        soundfile.write(tmp_path / name, samples, RATE)
        return tmp_path / name

    return make


def looked_at(studio, audio, file_name="My vocal.wav", account=None) -> str:
    """The id of an analysis that is done."""
    task_id = start_analysis(studio, account or studio.local, audio, file_name)
    analyse_next(studio)
    return task_id


def analyse_next(studio) -> None:
    parts = (studio.settings, studio.service, studio.database, studio.storage)
    context = WorkerContext(*parts, VoiceCache(), Stopping(0.0), structlog.get_logger())
    run_task(context, claim(studio.database, "worker", ["analysis"], 60))


def view_of(studio, task_id, account=None):
    return analysis_view(studio, account or studio.local, task_id, BASE, NOW_S)


def content(studio, link) -> bytes:
    return b"".join(studio.storage.read(link.removeprefix(f"{BASE}/files/").split("?")[0]))


def test_start_analysis_queues_the_recording(studio, vocal):
    audio = vocal()
    view = view_of(studio, start_analysis(studio, studio.local, audio, "folder/My vocal.wav"))
    assert (view.state, view.progress, view.file_name) == ("queued", 0.0, "My vocal.wav")
    assert (view.roll, view.summary, view.notes, view.pictures) == (None, None, (), {})
    assert not audio.exists()


def test_analysis_view_shows_all_results_of_a_completed_analysis(studio, vocal):
    view = view_of(studio, looked_at(studio, vocal(2.0, 220.0)))
    assert (view.state, view.error) == ("completed", None)
    assert view.duration_s == pytest.approx(2.0, abs=0.01)
    summary = view.summary
    assert plain(summary.vocal_range) == {"min": "A3", "max": "A3", "lowest": 57, "highest": 57}
    assert summary.pitch.median == pytest.approx(57.0, abs=0.2)
    assert -40 < summary.loudness_lufs < -10
    assert view.pitch_histogram[0].midi == 57
    assert {note.midi for note in view.notes} == {57}
    assert set(view.pictures) == {"note", "mel", "linear"}
    roll = view.roll
    assert (roll.picture.scale, roll.range.low, roll.duration_s) == ("note", 57, view.duration_s)
    assert roll.file_name.endswith(" pitch.png")
    curves = json.loads(content(studio, roll.curves[0].url))
    assert len({len(curves[name]) for name in ("hertz", "confidence", "db", "low", "high")}) == 1
    assert curves["step_s"] == 0.01
    assert any(one is None for one in curves["hertz"]) or min(curves["hertz"]) > 0
    assert content(studio, roll.picture.url).startswith(b"\x89PNG")
    assert content(studio, view.downloads[0].url).startswith(b"MThd")
    assert view.downloads[0].name == "My vocal.mid"
    table = content(studio, view.downloads[1].url).decode().splitlines()
    assert table[0] == "seconds,hertz,confidence,loudness_db"
    assert len(table) == len(curves["hertz"]) + 1
    assert json.loads(json.dumps(plain(view)))["summary"] == plain(summary)


@once
def test_analysis_view_tells_how_many_are_ahead_and_how_long_it_runs(studio, vocal):
    first, second = (start_analysis(studio, studio.local, vocal(), name) for name in ("a.wav", "b.wav"))
    assert [view_of(studio, one).ahead for one in (first, second)] == [0, 1]
    task = claim(studio.database, "worker", ["analysis"], 60)
    views = [analysis_view(studio, studio.local, one, BASE, task.started_at + 7.0) for one in (first, second)]
    assert [(view.ahead, view.taken_s) for view in views] == [(0, pytest.approx(7.0)), (1, None)]


@once
def test_start_analysis_stores_aiff_as_flac_for_browsers_and_keeps_wav(studio, vocal, tmp_path):
    samples, rate = soundfile.read(vocal())
    soundfile.write(tmp_path / "vocal.aiff", samples, rate)
    heard = {
        name: content(studio, view_of(studio, looked_at(studio, audio, name)).audio_url)[:4]
        for name, audio in (("a.aiff", tmp_path / "vocal.aiff"), ("a.wav", vocal()))
    }
    assert heard == {"a.aiff": b"fLaC", "a.wav": b"RIFF"}


@once
def test_analysis_of_silence_shows_no_notes_pitch_or_loudness(studio, tmp_path):
    soundfile.write(tmp_path / "silence.wav", np.zeros(RATE), RATE)
    view = view_of(studio, looked_at(studio, tmp_path / "silence.wav"))
    assert view.state == "completed"
    assert (view.summary.vocal_range, view.summary.pitch, view.summary.loudness_lufs) == (None,) * 3
    assert (view.notes, view.pitch_histogram, view.roll.range) == ((), (), None)


@once
def test_start_analysis_refuses_a_text_file_by_its_own_name_and_queues_nothing(studio, tmp_path):
    (tmp_path / "x").write_bytes(b"a letter")
    with pytest.raises(NotReadable, match=r"letter\.wav"):
        start_analysis(studio, studio.local, tmp_path / "x", "letter.wav")
    assert list_tasks(studio.database, studio.local.id, kind="analysis")[0] == []


@once
def test_analysis_of_a_damaged_file_fails_with_its_own_name(studio, vocal):
    audio = vocal(12.0, name="whole.flac")
    audio.write_bytes(audio.read_bytes()[: audio.stat().st_size * 9 // 10])  # its beginning is looked at at once
    view = view_of(studio, looked_at(studio, audio, "Mine.flac"))
    assert view.state == "failed"
    assert "Mine.flac" in view.error
    assert "input" not in view.error


@once
def test_start_analysis_refuses_a_recording_that_is_too_long(studio, vocal):
    short = replace(studio, service=replace(studio.service, longest_audio_minutes=0.05))
    with pytest.raises(Invalid, match="the limit is"):
        start_analysis(short, studio.local, vocal(4.0), "long.wav")


def test_list_tasks_leaves_out_analyses_by_default(studio, vocal):
    start_analysis(studio, studio.local, vocal(0.1), "a.wav")
    assert list_tasks(studio.database, studio.local.id)[0] == []


def test_cancel_analysis_cancels_a_waiting_analysis_once(studio, vocal):
    task_id = start_analysis(studio, studio.local, vocal(0.1), "a.wav")
    cancel_analysis(studio, studio.local, task_id)
    assert view_of(studio, task_id).state == "cancelled"
    with pytest.raises(WrongState):
        cancel_analysis(studio, studio.local, task_id)


def test_analysis_actions_refuse_another_account(studio, other, vocal):
    task_id = looked_at(studio, vocal())
    for act in (
        lambda: view_of(studio, task_id, other),
        lambda: cancel_analysis(studio, other, task_id),
        lambda: compare_analyses(studio, other, task_id, task_id),
        lambda: analysed_recording(studio, other, task_id).__enter__(),
    ):
        with pytest.raises(NotFound, match="Add it again"):
            act()
    mine = looked_at(studio, vocal(), account=other)
    assert find(studio.database, other.id, mine).parameters["input_key"].startswith(f"accounts/{other.id}/")


@once
def test_taken_recording_lends_a_temporary_copy_of_the_recording(studio, vocal):
    audio = vocal()
    was = audio.read_bytes()
    task_id = looked_at(studio, audio)
    with analysed_recording(studio, studio.local, task_id) as (copy, name, _):
        assert (copy.read_bytes(), name) == (was, "My vocal.wav")
        copy.unlink()  # as it is when it is moved
    with analysed_recording(studio, studio.local, task_id) as (copy, _, _):
        assert copy.exists()
    assert not copy.exists()
    with pytest.raises(NotFound, match="a voice"), analysed_recording(studio, studio.local, task_id):
        raise NotFound("There is no such thing as a voice.")  # what goes wrong outside is not told as ours


@once
def test_taken_recording_raises_for_a_deleted_recording(studio, vocal):
    task_id = looked_at(studio, vocal())
    studio.storage.delete_below(f"tasks/{task_id}")
    with pytest.raises(NotFound, match="has been deleted"), analysed_recording(studio, studio.local, task_id):
        pass


@once
def test_compare_analyses_measures_delay_interval_and_same_notes(studio, vocal):
    first = looked_at(studio, vocal(4.0, 220.0))
    second = looked_at(studio, vocal(4.0, 261.63, later_s=0.5))
    found = compare_analyses(studio, studio.local, first, second)
    assert found.offset_s == pytest.approx(0.5, abs=0.03)
    assert found.semitones == pytest.approx(3.0, abs=0.1)
    assert found.same_notes > 0.95


@once
def test_stretch_view_counts_only_the_pitches_of_the_stretch(studio, tmp_path):
    time_s = np.arange(2 * RATE) / RATE
    tone = sum(np.sin(2 * np.pi * np.where(time_s < 1.0, 220.0, 330.0) * k * time_s) / k for k in range(1, 6))
    soundfile.write(tmp_path / "two.wav", 0.1 * tone, RATE)
    task_id = looked_at(studio, tmp_path / "two.wav")
    first, second = (stretch_view(studio, studio.local, task_id, *ends) for ends in ((0.1, 0.9), (1.1, 1.9)))
    assert [[one.midi for one in part.pitch_histogram] for part in (first, second)] == [[57], [64]]
    assert first.pitch_histogram[0].seconds == pytest.approx(0.8, abs=0.05)
    assert first.pitch.median == pytest.approx(57.0, abs=0.2)
    silent = stretch_view(studio, studio.local, task_id, 0.1, 0.1)
    assert plain(silent) == {"pitch": None, "pitch_histogram": []}


def test_compare_analyses_refuses_an_unfinished_analysis(studio, vocal):
    first = looked_at(studio, vocal())
    with pytest.raises(WrongState):
        compare_analyses(studio, studio.local, first, start_analysis(studio, studio.local, vocal(), "b.wav"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.title)
def test_take_sample_queues_an_analysis_each_time(studio, sample):
    for _ in range(2):
        task = find(studio.database, studio.local.id, take_sample(studio, studio.local, sample.title))
        assert (task.kind, task.state) == ("analysis", "queued")
        assert sample.path.endswith(task.parameters["file_name"])
        assert studio.storage.head(task.parameters["input_key"]).size > 10_000


def test_take_sample_refuses_an_unknown_sample(studio):
    with pytest.raises(NotFound, match="no sample 'Yodel'"):
        take_sample(studio, studio.local, "Yodel")


@once
def test_analyse_track_analyses_another_sound_track_of_a_film(studio, tmp_path):
    (tmp_path / "film.mkv").write_bytes(several([tone(48_000, 48_000, hertz=200.0), tone(48_000, 48_000, hertz=400.0)]))
    first = looked_at(studio, tmp_path / "film.mkv", "film.mkv")
    view = view_of(studio, first)
    assert view.tracks.read == 1
    assert [(one.number, one.is_readable) for one in view.tracks.tracks] == [(1, True), (2, True)]
    assert view.summary.warning.startswith('"film.mkv" has 2 sound tracks. Track 1, the one that players play, is read')
    other = analyse_track(studio, studio.local, first, 2)
    analyse_next(studio)
    view = view_of(studio, other)
    assert view.tracks.read == 2
    assert "sound tracks" not in (view.summary.warning or "")
    assert max(one.midi for one in view.pitch_histogram) == 67
    heard = content(studio, view.audio_url)
    assert heard[:4] == b"fLaC"  # a browser would play the first
    with analysed_recording(studio, studio.local, other) as (copy, name, origin):
        assert (track_of(copy), name) == (2, "film.mkv")
        assert origin.recording == find(studio.database, studio.local.id, first).parameters["recording"]
    with pytest.raises(NotReadable, match="no track 3"):
        analyse_track(studio, studio.local, first, 3)


@once
def test_explore_gives_the_page_all_of_a_file_that_is_longer_than_its_header(studio, vocal):
    audio = vocal(2.0)
    contents = bytearray(audio.read_bytes())
    contents[40:44] = (16_000).to_bytes(4, "little")
    audio.write_bytes(contents)
    view = view_of(studio, looked_at(studio, audio))
    assert view.duration_s == pytest.approx(2.0, abs=0.01)
    assert content(studio, view.audio_url)[:4] == b"fLaC"  # a browser would believe the header
    assert "holds more sound than its header says" in view.summary.warning
