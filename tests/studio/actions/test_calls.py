"""The lines of curl for what was done: a shell reads them as they are meant, whatever a file is called."""

import shlex

import pytest

from engine.conversion.settings import ConversionSettings
from engine.effects.settings import effects_of, written_effects
from studio.actions.calls import ORIGIN, PUBLISHED_SETTINGS, last_call
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.trainings.training import start_training
from studio.actions.voices.datasets import create_model
from studio.http.bodies import Form
from studio.http.routes.fields import Fields
from studio.http.routes.setting_fields import parse_settings
from studio.store.records.codec import written
from studio.store.records.conversion import Conversion, Edit, EditSources
from studio.store.tasks import list_tasks, submit


def calls(told: dict[str, str]) -> list[list[str]]:
    """The words of each call, as a shell reads them: a backslash at the end of a line is none."""
    return [shlex.split(line) for line in told["command"].replace("\\\n", " ").split("\n")]


def test_last_call_is_none_without_any_task(studio):
    assert last_call(studio, studio.local) is None


def test_last_call_of_a_conversion_includes_all_its_settings(studio, recording):
    settings = {"transpose": "auto", "takes": 3, "likeness": 0.8}
    task = start_conversion(
        studio, studio.local, recording(), "song.wav", ConversionRequest("koguchi", settings, preset="spoken")
    )
    told = last_call(studio, studio.local)
    assert told["what"] == "Converting song.wav to koguchi"
    convert, check = calls(told)
    assert convert[:4] == ["curl", "-X", "POST", f"{ORIGIN}/convert"]
    assert convert[4:6] == ["-H", "Authorization: Bearer $TOKEN"]
    assert convert[7::2] == [
        *('audio=@"song.wav"', "model=koguchi", "preset=spoken", "transpose=auto", "generations_count=3"),
        "likeness=0.8",
    ]
    assert check[1] == f"{ORIGIN}/check-task/{task}"


@pytest.mark.parametrize("effects", ["hall", {"reverb": 0.2, "low_db": -3.0}])
def test_last_call_has_effects_by_name_and_as_set_by_sliders(studio, recording, effects):
    """Those set by sliders were left out."""
    start_conversion(studio, studio.local, recording(), "song.wav", ConversionRequest("koguchi", {}, effects=effects))
    [sent] = [one for one in calls(last_call(studio, studio.local))[0] if one.startswith("effects=")]
    assert effects_of(written_effects(sent.removeprefix("effects="))) == effects_of(effects)


@pytest.mark.parametrize("transpose", [2.0, -12.0, "auto", "best", 0])
def test_last_call_prints_settings_that_the_service_reads_as_they_were(studio, recording, transpose):
    """Sliders give 2.0 for 2, which the call refuses."""
    settings = {"transpose": transpose, "takes": 2, "seed": 7, "likeness": 0.8, "pitch_smoothing_ms": 20.0}
    start_conversion(studio, studio.local, recording(), "song.wav", ConversionRequest("koguchi", settings))
    sent = dict(one.split("=", 1) for one in calls(last_call(studio, studio.local))[0] if "=" in one)
    form = Fields(Form(sent, {}, ""))
    assert parse_settings(form, ConversionSettings, PUBLISHED_SETTINGS) == settings
    form.check()


@pytest.mark.parametrize("transpose", [0.5, 13, -24.0])
def test_last_call_says_that_the_service_takes_no_such_transposition(studio, recording, transpose):
    request = ConversionRequest("koguchi", {"transpose": transpose})
    task_id = start_conversion(studio, studio.local, recording(), "song.wav", request)
    said, check = last_call(studio, studio.local)["command"].split("\n", 1)
    assert said.startswith("# ")
    assert f"not {transpose}: convert on the page" in said
    assert f"/check-task/{task_id}" in check
    assert "/convert" not in check


def test_last_call_for_an_untrained_voice_sets_untrained(studio, recording, package):
    model = create_model(studio, studio.local, package())
    start_conversion(studio, studio.local, recording(), "song.wav", ConversionRequest(model, {}, untrained=True))
    assert calls(last_call(studio, studio.local))[0][7::2] == [
        'audio=@"song.wav"',
        "model=mia",
        "untrained=true",
        "transpose=auto",  # which is 0 in a call that leaves it out
    ]


@pytest.mark.parametrize("name", ["it's; rm -rf ~.wav", '"quoted",;type=x.wav', "$(touch x)`y`.wav", "back\\slash.wav"])
def test_last_call_quotes_file_names_for_the_shell(studio, recording, name):
    start_conversion(studio, studio.local, recording(), name, ConversionRequest("koguchi", {}))
    line = calls(last_call(studio, studio.local))[0]
    [audio] = [word for word in line if word.startswith("audio=")]
    read = audio.removeprefix('audio=@"').removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")
    assert read == name


def test_last_call_shows_the_newest_task_that_has_an_api_call(studio, recording, package):
    start_conversion(studio, studio.local, recording(), "song.wav", ConversionRequest("koguchi", {}))
    model = create_model(studio, studio.local, package())
    start_training(studio, studio.local, model, 20)
    with studio.database.write() as connection:
        edit = Conversion("a", {}, edit=Edit("x", "x", 1, [], EditSources("take", "groundwork")))
        submit(connection, studio.local.id, "conversion", written(edit), model_id="koguchi")
    assert len(list_tasks(studio.database, studio.local.id)[0]) == 4
    [train] = calls(last_call(studio, studio.local))
    assert (train[3], train[-1]) == (f"{ORIGIN}/models/mia/train", "epochs=20")


def test_last_call_is_hidden_from_other_accounts(studio, other, recording):
    start_conversion(studio, studio.local, recording(), "song.wav", ConversionRequest("koguchi", {}))
    assert last_call(studio, other) is None
