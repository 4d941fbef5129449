import os
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from engine.audio.files import read_audio
from engine.effects.settings import EffectSettings
from engine.errors import SettingsError
from engine.provenance.verification import verify
from studio.actions.account import FORMATS, change_preferences
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.conversions.downloads import take_download, take_with_effects, wet_take
from studio.errors import Invalid, NotFound
from studio.store.signed_links import check
from studio.store.tasks import claim, find

NOW_S = 1_800_000_000.0


def sound(studio, key, tmp_path):
    return soundfile.read(studio.storage.fetch(key, tmp_path), always_2d=True)[0]


@pytest.fixture
def task(studio, converted):
    return find(studio.database, studio.local.id, converted)


def test_wet_take_applies_effects_and_keeps_the_take(studio, task, tmp_path):
    own = wet_take(studio, task, 2, None)
    before = sound(studio, own, tmp_path)
    wet = wet_take(studio, task, 2, {"reverb": 0.5})
    assert wet != own
    assert wet == wet_take(studio, task, 2, EffectSettings(reverb=0.5).__dict__)
    heard = sound(studio, wet, tmp_path)
    assert heard.shape == before.shape
    assert np.abs(heard - before).max() > 0.01
    assert (sound(studio, own, tmp_path) == before).all()
    assert wet_take(studio, task, 2, "off") == own


def test_wet_take_replaces_the_effects_of_the_conversion(studio, task):
    dry = task.result["outputs"]
    done = replace(task, result=task.result | {"outputs": ["a.wav", "b.wav"], "dry": dry})
    made_with = replace(done, parameters=task.parameters | {"effects": "hall"})
    assert wet_take(studio, made_with, 1, "hall") == "a.wav"
    assert wet_take(studio, made_with, 1, "off") == dry[0]
    assert wet_take(studio, made_with, 1, "clean") == wet_take(studio, task, 1, "clean")  # of the dry one, so not twice


def test_wet_take_keeps_only_the_last_three_versions(studio, task):
    tried = []
    for step in range(5):
        tried.append(wet_take(studio, task, 1, {"reverb": 0.1 + 0.1 * step}))
        os.utime(studio.storage.folder(tried[-1]), (step, step))  # or two of them may have been made at the same time
    kept = [key for key in tried if studio.storage.head(key)]
    assert kept == tried[-3:]
    assert studio.storage.head(task.result["outputs"][0])


def test_take_download_applies_effects_on_request(studio, converted, task):
    def name_and_link(**more):
        made = take_download(studio, studio.local, converted, 1, "mp3", "", 0.0, **more)
        return made["name"], made["url"].partition("?")[0]

    plain, wet = name_and_link(), name_and_link(effects="hall")
    assert plain[0] == wet[0] == "my vocal - Kathleen 1.mp3"
    assert plain[1] != wet[1]
    assert name_and_link(effects="off") == plain


def test_take_with_effects_refuses_invalid_effects_and_missing_takes(studio, converted, task):
    keys = set(studio.storage.list_keys("tasks"))
    for effects, take, error in (({"reverb": 9}, 1, SettingsError), ("cave", 1, SettingsError), ("hall", 3, NotFound)):
        with pytest.raises(error):
            take_with_effects(studio, studio.local, converted, take, effects, "", 0.0)
    assert set(studio.storage.list_keys("tasks")) == keys


def download(studio, task_id, take, kind, account=None):
    return take_download(studio, account or studio.local, task_id, take, kind, "", NOW_S)


def file_of(studio, url, tmp_path):
    key, _, signed = url.removeprefix("/files/").partition("?")
    expires, signature = (part.partition("=")[2] for part in signed.split("&"))
    assert check(studio.link_secret, key, expires, signature, NOW_S)
    return studio.storage.fetch(key, tmp_path)


@pytest.mark.parametrize("kind", FORMATS)
def test_take_download_offers_every_format(studio, converted, tmp_path, kind):
    offered = download(studio, converted, 2, kind)
    assert offered["name"] == f"my vocal - Kathleen 2.{kind}"
    file = file_of(studio, offered["url"], tmp_path)
    assert file.suffix == f".{kind}"
    assert read_audio(file).duration_s == pytest.approx(1.0, abs=0.1)


def test_take_download_gives_identical_samples_in_wav_and_flac(studio, converted, tmp_path):
    wav, flac = (read_audio(file_of(studio, download(studio, converted, 1, k)["url"], tmp_path)) for k in FORMATS[:2])
    assert (wav.samples == flac.samples).all()


def test_take_download_encodes_a_take_once(studio, converted, tmp_path):
    first = file_of(studio, download(studio, converted, 1, "mp3")["url"], tmp_path)
    made = first.stat().st_mtime_ns
    assert file_of(studio, download(studio, converted, 1, "mp3")["url"], tmp_path).stat().st_mtime_ns == made
    assert not any((studio.settings.work / "incoming").iterdir())


def test_take_download_removes_forbidden_characters_from_the_name(studio, recording, complete_task):
    name = 'a/b: "c"\n?.wav'
    task_id = start_conversion(studio, studio.local, recording(), name, ConversionRequest("kathleen", {}))
    complete_task(claim(studio.database, "worker", ["conversion"], 60))
    assert download(studio, task_id, 1, "wav")["name"] == "b c - Kathleen.wav"


def test_take_download_refuses_an_unknown_format_a_missing_take_and_another_account(studio, other, converted):
    with pytest.raises(Invalid, match="wav, flac, mp3, m4a"):
        download(studio, converted, 1, "exe")
    with pytest.raises(NotFound, match="no such take"):
        download(studio, converted, 9, "mp3")
    with pytest.raises(NotFound):
        download(studio, converted, 1, "mp3", other)


@pytest.mark.parametrize("kind", FORMATS[1:])
def test_take_download_marks_flac_mp3_and_m4a_as_synthetic(studio, converted, tmp_path, kind):
    found = verify(file_of(studio, download(studio, converted, 1, kind)["url"], tmp_path), studio.installation)
    assert (found.state, found.synthetic) == ("made_here", True)
    assert found.statement["voice"]["name"] == "Kathleen"


def test_take_download_uses_the_preferred_naming_and_mp3_rate(studio, converted):
    plain = take_download(studio, studio.local, converted, 1, "mp3", "", 0.0)
    wanted = {"naming": "{voice} sings {recording} {transpose}", "mp3_kbps": 64}
    change_preferences(studio.database, studio.local, wanted)
    made = take_download(studio, studio.local, converted, 1, "mp3", "", 0.0)
    assert made["name"] == "Kathleen sings my vocal -2 1.mp3"  # without {take}, takes would overwrite each other
    sizes = []
    for link in (plain, made):
        key = link["url"].partition("/files/")[2].partition("?")[0]
        sizes.append(studio.storage.head(key).size)
    assert sizes[1] - 4000 == pytest.approx(64_000 / 8, rel=0.3)  # of a second, beside the credentials
