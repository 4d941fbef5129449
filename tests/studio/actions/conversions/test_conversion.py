import shutil
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from engine.audio.files import read_audio
from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.errors import SettingsError
from engine.files import on_track
from engine.voices.card import DEMO_VOICES
from studio.actions.account import change_preferences
from studio.actions.analyses import start_analysis
from studio.actions.conversions.conversion import (
    ConversionRequest,
    conversion_view,
    convert_again,
    convert_recording,
    harmonize,
    look_at_recording,
    look_at_take,
    start_conversion,
)
from studio.actions.recordings import check_recording
from studio.actions.tasks import task_view
from studio.actions.voices.datasets import create_model
from studio.actions.voices.making import start_blend
from studio.errors import Invalid, NotFound, NotReadable, WrongState
from studio.settings.service import ServiceSettings
from studio.store.catalogue import report_completed
from studio.store.folder_import import import_folders
from studio.store.records.codec import plain
from studio.store.records.conversion import Conversion
from studio.store.tasks import claim, complete, fail, find
from tests.cards import rewrite_card
from tests.engine.audio.encoded import several, tone

BASE = "http://127.0.0.1:1"
NOW_S = 1_800_000_000.0


def start(studio, audio, account=None, **given):
    request = ConversionRequest(**{"model": "kathleen", "settings": {"takes": 2}} | given)
    return start_conversion(studio, account or studio.local, audio, "my vocal.wav", request)


def stored(studio) -> set[str]:
    return {path.name for path in (studio.settings.data / "tasks").rglob("*") if path.is_file()}


def test_start_conversion_stores_the_recording_and_queues_a_task(studio, recording):
    audio = recording()
    content = audio.read_bytes()
    task = find(studio.database, studio.local.id, start(studio, audio))
    assert (task.state, task.kind, task.model_id) == ("queued", "conversion", "kathleen")
    assert task.parameters["settings"]["takes"] == 2
    assert task.parameters["file_name"] == "my vocal.wav"
    assert b"".join(studio.storage.read(task.parameters["input_key"])) == content
    assert not audio.exists()


def test_conversion_view_matches_the_published_api_before_and_after_completion(studio, recording):
    task_id = start(studio, recording())
    assert plain(conversion_view(studio, studio.local, task_id, BASE, NOW_S)) == {"status": "in_progress"}
    task = claim(studio.database, "worker", ["conversion"], 60)
    assert plain(conversion_view(studio, studio.local, task_id, BASE, NOW_S)) == {"status": "in_progress"}
    settings = {"model": "kathleen", "transpose": 0, "vocal_style": "spoken"}
    with studio.database.write() as connection:
        complete(connection, task, {"outputs": ["a/1.wav", "a/2.wav"], "output_settings": settings})
    view = conversion_view(studio, studio.local, task_id, BASE, NOW_S)
    assert set(plain(view)) == {"status", "input_audio_url", "output_audio_urls", "output_settings"}
    assert (view.status, plain(view.output_settings)) == ("completed", settings)
    assert [url.split("?")[0] for url in view.output_audio_urls] == [f"{BASE}/files/a/{n}.wav" for n in (1, 2)]


def test_conversion_view_shows_only_the_status_of_a_failed_conversion(studio, recording):
    task_id = start(studio, recording())
    task = claim(studio.database, "worker", ["conversion"], 60)
    with studio.database.write() as connection:
        fail(connection, task, "It did not work.", "reason")
    assert plain(conversion_view(studio, studio.local, task_id, BASE, NOW_S)) == {"status": "failed"}


def test_conversion_view_refuses_another_account(studio, other, recording):
    task_id = start(studio, recording())
    with pytest.raises(NotFound):
        conversion_view(studio, other, task_id, BASE, NOW_S)
    assert find(studio.database, studio.local.id, task_id).parameters["model_account"] == "demo"


def test_start_conversion_stores_files_of_another_account_in_its_own_folder(studio, other, recording):
    task = find(studio.database, other.id, start(studio, recording(), other))
    assert task.parameters["input_key"].startswith(f"accounts/{other.id}/")


@pytest.mark.parametrize("content", [b"", b"no audio", b"RIFF\x00\x00\x00\x00WAVEfmt ", bytes(5000)])
def test_start_conversion_refuses_non_audio_and_names_the_file_as_uploaded(studio, tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(NotReadable) as error:
        start(studio, tmp_path / "x")
    assert "my vocal.wav" in str(error.value)
    assert str(tmp_path) not in str(error.value)
    assert not stored(studio)


def test_start_conversion_replaces_only_the_file_name_in_a_refusal(studio, tmp_path):
    soundfile.write(tmp_path / "made.wav", np.zeros((100, 10)), 8000)
    upload = (tmp_path / "made.wav").rename(tmp_path / "0")  # as an upload is called
    with pytest.raises(NotReadable, match=r'^"my vocal.wav" has 10 channels; supported are 1 to 8\.$'):
        start(studio, upload)


def test_start_conversion_refuses_a_recording_that_is_too_long(home, studio, recording):
    short = replace(studio, service=replace(studio.service, longest_audio_minutes=0.05))
    with pytest.raises(Invalid, match=r"3\.5 seconds long; the limit is 3 seconds") as error:
        start(short, recording(3.5))
    assert error.value.problems[0][0] == "audio"
    assert start(short, recording(2.5))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"model": "nobody"}, NotFound),
        ({"settings": {"likeness": 2.0}}, SettingsError),
        ({"settings": {"volume": 1}}, SettingsError),
        ({"settings": {"takes": 0}}, SettingsError),
        ({"preset": "loud"}, SettingsError),
    ],
    ids=str,
)
def test_start_conversion_refuses_unknown_voices_and_invalid_settings_and_stores_nothing(
    studio, recording, given, error
):
    with pytest.raises(error):
        start(studio, recording(), **given)
    assert not stored(studio)


def test_start_conversion_takes_an_untrained_voice_on_request_alone(studio, recording, package):
    model = create_model(studio, studio.local, package())
    with pytest.raises(WrongState, match="not trained yet"):
        start(studio, recording(), model=model)
    task_id = start(studio, recording(), model=model, untrained=True)
    assert find(studio.database, studio.local.id, task_id).parameters["untrained"]
    assert task_view(studio, studio.local, task_id, BASE, NOW_S).untrained
    assert plain(conversion_view(studio, studio.local, task_id, BASE, NOW_S)) == {"status": "in_progress"}
    task = claim(studio.database, "worker", ["conversion"], 60)
    with studio.database.write() as connection:  # it was trained until its turn came
        settings = {"model": model, "transpose": 0, "vocal_style": "spoken"}
        complete(connection, task, {"outputs": ["a/1.wav"], "output_settings": settings, "untrained": False})
    assert not task_view(studio, studio.local, task_id, BASE, NOW_S).untrained
    assert set(plain(conversion_view(studio, studio.local, task_id, BASE, NOW_S).output_settings)) == set(settings)


def test_start_conversion_ignores_untrained_for_a_trained_voice(studio, recording):
    task_id = start(studio, recording(), untrained=True)
    assert not find(studio.database, studio.local.id, task_id).parameters["untrained"]
    assert not task_view(studio, studio.local, task_id, BASE, NOW_S).untrained


def test_start_conversion_refuses_an_untrained_voice_with_too_little_sound(studio, recording, package):
    model = create_model(studio, studio.local, package())
    finding = {"code": "too_little", "reason": "There are only 3.0 s of usable voice.", "remedy": "Add recordings."}
    with studio.database.write() as connection:
        report_completed(connection, studio.local.id, model, {"findings": [finding]})
    with pytest.raises(WrongState, match=r"^There are only 3\.0 s of usable voice\. Add recordings\.$") as error:
        start(studio, recording(), model=model, untrained=True)
    assert error.value.code == "model_not_ready"
    assert not stored(studio)


def test_start_conversion_and_start_blend_refuse_a_voice_of_an_earlier_base(studio, recording):
    shutil.copytree(DEMO_VOICES / "kathleen", studio.settings.voices / "old")
    rewrite_card(studio.settings.voices / "old", format=2)
    import_folders(studio.database, studio.storage, studio.local)
    for untrained in (False, True):  # it has no recordings to make one of
        with pytest.raises(WrongState, match=r"'old' was made with an earlier version .* Train it again"):
            start(studio, recording(), model="old", untrained=untrained)
    assert not stored(studio)
    with pytest.raises(WrongState, match="'old' was made with an earlier version"):
        start_blend(studio, studio.local, "kathleen", "old", 0.5)


def test_start_conversion_strips_folders_from_the_file_name(studio, recording):
    audio = recording()
    task_id = start_conversion(studio, studio.local, audio, "../../etc/passwd.WAV", ConversionRequest("kathleen", {}))
    parameters = find(studio.database, studio.local.id, task_id).parameters
    assert parameters["input_key"] == f"tasks/{task_id}/input.wav"
    assert parameters["file_name"] == "passwd.WAV"
    assert Path(studio.settings.data / parameters["input_key"]).is_file()


def test_start_conversion_refuses_too_much_rendering_and_names_the_remedy(studio, recording):
    """An hour of silence in eight channels, 1.5 MB as flac, took the worker minutes and 3.8 GB a take."""
    small = replace(studio, service=replace(studio.service, largest_conversion_minutes=0.1))
    for takes, field, remedy in ((4, "generations_count", "at most 3"), (10, "generations_count", "at most 3")):
        with pytest.raises(Invalid, match=remedy) as refused:
            start_conversion(
                small, small.local, recording(2.0), "vocal.wav", ConversionRequest("kathleen", {"takes": takes})
            )
        assert (refused.value.code, refused.value.problems[0][0]) == ("conversion_too_large", field)
    with pytest.raises(Invalid, match="shorter recording, or mono"):
        start_conversion(small, small.local, recording(7.0), "vocal.wav", ConversionRequest("kathleen", {}))
    assert not list(studio.storage.list_keys("tasks"))
    task_id = start_conversion(
        small, small.local, recording(2.0), "vocal.wav", ConversionRequest("kathleen", {"takes": 3})
    )
    assert find(studio.database, studio.local.id, task_id).cost == pytest.approx(6.0)


def test_check_recording_decodes_a_file_without_a_length_to_measure_it(studio, tmp_path):
    """Browsers record WebM without a length: it was taken however long it was."""
    path = tmp_path / "vocal.webm"
    with av.open(str(path), "w", format="webm", options={"live": "1"}) as container:
        stream = container.add_stream("libopus", rate=48_000, layout="stereo")
        frame = av.AudioFrame.from_ndarray(np.zeros((2, 240_000), np.float32), format="fltp", layout="stereo")
        frame.sample_rate = 48_000
        container.mux([*stream.encode(frame), *stream.encode(None)])
    assert check_recording(
        path, "vocal.webm", ServiceSettings(longest_audio_minutes=1.0)
    ).channel_seconds == pytest.approx(10.0, abs=0.1)
    with pytest.raises(Invalid, match="more than 3 seconds long"):
        check_recording(path, "vocal.webm", ServiceSettings(longest_audio_minutes=0.05))


def asked(studio, task_id):
    return find(studio.database, studio.local.id, task_id)


def content_of(studio, key, tmp_path):
    return read_audio(studio.storage.fetch(key, tmp_path))


@pytest.fixture
def looked_at(studio, recording):
    return start_analysis(studio, studio.local, recording(2.0), "my vocal.wav")


def test_convert_recording_converts_an_analysed_recording_and_keeps_it(studio, looked_at, tmp_path):
    settings = {"transpose": -3, "takes": 2}
    task_id = convert_recording(studio, studio.local, looked_at, ConversionRequest("kerstin", settings, "rhythmic"))
    task = asked(studio, task_id)
    assert (task.kind, task.model_id, task.state) == ("conversion", "kerstin", "queued")
    assert (task.parameters["settings"], task.parameters["preset"]) == (settings, "rhythmic")
    assert task.parameters["file_name"] == "my vocal.wav"
    assert content_of(studio, task.parameters["input_key"], tmp_path).duration_s == 2.0
    assert studio.storage.head(asked(studio, looked_at).parameters["input_key"]) is not None


def test_convert_recording_and_again_write_results_in_the_preferred_form(studio, looked_at):
    change_preferences(studio.database, studio.local, {"rate": "48000", "bits": "16"})
    first = convert_recording(studio, studio.local, looked_at, ConversionRequest("kerstin", {}))
    change_preferences(studio.database, studio.local, {"rate": PUBLISHED.rate, "bits": PUBLISHED.bits})
    for task in (first, convert_again(studio, studio.local, first)):
        assert asked(studio, task).asked_as(Conversion).form == ResultFormat("48000", "16")
    later = convert_recording(studio, studio.local, looked_at, ConversionRequest("kerstin", {}))
    assert asked(studio, later).asked_as(Conversion).form is None


def test_convert_recording_converts_only_the_trimmed_part(studio, looked_at, tmp_path):
    request = ConversionRequest("kerstin", {})
    task = asked(studio, convert_recording(studio, studio.local, looked_at, request, (0.5, 1.25)))
    assert content_of(studio, task.parameters["input_key"], tmp_path).sample_count == 12_000


@pytest.mark.parametrize("stretch", [(1.0, 1.01), (5.0, 6.0)])
def test_convert_recording_refuses_an_invalid_part_and_leaves_nothing(studio, looked_at, stretch):
    with pytest.raises(SettingsError):
        convert_recording(studio, studio.local, looked_at, ConversionRequest("kerstin", {}), stretch=stretch)
    assert not any((studio.settings.work / "incoming").iterdir())


def test_convert_again_keeps_the_settings_for_another_voice(studio, looked_at, tmp_path):
    settings = {"transpose": "auto", "likeness": 0.4}
    first = convert_recording(studio, studio.local, looked_at, ConversionRequest("kerstin", settings, "spoken"))
    again = asked(studio, convert_again(studio, studio.local, first, "kathleen"))
    assert (again.model_id, again.parameters["preset"]) == ("kathleen", "spoken")
    assert again.parameters["settings"] == settings
    assert content_of(studio, again.parameters["input_key"], tmp_path).duration_s == 2.0
    assert asked(studio, convert_again(studio, studio.local, first)).model_id == "kerstin"


def test_harmonize_sings_with_a_finished_take_in_its_key(studio, converted):
    lead = asked(studio, converted)
    made = [asked(studio, harmonize(studio, studio.local, converted, "third_above", "A minor")) for _ in range(2)]
    settings = [one.parameters["settings"] for one in made]
    assert (settings[0]["harmony"], settings[0]["harmony_key"], settings[0]["takes"]) == ("third_above", "A minor", 1)
    assert settings[0]["transpose"] == lead.result["output_settings"]["transpose"]
    assert settings[0]["seed"] != settings[1]["seed"]  # no two sing alike
    assert made[0].model_id == lead.model_id
    assert made[0].recording == lead.recording
    assert asked(studio, harmonize(studio, studio.local, converted, "unison", "auto", "kerstin")).model_id == "kerstin"


def test_harmonize_refuses_what_cannot_be_sung(studio, converted, looked_at):
    with pytest.raises(SettingsError, match="harmony must be one of"):
        harmonize(studio, studio.local, converted, "sixth", "auto")
    waiting = convert_recording(studio, studio.local, looked_at, ConversionRequest("kerstin", {}))
    with pytest.raises(WrongState, match="once the conversion has finished"):
        harmonize(studio, studio.local, waiting, "unison", "auto")


def test_look_at_recording_and_look_at_take_start_an_analysis(studio, converted, tmp_path):
    for analysis_id in (
        look_at_recording(studio, studio.local, converted),
        look_at_take(studio, studio.local, converted, 2),
    ):
        task = asked(studio, analysis_id)
        assert task.kind == "analysis"
        assert content_of(studio, task.parameters["input_key"], tmp_path).duration_s == 1.0
    assert task.parameters["file_name"] == "my vocal - Kathleen 2.wav"


def test_look_at_take_refuses_a_missing_take(studio, converted):
    for take in (0, 3):
        with pytest.raises(NotFound, match="no such take"):
            look_at_take(studio, studio.local, converted, take)


def test_convert_again_and_look_at_recording_refuse_a_deleted_recording(studio, converted):
    studio.storage.delete(asked(studio, converted).parameters["input_key"])
    for act in (convert_again, look_at_recording, lambda *of: harmonize(*of, "unison", "auto")):
        with pytest.raises(NotFound, match="add it again"):
            act(studio, studio.local, converted)


def test_convert_and_look_at_refuse_tasks_of_another_account(studio, other, converted, looked_at):
    for act in (convert_again, look_at_recording):
        with pytest.raises(NotFound):
            act(studio, other, converted)
    with pytest.raises(NotFound):
        convert_recording(studio, other, looked_at, ConversionRequest("kerstin", {}))


def film(folder) -> Path:
    path = folder / "film.mkv"
    path.write_bytes(several([tone(96_000, 48_000, hertz=200.0), tone(96_000, 48_000, hertz=400.0)]))
    return path


def test_start_conversion_keeps_the_sound_track_that_is_chosen(studio, tmp_path):
    request = ConversionRequest("kathleen", {})
    task = start_conversion(studio, studio.local, on_track(film(tmp_path), 2), "film.mkv", request)
    assert find(studio.database, studio.local.id, task).asked_as(Conversion).track == 2
    again = convert_again(studio, studio.local, task, "koguchi")
    assert find(studio.database, studio.local.id, again).asked_as(Conversion).track == 2
    plain = start_conversion(studio, studio.local, film(tmp_path), "film.mkv", request)
    assert "track" not in find(studio.database, studio.local.id, plain).parameters
    with pytest.raises(NotReadable, match=r'"film.mkv" has 2 sound tracks, so there is no track 3'):
        start_conversion(studio, studio.local, on_track(film(tmp_path), 3), "film.mkv", request)


def test_convert_recording_takes_the_sound_track_of_its_analysis(studio, tmp_path):
    analysis = start_analysis(studio, studio.local, on_track(film(tmp_path), 2), "film.mkv")
    whole = convert_recording(studio, studio.local, analysis, ConversionRequest("kathleen", {}))
    assert find(studio.database, studio.local.id, whole).asked_as(Conversion).track == 2
    part = convert_recording(studio, studio.local, analysis, ConversionRequest("kathleen", {}), (0.5, 1.5))
    asked = find(studio.database, studio.local.id, part).asked_as(Conversion)
    cut = tmp_path / "cut.wav"
    cut.write_bytes(b"".join(studio.storage.read(asked.input_key)))
    samples = read_audio(cut).samples[0]
    assert np.argmax(np.abs(np.fft.rfft(samples))) == pytest.approx(400, abs=1)  # Hz, of a second
    assert asked.track is None
