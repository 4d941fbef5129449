"""Recordings to try the studio with."""

import pytest

from studio.actions.samples import SAMPLES, take_sample
from studio.errors import NotFound
from studio.store.tasks import find


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
