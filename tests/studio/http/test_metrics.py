"""Metrics of the cores of this machine."""

from contextlib import closing

import pytest
from prometheus_client.parser import text_string_to_metric_families

from engine.cores import usable_cores
from studio.executors import core_shares
from studio.executors.core_shares import CONVERSIONS, LIVE, TRAININGS, CoreShare, CoreShares
from studio.http.metrics import PREFIX, Metrics
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import open_studio


@pytest.fixture
def studio(tmp_path):
    with closing(open_studio(Settings(tmp_path), ServiceSettings())) as opened:
        yield opened


def cores_in(text: bytes) -> dict[str, float]:
    """The number of cores, and those in use by kind."""
    samples = [one for family in text_string_to_metric_families(text.decode()) for one in family.samples]
    return {one.labels.get("kind", "all"): one.value for one in samples if one.name.startswith(f"{PREFIX}cores")}


def test_metrics_show_the_cores_and_their_use_by_kind(studio, monkeypatch):
    monkeypatch.setattr(core_shares, "usable_cores", lambda: 8)
    with closing(CoreShares()) as cores:
        metrics = Metrics(studio.database, dict, cores)
        idle = {"all": usable_cores(), "conversions": 0, "trainings": 0, "live": 0}
        assert cores_in(metrics.text()) == idle
        cores.enter(LIVE)
        conversion = CoreShare(cores.path, cores.enter(), CONVERSIONS, most=4)
        cores.most = 4
        training = CoreShare(cores.path, cores.enter(), TRAININGS, most=4)
        with conversion.at_work(), training.at_work():
            assert cores_in(metrics.text()) == idle | {"conversions": 4, "trainings": 2, "live": 2}


def test_metrics_without_shares_show_the_cores(studio):
    assert cores_in(Metrics(studio.database, dict).text()) == {"all": usable_cores()}
