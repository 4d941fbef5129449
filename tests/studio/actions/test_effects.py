"""Effects on a take that is there already: heard at once, and applied to the take without effects."""

import os
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from engine.effects.settings import EffectSettings
from engine.errors import SettingsError
from studio.actions.downloads import take_download
from studio.actions.effects import take_with_effects, wet_take
from studio.errors import NotFound
from studio.store.tasks import find


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
