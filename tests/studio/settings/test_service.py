import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from engine.errors import SettingsError
from studio.settings.environment import load_service_settings, unknown_variables
from studio.settings.options import setting_options
from studio.settings.service import DEMO, ServiceConstants, ServiceSettings


def test_load_service_settings_listens_only_locally_by_default():
    service = load_service_settings(environment={})
    assert service == ServiceSettings()
    assert service.host == "127.0.0.1"
    assert service.largest_upload_mb == 100


def test_load_service_settings_prefers_an_option_to_the_environment():
    environment = {"TIMBRE_STUDIO_PORT": "9000", "TIMBRE_STUDIO_GRACE_S": "7.5", "TIMBRE_STUDIO_HOST": "0.0.0.0"}
    service = load_service_settings({"port": "9001", "host": None}, environment)
    assert (service.port, service.grace_s, service.host) == (9001, 7.5, "0.0.0.0")


@pytest.mark.parametrize(
    ("environment", "host", "port"),
    [
        ({"GRADIO_SERVER_NAME": "0.0.0.0", "GRADIO_SERVER_PORT": "8001", "PORT": "8002"}, "0.0.0.0", 8001),
        ({"PORT": "8002"}, "127.0.0.1", 8002),
        ({"TIMBRE_STUDIO_PORT": "8000", "GRADIO_SERVER_PORT": "8001", "PORT": "8002"}, "127.0.0.1", 8000),
        ({"TIMBRE_STUDIO_HOST": "::1", "GRADIO_SERVER_NAME": "0.0.0.0"}, "::1", 7860),
        ({"SPACE_ID": "x", "GRADIO_SERVER_NAME": "127.0.0.1", "PORT": "8002"}, "127.0.0.1", 8002),
    ],
)
def test_load_service_settings_prefers_its_own_variables_to_those_of_hosts(environment, host, port):
    service = load_service_settings(environment=environment)
    assert (service.host, service.port) == (host, port)
    assert load_service_settings({"port": "9"}, environment).port == 9


@pytest.mark.parametrize(
    ("environment", "base_url", "path"),
    [
        ({"GRADIO_ROOT_PATH": "/studio/"}, "", "/studio"),
        ({"GRADIO_ROOT_PATH": "/"}, "", ""),
        ({"GRADIO_ROOT_PATH": "https://voices.example/a/b"}, "https://voices.example/a/b", "/a/b"),
        ({"GRADIO_ROOT_PATH": "https://voices.example"}, "https://voices.example", ""),
        ({"GRADIO_ROOT_PATH": "/a", "TIMBRE_STUDIO_ROOT_PATH": "/b"}, "", "/b"),
        (
            {"GRADIO_ROOT_PATH": "https://a.example/a", "TIMBRE_STUDIO_BASE_URL": "https://b.example/b"},
            *("https://b.example/b", "/b"),
        ),
        ({"TIMBRE_STUDIO_BASE_URL": "https://b.example/b/"}, "https://b.example/b/", "/b"),
    ],
)
def test_load_service_settings_derives_the_path_prefix_from_root_path_or_base_url(environment, base_url, path):
    service = load_service_settings(environment=environment)
    assert (service.base_url, service.path_prefix) == (base_url, path)


PATHS = ("studio", '/studio"><script>', "/a//b", "/a b", "//other.example")
ADDRESSES = ("nonsense", "ftp://127.0.0.1/v1", "http://xn--a/v1", "http://a..b/", "http://0x7f.1/")
REFUSED = [
    *(("GRADIO_ROOT_PATH", path, "root_path must be a path like /studio") for path in PATHS),
    *(("TIMBRE_STUDIO_SPEECH_URL", one, "speech_url must be an address") for one in ADDRESSES),
    ("TIMBRE_STUDIO_LEASE_S", "7.5", "TIMBRE_STUDIO_LEASE_S is no longer a setting: remove it"),
]


@pytest.mark.parametrize(("variable", "value", "words"), REFUSED)
def test_load_service_settings_refuses_an_invalid_variable(variable, value, words):
    with pytest.raises(SettingsError, match=words):
        load_service_settings(environment={variable: value})


@pytest.mark.parametrize("blank", ["", "  "])
def test_load_service_settings_ignores_a_blank_variable(blank):
    assert load_service_settings(environment={"TIMBRE_STUDIO_PORT": blank}) == ServiceSettings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("port", "70000", "port must be a whole number from 0 to 65535, not 70000."),
        ("port", "x", "--port takes a whole number, not 'x'."),
        ("grace_s", "-1", "grace_s must be a number from 0.0 to 3600.0, not -1.0."),
        ("page", "maybe", "page must be one of auto, on, off, not maybe."),
        ("host", "a\nb", "host must be a line of text."),
    ],
)
def test_load_service_settings_names_an_invalid_setting(name, value, said):
    with pytest.raises(SettingsError) as error:
        load_service_settings({name: value}, {})
    assert str(error.value) == said


def test_service_settings_describe_every_setting_and_nothing_else_is_an_option():
    described = {one.name for one in fields(ServiceSettings) if one.metadata}
    assert all(one.metadata["meaning"].endswith(".") for one in fields(ServiceSettings) if one.metadata)
    assert len(described) <= 40
    assert {one.name for one in fields(ServiceSettings)} - described == {one.name for one in fields(ServiceConstants)}
    assert {one.name for one in setting_options(ServiceSettings, "Service")} == described


def test_service_constants_have_their_reason_beside_them():
    lines = inspect.getsource(ServiceConstants).splitlines()
    for one in fields(ServiceConstants):
        [number] = [number for number, line in enumerate(lines) if line.startswith(f"    {one.name}: ")]
        assert "  # " in lines[number] or lines[number - 1].startswith("    # "), one.name


@pytest.mark.parametrize("former", ["TIMBRE_STUDIO_RAY_CONVERSION_CPUS", "TIMBRE_STUDIO_RAY_TRAINING_CPUS"])
def test_load_service_settings_names_what_replaces_a_former_setting(former):
    with pytest.raises(SettingsError, match=f"{former} is no longer a setting: set TIMBRE_STUDIO_THREADS instead"):
        load_service_settings(environment={former: "2"})
    assert load_service_settings(environment={former: " "}) == ServiceSettings()


def test_unknown_variables_names_the_setting_that_was_probably_meant():
    ours = {"TIMBRE_STUDIO_" + one.name.upper(): "1" for one in fields(ServiceSettings) if one.metadata}
    read_elsewhere = ("TIMBRE_STUDIO_HOME", "TIMBRE_STUDIO_LANGUAGE", "TIMBRE_STUDIO_TOKEN", "TIMBRE_STUDIO_ADDRESS")
    assert unknown_variables({**ours, **dict.fromkeys(read_elsewhere, "x"), "HOME": "/root", "PORT": "1"}) == []
    wrong = {"TIMBRE_STUDIO_KEEP_OUTPUTS_DAY": "3", "TIMBRE_STUDIO_PROT": "80", "TIMBRE_STUDIO_XYZZY": "1"}
    assert unknown_variables(wrong) == [
        "TIMBRE_STUDIO_KEEP_OUTPUTS_DAY is not a setting, and is ignored: "
        "did you mean TIMBRE_STUDIO_KEEP_OUTPUTS_DAYS?",
        "TIMBRE_STUDIO_PROT is not a setting, and is ignored: did you mean TIMBRE_STUDIO_PORT?",
        "TIMBRE_STUDIO_XYZZY is not a setting, and is ignored: remove it from the environment.",
    ]


def test_service_document_has_a_line_for_every_setting():
    shown = "\n".join(
        f"| `--{one.name.replace('_', '-')}` | {one.default} | {one.metadata['meaning']} |"
        for one in fields(ServiceSettings)
        if one.metadata
    )
    readme = (Path(__file__).parents[3] / "studio/service.md").read_text(encoding="utf-8")
    assert f"\n{shown}\n" in readme, f"the table of options in studio/service.md must be:\n{shown}"


def test_load_service_settings_makes_a_hosted_space_a_demo_unless_demo_is_off():
    space = {"SPACE_ID": "somebody/timbre"}
    assert load_service_settings(environment=space) == DEMO
    assert (DEMO.is_demo, DEMO.has_api, DEMO.host, DEMO.longest_audio_minutes) == (True, False, "0.0.0.0", 1)
    assert load_service_settings({"demo": "off"}, space) == ServiceSettings(demo="off")
    assert load_service_settings(environment={"TIMBRE_STUDIO_DEMO": "on"}) == DEMO


def test_load_service_settings_prefers_given_values_to_demo_defaults():
    service = load_service_settings({"api": "on"}, {"SPACE_ID": "x", "TIMBRE_STUDIO_LONGEST_AUDIO_MINUTES": "2"})
    assert (service.has_api, service.longest_audio_minutes) == (True, 2.0)


def test_service_settings_have_the_api_unless_it_is_off_and_may_find_speech_on_this_machine():
    assert ServiceSettings(speech_url="http://127.0.0.1:8880/v1").has_api
    assert not ServiceSettings(api="off").has_api
