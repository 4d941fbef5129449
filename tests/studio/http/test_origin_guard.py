import pytest

from studio.settings.service import ServiceSettings, is_for_this_machine


@pytest.mark.parametrize(
    ("given", "is_so"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "::1"}, True),
        ({"base_url": "http://localhost:7860"}, True),
        ({"base_url": "http://[::1]:7860"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "192.168.1.5"}, False),
        ({"base_url": "https://studio.example"}, False),
    ],
)
def test_only_loopback_under_its_own_name_is_for_this_machine(given, is_so):
    assert is_for_this_machine(ServiceSettings(**given)) is is_so
