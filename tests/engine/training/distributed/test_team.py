"""Several processes that learn one voice together learn what one learns."""

import gc
import os
import signal
import threading
import time

import numpy as np
import psutil
import pytest
import soundfile
import torch

from engine.audio.files import Audio
from engine.datasets.dataset import create_dataset, load_dataset
from engine.errors import TeamLost
from engine.features.clips import analyse_clip
from engine.training.distributed.rendezvous import begin_team, join_team, store_on_disk
from engine.training.distributed.team import ALONE, Lesson, Step, Team
from engine.training.history import read_history
from engine.training.plan import TrainingPlan
from engine.training.train import CHECKPOINT_FILE, train_dataset
from engine.units import SAMPLE_RATE

PLAN = TrainingPlan(epochs=4, batch=6, foreign=3, save_s=0.0, evaluate_epochs=100)
TOLERANCE = 0.02  # of the losses, relative: sums of numbers of 8 bits are added in another order


@pytest.fixture(scope="module", autouse=True)
def short_auditions(tmp_path_factory, sing):
    folder = tmp_path_factory.mktemp("foreign")
    for name in ("speech-high", "singing-high"):
        soundfile.write(folder / f"{name}.flac", sing(1.0, hertz=120.0), SAMPLE_RATE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.training.checkpoint_audition.FOREIGN", folder)
        yield


@pytest.fixture
def recordings(tmp_path, sing):
    paths = [tmp_path / f"{number}.wav" for number in range(2)]
    for number, path in enumerate(paths):
        soundfile.write(path, sing(10.0, hertz=150.0 + 20 * number, seed=number), SAMPLE_RATE)
    return paths


def members() -> list[psutil.Process]:
    """Those that this process has begun to learn with."""
    return [
        child for child in psutil.Process().children() if "engine.training.distributed.team_member" in child.cmdline()
    ]


def dataset(recordings, folder):
    return load_dataset(create_dataset(recordings, folder, {"name": "Mia"}).folder)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 4, 16])
def test_shares_are_all_of_it_and_fair(size, count):
    parts = [list(range(count))[Team(place, size).share(count)] for place in range(size)]
    assert [number for part in parts for number in part] == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_alone_nothing_is_added_and_nobody_is_told():
    numbers = torch.ones(3)
    ALONE.add_up([numbers])
    ALONE.tell_state({})
    ALONE.dismiss()
    assert numbers.tolist() == [1, 1, 1]


def test_the_others_hear_what_the_first_says_and_all_add_up(tmp_path, sing):
    clips = [analyse_clip(Audio(sing(0.5)[None], SAMPLE_RATE))]
    heard = []

    def follow():
        team = join_team(store_on_disk(tmp_path / "meeting"))
        while (told := team.hear()) is not None:
            heard.append(told)
        numbers = torch.full((2, 2), 2.0)
        team.add_up([numbers])
        heard.append(numbers)
        team.dismiss()

    other = threading.Thread(target=follow)
    other.start()
    first = begin_team(store_on_disk(tmp_path / "meeting"), lambda: 1, 60.0)
    first.tell_lesson(Lesson(clips, PLAN))
    first.tell_step(Step(7, [(0, 12), (3, 4)], 0.5))
    first.tell_step(Step(8, [], 1.0))
    first.tell_state({"learned": {"timbre": torch.arange(3.0)}, "step": 7})
    first._send(torch.tensor([0, 0, 0]))  # the end
    numbers, more = torch.full((2, 2), 1.0), torch.zeros(0)
    first.add_up([numbers, more])
    other.join(60)
    lesson, step, empty, state, added = heard
    assert lesson.plan == PLAN
    assert np.array_equal(lesson.clips[0].envelope, clips[0].envelope)
    assert (step, empty) == (Step(7, [(0, 12), (3, 4)], 0.5), Step(8, [], 1.0))
    assert state["learned"]["timbre"].tolist() == [0, 1, 2]
    assert numbers.tolist() == added.tolist() == [[3, 3], [3, 3]]


def test_a_first_that_is_lost_is_missed_with_a_sentence(tmp_path):
    missed = []

    def follow():
        try:
            join_team(store_on_disk(tmp_path / "meeting")).hear()
        except TeamLost as lost:
            missed.append(str(lost))

    other = threading.Thread(target=follow)
    other.start()
    first = begin_team(store_on_disk(tmp_path / "meeting"), lambda: 1, 60.0)
    first._group.shutdown()
    del first
    gc.collect()
    other.join(60)
    assert "goes on where it was" in missed[0]


@pytest.mark.slow
def test_two_processes_draw_the_same_curve_as_one_and_share_their_checkpoints(recordings, tmp_path):
    one, two = (dataset(recordings, tmp_path / name) for name in ("one", "two"))
    alone = train_dataset(one, PLAN)
    together = train_dataset(two, PLAN, processes=2)
    curves = [read_history(where.folder / "training").epochs for where in (one, two)]
    for name in ("loss", "envelope", "kept", "taken"):
        first, second = (np.array([line[name] for line in curve]) for curve in curves)
        assert np.abs(second / first - 1).max() < TOLERANCE, name
    apart = torch.nn.functional.cosine_similarity(alone.timbre, together.timbre, dim=0)
    assert apart > 0.999
    # what two have begun one goes on with, and the other way round
    longer = TrainingPlan(**vars(PLAN) | {"epochs": 5})
    train_dataset(two, longer)
    train_dataset(one, longer, processes=2)
    last = [read_history(where.folder / "training").epochs[-1] for where in (one, two)]
    assert [line["epoch"] for line in last] == [5, 5]
    assert last[0]["loss"] == pytest.approx(last[1]["loss"], rel=TOLERANCE)


@pytest.mark.slow
def test_a_lost_member_ends_the_training_with_a_sentence_and_it_goes_on_later(recordings, tmp_path):
    where = dataset(recordings, tmp_path / "one")
    checkpoint = where.folder / "training" / CHECKPOINT_FILE

    def kill():
        while not checkpoint.exists():
            time.sleep(0.05)
        [member] = members()
        os.kill(member.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(TeamLost, match="goes on where it was"):
        train_dataset(where, PLAN, processes=2)
    killer.join()
    assert members() == []
    assert train_dataset(where, PLAN, processes=2).card.training["epochs"] == 4
