"""The cores that a task computes on."""

import threading

import torch

from studio.executors.job import WorkerContext


def context(threads) -> WorkerContext:
    return WorkerContext(None, None, None, None, None, None, None, threads=threads)


def test_keep_to_share_follows_a_share_that_grows_and_shrinks(torch_threads):
    share = [2]
    here = context(lambda: share[0])
    for cores in (2, 5, 1, 3):
        share[0] = cores
        here.keep_to_share()
        assert torch.get_num_threads() == cores


def test_keep_to_share_takes_a_number(torch_threads):
    context(3).keep_to_share()
    assert torch.get_num_threads() == 3


def test_keep_to_share_leaves_torch_as_it_is_where_nothing_is_shared(torch_threads):
    context(None).keep_to_share()
    assert torch.get_num_threads() == torch_threads


def test_keep_to_share_counts_for_the_thread_that_calls_it(torch_threads):
    found = []

    def work() -> None:
        context(4).keep_to_share()
        found.append(torch.get_num_threads())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [4]
